import Countersign
import CountersignLinux
import CountersignTestKit
import Foundation
import Testing
import UAFClient
import _Primitives

@Suite("Decision 49: what an app keeps in files")
struct AppFileStorageTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "app-\(UUID().uuidString)").path()

    private func removeFolder() { try? FileManager.default.removeItem(atPath: self.folder) }

    @Test("what one process has written another one reads, and nothing of it lies there in the clear")
    func processes() throws {
        defer { self.removeFolder() }
        let first = try AppFileStorage(directory: self.folder)
        let second = try AppFileStorage(directory: self.folder)
        try first.write(Array("a token".utf8), to: "sign-in-session")
        #expect(try second.read("sign-in-session") == Array("a token".utf8))
        try second.write(Array("another".utf8), to: "sign-in-session")
        #expect(try first.read("sign-in-session") == Array("another".utf8))
        try second.remove("sign-in-session")
        #expect(try first.read("sign-in-session") == nil)
        try first.write(Array("a token".utf8), to: "sign-in-key")
        for name in try FileManager.default.contentsOfDirectory(atPath: self.folder) {
            let bytes = try #require(FileManager.default.contents(atPath: "\(self.folder)/\(name)"))
            #expect(bytes.firstRange(of: Data("a token".utf8)) == nil)
        }
    }

    @Test("many that open a new folder at once have one key")
    func oneKey() async throws {
        defer { self.removeFolder() }
        let folder = self.folder
        let storages = try await withThrowingTaskGroup(of: AppFileStorage.self) { group in
            for _ in 0..<8 { group.addTask { try AppFileStorage(directory: folder) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for (index, storage) in storages.enumerated() { try storage.write([UInt8(index)], to: "value-\(index)") }
        for storage in storages {
            for index in storages.indices { #expect(try storage.read("value-\(index)") == [UInt8(index)]) }
        }
    }

    @Test("of all that want a lock one has it, whichever of the storages it has it from")
    func lock() async throws {
        defer { self.removeFolder() }
        let storages = [try AppFileStorage(directory: self.folder), try AppFileStorage(directory: self.folder)]
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

    @Test("who is cancelled waits for a lock no longer", .timeLimit(.minutes(1)))
    func cancelled() async throws {
        defer { self.removeFolder() }
        let storage = try AppFileStorage(directory: self.folder)
        try await storage.withLock("held") {
            let waiting = Task { try await storage.withLock("held") {} }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
        }
    }

    @Test("a folder is shared or one process's own, and names are no paths")
    func refusals() async throws {
        defer { self.removeFolder() }
        do {
            let shared = try AppFileStorage(directory: self.folder)
            #expect(throws: StorageError(.inUse, "")) { _ = try EncryptedFileStorage(directory: self.folder) }
            #expect(throws: StorageError(.unavailable, "")) { try shared.write([1], to: "../key") }
            await #expect(throws: StorageError(.unavailable, "")) {
                try await shared.withLock("../key") {}
            }
        }
        let own = try EncryptedFileStorage(directory: self.folder)
        #expect(throws: StorageError(.inUse, "")) { _ = try AppFileStorage(directory: self.folder) }
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

    @Test("an app of files is killed and comes back")
    func signIn() async throws {
        defer { self.removeFolder() }
        let address = try #require(URL(string: "https://id.example.com"))
        let device = VirtualSignInDevice(baseUrl: address)
        var configuration = SignInConfiguration(baseUrl: address, clientID: "app", redirectURI: "com.example.app:/back")
        configuration.keeping = .onThisDevice
        func app() async throws -> SignIn {
            var platform = device.platform
            platform.storage = try AppFileStorage(directory: self.folder)
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
