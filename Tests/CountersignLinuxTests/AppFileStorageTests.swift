import Countersign
import CountersignLinux
import CountersignTestKit
import Foundation
import Testing
import UAFClient
import _Primitives

/// The stores of which several processes have one at once, as far as this session has them.
enum AppStorageKind: CaseIterable, Sendable {
    case files, secretService

    static var here: [AppStorageKind] { Keyring.state == .open ? self.allCases : [.files] }

    /// Opens what is in a folder, as another process would.
    func open(_ folder: String) async throws -> any SignInStorage {
        switch self {
        case .files: try AppFileStorage(directory: folder)
        case .secretService:
            try await SecretServiceStorage(
                application: URL(filePath: folder).lastPathComponent, directory: folder, mayAsk: false)
        }
    }
}

@Suite("Decisions 49, 54: what an app keeps in files, with the key in another one or in the keyring")
struct AppFileStorageTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "app-\(UUID().uuidString)").path()

    private func removeFolder() { try? FileManager.default.removeItem(atPath: self.folder) }

    @Test(
        "what one process has written another one reads, and nothing of it lies there in the clear",
        arguments: AppStorageKind.here)
    func processes(kind: AppStorageKind) async throws {
        defer { self.removeFolder() }
        let first = try await kind.open(self.folder)
        let second = try await kind.open(self.folder)
        try first.write(Array("a token".utf8), to: "sign-in-session")
        #expect(try second.read("sign-in-session") == Array("a token".utf8))
        try second.write(Array("another".utf8), to: "sign-in-session")
        #expect(try first.read("sign-in-session") == Array("another".utf8))
        try second.remove("sign-in-session")
        #expect(try first.read("sign-in-session") == nil)
        try second.remove("sign-in-session")
        try first.write(Array("a token".utf8), to: "sign-in-key")
        let names = try FileManager.default.contentsOfDirectory(atPath: self.folder)
        #expect(names.contains("sign-in-key.sealed"))
        for name in names {
            let bytes = try #require(FileManager.default.contents(atPath: "\(self.folder)/\(name)"))
            #expect(bytes.firstRange(of: Data("a token".utf8)) == nil)
        }
    }

    @Test("a value is bound to its name, and one that was damaged is refused", arguments: AppStorageKind.here)
    func bound(kind: AppStorageKind) async throws {
        defer { self.removeFolder() }
        let storage = try await kind.open(self.folder)
        try storage.write([1, 2, 3], to: "one")
        let sealed = try #require(FileManager.default.contents(atPath: "\(self.folder)/one.sealed"))
        try sealed.write(to: URL(filePath: "\(self.folder)/other.sealed"))
        #expect(throws: StorageError(.corrupt, "")) { try storage.read("other") }
        try (sealed.dropLast() + [sealed[sealed.endIndex - 1] ^ 1]).write(
            to: URL(filePath: "\(self.folder)/one.sealed"))
        #expect(throws: StorageError(.corrupt, "")) { try storage.read("one") }
    }

    @Test("many that open a new folder at once have one key", arguments: AppStorageKind.here)
    func oneKey(kind: AppStorageKind) async throws {
        defer { self.removeFolder() }
        let folder = self.folder
        let storages = try await withThrowingTaskGroup(of: (any SignInStorage).self) { group in
            for _ in 0..<8 { group.addTask { try await kind.open(folder) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for (index, storage) in storages.enumerated() { try storage.write([UInt8(index)], to: "value-\(index)") }
        for storage in storages {
            for index in storages.indices { #expect(try storage.read("value-\(index)") == [UInt8(index)]) }
        }
    }

    @Test(
        "of all that want a lock one has it, whichever of the storages it has it from", arguments: AppStorageKind.here)
    func lock(kind: AppStorageKind) async throws {
        defer { self.removeFolder() }
        let storages = [try await kind.open(self.folder), try await kind.open(self.folder)]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for turn in 0..<40 {
                let storage = storages[turn % 2]
                group.addTask {
                    try await storage.withLock("counter") {
                        let count = try storage.read("count")?.first ?? 0
                        await Task.yield()
                        try storage.write([count + 1], to: "count")
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try storages[0].read("count") == [40])
    }

    @Test("who is cancelled waits for a lock no longer", .timeLimit(.minutes(10)), arguments: AppStorageKind.here)
    func cancelled(kind: AppStorageKind) async throws {
        defer { self.removeFolder() }
        let storage = try await kind.open(self.folder)
        try await storage.withLock("held") {
            let waiting = Task { try await storage.withLock("held") {} }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
        }
    }

    @Test("a folder is shared or one process's own, and names are no paths", arguments: AppStorageKind.here)
    func refusals(kind: AppStorageKind) async throws {
        defer { self.removeFolder() }
        do {
            let shared = try await kind.open(self.folder)
            #expect(throws: StorageError(.inUse, "")) {
                _ = try EncryptedFileStorage(directory: self.folder, keyFile: self.folder + "-key")
            }
            for name in ["../key", "", "a b", String(repeating: "a", count: 129)] {
                #expect(throws: StorageError(.unavailable, "")) { try shared.write([1], to: name) }
                #expect(throws: StorageError(.unavailable, "")) { try shared.read(name) }
                await #expect(throws: StorageError(.unavailable, "")) { try await shared.withLock(name) {} }
            }
            try shared.write([UInt8](repeating: 1, count: 65_536), to: String(repeating: "a", count: 128))
            #expect(throws: StorageError(.unavailable, "")) {
                try shared.write([UInt8](repeating: 1, count: 1 << 20), to: "long")
            }
            try shared.remove(String(repeating: "a", count: 128))
        }
        defer { try? FileManager.default.removeItem(atPath: self.folder + "-key") }
        let own = try EncryptedFileStorage(directory: self.folder, keyFile: self.folder + "-key")
        await #expect(throws: StorageError(.inUse, "")) { _ = try await kind.open(self.folder) }
        _ = own
    }

    @Test("an installation's mark is there once it was set")
    func mark() throws {
        defer { self.removeFolder() }
        let mark = FileInstallationMark(path: self.folder + "/app/installed")
        #expect(try !mark.isSet())
        try mark.set()
        #expect(try FileInstallationMark(path: self.folder + "/app/installed").isSet())
    }

    @Test("an app of files is killed and comes back", arguments: AppStorageKind.here)
    func signIn(kind: AppStorageKind) async throws {
        defer { self.removeFolder() }
        let address = try #require(URL(string: "https://id.example.com"))
        let device = VirtualSignInDevice(baseURL: address)
        var configuration = SignInConfiguration(baseURL: address, clientID: "app", redirectURI: "com.example.app:/back")
        configuration.keeping = .onThisDevice
        func app() async throws -> SignIn {
            var platform = device.platform
            platform.storage = try await kind.open(self.folder)
            platform.installation = FileInstallationMark(path: self.folder + "-mark/installed")
            return try await SignIn(configuration, platform: platform, transport: device.server)
        }
        defer { try? FileManager.default.removeItem(atPath: self.folder + "-mark") }
        try await app().withBrowser()
        let next = try await app()
        try await next.restore()
        #expect(await next.isSignedIn)
    }
}
