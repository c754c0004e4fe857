import Ceremony
import CeremonyEngine
import Foundation
import Hummingbird
import HummingbirdTesting
import Logging
import Records
import SQLStore
import SQLiteStore
import ServiceLifecycle
import Settings
import Synchronization
import Testing
import _Primitives

@testable import CountersignCommand

@Suite("countersign pin-service: its own secret, and its own count (decision 69)")
struct PinServiceTests {
    private final class Lines: Sendable {
        private let texts = Mutex<[String]>([])
        var all: [String] { self.texts.withLock { $0 } }
        var logger: Logger {
            let handler = LineLog(.text, level: .info) { line in self.texts.withLock { $0.append(line) } }
            return Logger(label: "test") { _ in handler }
        }
    }

    private final class Folder: Sendable {
        let path = FileManager.default.temporaryDirectory.path + "/pins-\(UUID().uuidString.prefix(8))"
        init() throws { try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: self.path) }
        var data: String { self.path + "/data" }
        var socket: String { self.path + "/socket" }
    }

    private static let master = SecretBytes(Array(0..<48 as Range<UInt8>))
    private static let now = Timestamp(seconds: 1_800_000_000)

    /// A point that nobody has asked about.
    private static func question() throws -> [UInt8] {
        try PinServiceKey(master: SecretBytes(RandomSource.system.bytes(48)), activation: "any").publicKey
    }

    private static func service(_ log: EvaluationLog, limit: Int = 3, time: TimeSource = TimeSource { Self.now })
        -> PinService
    {
        PinService(master: Self.master, log: log, limit: limit, time: time)
    }

    /// Runs a service at a socket, and a server's client of it.
    private static func live(
        _ folder: Folder, _ service: PinService, _ lines: Lines = Lines(),
        _ body: @escaping @Sendable (PinServiceClient) async throws -> Void
    ) async throws {
        let (running, continuation) = AsyncStream.makeStream(of: Void.self)
        let socket = PinServiceSocket(
            path: folder.socket, service: service, logger: lines.logger, onRunning: { continuation.yield() })
        let quiet = Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() }
        let group = ServiceGroup(configuration: ServiceGroupConfiguration(services: [socket], logger: quiet))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            tasks.addTask {
                for await _ in running { break }
                let client = PinServiceClient(path: folder.socket, logger: lines.logger)
                let result: Result<Void, any Error>
                do { result = .success(try await body(client)) } catch { result = .failure(error) }
                await client.close()
                await group.triggerGracefulShutdown()
                try result.get()
            }
            try await tasks.waitForAll()
        }
    }

    /// What a call ends with; `nil` where it is answered.
    private static func failure(_ body: () async throws(PinServiceFailure) -> [UInt8]) async -> PinServiceFailure? {
        do throws(PinServiceFailure) {
            _ = try await body()
            return nil
        } catch {
            return error
        }
    }

    @Test("Over its socket, which its group alone may use, it says what the key of its secret makes of a question")
    func overTheSocket() async throws {
        let folder = try Folder()
        let log = try EvaluationLog(folder: folder.data)
        defer { log.close() }
        try await Self.live(folder, Self.service(log)) { client in
            let key = try PinServiceKey(master: Self.master, activation: "a-1_~")
            #expect(try await client.key(of: "a-1_~") == key.publicKey)
            let question = try Self.question()
            let evaluated = try await client.evaluate(question, of: "a-1_~")
            #expect(try evaluated.prefix(49) == key.evaluate(question).prefix(49))
            #expect(evaluated.count == PinQuestion.evaluatedBytes)
            let mode = try FileManager.default.attributesOfItem(atPath: folder.socket)[.posixPermissions] as? Int
            #expect(mode == 0o660)
        }
        #expect(!FileManager.default.fileExists(atPath: folder.socket))
    }

    @Test("An activation has so many evaluations in a day, whatever came of them; another has its own")
    func exhausted() async throws {
        let folder = try Folder()
        let lines = Lines()
        let clock = Mutex(Self.now)
        let log = try EvaluationLog(folder: folder.data)
        defer { log.close() }
        let time = TimeSource { clock.withLock { $0 } }
        try await Self.live(folder, Self.service(log, time: time), lines) { client in
            let same = try Self.question()
            for _ in 0..<5 { _ = try await client.evaluate(same, of: "a") }
            clock.withLock { $0 = $0 + .seconds(3600) }
            for _ in 0..<2 { _ = try await client.evaluate(try Self.question(), of: "a") }
            let fourth = try Self.question()
            #expect(
                await Self.failure { () async throws(PinServiceFailure) in try await client.evaluate(fourth, of: "a") }
                    == .exhausted(retryAfterSeconds: 23 * 3600 + 1))
            // What was asked before is answered, and another activation is not concerned.
            _ = try await client.evaluate(same, of: "a")
            _ = try await client.evaluate(fourth, of: "b")
            clock.withLock { $0 = $0 + .seconds(23 * 3600) }
            _ = try await client.evaluate(fourth, of: "a")
            let fifth = try Self.question()
            #expect(
                await Self.failure { () async throws(PinServiceFailure) in try await client.evaluate(fifth, of: "a") }
                    == .exhausted(retryAfterSeconds: 3600 + 1))
        }
        #expect(lines.all.contains { $0.contains("activation=a") && $0.contains("--evaluations-per-day") })
    }

    @Test("However many ask at once, no more are evaluated than are left")
    func parallel() async throws {
        let folder = try Folder()
        let log = try EvaluationLog(folder: folder.data)
        defer { log.close() }
        let service = Self.service(log, limit: 10)
        let questions = try (0..<50).map { _ in try Self.question() }
        let answered = await withTaskGroup(of: Bool.self) { group in
            for question in questions {
                group.addTask {
                    await Self.failure { () async throws(PinServiceFailure) in
                        try await service.evaluate(question, of: "a")
                    } == nil
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(answered == 10)
    }

    @Test("What was counted is counted after a restart; the secret is the same")
    func restart() async throws {
        let folder = try Folder()
        let first = try EvaluationLog(folder: folder.data)
        let file = MasterKeyFile(path: folder.data + "/master.key")
        let key = try file.key(isFirst: true)
        for _ in 0..<3 { _ = try await Self.service(first).evaluate(try Self.question(), of: "a") }
        // Two processes would count apart.
        #expect(throws: StoreError.self) { try EvaluationLog(folder: folder.data) }
        first.close()
        let second = try EvaluationLog(folder: folder.data)
        defer { second.close() }
        #expect(try file.key(isFirst: false) == key)
        let question = try Self.question()
        let failure = await Self.failure { () async throws(PinServiceFailure) in
            try await Self.service(second).evaluate(question, of: "a")
        }
        #expect(failure == .exhausted(retryAfterSeconds: 86_401))
        let mode = try FileManager.default.attributesOfItem(atPath: folder.data + "/master.key")[.posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    @Test("What is no question is refused, and not counted")
    func malformed() async throws {
        let folder = try Folder()
        let log = try EvaluationLog(folder: folder.data)
        defer { log.close() }
        let service = Self.service(log, limit: 1)
        let noPoint = [UInt8](repeating: 0xFF, count: PinQuestion.blindedBytes)
        try await Self.live(folder, service) { client in
            for (blinded, activation) in [
                (noPoint, "a"), ([], "a"), (try Self.question() + [0], "a"), (try Self.question(), ""),
                (try Self.question(), String(repeating: "a", count: 65)),
            ] {
                let failure = await Self.failure { () async throws(PinServiceFailure) in
                    try await client.evaluate(blinded, of: activation)
                }
                #expect(failure == .malformed)
            }
            _ = try await client.evaluate(try Self.question(), of: "a")
        }
        let blinded = Base64URL.encode(try Self.question())
        try await Application(
            router: PinServiceRoutes(service: service, logger: Lines().logger).router()
        ).test(.router) { client in
            for body in [
                "", "{}", "[]", "null", "{\"activation\":\"a\"}", "{\"activation\":1,\"blinded\":\"\(blinded)\"}",
                "{\"activation\":\"a\",\"blinded\":\"\(blinded)=\"}", "{\"activation\":\"a\",\"blinded\":\"",
                "{\"activation\":\"a\",\"blinded\":\"\(blinded)\",\"more\":1}",
            ] {
                let answer = try await client.execute(
                    uri: "/evaluations", method: .post, body: ByteBuffer(string: body))
                #expect(answer.status == .badRequest, "\(body)")
            }
            let long = String(repeating: " ", count: Limits.Evaluations.bodyBytes + 1)
            let answer = try await client.execute(uri: "/evaluations", method: .post, body: ByteBuffer(string: long))
            #expect(answer.status == .contentTooLarge)
            #expect(try await client.execute(uri: "/healthz", method: .get).status == .ok)
        }
    }

    @Test("Where nobody listens nothing was asked, and the operator is told which setting it is about")
    func nobody() async throws {
        let folder = try Folder()
        let lines = Lines()
        let client = PinServiceClient(path: folder.socket, logger: lines.logger)
        let question = try Self.question()
        let failure = await Self.failure { () async throws(PinServiceFailure) in
            try await client.evaluate(question, of: "a")
        }
        await client.close()
        #expect(failure == .notAsked)
        #expect(lines.all.contains { $0.contains("--pin-service") && $0.contains("countersign pin-service") })
    }

    @Test(
        "An answer that is none leaves open what was done; a refusal to work does not",
        arguments: [
            (HTTPResponse.Status.ok, "{}", PinServiceFailure.unknown), (.ok, "no JSON", .unknown),
            (.ok, #"{"evaluated":"AAAA"}"#, .unknown), (.serviceUnavailable, "{}", .notAsked),
            (.badRequest, "{}", .malformed), (.tooManyRequests, "{}", .exhausted(retryAfterSeconds: 60)),
        ])
    func strangeAnswers(_ status: HTTPResponse.Status, _ body: String, _ expected: PinServiceFailure) async throws {
        let folder = try Folder()
        let router = Router()
        router.post("/evaluations") { _, _ in
            Response(status: status, body: .init(byteBuffer: ByteBuffer(string: body)))
        }
        let (running, continuation) = AsyncStream.makeStream(of: Void.self)
        let socket = folder.socket
        let application = Application(
            router: router, configuration: .init(address: .unixDomainSocket(path: socket)),
            onServerRunning: { _ in continuation.yield() })
        let question = try Self.question()
        await withTaskGroup(of: PinServiceFailure?.self) { group in
            group.addTask {
                try? await application.runService(gracefulShutdownSignals: [])
                return nil
            }
            group.addTask {
                for await _ in running { break }
                let client = PinServiceClient(path: socket, logger: Lines().logger)
                let failure = await Self.failure { () async throws(PinServiceFailure) in
                    try await client.evaluate(question, of: "a")
                }
                await client.close()
                return failure
            }
            for await failure in group {
                #expect(failure == expected)
                break
            }
            group.cancelAll()
        }
    }

    @Test("A secret that others can read, or that is none, is refused, and no new one takes its place")
    func keyFile() throws {
        let folder = try Folder()
        let path = folder.path + "/master.key"
        let good = Base64URL.encode([UInt8](repeating: 7, count: 48)) + "\n"
        for (text, mode, isTaken) in [
            (good, 0o600, true), (good, 0o640, false), (good, 0o604, false), ("", 0o600, false),
            ("AAAA\n", 0o600, false), (good + good, 0o600, false),
        ] {
            unlink(path)
            let isMade = FileManager.default.createFile(
                atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: mode])
            #expect(isMade)
            let key = try? MasterKeyFile(path: path).key(isFirst: true)
            #expect((key != nil) == isTaken, "\(mode) \(text)")
            #expect(FileManager.default.contents(atPath: path) == Data(text.utf8))
        }
    }

    @Test("A secret that is missing is not made anew where something was evaluated, and the refusal names the file")
    func lostKey() throws {
        let folder = try Folder()
        let file = MasterKeyFile(path: folder.data + "/master.key")
        #expect(!EvaluationLog.exists(in: folder.data))
        let log = try EvaluationLog(folder: folder.data)
        log.close()
        #expect(EvaluationLog.exists(in: folder.data))
        let failure = #expect(throws: CommandFailure.self) { try file.key(isFirst: false) }
        #expect(failure?.problem.contains(file.path) == true && failure?.remedy?.contains("Restore it") == true)
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }

    /// A service that answers nobody until it is told to, and how many questions have reached it.
    private final class Slow: Sendable {
        let arrivals: AsyncStream<Void>
        private let arrived: AsyncStream<Void>.Continuation
        private let gate: AsyncStream<Void>
        private let opening: AsyncStream<Void>.Continuation

        init() {
            (self.arrivals, self.arrived) = AsyncStream.makeStream(of: Void.self)
            (self.gate, self.opening) = AsyncStream.makeStream(of: Void.self)
        }

        func answer() async {
            self.arrived.yield()
            for await _ in self.gate {}
        }

        func open() { self.opening.finish() }
    }

    @Test(
        "Past what it can do at once nothing was asked: where too many wait, and where no connection becomes free in time",
        arguments: [1, 2])
    func overloaded(asking: Int) async throws {
        let folder = try Folder()
        let lines = Lines()
        let slow = Slow()
        let router = Router()
        router.post("/evaluations") { _, _ in
            await slow.answer()
            return Response(status: .serviceUnavailable)
        }
        let (running, continuation) = AsyncStream.makeStream(of: Void.self)
        let socket = folder.socket
        let application = Application(
            router: router, configuration: .init(address: .unixDomainSocket(path: socket)),
            onServerRunning: { _ in continuation.yield() })
        let question = try Self.question()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await application.runService(gracefulShutdownSignals: []) }
            group.addTask {
                for await _ in running { break }
                let client = PinServiceClient(
                    path: socket, logger: lines.logger, connections: 1, asking: asking,
                    connectTime: .milliseconds(200))
                async let first = Self.failure { () async throws(PinServiceFailure) in
                    try await client.evaluate(question, of: "a")
                }
                for await _ in slow.arrivals { break }
                // The only connection is taken.
                let second = await Self.failure { () async throws(PinServiceFailure) in
                    try await client.evaluate(question, of: "b")
                }
                #expect(second == .notAsked)
                slow.open()
                let answered = await first
                #expect(answered == .notAsked)
                await client.close()
            }
            _ = await group.next()
            group.cancelAll()
        }
        #expect(lines.all.contains { $0.contains("--pin-service") })
    }
}
