import Countersign
import CountersignLinux
import CountersignTestKit
import Foundation
import Testing
import UAFClient
import _Primitives

/// The session that these tests run in, which `scripts/with-keyring` makes and names.
enum Keyring: String {
    case open, lockable, mute, fresh, nobody, absent

    static var state: Keyring? {
        ProcessInfo.processInfo.environment["COUNTERSIGN_KEYRING"].flatMap(Keyring.init(rawValue:))
    }

    /// Runs a program of the session's, and gives what it printed.
    @discardableResult
    static func run(_ program: String, _ arguments: String..., input: String = "") throws -> String {
        let process = Process()
        let (input, typed, printed) = (Data(input.utf8), Pipe(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.standardInput = typed
        process.standardOutput = printed
        try process.run()
        try typed.fileHandleForWriting.write(contentsOf: input)
        try typed.fileHandleForWriting.close()
        let output = try printed.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(decoding: output, as: UTF8.self)
    }
}

extension Keyring {
    /// Locks the keyring that is open.
    static func lock() throws {
        try self.run(
            "gdbus", "call", "--session", "--dest", "org.freedesktop.secrets", "--object-path",
            "/org/freedesktop/secrets", "--method", "org.freedesktop.Secret.Service.Lock",
            "[objectpath '/org/freedesktop/secrets/collection/login']")
    }

    /// What a program prints, while it runs.
    static func lines(of pipe: Pipe) -> AsyncStream<String> {
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        Thread.detachNewThread {
            var text: [UInt8] = []
            while let bytes = try? pipe.fileHandleForReading.read(upToCount: 1), let byte = bytes.first {
                text.append(byte)
                guard byte == UInt8(ascii: "\n") else { continue }
                continuation.yield(String(decoding: text, as: UTF8.self))
                text = []
            }
            continuation.finish()
        }
        return lines
    }
}

/// A store in a folder that goes with the test, under an application that no other test has.
private final class Place: Sendable {
    let folder = FileManager.default.temporaryDirectory.appending(path: "keyring-\(UUID().uuidString)").path()
    let application = "org.example.\(RandomSource.system.identifier())"

    deinit { try? FileManager.default.removeItem(atPath: self.folder) }

    func open(mayAsk: Bool = true) async throws -> SecretServiceStorage {
        try await SecretServiceStorage(application: self.application, directory: self.folder, mayAsk: mayAsk)
    }

    /// How the store does not open.
    func refusal(mayAsk: Bool = true) async -> StorageError.Code? {
        do {
            _ = try await self.open(mayAsk: mayAsk)
            return nil
        } catch {
            return (error as? StorageError)?.code
        }
    }

    var files: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: self.folder)) ?? []).sorted() }
}

@Suite("Decision 54: the key of what an app keeps is in the keyring", .enabled(if: Keyring.state == .open))
struct SecretServiceStorageTests {
    private let place = Place()

    private static let schema = "org.countersign.AppStorage"

    @Test("the key is in the keyring and not in the folder, and is the same for who comes later")
    func key() async throws {
        let first = try await self.place.open()
        #expect(!first.isDevelopmentStore)
        try first.write(Array("a token".utf8), to: "sign-in-session")
        #expect(self.place.files == ["lock", "sign-in-session.sealed", "writing"])
        let items = try Keyring.run("secret-tool", "search", "--all", "application", self.place.application)
        #expect(items.components(separatedBy: "label = \(self.place.application)").count == 2, "one item, by its name")
        // Without the person in front of it, too.
        #expect(try await self.place.open(mayAsk: false).read("sign-in-session") == Array("a token".utf8))
    }

    @Test("another app's key opens nothing")
    func otherApplication() async throws {
        try await self.place.open().write([1], to: "value")
        let other = try await SecretServiceStorage(
            application: self.place.application + "-other", directory: self.place.folder + "-other")
        defer { try? FileManager.default.removeItem(atPath: self.place.folder + "-other") }
        try FileManager.default.copyItem(
            atPath: "\(self.place.folder)/value.sealed", toPath: "\(self.place.folder)-other/value.sealed")
        #expect(throws: StorageError(.corrupt, "")) { try other.read("value") }
    }

    @Test("values whose key left the keyring are refused, and a new folder begins anew")
    func lostKey() async throws {
        try await self.place.open().write([1], to: "value")
        try Keyring.run("secret-tool", "clear", "xdg:schema", Self.schema, "application", self.place.application)
        #expect(await self.place.refusal() == .corrupt)
        try FileManager.default.removeItem(atPath: self.place.folder)
        #expect(try await self.place.open().read("value") == nil)
    }

    @Test("something else under the key's name is no key, and neither are two keys")
    func strangeKeys() async throws {
        func keep(_ secret: String, _ more: String) throws {
            try Keyring.run(
                "secret-tool", "store", "--label=strange", "xdg:schema", Self.schema, "application",
                self.place.application, "number", more, input: secret)
        }
        for secret in ["", "short", String(repeating: "k", count: 33)] {
            try keep(secret, "1")
            #expect(await self.place.refusal() == .corrupt)
        }
        let key = String(repeating: "k", count: 32)
        try keep(key, "1")
        try await self.place.open().write([1], to: "value")
        try keep(key, "2")
        #expect(await self.place.refusal() == .corrupt)
        #expect(self.place.files.contains("value.sealed"), "nothing is taken away")
    }

    @Test("a folder whose key lies in a file is another store's, and the other way round")
    func otherStores() async throws {
        _ = try AppFileStorage(directory: self.place.folder)
        #expect(await self.place.refusal() == .unavailable)
        try FileManager.default.removeItem(atPath: self.place.folder)
        try await self.place.open().write([1], to: "value")
        #expect(throws: StorageError(.corrupt, "")) { _ = try AppFileStorage(directory: self.place.folder) }
    }

    @Test("who is cancelled opens nothing, and makes no key", .timeLimit(.minutes(10)))
    func cancelled() async throws {
        let place = self.place
        let opening = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await place.open()
        }
        await #expect(throws: CancellationError.self) { try await opening.value }
        #expect(try Keyring.run("secret-tool", "search", "--all", "application", place.application).isEmpty)
    }
}

@Suite("Decision 54: an application has a name that a keyring can show")
struct SecretServiceNamesTests {
    @Test("an identifier is 1 to 128 letters, digits, dots, hyphens and low lines")
    func names() async {
        for name in ["", "a b", "a/b", "a\n", "ä", "a\u{0}", String(repeating: "a", count: 129)] {
            await #expect(throws: StorageError(.unavailable, "")) {
                _ = try await SecretServiceStorage(application: name, directory: "/nowhere/\(UUID().uuidString)")
            }
        }
    }
}

@Suite("Decision 54: a keyring that cannot be used is told from one that is locked", .enabled(if: Keyring.state != nil))
struct SecretServiceStatesTests {
    private let place = Place()

    @Test(
        "a locked keyring asks the person or says so, and takes nothing from who has the key",
        .enabled(if: Keyring.state == .lockable))
    func locked() async throws {
        let storage = try await self.place.open(mayAsk: false)
        try storage.write([1], to: "value")
        try Keyring.lock()
        #expect(await self.place.refusal(mayAsk: false) == .locked, "and not that the key is gone")
        // Asked in a session without a screen, where nobody sees the dialog.
        #expect(await self.place.refusal(mayAsk: true) == .locked)
        #expect(await Place().refusal(mayAsk: false) == .locked, "neither is a key made")
        #expect(await Place().refusal(mayAsk: true) == .locked)
        try storage.write([2], to: "value")
        #expect(try storage.read("value") == [2])
    }

    @Test(
        "who gives up waits no longer for a dialog that nobody ends", .enabled(if: Keyring.state == .mute),
        .timeLimit(.minutes(10)))
    func mute() async throws {
        try Keyring.lock()
        // Says when the service has asked for its dialog.
        let (monitor, printed) = (Process(), Pipe())
        monitor.executableURL = URL(filePath: "/usr/bin/env")
        monitor.arguments = ["dbus-monitor", "--session", "destination='org.gnome.keyring.SystemPrompter'"]
        monitor.standardOutput = printed
        try monitor.run()
        // A child has the blocked signals of the thread that made it, and Dispatch's threads block all that can be.
        defer { kill(monitor.processIdentifier, SIGKILL) }
        let lines = Keyring.lines(of: printed)
        // It first says that it watches.
        var seen = lines.makeAsyncIterator()
        while let line = await seen.next(), !line.contains("NameLost") {}
        let place = self.place
        let opening = Task { _ = try await place.open() }
        while let line = await seen.next(), !line.contains("BeginPrompting") {}
        opening.cancel()
        await #expect(throws: CancellationError.self) { try await opening.value }
    }

    @Test("a session without a keyring has to ask for one", .enabled(if: Keyring.state == .fresh))
    func fresh() async {
        #expect(await self.place.refusal(mayAsk: false) == .locked)
        #expect(await self.place.refusal(mayAsk: true) == .locked)
        #expect(!self.place.files.contains { $0.hasSuffix(".sealed") })
    }

    @Test(
        "without a bus, or a service on it, the storage is not supported here",
        .enabled(if: Keyring.state == .nobody || Keyring.state == .absent))
    func unsupported() async {
        for mayAsk in [false, true] { #expect(await self.place.refusal(mayAsk: mayAsk) == .unsupported) }
    }
}
