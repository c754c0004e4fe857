import CountersignLinux
import CountersignTestKit
import Foundation
import Testing
import UAFClient
import _Primitives

/// A folder that goes with the test.
private final class Folder {
    let path: String

    init() throws {
        self.path = NSTemporaryDirectory() + "/countersign-storage-" + RandomSource.system.token(byteCount: 12)
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: self.path) }

    var files: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: self.path)) ?? []).sorted() }
    func file(_ name: String) -> String { "\(self.path)/\(name)" }
    func bytes(_ name: String) -> [UInt8] {
        FileManager.default.contents(atPath: self.file(name)).map(Array.init) ?? []
    }
    func put(_ name: String, _ bytes: [UInt8]) throws {
        let isMade = FileManager.default.createFile(
            atPath: self.file(name), contents: Data(bytes), attributes: [.posixPermissions: 0o600])
        try #require(isMade)
    }
    func mode(_ name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: self.file(name))[.posixPermissions] as? Int
    }
}

@Suite("The encrypted file store: durable, bound to names, one process at a time")
struct EncryptedFileStorageTests {
    private let folder: Folder

    init() throws { self.folder = try Folder() }

    private func open(_ interruption: (@Sendable (EncryptedFileStorage.Step) throws -> Void)? = nil) throws
        -> EncryptedFileStorage
    {
        guard let interruption else { return try EncryptedFileStorage(directory: self.folder.path) }
        return try EncryptedFileStorage(directory: self.folder.path, interruption: interruption)
    }

    @Test("Values are there again after closing and opening, replaced and removed by name")
    func roundTrip() throws {
        try { () throws in
            let storage = try self.open()
            #expect(storage.isDevelopmentStore)
            #expect(try storage.read("one") == nil)
            try storage.write([1, 2, 3], to: "one")
            try storage.write([], to: "empty")
            try storage.write([UInt8](repeating: 7, count: 500_000), to: "long")
            try storage.write([4], to: "one")
            try storage.remove("gone")
        }()
        let storage = try self.open()
        #expect(try storage.read("one") == [4])
        #expect(try storage.read("empty") == [])
        #expect(try storage.read("long")?.count == 500_000)
        try storage.remove("one")
        #expect(try storage.read("one") == nil)
        try storage.removeAll()
        #expect(try storage.read("long") == nil)
        #expect(self.folder.files == ["key", "lock"])
    }

    @Test("Nothing of a value is in the folder in the clear, and no two writes are alike")
    func encrypted() throws {
        let storage = try self.open()
        let secret = Array("a secret of the phone".utf8)
        try storage.write(secret, to: "one")
        let first = self.folder.bytes("one.sealed")
        try storage.write(secret, to: "one")
        let second = self.folder.bytes("one.sealed")
        #expect(first != second && first.count == secret.count + 28)
        for file in self.folder.files {
            #expect(Data(self.folder.bytes(file)).range(of: Data("secret".utf8)) == nil)
        }
    }

    @Test("Folder, key and values belong to their owner alone")
    func permissions() throws {
        let inner = self.folder.file("made/inside")
        let storage = try EncryptedFileStorage(directory: inner)
        try storage.write([1], to: "one")
        #expect(try self.folder.mode("made/inside") == 0o700)
        for file in ["key", "lock", "one.sealed"] { #expect(try self.folder.mode("made/inside/\(file)") == 0o600) }
    }

    @Test("A key file that others can read is refused", arguments: [0o644, 0o640, 0o604, 0o660])
    func openKeyFile(mode: Int) throws {
        _ = try self.open()
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: self.folder.file("key"))
        #expect(throws: StorageError(.unavailable, "")) { try self.open() }
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: self.folder.file("key"))
        _ = try self.open()
    }

    @Test("A second opening is refused as long as the first is there")
    func oneAtATime() throws {
        try { () throws in
            let storage = try self.open()
            #expect(throws: StorageError(.inUse, "")) { try self.open() }
            try storage.write([1], to: "one")
        }()
        #expect(try self.open().read("one") == [1])
    }

    @Test("Another process's lock keeps this one out, and ends with that process")
    func otherProcess() throws {
        _ = try self.open()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/flock")
        process.arguments = ["--exclusive", "--close", self.folder.file("lock"), "cat"]
        let input = Pipe()
        let output = Pipe()
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        // Once it echoes, it holds the lock.
        try input.fileHandleForWriting.write(contentsOf: Data("x\n".utf8))
        _ = output.fileHandleForReading.availableData
        #expect(throws: StorageError(.inUse, "")) { try self.open() }
        kill(process.processIdentifier, SIGKILL)
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        _ = output.fileHandleForReading.readDataToEndOfFile()
        #expect(throws: Never.self) { try self.open() }
    }

    @Test("A value that is damaged, cut, exchanged with another or under another key does not open")
    func damaged() throws {
        let storage = try self.open()
        try storage.write([1, 2, 3], to: "one")
        try storage.write([4, 5, 6], to: "two")
        let good = self.folder.bytes("one.sealed")
        func expectCorrupt(_ bytes: [UInt8]) throws {
            try self.folder.put("one.sealed", bytes)
            #expect(throws: StorageError(.corrupt, "")) { try storage.read("one") }
        }
        for index in good.indices {
            var bytes = good
            bytes[index] ^= 0x40
            try expectCorrupt(bytes)
            try expectCorrupt(Array(good.prefix(index)))
        }
        try expectCorrupt(self.folder.bytes("two.sealed"))
        try expectCorrupt(good + [0])
        try expectCorrupt([UInt8](repeating: 0, count: 2 << 20))
        try self.folder.put("one.sealed", good)
        #expect(try storage.read("one") == [1, 2, 3])
    }

    @Test("Values without their key, and a key of another length, are a corrupt store")
    func lostKey() throws {
        try { () throws in try self.open().write([1], to: "one") }()
        let key = self.folder.bytes("key")
        try FileManager.default.removeItem(atPath: self.folder.file("key"))
        #expect(throws: StorageError(.corrupt, "")) { try self.open() }
        for bytes in [[], [1], key + [0]] as [[UInt8]] {
            try self.folder.put("key", bytes)
            #expect(throws: StorageError(.corrupt, "")) { try self.open() }
        }
        try self.folder.put("key", key)
        #expect(try self.open().read("one") == [1])
    }

    @Test("A key file elsewhere is used and made with its folder")
    func ownKeyFile() throws {
        let keyFile = self.folder.file("keys/phone.key")
        let values = self.folder.file("values")
        try { () throws in
            try EncryptedFileStorage(directory: values, keyFile: keyFile).write([1], to: "one")
        }()
        #expect(self.folder.bytes("keys/phone.key").count == 32)
        #expect(throws: StorageError(.corrupt, "")) { try EncryptedFileStorage(directory: values) }
        #expect(try EncryptedFileStorage(directory: values, keyFile: keyFile).read("one") == [1])
    }

    @Test(
        "A power cut at any point of a write leaves the old value or the new one",
        arguments: EncryptedFileStorage.Step.allCases)
    func powerCut(step: EncryptedFileStorage.Step) throws {
        struct PowerCut: Error {}
        try { () throws in try self.open().write([1], to: "one") }()
        try { () throws in
            let storage = try self.open { if $0 == step { throw PowerCut() } }
            #expect(throws: PowerCut.self) { try storage.write([2], to: "one") }
        }()
        let isNew = step == .renamed || step == .folderSynced
        try { () throws in
            let storage = try self.open()
            #expect(try storage.read("one") == [isNew ? 2 : 1])
            try storage.write([3], to: "one")
        }()
        #expect(try self.open().read("one") == [3])
        #expect(!self.folder.files.contains { $0.hasSuffix(".new") })
    }

    @Test(
        "What a write has left that was cut off goes with its name, and with all of them",
        arguments: [EncryptedFileStorage.Step.temporaryFileWritten, .temporaryFileSynced], [false, true])
    func remains(step: EncryptedFileStorage.Step, areAll: Bool) throws {
        struct PowerCut: Error {}
        try { () throws in
            let storage = try self.open { if $0 == step { throw PowerCut() } }
            #expect(throws: PowerCut.self) { try storage.write([1], to: "one") }
        }()
        #expect(self.folder.files.contains { $0.hasSuffix(".new") })
        let storage = try self.open()
        if areAll { try storage.removeAll() } else { try storage.remove("one") }
        #expect(!self.folder.files.contains { $0.hasPrefix("one") })
    }

    @Test("A write is synced before it is renamed, and the folder after that")
    func order() throws {
        let steps = Steps()
        let storage = try self.open { steps.note($0) }
        try storage.write([1], to: "one")
        #expect(steps.all == [.temporaryFileWritten, .temporaryFileSynced, .renamed, .folderSynced])
    }

    @Test(
        "A name that could leave the folder, and a value that is too long, are refused",
        arguments: [
            "", ".", "..", "../one", "a/b", "a.b", "ä", "a b", "a\u{0}b", String(repeating: "x", count: 129),
        ])
    func names(name: String) throws {
        let storage = try self.open()
        #expect(throws: StorageError(.unavailable, "")) { try storage.write([1], to: name) }
        #expect(throws: StorageError(.unavailable, "")) { try storage.read(name) }
        #expect(throws: StorageError(.unavailable, "")) { try storage.remove(name) }
        #expect(throws: StorageError(.unavailable, "")) {
            try storage.write([UInt8](repeating: 0, count: 1 << 20), to: "long")
        }
    }

    @Test("A link in a value's place is not followed")
    func links() throws {
        let storage = try self.open()
        let target = self.folder.file("target")
        try self.folder.put("target", [1])
        try FileManager.default.createSymbolicLink(atPath: self.folder.file("one.sealed"), withDestinationPath: target)
        #expect(throws: StorageError(.unavailable, "")) { try storage.read("one") }
        try storage.write([2], to: "one")
        #expect(self.folder.bytes("target") == [1])
        #expect(try storage.read("one") == [2])
    }

    @Test("Writes from many threads all arrive whole")
    func concurrent() async throws {
        let storage = try self.open()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<40 {
                group.addTask {
                    try storage.write([UInt8](repeating: UInt8(index), count: 1000), to: "shared")
                    try storage.write([UInt8(index)], to: "own-\(index)")
                }
            }
            try await group.waitForAll()
        }
        let shared = try #require(try storage.read("shared"))
        #expect(shared.count == 1000 && Set(shared).count == 1)
        for index in 0..<40 { #expect(try storage.read("own-\(index)") == [UInt8(index)]) }
    }
}

/// The steps of a write.
// Safe to share: every access to `steps` is within `lock`.
private final class Steps: @unchecked Sendable {
    private let lock = NSLock()
    private var steps: [EncryptedFileStorage.Step] = []
    var all: [EncryptedFileStorage.Step] { self.lock.withLock { self.steps } }
    func note(_ step: EncryptedFileStorage.Step) { self.lock.withLock { self.steps.append(step) } }
}

@Suite("The clocks of a Linux machine")
struct LinuxDeviceClockTests {
    @Test("The time since the start runs and does not follow the wall clock; the start has one name")
    func clocks() async throws {
        let wall = FakeClock()
        let clock = try LinuxDeviceClock(wall: wall.timeSource)
        let before = clock.uptime()
        wall.moveWall(by: .seconds(-1_000_000))
        #expect(clock.now() == wall.now())
        #expect(clock.uptime() >= before && clock.uptime() - before < .seconds(1000))
        #expect(clock.bootIdentifier.count == 36)
        #expect(try LinuxDeviceClock().bootIdentifier == clock.bootIdentifier)
        let machine = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        let difference = try LinuxDeviceClock().now() - machine
        #expect(abs(difference.milliseconds) < 60_000)
    }

    @Test("A cancelled sleep ends", .timeLimit(.minutes(10)))
    func sleep() async throws {
        let clock = try LinuxDeviceClock()
        let task = Task { try await clock.sleep(for: .seconds(1_000_000)) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
