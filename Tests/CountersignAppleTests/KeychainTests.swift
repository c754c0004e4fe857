import Countersign
import CountersignApple
import Foundation
import Testing
import UAFClient
import _Primitives

@Suite("Decision 132: values in the Keychain")
struct KeychainTests {
    private let keychain = MemoryKeychain()
    private let folder = FileManager.default.temporaryDirectory.appending(path: "keychain-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true) }

    private func lockPath() -> String { self.folder.appending(path: "operations.lock").path }

    private func storage() throws -> KeychainStorage {
        try KeychainStorage(self.keychain, service: "app", lockPath: self.lockPath())
    }

    @Test("a value is written, replaced, read and removed, and is no development store's")
    func values() throws {
        let storage = try self.storage()
        #expect(try storage.read("a") == nil)
        try storage.write([1], to: "a")
        try storage.write([2, 3], to: "a")
        #expect(try storage.read("a") == [2, 3])
        #expect(self.keychain.count == 1)
        try storage.remove("a")
        try storage.remove("a")
        #expect(try storage.read("a") == nil)
        #expect(!storage.isDevelopmentStore)
    }

    private static let meanings: [(Int32, StorageError.Code)] = [
        (-25_308, .locked), (-25_291, .locked), (-34_018, .unsupported), (-26_275, .corrupt), (-25_293, .unavailable),
        (-34, .unavailable), (12_345, .unavailable),
    ]

    @Test("each number of the Keychain has its meaning, for reading, writing and removing", arguments: Self.meanings)
    func numbers(number: Int32, code: StorageError.Code) throws {
        let storage = try self.storage()
        let status = KeychainStatus(rawValue: number)
        self.keychain.answer(status)
        #expect(throws: StorageError(code, "")) { try storage.read("a") }
        self.keychain.answer(status)
        #expect(throws: StorageError(code, "")) { try storage.write([1], to: "a") }
        self.keychain.answer(status)
        #expect(throws: StorageError(code, "")) { try storage.remove("a") }
    }

    @Test("a locked device never reports an existing value as missing")
    func locked() throws {
        let storage = try self.storage()
        try storage.write([7], to: "a")
        self.keychain.answer(.interactionNotAllowed)
        #expect(throws: StorageError(.locked, "")) { try storage.read("a") }
        #expect(try storage.read("a") == [7])
    }

    @Test("an item that another process adds in between is updated")
    func race() throws {
        let storage = try self.storage()
        self.keychain.answer(.itemNotFound, .duplicateItem, .success)
        try storage.write([1], to: "a")
        self.keychain.answer(.itemNotFound, .duplicateItem, .interactionNotAllowed)
        #expect(throws: StorageError(.locked, "")) { try storage.write([1], to: "a") }
    }

    @Test("one process has the operations' storage at a time")
    func inUse() throws {
        do {
            let storage = try self.storage()
            #expect(throws: StorageError(.inUse, "")) { try self.storage() }
            try storage.write([1], to: "a")
        }
        #expect(try self.storage().read("a") == [1])
        #expect(throws: StorageError(.unavailable, "")) {
            try KeychainStorage(self.keychain, service: "app", lockPath: "/nowhere/at/all/lock")
        }
    }

    @Test("of all that want a lock of a sign-in's storage, each has the lock alone")
    func lock() async throws {
        let storage = SharedKeychainStorage(self.keychain, service: "app", lockFolder: self.folder.path)
        #expect(!storage.isDevelopmentStore)
        try storage.write([0], to: "counter")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await storage.withLock("turn") {
                        let value = try storage.read("counter") ?? []
                        await Task.yield()
                        try storage.write([value[0] + 1], to: "counter")
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try storage.read("counter") == [8])
        try storage.remove("counter")
        #expect(try storage.read("counter") == nil)
    }

    @Test("a name with other letters than a lock's is refused", arguments: ["", "../lock", "a b", "ä"])
    func lockName(name: String) async throws {
        let storage = SharedKeychainStorage(self.keychain, service: "app", lockFolder: self.folder.path)
        await #expect(throws: StorageError(.unavailable, "")) { try await storage.withLock(name) {} }
    }

    @Test("a cancelled task waits for a lock no longer", .timeLimit(.minutes(1)))
    func cancelled() async throws {
        let storage = SharedKeychainStorage(self.keychain, service: "app", lockFolder: self.folder.path)
        try await storage.withLock("turn") {
            let waiting = Task { try await storage.withLock("turn") {} }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
        }
    }

    @Test("a new installation is known by a missing file, and never while the Keychain is locked")
    func installation() throws {
        let path = self.folder.appending(path: "installed").path
        let mark = KeychainInstallationMark(self.keychain, service: "app", path: path)
        #expect(try !mark.isSet())
        try mark.set()
        #expect(try mark.isSet())

        // The app is removed and installed again. The Keychain stays.
        try FileManager.default.removeItem(atPath: path)
        self.keychain.answer(.interactionNotAllowed)
        #expect(throws: StorageError(.locked, "")) { try mark.isSet() }
        #expect(try !mark.isSet())

        let lost = KeychainInstallationMark(self.keychain, service: "app", path: "/nowhere/at/all/installed")
        #expect(throws: StorageError(.unavailable, "")) { try lost.set() }
    }
}
