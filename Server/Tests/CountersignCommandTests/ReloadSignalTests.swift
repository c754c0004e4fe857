import ArgumentParser
import Foundation
import SQLStore
import Settings
import Testing
import _Primitives

@testable import CountersignCommand

/// The program itself with its own folders, as an operator runs it.
private final class RunningServer {
    let folder = "/tmp/countersign-\(UUID().uuidString.prefix(8))"
    private let process = Process()
    private var lines: AsyncStream<String>.Iterator

    init(_ more: String...) throws {
        for name in ["metadata", "policies"] {
            try FileManager.default.createDirectory(
                atPath: "\(self.folder)/\(name)", withIntermediateDirectories: true)
        }
        let tests = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0])
        self.process.executableURL = tests.deletingLastPathComponent().appendingPathComponent("countersign")
        self.process.arguments =
            [
                "serve", "--data", self.folder + "/data", "--key-file", self.folder + "/key", "--bind", "127.0.0.1:0",
                "--operations-bind", "127.0.0.1:0", "--metadata", self.folder + "/metadata", "--policies",
                self.folder + "/policies",
            ] + more
        let output = Pipe()
        self.process.standardOutput = output
        self.process.standardError = output
        self.lines = Self.lines(of: output.fileHandleForReading).makeAsyncIterator()
        try self.process.run()
    }

    /// A thread reads to the end: a source of Dispatch may still watch the file when it is closed, and then crashes.
    private static func lines(of file: FileHandle) -> AsyncStream<String> {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        Thread.detachNewThread {
            var rest = ""
            while true {
                let data = file.availableData
                guard !data.isEmpty else { break }
                var lines = (rest + String(decoding: data, as: UTF8.self)).split(
                    separator: "\n", omittingEmptySubsequences: false)
                rest = lines.popLast().map(String.init) ?? ""
                for line in lines { continuation.yield(String(line)) }
            }
            continuation.finish()
        }
        return stream
    }

    deinit {
        if self.process.isRunning { kill(self.process.processIdentifier, SIGKILL) }
        try? FileManager.default.removeItem(atPath: self.folder)
    }

    /// Waits until the server says that it is there, and answers at its socket too.
    func isReady() async throws {
        _ = try #require(await self.line(with: "Countersign is ready"))
        while true {
            do {
                _ = try await self.policies()
                return
            } catch let failure as CommandFailure where failure.status == .unreachable {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
    }

    /// Reads the log up to a line with these words; `nil` where it ends before.
    func line(with words: String) async -> String? {
        while let line = await self.lines.next() {
            if line.contains(words) { return line }
        }
        return nil
    }

    /// Reads the log up to and with a line with these words, or to its end.
    func lines(to words: String) async -> [String] {
        var read: [String] = []
        while let line = await self.lines.next() {
            read.append(line)
            if line.contains(words) { break }
        }
        return read
    }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(self.folder)/\(name)"))
    }

    func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: "\(self.folder)/\(name)") }

    func reload() { kill(self.process.processIdentifier, SIGHUP) }

    /// Ends the server as a service manager does; returns its exit code.
    func stop() async -> Int32 {
        kill(self.process.processIdentifier, SIGTERM)
        while await self.lines.next() != nil {}
        self.process.waitUntilExit()
        return self.process.terminationStatus
    }

    /// Has the server end, and reads the log to what it says of its stop.
    func account() async -> String? {
        kill(self.process.processIdentifier, SIGTERM)
        return await self.line(with: "The server has stopped")
    }

    func policies() async throws -> [String]? {
        let answer = try await AdminOptions.parse(["--data", self.folder + "/data"])
            .withConnection(toServer: true) { try await $0.call("GET", "/metadata") }
        guard case .object(let object) = answer else { return nil }
        return try object.strings("policies")
    }

    func run(_ arguments: String...) async throws {
        let all = ["admin"] + arguments + ["--data", self.folder + "/data"]
        var command = try #require(try Countersign.parseAsRoot(all) as? any AsyncParsableCommand)
        try await command.run()
    }
}

@Suite("countersign serve: SIGHUP has metadata and policies read again, all or nothing")
struct ReloadSignalTests {
    private static let finger = #"{"accepted":[[{"aaid":["C516#0003"]}]]}"#

    @Test("A server that was told to end says how its stop went, part by part", .timeLimit(.minutes(10)))
    func stopAccount() async throws {
        let server = try RunningServer()
        try await server.isReady()
        let account = try #require(await server.account())
        for part in ["closed=", "milliseconds=", "requestsCut=0", "unread=0", "public listener ", "sweeper ", "store "]
        { #expect(account.contains(part), "\(account)") }
        #expect(await server.stop() == 0)
    }

    @Test("A file that cannot be used changes nothing, and the log names it", .timeLimit(.minutes(10)))
    func reload() async throws {
        let server = try RunningServer()
        try await server.isReady()
        try server.write(Self.finger, to: "policies/finger.json")
        #expect(try await server.policies() == [])

        server.reload()
        _ = try #require(await server.line(with: "Metadata and policies were reloaded"))
        #expect(try await server.policies() == ["finger"])

        try server.write(Self.finger, to: "policies/second.json")
        for (name, text) in [
            ("policies/broken.json", #"{"accepted":[[{"aaid":["C516#0006"]}]]}"#), ("metadata/broken.json", "{}"),
        ] {
            try server.write(text, to: name)
            server.reload()
            let line = try #require(await server.line(with: "Metadata and policies stay as they were"))
            #expect(line.contains("error") && line.contains("broken.json"), "\(line)")
            #expect(try await server.policies() == ["finger"])
            await #expect(throws: CommandFailure.self) { try await server.run("metadata", "reload") }
            _ = try #require(await server.line(with: "Metadata and policies stay as they were"))
            try server.remove(name)
        }
        server.reload()
        _ = try #require(await server.line(with: "Metadata and policies were reloaded"))
        #expect(try await server.policies() == ["finger", "second"])
        #expect(await server.stop() == 0)
    }

    @Test("A renewed certificate is shown from the signal on", .timeLimit(.minutes(10)))
    func certificate() async throws {
        let (files, others) = (try IssuedFiles(), try IssuedFiles())
        try files.issue("server")
        try others.issue("server")
        let server = try RunningServer(
            "--tls-certificate", files.path("server"), "--tls-key", files.path("server-key"), "--issuer",
            "https://localhost")
        let line = try #require(await server.line(with: "Server started and listening on 127.0.0.1:"))
        let port = try #require(line.split(separator: ":").last.flatMap { Int($0) })
        /// Whether the server's certificate is one of that authority.
        func isShown(_ authority: IssuedFiles) async throws -> Bool {
            let origin = try AdminConnection.server(at: "https://localhost:\(port)", named: "address")
            let failure = await #expect(throws: CommandFailure.self) {
                _ = try await AdminConnection(
                    place: .network(origin, token: "none"), caFile: authority.path("authority")
                ).call("GET", "/accounts")
            }
            // Where there is a connection, the token is refused.
            return failure?.status == .failed
        }
        _ = try #require(await server.line(with: "Countersign is ready"))
        #expect(try await isShown(files))
        #expect(try await !isShown(others))
        for name in ["server", "server-key"] {
            try FileManager.default.removeItem(atPath: files.path(name))
            try FileManager.default.copyItem(atPath: others.path(name), toPath: files.path(name))
        }
        server.reload()
        _ = try #require(await server.line(with: "Certificate and key were read again"))
        #expect(try await isShown(others))
        #expect(await server.stop() == 0)
    }

    @Test("A start keeps the address that people are enrolled at, in the database", .timeLimit(.minutes(10)))
    func issuer() async throws {
        let server = try RunningServer("--issuer", "http://localhost:8123")
        // It is kept before the administrator's link is made.
        _ = try #require(await server.line(with: "administrator-link"))
        #expect(await server.stop() == 0)
        let store = try OpenStore(
            folder: DataFolder(path: server.folder + "/data"), keyFile: KeyFile(path: server.folder + "/key"),
            limits: .init())
        #expect(try await store.database.issuer() == "http://localhost:8123")
        await store.database.close()
    }

    @Test("Links are made by the policies that the server has read", .timeLimit(.minutes(10)))
    func activation() async throws {
        let server = try RunningServer()
        try await server.isReady()
        try server.write(Self.finger, to: "policies/finger.json")
        try await server.run("account", "add", "alice")
        let early = await #expect(throws: CommandFailure.self) {
            try await server.run("activation", "create", "alice", "--policy", "finger")
        }
        #expect(early?.status == .failed && early?.problem.contains("no policy of that name") == true)
        try await server.run("metadata", "reload")
        try await server.run("activation", "create", "alice", "--policy", "finger")
        #expect(await server.stop() == 0)
    }
}

@Suite("countersign serve: what collects the log reads")
struct CollectedLogTests {
    @Test(
        "With --log-format json every line is an object: what a start warns about, and the administrator's link too",
        .timeLimit(.minutes(10)))
    func json() async throws {
        let server = try RunningServer("--log-format", "json", "--issuer", "https://id.example")
        let lines = await server.lines(to: "administrator-link")
        let levels = try lines.map { line in
            guard case .object(let object) = try JSON(parsing: Array(line.utf8)) else { return "no object: \(line)" }
            return try object.requiredString("level")
        }
        #expect(levels.first == "warning" && levels.last == "notice", "\(lines)")
        #expect(lines.first?.contains("--trusted-proxies") == true)
        #expect(await server.stop() == 0)
    }

    @Test("A server that cannot have one of its addresses never says that it is ready", .timeLimit(.minutes(10)))
    func neverReady() async throws {
        // An address of documentation, which no machine has.
        let server = try RunningServer("--operations-bind", "192.0.2.1:8080")
        let lines = await server.lines(to: "Countersign is ready")
        #expect(lines.contains { $0.contains("does not have the address 192.0.2.1") }, "\(lines)")
    }
}
