import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Synchronization
import Testing
import _Primitives

/// A client's address, as far as this server can tell: it notes what it is sent, and answers as the test has it.
final class TestCalls: OutgoingCalls {
    private let state = Mutex<(calls: [OutgoingCall], answer: Result<OutgoingAnswer, OutgoingCallError>)>(
        ([], .success(OutgoingAnswer(status: 200, body: []))))

    var calls: [OutgoingCall] { self.state.withLock { $0.calls } }

    func answer(_ answer: Result<OutgoingAnswer, OutgoingCallError>) { self.state.withLock { $0.answer = answer } }

    func answer(_ status: Int, _ body: String = "", keeping: Duration? = nil) {
        self.answer(.success(OutgoingAnswer(status: status, body: Array(body.utf8), mayBeKept: keeping)))
    }

    func send(_ call: OutgoingCall) async throws -> OutgoingAnswer {
        try self.state.withLock { state in
            state.calls.append(call)
            return state.answer
        }.get()
    }
}

@Suite("OpenID Connect Back-Channel Logout 1.0, sections 2.4 to 2.6: clients are told that a session has ended (F129)")
struct BackchannelLogoutTests {
    private static let address = "https://bank.example/backchannel"

    /// Has the fixture's client be told.
    private static func change(_ f: ProviderFixture, to address: String = Self.address) async throws {
        var change = ClientChange()
        change.logoutURI = address
        _ = try await f.provider.clients.change(f.bank.client.id, change)
    }

    private static func deliveries(
        _ f: ProviderFixture, _ calls: TestCalls, _ report: @escaping @Sendable (DeliveryFailure) -> Void = { _ in }
    ) -> Outbox {
        let deliveries = ClientDeliveries(
            f.provider.grants, calls: calls, statuses: { _, _ in [:] }, report: report)
        return Outbox(deliveries.entry, store: f.store, time: f.clock.source)
    }

    /// Delivers what is due.
    @discardableResult
    private static func run(_ deliveries: Outbox) async throws -> [OutboxResult] {
        var results: [OutboxResult] = []
        for delivery in try await deliveries.takeDue() { results.append(try await deliveries.deliver(delivery)) }
        return results
    }

    private static func token(_ call: OutgoingCall?) throws -> String {
        guard case .form(let form)? = call?.content else { throw OAuthError(.serverError, detail: "no form") }
        return try Parameters(parsing: form).required("logout_token")
    }

    @Test("the statement says which session of whom has ended, and nothing that an ID token says")
    func statement() async throws {
        try await ProviderFixture.run { f in
            try await Self.change(f)
            let given = try await f.tokens()
            let idToken = try f.claims(given.id, type: "JWT")
            f.clock.advance(.seconds(5))
            let answer = try await f.provider.sessions.logout(
                "id_token_hint=\(given.id)", session: given.session, confirmed: false)
            #expect(answer == .signedOut)
            let calls = TestCalls()
            #expect(try await Self.run(Self.deliveries(f, calls)) == [.delivered])
            let call = try #require(calls.calls.first)
            #expect(calls.calls.count == 1 && call.address == Self.address && call.authorization == nil)
            let claims = try f.claims(try Self.token(call), type: "logout+jwt")
            let now = f.clock.source.now()
            #expect(claims.issuer == ProviderFixture.issuer && claims.audience == [f.bank.client.id])
            #expect(claims.subject == idToken.subject && claims.subject != nil)
            #expect(claims.members["sid"] == idToken.members["sid"] && claims.members["sid"] != nil)
            #expect(claims.issuedAt == now && claims.expiration == now + .seconds(120))
            #expect(
                claims.members["events"]
                    == .object(["http://schemas.openid.net/event/backchannel-logout": .object([:])]))
            #expect(claims.members["nonce"] == nil && claims.members["jti"] != nil)
            #expect(
                Set(claims.members.members.map(\.name)) == [
                    "iss", "sub", "aud", "iat", "exp", "jti", "sid", "events",
                ])
            #expect(try await Self.run(Self.deliveries(f, calls)).isEmpty)
        }
    }

    @Test("it is signed with the algorithm of the client's ID tokens")
    func algorithm() async throws {
        try await ProviderFixture.run { f in
            try await Self.change(f)
            _ = try await f.provider.clients.change(f.bank.client.id, ClientChange(idTokenAlgorithm: .edDSA))
            _ = try await f.tokens()
            try await f.endSessions()
            let calls = TestCalls()
            try await Self.run(Self.deliveries(f, calls))
            let token = try UnverifiedJWS(compact: Self.token(calls.calls.first))
            #expect(token.header.algorithm == "EdDSA")
        }
    }

    @Test("a statement is no ID token: it is no hint")
    func isNoHint() async throws {
        try await ProviderFixture.run { f in
            try await Self.change(f)
            _ = try await f.tokens()
            try await f.endSessions()
            let calls = TestCalls()
            try await Self.run(Self.deliveries(f, calls))
            let statement = try Self.token(calls.calls.first)
            let next = try await f.signIn().session
            let answer = try await f.provider.sessions.logout(
                "id_token_hint=\(statement)", session: next, confirmed: false)
            #expect(answer == .askPerson(clientName: nil, fields: [:]))
            #expect(try await f.provider.sessions.session(next) != nil)
        }
    }

    @Test("whoever is down is told when they are up again, later each time, with a new statement each time")
    func retries() async throws {
        try await ProviderFixture.run { f in
            try await Self.change(f)
            _ = try await f.tokens()
            try await f.endSessions()
            let calls = TestCalls()
            calls.answer(.failure(OutgoingCallError("there is no connection to it")))
            let deliveries = Self.deliveries(f, calls)
            var pauses: [Duration] = []
            for pause in [5, 10, 20, 40, 80, 160, 320, 640, 900, 900] {
                #expect(try await Self.run(deliveries) == [.failed])
                f.clock.advance(.seconds(pause) - .milliseconds(1))
                #expect(try await Self.run(deliveries).isEmpty, "not before \(pause) s")
                f.clock.advance(.milliseconds(1))
                pauses.append(.seconds(pause))
            }
            calls.answer(204)
            #expect(try await Self.run(deliveries) == [.delivered])
            let statements = try calls.calls.map { try f.claimsAnyTime(Self.token($0)) }
            #expect(Set(try statements.map { try $0.requiredString("jti") }).count == 11)
            #expect(try Set(statements.map { try $0.requiredString("sid") }).count == 1)
            let times = try statements.compactMap { try $0.integer("iat", as: Int64.self) }
            #expect(zip(times.dropFirst(), times).map { .seconds($0 - $1) } == pauses)
            #expect(try await f.store.waitingMessages(to: .client).count == 0)
        }
    }

    @Test("every status but success is tried again", arguments: [100, 199, 300, 302, 400, 404, 500, 503])
    func statuses(status: Int) async throws {
        try await ProviderFixture.run { f in
            try await Self.change(f)
            _ = try await f.tokens()
            try await f.endSessions()
            let calls = TestCalls()
            calls.answer(status)
            let failures = Mutex<[DeliveryFailure]>([])
            #expect(
                try await Self.run(Self.deliveries(f, calls) { failure in failures.withLock { $0.append(failure) } })
                    == [.failed])
            #expect(failures.withLock { $0.map(\.reason) } == ["it answers \(status)"])
            #expect(try await f.store.waitingMessages(to: .client).count == 1)
        }
    }

    @Test("after a day it is given up, which the log and the trail say; of each client the log tells once a minute")
    func givingUp() async throws {
        try await ProviderFixture.run { f in
            try await Self.change(f)
            for _ in 0..<2 { _ = try await f.tokens() }
            try await f.endSessions()
            let calls = TestCalls()
            calls.answer(500)
            let failures = Mutex<[DeliveryFailure]>([])
            let deliveries = Self.deliveries(f, calls) { failure in failures.withLock { $0.append(failure) } }
            #expect(try await Self.run(deliveries) == [.failed, .failed])
            #expect(failures.withLock { $0.map(\.isGivenUp) } == [false])
            f.clock.advance(.seconds(24 * 60 * 60) - .seconds(11))
            #expect(try await Self.run(deliveries) == [.failed, .failed])
            f.clock.advance(.seconds(10))
            #expect(try await Self.run(deliveries) == [.givenUp, .givenUp])
            let told = failures.withLock { $0 }
            #expect(told.map(\.isGivenUp) == [false, false, true, true])
            #expect(told.allSatisfy { $0.client == f.bank.client.id && $0.reason == "it answers 500" })
            let trail = try await f.store.auditEntries(after: 0, limit: 99).map(\.event)
                .filter { $0.kind.rawValue == "logout-undelivered" }
            #expect(trail.map(\.actor) == [f.bank.client.id, f.bank.client.id])
            #expect(try await f.store.waitingMessages(to: .client).count == 0)
        }
    }

    @Test("a node that is killed with a delivery in its hands loses nothing, and no two deliver at once")
    func leases() async throws {
        try await ProviderFixture.run { f in
            try await Self.change(f)
            _ = try await f.tokens()
            try await f.endSessions()
            let calls = TestCalls()
            let (first, second) = (Self.deliveries(f, calls), Self.deliveries(f, calls))
            #expect(try await first.takeDue().count == 1)
            // The first is never heard of again.
            #expect(try await Self.run(second).isEmpty)
            f.clock.advance(Limits().oauth.deliveryLease)
            #expect(try await Self.run(second) == [.delivered])
            #expect(calls.calls.count == 1)
        }
    }

    @Test("a client is told where it is registered at the time, and not at all without an address")
    func addresses() async throws {
        try await ProviderFixture.run { f in
            let calls = TestCalls()
            let elsewhere = "https://bank.example/elsewhere"
            for (address, called) in [(elsewhere, [elsewhere]), ("", [elsewhere])] {
                try await Self.change(f)
                _ = try await f.tokens()
                try await f.endSessions()
                try await Self.change(f, to: address)
                #expect(try await Self.run(Self.deliveries(f, calls)) == [.delivered])
                #expect(calls.calls.map(\.address) == called)
                #expect(try await f.store.waitingMessages(to: .client).count == 0)
            }
        }
    }

    @Test("a client that does not answer keeps its own waiting, and nobody else")
    func shares() async throws {
        try await ProviderFixture.run { f in
            try await Self.change(f)
            let shop = try await f.provider.clients.register(
                name: "Shop", redirectURIs: [ProviderFixture.address],
                settings: ClientSettings(idTokenAlgorithm: .es256))
            for _ in 0..<Limits().oauth.deliveriesAtOncePerClient + 2 { _ = try await f.tokens() }
            try await f.endSessions()
            let calls = TestCalls()
            let deliveries = Self.deliveries(f, calls)
            var slow = try await deliveries.takeDue()
            #expect(slow.count == Limits().oauth.deliveriesAtOncePerClient)
            #expect(try await deliveries.takeDue().isEmpty, "its turn is not over")
            var change = ClientChange()
            change.logoutURI = "https://shop.example/out"
            _ = try await f.provider.clients.change(shop.client.id, change)
            let signedIn = try await f.signIn(["client_id": shop.client.id])
            _ = try await f.provider.sessions.logout("", session: signedIn.session, confirmed: true)
            #expect(try await Self.run(deliveries) == [.delivered])
            #expect(calls.calls.map(\.address) == ["https://shop.example/out"])
            #expect(try await deliveries.deliver(slow.removeLast()) == .delivered)
            #expect(try await Self.run(deliveries) == [.delivered], "as soon as one place is free")
            for delivery in slow { #expect(try await deliveries.deliver(delivery) == .delivered) }
            #expect(try await Self.run(deliveries) == [.delivered])
        }
    }

    @Test("a lasting grant outlives the logout that its client is told of")
    func lastingGrants() async throws {
        try await ProviderFixture.run { f in
            let mail = try await f.provider.clients.register(
                name: "Mail", redirectURIs: [ProviderFixture.address],
                settings: ClientSettings(idTokenAlgorithm: .es256, grantTypes: ["authorization_code", "refresh_token"]))
            var change = ClientChange()
            change.logoutURI = Self.address
            _ = try await f.provider.clients.change(mail.client.id, change)
            let signedIn = try await f.signIn(["client_id": mail.client.id, "scope": "openid offline_access"])
            let body = try #require(
                try await f.provider.grants.answer(header: f.basic(mail), body: f.form(signedIn.code)).body)
            _ = try await f.provider.sessions.logout("", session: signedIn.session, confirmed: true)
            let calls = TestCalls()
            #expect(try await Self.run(Self.deliveries(f, calls)) == [.delivered])
            let form: Parameters = [
                "grant_type": "refresh_token", "refresh_token": try body.requiredString("refresh_token"),
            ]
            #expect(try await f.provider.grants.answer(header: f.basic(mail), body: form.encoded).status == 200)
        }
    }

    @Test("where a client can be told is checked, kept, changed, taken away, and in the trail")
    func settings() async throws {
        try await ProviderFixture.run { f in
            for wrong in [
                "http://bank.example/out", "https://bank.example/out#a", "bank.example", "com.example.app:/out",
                "https://a@bank.example/", "ftp://bank.example/",
            ] {
                await #expect(throws: OAuthError(.invalidRequest)) { try await Self.change(f, to: wrong) }
            }
            #expect(try await f.provider.clients.client(f.bank.client.id)?.settings.logout == nil)
            for right in [Self.address, "http://127.0.0.1:8081/out?a=b"] {
                try await Self.change(f, to: right)
                #expect(try await f.provider.clients.client(f.bank.client.id)?.settings.logout?.text == right)
            }
            var change = ClientChange()
            change.logoutNeedsSession = true
            #expect(
                try await f.provider.clients.change(f.bank.client.id, change)?.settings.logout?.needsSession == true)
            try await Self.change(f, to: "")
            #expect(try await f.provider.clients.client(f.bank.client.id)?.settings.logout == nil)
            let trail = try await f.store.auditEntries(after: 0, limit: 99).map(\.event)
                .filter { $0.kind == .clientLogoutChanged }
            #expect(trail.count == 4 && trail.allSatisfy { $0.detail == f.bank.client.id })
            #expect(f.provider.discovery["backchannel_logout_supported"] == .bool(true))
            #expect(f.provider.discovery["backchannel_logout_session_supported"] == .bool(true))
        }
    }
}

extension ProviderFixture {
    /// The claims of a token of whatever age, unverified.
    func claimsAnyTime(_ compact: String) throws -> JSONObject {
        let payload = compact.split(separator: ".").dropFirst().first.flatMap { Base64URL.decode(String($0)) }
        guard case .object(let object) = try JSON(parsing: payload ?? []) else { return [:] }
        return object
    }
}
