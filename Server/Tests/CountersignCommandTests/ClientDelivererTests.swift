import CountersignServer
import Endpoints
import Foundation
import HTTPTypes
import Hummingbird
import JOSE
import Logging
import NIOCore
import OAuth
import OAuthProvider
import Records
import SQLStore
import ServiceLifecycle
import Settings
import Synchronization
import Testing
import _Primitives

@testable import CountersignCommand

/// Hands on what is logged.
struct HandedLog: LogHandler {
    let lines: AsyncStream<String>.Continuation
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        self.lines.yield("\(event.message) \(event.metadata?["reason"].map { "\($0)" } ?? "")")
    }
}

@Suite(
    "OpenID Connect Back-Channel Logout 1.0, over real sockets: a service that was down is told when it is up (F129)",
    .timeLimit(.minutes(10)))
struct ClientDelivererTests {
    /// A store of its own, with a person who is signed in to a service that wants to be told at `address`.
    private static func signedIn(_ store: OpenStore, _ assembly: ServerAssembly, at address: String) async throws
        -> String
    {
        let now = TimeSource.system.now()
        let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: now)
        try await store.database.createAccount(
            AccountRecord(id: "alice", username: AccountName(stored: "alice"), displayName: nil, createdAt: now),
            audit: event)
        var settings = ClientSettings(idTokenAlgorithm: .es256)
        settings.logout = ClientSettings.LogoutAddress(address)
        let client = try await assembly.provider.clients.register(
            name: "Bank", redirectURIs: ["https://bank.example/"], settings: settings
        ).client.id
        let subject = assembly.provider.keys.subject(ofAccount: "alice", client: client)
        let digest = [UInt8](repeating: 1, count: 32)
        let authentication = AuthenticationRecord(
            id: "authentication", account: "alice", method: "phone", at: now, acr: "a", amr: [])
        let session = SessionRecord(
            id: "session", cookieDigest: digest, authentications: [authentication], usedAt: now,
            expiresAt: now + .seconds(600))
        let request = AuthorizationRequestRecord(
            id: "request", browserDigest: digest, client: client, redirectURI: "https://bank.example/", scope: "openid",
            state: nil, nonce: nil, codeChallenge: digest, expiresAt: now + .seconds(60))
        try await store.database.addRequest(request)
        try await store.database.complete(
            CompletedAuthorization(
                request: "request", session: session,
                grant: GrantRecord(
                    id: "grant", client: client, subject: subject, authentication: "authentication", session: "session",
                    scope: "openid", expiresAt: now + .seconds(60)),
                code: CodeRecord(
                    digest: digest, redirectURI: "https://bank.example/", nonce: nil, challenge: digest,
                    expiresAt: now + .seconds(60))), replacing: nil)
        return subject
    }

    @Test("nothing is lost between a sign-out and its delivery, though the server and the service stop in between")
    func downAtFirst() async throws {
        let folder = "/tmp/countersign-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var limits = Limits()
        (limits.oauth.deliveryInterval, limits.oauth.deliveryRetryPause) = (.milliseconds(10), .milliseconds(10))
        limits.oauth.longestDeliveryRetryPause = .milliseconds(50)
        let quick = limits
        func open() throws -> OpenStore {
            try OpenStore(
                folder: DataFolder(path: folder + "/data"), keyFile: KeyFile(path: folder + "/key"), limits: quick)
        }
        func assembly(_ store: OpenStore, _ metrics: ServerMetrics = ServerMetrics()) async throws -> ServerAssembly {
            var configuration = ServerAssembly.Configuration(
                issuer: "http://localhost:8080", facets: [], limits: quick)
            configuration.calls = CheckedCalls(mayCallLoopback: true, limits: quick)
            configuration.metrics = metrics
            return try await store.assembly(configuration)
        }
        // A port that was free a moment ago, and at which nobody listens now.
        let port = try await CalledService.run(answer: { _, _ in Response(status: .ok) }) { $0 }
        let before = try open()
        let first = try await assembly(before)
        let subject = try await Self.signedIn(before, first, at: "http://127.0.0.1:\(port)/told")
        #expect(try await first.provider.sessions.endAll(ofAccount: "alice", by: "root") == 1)
        await before.database.close()

        let store = try open()
        let metrics = ServerMetrics()
        let second = try await assembly(store, metrics)
        let (lines, writing) = AsyncStream.makeStream(of: String.self)
        let logger = Logger(label: "test") { _ in HandedLog(lines: writing) }
        let deliverer = OutboxService(second, [.client], logger: logger)
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(services: [deliverer], logger: Logger(label: "quiet")))
        async let running: Void = group.run()
        let failed = await lines.first { $0.hasPrefix("A service could not be told") }
        #expect(failed != nil)
        let (arrivals, arriving) = AsyncStream.makeStream(of: String.self)
        let form = try await CalledService.run(
            port: port,
            answer: { request, body in
                arriving.yield("\(request.method) \(request.uri) \(String(buffer: body))")
                return Response(status: .ok)
            }
        ) { _ in
            let form = await arrivals.first { _ in true }
            // What the service has said is written down before anything ends.
            while try await store.database.waitingMessages(to: .client).count > 0 { await Task.yield() }
            return form
        }
        let token = try #require(form?.split(separator: "logout_token=").last.map(String.init))
        #expect(form?.hasPrefix("POST /told ") == true)
        let keys = try JWKSet(parsing: JSON.object(second.provider.keys.keySet).serialized)
        let verified = try UnverifiedJWS(compact: token).verified(by: keys, allowing: [.es256])
        #expect(verified.header.hasType("logout+jwt"))
        #expect(try JWTClaims(verified).subject == subject)
        await group.triggerGracefulShutdown()
        try await running
        #expect(try await store.database.waitingMessages(to: .client).count == 0)
        let text = metrics.registry.text
        #expect(text.contains(#"countersign_outbox_messages_total{channel="client",result="failed"}"#))
        #expect(text.contains(#"countersign_outbox_messages_total{channel="client",result="delivered"} 1"#))
        await store.database.close()
    }

    /// Has a client asked alice, who has answered. Of a number past 0 it is the client of before.
    private static func answered(
        _ store: OpenStore, _ assembly: ServerAssembly, at address: String, number: Int = 0
    ) async throws {
        let now = TimeSource.system.now()
        let (ceremony, request) = number == 0 ? ("ceremony", "request") : ("ceremony-\(number)", "request-\(number)")
        var settings = ClientSettings(idTokenAlgorithm: .es256, grantTypes: ["urn:openid:params:grant-type:ciba"])
        settings.answers = ClientSettings.AnswerDelivery(.ping, at: address)
        var client = try await assembly.provider.clients.all().first { $0.name == "Call Centre" }?.id ?? ""
        if client.isEmpty {
            client = try await assembly.provider.clients.register(
                name: "Call Centre", redirectURIs: ["https://calls.example/"], settings: settings
            ).client.id
        }
        let end = now + .seconds(300)
        try await store.database.createCeremony(
            CeremonyRecord(
                id: ceremony, kind: .authentication, clientID: client, reference: request, accountID: "alice",
                createdAt: now, expiresAt: end, detail: CeremonyDetail()), tokens: [], audit: nil)
        try await store.database.addBackchannelRequest(
            BackchannelRequestRecord(
                id: request, digest: [UInt8](repeating: UInt8(number + 1), count: 32), client: client, scope: "openid",
                interval: .seconds(5), expiresAt: end,
                notification: BackchannelNotification(mode: .ping, secret: "the-request", token: "the-token")),
            keptUntil: end)
        _ = try await store.database.change(.reference(request)) { record in
            record.phase = .ended
            return CeremonyChange()
        }
    }

    @Test("a redirect is not followed, what comes back is not read, and the client is told in the end (F127)")
    func pinged() async throws {
        let folder = "/tmp/countersign-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var limits = Limits()
        (limits.oauth.deliveryInterval, limits.oauth.deliveryRetryPause) = (.milliseconds(10), .milliseconds(10))
        let store = try OpenStore(
            folder: DataFolder(path: folder + "/data"), keyFile: KeyFile(path: folder + "/key"), limits: limits)
        var configuration = ServerAssembly.Configuration(issuer: "http://localhost:8080", facets: [], limits: limits)
        configuration.calls = CheckedCalls(mayCallLoopback: true, limits: limits)
        let assembly = try await store.assembly(configuration)
        let deliverer = OutboxService(assembly, [.client], logger: Logger(label: "quiet"))
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(services: [deliverer], logger: Logger(label: "quiet")))
        let arrivals = Mutex<[String]>([])
        try await CalledService.run(
            answer: { request, body in
                let count = arrivals.withLock { arrivals in
                    arrivals.append(
                        "\(request.method) \(request.uri) \(request.headers[.authorization] ?? "") \(request.headers[.contentType] ?? "") \(String(buffer: body))"
                    )
                    return arrivals.count
                }
                if count == 1 { return Response(status: .temporaryRedirect, headers: [.location: "/elsewhere"]) }
                // Longer than anything that is read.
                let long = ByteBuffer(repeating: UInt8(ascii: "x"), count: 4 << 20)
                return Response(status: .ok, body: ResponseBody(byteBuffer: long))
            }
        ) { port in
            try await Self.answered(store, assembly, at: "http://127.0.0.1:\(port)/told")
            async let running: Void = group.run()
            while try await store.database.waitingMessages(to: .client).count > 0 { await Task.yield() }
            await group.triggerGracefulShutdown()
            try await running
        }
        let told = #"POST /told Bearer the-token application/json {"auth_req_id":"the-request"}"#
        #expect(arrivals.withLock { $0 } == [told, told])
        #expect(try await store.database.waitingMessages(to: .client).count == 0)
        await store.database.close()
    }

    /// A client that answers at once, and notes how many calls were under way.
    private final class QuickClient: OutgoingCalls {
        private let state = Mutex((now: 0, most: 0, count: 0))
        var most: Int { self.state.withLock { $0.most } }
        var count: Int { self.state.withLock { $0.count } }

        func send(_ call: OutgoingCall) async throws -> OutgoingAnswer {
            self.state.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.count + 1) }
            defer { self.state.withLock { $0.now -= 1 } }
            await Task.yield()
            return OutgoingAnswer(status: 204, body: [])
        }
    }

    @Test(
        "what waits for a client is told as soon as a place is free, and not at the next look", .timeLimit(.minutes(10))
    )
    func goesOn() async throws {
        let folder = "/tmp/countersign-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var limits = Limits()
        // There is no second look within this test.
        limits.oauth.deliveryInterval = .seconds(60 * 60)
        let store = try OpenStore(
            folder: DataFolder(path: folder + "/data"), keyFile: KeyFile(path: folder + "/key"), limits: limits)
        let calls = QuickClient()
        var configuration = ServerAssembly.Configuration(issuer: "http://localhost:8080", facets: [], limits: limits)
        configuration.calls = calls
        let assembly = try await store.assembly(configuration)
        for number in 0..<60 {
            try await Self.answered(store, assembly, at: "https://calls.example/told", number: number)
        }
        let deliverer = OutboxService(assembly, [.client], logger: Logger(label: "quiet"))
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(services: [deliverer], logger: Logger(label: "quiet")))
        async let running: Void = group.run()
        while try await store.database.waitingMessages(to: .client).count > 0, !Task.isCancelled { await Task.yield() }
        await group.triggerGracefulShutdown()
        try await running
        #expect(calls.count == 60)
        #expect(calls.most <= limits.oauth.deliveriesAtOncePerClient)
        await store.database.close()
    }
}
