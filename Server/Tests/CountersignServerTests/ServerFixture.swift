import Accounts
import AppSignIn
import Ceremony
import CeremonyEngine
import CountersignServer
import CountersignTestKit
import Endpoints
import Foundation
import FreshStores
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import OAuthProvider
import Passwords
import Records
import SQLStore
import Sealing
import Settings
import Testing
import UAF
import UAFRelyingParty
import _Primitives

/// A whole server over a store of its own in a temporary folder, with a clock that the test moves.
final class ServerFixture: Sendable {
    let assembly: ServerAssembly
    let database: SQLStore
    /// The database of the store, for tests that precede, follow or fail a step.
    let hooks: HookedDatabase
    let clock: FakeClock
    let folder: String
    /// The key that seals the store's columns.
    let key: KeyEncryptionKey
    /// What was mailed.
    let mail = CaughtMail()

    init(
        issuer: String = "http://localhost:8080", limits: Limits = Limits(), trustedProxies: [AddressBlock] = [],
        rules: @escaping @Sendable () throws -> RuleSet = { RuleSet(metadata: try .builtIn()) },
        factors: FactorMatrix = CeremonyConfiguration.everyFactor, trace: TraceRecorder? = nil,
        logger: Logger? = nil, random: RandomSource = .system,
        hashing: PasswordLimits = .cheap, breached: BreachedPasswordList? = nil, hasRegistration: Bool = false,
        calls: (any OutgoingCalls)? = nil, sendsMail: Bool = true, terms: Terms? = nil,
        signInService: SignInService.Names = SignInService.Names(), simulatedPeople: SimulatedPeople? = nil,
        pins: (any PinEvaluating)? = nil, identities: IdentityRules = IdentityRules(),
        configure: (inout ServerAssembly.Configuration) -> Void = { _ in }
    ) async throws {
        self.folder = FileManager.default.temporaryDirectory.path + "/server-\(RandomSource.system.token())"
        self.clock = FakeClock()
        let key = KeyEncryptionKey()
        self.key = key
        var hooks: HookedDatabase?
        self.database = try FreshStore.open(
            in: self.folder, key: key, limits: limits,
            decorate: { opened in
                let hooked = HookedDatabase(opened)
                hooks = hooked
                return hooked
            })
        self.hooks = try #require(hooks)
        var configuration = ServerAssembly.Configuration(
            issuer: issuer, facets: [try FacetID("linux:program:countersign-phone")], rules: rules,
            trustedProxies: trustedProxies, limits: limits)
        configuration.factors = factors
        configuration.hashing = hashing
        configuration.breachedPasswords = breached
        configuration.hasRegistration = hasRegistration
        configuration.calls = calls
        if sendsMail, let sender = MailSender("no-reply@countersign.example") {
            configuration.mail = (sender, self.mail)
        }
        configuration.terms = terms
        configuration.signInService = signInService
        configuration.simulatedPeople = simulatedPeople
        configuration.pins = pins
        configuration.identities = identities
        if let logger { configuration.logger = logger }
        configure(&configuration)
        self.assembly = try await ServerAssembly.open(
            configuration,
            store: self.database, sealing: Sealing(key), trace: trace, time: self.clock.timeSource, random: random)
    }

    /// What sends the messages of a channel; another one each time, as on another node.
    func outbox(_ channel: OutboxChannel, logger: Logger = Logger(label: "test")) throws -> Outbox {
        try #require(self.assembly.outboxes(logger: logger).first { $0.entry.channel == channel })
    }

    /// Sends what is due, as a node does, and says what became of it.
    ///
    /// - Parameter leavingOut: Letters that say this are taken, and not sent.
    func sendMail(leavingOut: MailRecord.Subject? = nil, logger: Logger = Logger(label: "test")) async throws
        -> [OutboxResult]
    {
        let outbox = try self.outbox(.mailbox, logger: logger)
        var results: [OutboxResult] = []
        for letter in try await outbox.takeDue() where letter.subject != leavingOut?.rawValue {
            results.append(try await outbox.deliver(letter))
        }
        return results
    }

    /// Says that an address is alice's, or that she has none.
    func enterAddress(_ address: String? = "alice@post.example", isVerified: Bool = true) async throws {
        _ = try await self.assembly.directory.setEmail(
            address.map { AccountEmail(address: $0, isVerified: isVerified) }, username: "alice", by: "test")
    }

    /// What the trail has of a kind.
    func auditEvents(_ kind: AuditEvent.Kind) async throws -> [AuditEvent] {
        try await self.database.auditEntries(after: 0, limit: 999).map(\.event).filter { $0.kind == kind }
    }

    deinit { try? FileManager.default.removeItem(atPath: self.folder) }

    /// Sends requests to the public routes.
    func withPublicClient<Result: Sendable>(
        logger: Logger? = nil, _ body: @Sendable (any TestClientProtocol) async throws -> Result
    ) async throws -> Result {
        try await Application(router: self.assembly.publicRouter(), logger: logger).test(.router) {
            try await body($0)
        }
    }

    /// Sends requests to the public routes, and gives the metadata of the requests' lines in the log.
    func requestLines(_ body: @Sendable (any TestClientProtocol) async throws -> Void) async throws -> [Logger.Metadata]
    {
        let (events, continuation) = AsyncStream.makeStream(of: LogEvent.self)
        let application = Application(
            router: self.assembly.publicRouter(),
            logger: Logger(label: "test") { _ in HandedLog(lines: continuation) })
        try await application.test(.router) { try await body($0) }
        continuation.finish()
        var lines: [Logger.Metadata] = []
        for await event in events {
            if let metadata = event.metadata, metadata["status"] != nil { lines.append(metadata) }
        }
        return lines
    }

    /// Sends requests to the administration's socket routes.
    func withSocketClient<Result: Sendable>(
        logger: Logger? = nil, _ body: @Sendable (any TestClientProtocol) async throws -> Result
    ) async throws -> Result {
        try await Application(router: self.assembly.socketRouter(), logger: logger).test(.router) {
            try await body($0)
        }
    }
}

extension TestClientProtocol {
    /// Sends a JSON object and gives the answer and its object.
    func send(
        _ method: HTTPRequest.Method, _ path: String, _ body: JSONObject? = nil, headers: HTTPFields = [:]
    ) async throws -> (response: TestResponse, object: JSONObject) {
        var headers = headers
        if body != nil, headers[.contentType] == nil { headers[.contentType] = "application/json" }
        let response = try await self.execute(
            uri: path, method: method, headers: headers,
            body: body.map { ByteBuffer(bytes: JSON.object($0).serialized) })
        // The documents that the server makes of its own addresses are deeper and longer than any message.
        let limits = JSONLimits(bytes: 1024 * 1024, depth: 24, values: 100_000)
        guard case .object(let object)? = try? JSON(parsing: Array(response.body.readableBytesView), limits: limits)
        else {
            return (response, [:])
        }
        return (response, object)
    }

    /// What userinfo says to whoever has an access token.
    func userinfo(_ access: String) async throws -> (response: TestResponse, object: JSONObject) {
        try await self.send(.get, "/oauth2/userinfo", headers: [.authorization: "Bearer \(access)"])
    }
}

extension PasswordLimits {
    /// Hashes that cost next to nothing, so that tests of what is around them are quick.
    static var cheap: PasswordLimits {
        var limits = PasswordLimits()
        limits.hashing = Argon2Parameters(memoryKiB: 64, passes: 1, lanes: 1)
        limits.niceness = 0
        return limits
    }
}
