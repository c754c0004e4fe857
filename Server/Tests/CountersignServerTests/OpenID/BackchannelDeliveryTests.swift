import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Synchronization
import Testing
import _Primitives

/// A client's address: it notes what it is sent, and answers as the test has it.
private final class NotedCalls: OutgoingCalls {
    private let state = Mutex<(calls: [OutgoingCall], status: Int?)>(([], 204))
    private let keySet = Mutex<(address: String, text: String?)?>(nil)
    private let interruption = Mutex<(@Sendable () async throws -> Void)?>(nil)

    var calls: [OutgoingCall] { self.state.withLock { $0.calls } }

    /// Answers with this status from now on, or not at all.
    func answer(_ status: Int?) { self.state.withLock { $0.status = status } }

    /// Has the client's keys at an address from now on; `nil` where that is not reached.
    func publish(_ keySet: String?, at address: String) { self.keySet.withLock { $0 = (address, keySet) } }

    /// Does something before the client's keys are handed out.
    func beforeKeys(_ interruption: @escaping @Sendable () async throws -> Void) {
        self.interruption.withLock { $0 = interruption }
    }

    func send(_ call: OutgoingCall) async throws -> OutgoingAnswer {
        if let published = self.keySet.withLock({ $0 }), published.address == call.address {
            try await self.interruption.withLock { $0 }?()
            guard let text = published.text else { throw OutgoingCallError("there is no connection to it") }
            return OutgoingAnswer(status: 200, body: Array(text.utf8))
        }
        return try self.state.withLock { state in
            state.calls.append(call)
            guard let status = state.status else { throw OutgoingCallError("there is no connection to it") }
            return OutgoingAnswer(status: status, body: Array("{\"not\": \"read\"".utf8))
        }
    }
}

/// A call centre that is told what people answer.
private struct ToldCentre: Sendable {
    static let address = "https://calls.example/answers"
    static let token = "8d67dc78-7faa-4d41-aabd-67707b374255"

    let centre: CallCentre
    let phone: VirtualPhone
    let calls: NotedCalls
    let failures: FailureList
    let outbox: Outbox

    final class FailureList: Sendable {
        private let list = Mutex<[DeliveryFailure]>([])
        var all: [DeliveryFailure] { self.list.withLock { $0 } }
        func note(_ failure: DeliveryFailure) { self.list.withLock { $0.append(failure) } }
    }

    var server: ServerFixture { self.centre.server }

    static func run(
        _ mode: ClientSettings.AnswerDelivery.Mode, detailTypes: [String] = [],
        _ test: @escaping @Sendable (ToldCentre) async throws -> Void
    ) async throws {
        let calls = NotedCalls()
        let server = try await ServerFixture(calls: calls)
        try await server.withPublicClient { client in
            let centre = try await CallCentre(
                server, client, answers: ClientSettings.AnswerDelivery(mode, at: Self.address),
                detailTypes: detailTypes)
            let failures = FailureList()
            try await test(
                ToldCentre(
                    centre: centre, phone: try await server.enrolledPhone(client), calls: calls, failures: failures,
                    outbox: Self.outbox(server, calls, failures)))
        }
    }

    /// Another node over the same store.
    static func outbox(_ server: ServerFixture, _ calls: NotedCalls, _ failures: FailureList) -> Outbox {
        let deliveries = ClientDeliveries(
            server.assembly.provider.grants, calls: calls, statuses: { _, _ in [:] }, report: { failures.note($0) })
        return Outbox(deliveries.entry, store: server.database, time: server.clock.timeSource)
    }

    func begin(_ changes: [String: String?] = [:]) async throws -> String {
        try await self.centre.begin(["client_notification_token": Self.token].merging(changes) { $1 })
    }

    /// Delivers what is due.
    @discardableResult func deliver() async throws -> [OutboxResult] {
        var results: [OutboxResult] = []
        for message in try await self.outbox.takeDue() { results.append(try await self.outbox.deliver(message)) }
        return results
    }

    /// What the client was told last.
    func told() throws -> JSONObject {
        let call = try #require(self.calls.calls.last)
        #expect(call.address == Self.address && call.authorization == "Bearer \(Self.token)")
        guard case .json(let bytes) = call.content, case .object(let object) = try JSON(parsing: bytes) else {
            throw OAuthError(.serverError, detail: "no object")
        }
        return object
    }

    /// Has the person say no.
    func deny() async throws {
        let link = try #require(try await self.centre.questions(self.phone).first).requiredString("link")
        self.phone.person.script.reactions[.pin] = .cancels
        self.phone.person.script.reactions[.authenticator] = .cancels
        _ = try? await self.phone.authenticate(try OutOfBandPayload(link: link))
    }

    /// The claims of a token that this server signed.
    func claims(_ token: String) throws -> JSONObject {
        let keys = try JWKSet(parsing: JSON.object(self.server.assembly.provider.keys.keySet).serialized)
        return try JWTClaims(UnverifiedJWS(compact: token).verified(by: keys, allowing: [.es256])).members
    }

    func userinfo(_ access: String) async throws -> HTTPResponse.Status {
        try await self.centre.client.send(.get, "/oauth2/userinfo", headers: [.authorization: "Bearer \(access)"])
            .response.status
    }

    static func halfHash(_ text: String) -> JSON {
        .string(Base64URL.encode(Array(SHA256.hash(data: Data(text.utf8)).prefix(16))))
    }
}

@Suite(
    "OpenID Connect CIBA Core 1.0, sections 10.2, 10.3 and 12: clients that are told what people answer (parity F127)")
struct BackchannelDeliveryTests {
    private static let claim = "urn:openid:params:jwt:claim:"

    // MARK: Ping

    @Test("a client that is pinged is told once that there is an answer, with its token, and asks then")
    func ping() async throws {
        try await ToldCentre.run(.ping) { told in
            let answer = try await told.centre.ask(["client_notification_token": ToldCentre.token])
            #expect(answer.object["interval"] == .integer(5))
            let request = try answer.object.requiredString("auth_req_id")
            #expect(try await told.centre.error(request) == "authorization_pending", "it may ask all the same")
            #expect(try await told.deliver().isEmpty, "nothing to be told yet")
            try await told.centre.answer(told.phone)
            #expect(try await told.deliver() == [.delivered])
            #expect(try told.told() == ["auth_req_id": .string(request)])
            #expect(try await told.centre.pollInTime(request)["access_token"] != nil)
            told.server.clock.advance(by: .seconds(3600))
            #expect(try await told.deliver().isEmpty && told.calls.calls.count == 1)
        }
    }

    @Test("a no is told as a yes is, and so is the end")
    func pingOfOthers() async throws {
        try await ToldCentre.run(.ping) { told in
            let denied = try await told.begin()
            try await told.deny()
            #expect(try await told.deliver() == [.delivered])
            #expect(try told.told() == ["auth_req_id": .string(denied)])
            #expect(try await told.centre.error(denied) == "access_denied")
            // Of somebody whom nobody is no more is told.
            for name in ["alice", "nobody"] {
                let ended = try await told.begin(["login_hint": name])
                told.server.clock.advance(by: .seconds(300))
                _ = try await told.server.assembly.ceremonies.sweep.run()
                #expect(try await told.deliver() == [.delivered])
                #expect(try told.told() == ["auth_req_id": .string(ended)])
                #expect(try await told.centre.error(ended) == "expired_token")
            }
        }
    }

    // MARK: Push

    @Test("a client that is pushed to is told the tokens, and asks for none")
    func push() async throws {
        try await ToldCentre.run(.push) { told in
            let answer = try await told.centre.ask([
                "client_notification_token": ToldCentre.token, "scope": "openid profile offline_access",
            ])
            #expect(Set(answer.object.members.map(\.name)) == ["auth_req_id", "expires_in"])
            let request = try answer.object.requiredString("auth_req_id")
            #expect(try await told.centre.error(request) == "unauthorized_client")
            try await told.centre.answer(told.phone)
            #expect(try await told.centre.error(request) == "unauthorized_client")
            #expect(try await told.deliver() == [.delivered])
            let tokens = try told.told()
            let (access, refresh) = (
                try tokens.requiredString("access_token"), try tokens.requiredString("refresh_token")
            )
            #expect(
                Set(tokens.members.map(\.name)) == [
                    "auth_req_id", "access_token", "token_type", "expires_in", "refresh_token", "id_token", "scope",
                ])
            #expect(tokens["auth_req_id"] == .string(request) && tokens["token_type"] == .string("Bearer"))
            let claims = try told.claims(tokens.requiredString("id_token"))
            #expect(claims["aud"] == .string(told.centre.id) && claims["sub"] != nil && claims["auth_time"] != nil)
            #expect(claims[Self.claim + "auth_req_id"] == .string(request))
            #expect(claims["at_hash"] == ToldCentre.halfHash(access))
            #expect(claims[Self.claim + "rt_hash"] == ToldCentre.halfHash(refresh))
            #expect(try await told.userinfo(access) == .ok)
            let renewed = try await told.centre.post(
                "/oauth2/token", ["grant_type": "refresh_token", "refresh_token": refresh])
            #expect(renewed.response.status == .ok)
            #expect(try await told.deliver().isEmpty && told.calls.calls.count == 1)
        }
    }

    @Test("without offline_access there is no refresh token, and nothing is said of one")
    func pushWithoutRefresh() async throws {
        try await ToldCentre.run(.push) { told in
            _ = try await told.begin()
            try await told.centre.answer(told.phone)
            try await told.deliver()
            let tokens = try told.told()
            #expect(tokens["refresh_token"] == nil)
            #expect(try told.claims(tokens.requiredString("id_token"))[Self.claim + "rt_hash"] == nil)
        }
    }

    @Test("a client that is switched off meanwhile is told nothing", arguments: ["ping", "push"])
    func switchedOff(mode: String) async throws {
        try await ToldCentre.run(try #require(ClientSettings.AnswerDelivery.Mode(rawValue: mode))) { told in
            _ = try await told.begin()
            try await told.centre.answer(told.phone)
            var change = ClientChange()
            change.isDisabled = true
            _ = try await told.server.assembly.provider.clients.change(told.centre.id, change)
            _ = try await told.deliver()
            #expect(told.calls.calls.isEmpty)
        }
    }

    @Test("what keeps a client from tokens it is told as well, by three words")
    func pushedErrors() async throws {
        try await ToldCentre.run(.push) { told in
            func error(_ request: String) async throws -> String? {
                #expect(try await told.deliver() == [.delivered])
                let object = try told.told()
                #expect(object["auth_req_id"] == .string(request) && object["access_token"] == nil)
                return try object.string("error")
            }
            let ended = try await told.begin()
            told.server.clock.advance(by: .seconds(300))
            _ = try await told.server.assembly.ceremonies.sweep.run()
            #expect(try await error(ended) == "expired_token")
            // Whoever authenticated before a lock is not let in after it.
            let failed = try await told.begin()
            try await told.centre.answer(told.phone)
            let account = try await told.server.assembly.directory.account(username: "alice").id
            let event = AuditEvent(
                AuditEvent.Kind(rawValue: "test"), at: told.server.clock.timeSource.now() + .seconds(1))
            for isLocked in [true, false] {
                _ = try await told.server.database.setAccountLocked(isLocked, id: account, audit: event)
            }
            #expect(try await error(failed) == "transaction_failed")
        }
        try await ToldCentre.run(.push) { told in
            let locked = try await told.begin()
            try await told.centre.answer(told.phone)
            let account = try await told.server.assembly.directory.account(username: "alice").id
            let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: Timestamp(seconds: 1))
            _ = try await told.server.database.setAccountLocked(true, id: account, audit: event)
            #expect(try await told.deliver() == [.delivered])
            #expect(try told.told()["error"] == .string("access_denied"))
            #expect(try told.told()["auth_req_id"] == .string(locked))
        }
        try await ToldCentre.run(.push) { told in
            let denied = try await told.begin()
            try await told.deny()
            #expect(try await told.deliver() == [.delivered])
            #expect(try told.told()["auth_req_id"] == .string(denied))
            #expect(try told.told()["error"] == .string("access_denied"))
        }
    }

    // MARK: When the client does not say that it was told

    @Test("where the keys that its tokens are encrypted to cannot be fetched, nothing is given up: it is told later")
    func unreachableKeys() async throws {
        try await ToldCentre.run(.push) { told in
            let keys = "https://calls.example/keys"
            told.calls.publish(nil, at: keys)
            var change = ClientChange(tokens: TokenSettingsChange(idTokenEncryption: .on(IDTokenEncryption(.ecdhES))))
            change.keySetAddress = keys
            _ = try await told.server.assembly.provider.clients.change(told.centre.id, change)
            _ = try await told.begin()
            try await told.centre.answer(told.phone)
            #expect(try await told.deliver() == [.failed])
            #expect(told.calls.calls.isEmpty, "it is told nothing wrong meanwhile")
            let own = P256.KeyAgreement.PrivateKey()
            let point = Array(own.publicKey.rawRepresentation)
            var key = try JWK(
                .p256(x: Array(point[..<32]), y: Array(point[32...]), d: Array(own.rawRepresentation)))
            key.use = "enc"
            told.calls.publish(JSON.object(JWKSet([key]).publicJSON).text, at: keys)
            told.server.clock.advance(by: .seconds(60))
            #expect(try await told.deliver() == [.delivered])
            _ = try JWE(
                opening: try told.told().requiredString("id_token"), with: key, allowing: [.ecdhES],
                encryptions: [.a128CBCHS256])
            #expect(try await told.userinfo(try told.told().requiredString("access_token")) == .ok)
        }
    }

    @Test("an account that is locked while the client's keys are fetched has no tokens pushed at a further try")
    func lockedMeanwhile() async throws {
        try await ToldCentre.run(.push) { told in
            let own = P256.KeyAgreement.PrivateKey()
            let point = Array(own.publicKey.rawRepresentation)
            var key = try JWK(.p256(x: Array(point[..<32]), y: Array(point[32...]), d: Array(own.rawRepresentation)))
            key.use = "enc"
            func publish(at address: String) async throws {
                told.calls.publish(JSON.object(JWKSet([key]).publicJSON).text, at: address)
                var change = ClientChange(
                    tokens: TokenSettingsChange(idTokenEncryption: .on(IDTokenEncryption(.ecdhES))))
                change.keySetAddress = address
                _ = try await told.server.assembly.provider.clients.change(told.centre.id, change)
            }
            try await publish(at: "https://calls.example/keys")
            _ = try await told.begin()
            try await told.centre.answer(told.phone)
            told.calls.answer(500)
            #expect(try await told.deliver() == [.failed])
            // The keys of the further try are at another address, so that they are fetched again.
            try await publish(at: "https://calls.example/next-keys")
            let account = try await told.server.assembly.directory.account(username: "alice").id
            let database = told.server.database
            told.calls.beforeKeys {
                let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: Timestamp(seconds: 1))
                _ = try await database.setAccountLocked(true, id: account, audit: event)
            }
            told.calls.answer(200)
            told.server.clock.advance(by: .seconds(60))
            #expect(try await told.deliver() == [.delivered])
            #expect(try told.told()["error"] == .string("transaction_failed"))
            #expect(try told.told()["access_token"] == nil && told.told()["id_token"] == nil)
        }
    }

    @Test("401 and 403 end it at once, and nobody has what was pushed", arguments: [401, 403], ["ping", "push"])
    func refused(status: Int, mode: String) async throws {
        try await ToldCentre.run(mode == "ping" ? .ping : .push) { told in
            let request = try await told.begin()
            try await told.centre.answer(told.phone)
            told.calls.answer(status)
            #expect(try await told.deliver() == [.givenUp])
            told.server.clock.advance(by: .seconds(600))
            #expect(try await told.deliver().isEmpty && told.calls.calls.count == 1)
            let failure = try #require(told.failures.all.first)
            #expect(failure.isGivenUp && failure.reason == "it answers \(status)" && told.failures.all.count == 1)
            let trail = try await told.server.database.auditEntries(after: 0, limit: 99).map(\.event)
            #expect(trail.filter { $0.kind.rawValue == "answer-undelivered" }.map(\.actor) == [told.centre.id])
            if mode == "push" {
                #expect(try await told.userinfo(try told.told().requiredString("access_token")) == .unauthorized)
            } else {
                #expect(try told.told() == ["auth_req_id": .string(request)])
            }
        }
    }

    @Test("a client that is pinged can ask all the same, where it could not be told")
    func asksInstead() async throws {
        try await ToldCentre.run(.ping) { told in
            let request = try await told.begin()
            try await told.centre.answer(told.phone)
            told.calls.answer(401)
            try await told.deliver()
            #expect(try await told.centre.poll(request)["access_token"] != nil)
        }
    }

    @Test(
        "whatever else comes back is tried again, later each time, of one grant and with one refresh token",
        arguments: [nil, 302, 307, 400, 404, 429, 500, 503])
    func retries(status: Int?) async throws {
        try await ToldCentre.run(.push) { told in
            _ = try await told.begin(["scope": "openid profile offline_access"])
            try await told.centre.answer(told.phone)
            told.calls.answer(status)
            #expect(try await told.deliver() == [.failed])
            told.server.clock.advance(by: .milliseconds(4999))
            #expect(try await told.deliver().isEmpty, "not before five seconds")
            told.server.clock.advance(by: .milliseconds(1))
            #expect(try await told.deliver() == [.failed])
            let before = try told.told()
            told.calls.answer(200)
            told.server.clock.advance(by: .seconds(10))
            #expect(try await told.deliver() == [.delivered])
            #expect(told.calls.calls.count == 3, "and nothing else was called")
            let tokens = try told.told()
            #expect(
                tokens["refresh_token"] == before["refresh_token"] && tokens["auth_req_id"] == before["auth_req_id"])
            for access in [before, tokens] {
                #expect(try await told.userinfo(access.requiredString("access_token")) == .ok)
            }
        }
    }

    @Test("who has used what was pushed has been told, whatever came back")
    func used() async throws {
        try await ToldCentre.run(.push) { told in
            _ = try await told.begin(["scope": "openid profile offline_access"])
            try await told.centre.answer(told.phone)
            told.calls.answer(nil)
            #expect(try await told.deliver() == [.failed])
            let refresh = try told.told().requiredString("refresh_token")
            let renewed = try await told.centre.post(
                "/oauth2/token", ["grant_type": "refresh_token", "refresh_token": refresh])
            told.server.clock.advance(by: .seconds(5))
            #expect(try await told.deliver() == [.delivered] && told.calls.calls.count == 1)
            #expect(try await told.userinfo(renewed.object.requiredString("access_token")) == .ok)
        }
    }

    @Test("it is tried as long as it is of use: a ping as long as the request is known, a push as long as its tokens")
    func givenUp() async throws {
        for (mode, seconds) in [(ClientSettings.AnswerDelivery.Mode.ping, 900), (.push, 300)] {
            try await ToldCentre.run(mode) { told in
                _ = try await told.begin()
                try await told.centre.answer(told.phone)
                told.calls.answer(500)
                #expect(try await told.deliver() == [.failed])
                told.server.clock.advance(by: .seconds(seconds - 11))
                #expect(try await told.deliver() == [.failed])
                told.server.clock.advance(by: .seconds(10))
                #expect(try await told.deliver() == [.givenUp])
                #expect(told.failures.all.last?.isGivenUp == true)
            }
        }
    }

    @Test("a node that is killed with an answer in its hands loses nothing")
    func killed() async throws {
        try await ToldCentre.run(.push) { told in
            let request = try await told.begin()
            try await told.centre.answer(told.phone)
            let first = ToldCentre.outbox(told.server, told.calls, told.failures)
            #expect(try await first.takeDue().count == 1)
            #expect(try await told.deliver().isEmpty, "it is another's")
            told.server.clock.advance(by: Limits().oauth.deliveryLease)
            #expect(try await told.deliver() == [.delivered])
            #expect(try told.told()["auth_req_id"] == .string(request))
        }
    }

    // MARK: Requests and settings

    @Test("a client that is told says by which token, which is one; a client that asks needs none")
    func notificationToken() async throws {
        try await ToldCentre.run(.ping) { told in
            for token in [nil, "", "two words", "a=b", "é", "=", String(repeating: "x", count: 1025)] {
                #expect(
                    try await told.centre.refusal(["client_notification_token": token]) == "invalid_request",
                    "\(token ?? "")")
            }
            for token in ["x", "a-._~+/Z9==", String(repeating: "x", count: 1024)] {
                _ = try await told.begin(["client_notification_token": token])
            }
            #expect(try await told.centre.questions(told.phone).count == 3)
        }
        try await ToldCentre.run(.poll) { told in
            _ = try await told.begin(["client_notification_token": nil])
            try await told.centre.answer(told.phone)
            #expect(try await told.deliver().isEmpty && told.calls.calls.isEmpty)
        }
    }

    @Test("neither what a client is told by nor what it asks by is anywhere to be read")
    func sealed() async throws {
        try await ToldCentre.run(.push) { told in
            let request = try await told.begin(["scope": "openid offline_access"])
            try await told.centre.answer(told.phone)
            told.calls.answer(500)
            try await told.deliver()
            let refresh = try told.told().requiredString("refresh_token")
            let secrets = [ToldCentre.token, request, refresh]
            #expect(told.failures.all.count == 1)
            let folder = told.server.folder
            var read = 0
            for file in try FileManager.default.subpathsOfDirectory(atPath: folder) {
                guard let bytes = FileManager.default.contents(atPath: "\(folder)/\(file)") else { continue }
                read += bytes.count
                for secret in secrets {
                    #expect(bytes.range(of: Data(secret.utf8)) == nil, "\(file)")
                }
            }
            #expect(read > 100_000)
            for failure in told.failures.all {
                for secret in secrets { #expect(!"\(failure)".contains(secret)) }
            }
        }
    }

    @Test("how a client hears is checked, kept, changed and in the trail; a client of fapi2 has nothing pushed")
    func settings() async throws {
        try await ToldCentre.run(.poll) { told in
            let provider = told.server.assembly.provider
            func change(_ mode: ClientSettings.AnswerDelivery.Mode?, _ address: String?) async throws
                -> ClientSettings.AnswerDelivery?
            {
                var change = ClientChange()
                (change.answerMode, change.answerAddress) = (mode, address)
                return try await provider.clients.change(told.centre.id, change)?.settings.answers
            }
            for wrong in ["http://calls.example/x", "https://calls.example/x#a", "calls.example", "com.example.app:/x"]
            {
                await #expect(throws: OAuthError(.invalidRequest)) { try await change(.ping, wrong) }
            }
            for mode in [ClientSettings.AnswerDelivery.Mode.ping, .push] {
                await #expect(throws: OAuthError(.invalidRequest)) { try await change(mode, "") }
            }
            let expected = ClientSettings.AnswerDelivery(.push, at: "http://127.0.0.1:8081/answers")
            #expect(try await change(.push, "http://127.0.0.1:8081/answers") == expected)
            #expect(try await provider.clients.client(told.centre.id)?.settings.answers == expected)
            #expect(try await change(.poll, "") == ClientSettings.AnswerDelivery())
            let trail = try await told.server.database.auditEntries(after: 0, limit: 99).map(\.event)
                .filter { $0.kind == .clientAnswersChanged }
            #expect(trail.map(\.detail) == ["\(told.centre.id) push", "\(told.centre.id) poll"])
            let metadata = provider.discovery
            #expect(try metadata.strings("backchannel_token_delivery_modes_supported") == ["poll", "ping", "push"])

            let key = try SigningKey(kept: SigningKey.make(.es256, random: .system), algorithm: .es256, keyID: nil)
            var bank = ClientSettings(
                idTokenAlgorithm: .es256, grantTypes: ["authorization_code", CallCentre.grant],
                authenticationMethod: "private_key_jwt",
                keySet: JSON.object(JWKSet([try #require(key.publicKey)]).publicJSON).text,
                profile: ClientProfile(security: .fapi2))
            bank.answers = ClientSettings.AnswerDelivery(.push, at: ToldCentre.address)
            await #expect(throws: OAuthError(.invalidRequest)) {
                try await provider.clients.register(
                    name: "Bank", redirectURIs: ["https://bank.example/in"], settings: bank)
            }
            bank.answers = ClientSettings.AnswerDelivery(.ping, at: ToldCentre.address)
            _ = try await provider.clients.register(
                name: "Bank", redirectURIs: ["https://bank.example/in"], settings: bank)
        }
    }

    // MARK: What people are asked in detail

    private static let details =
        #"[{"type":"payment","amount":"120.00","currency":"EUR","payee":"Lantern","iban":"DE89370400440532013000"}]"#

    @Test(
        "a payment is shown and signed on the phone, and the tokens say it, however the client hears (RFC 9396)",
        arguments: ["poll", "push"])
    func payment(mode: String) async throws {
        try await ToldCentre.run(mode == "poll" ? .poll : .push, detailTypes: ["payment"]) { told in
            let request = try await told.begin(["authorization_details": Self.details])
            try await told.centre.answer(told.phone)
            let shown = Data("Payment\nAmount: EUR 120.00\nTo: Lantern\nIBAN: DE89370400440532013000".utf8)
            #expect(told.phone.person.asked.compactMap(\.transaction).contains(shown))
            #expect(told.phone.person.asked.contains { $0.payment != nil })
            let tokens: JSONObject
            if mode == "poll" {
                tokens = try await told.centre.poll(request)
            } else {
                try await told.deliver()
                tokens = try told.told()
            }
            let expected = try JSON(parsing: Self.details)
            #expect(tokens["authorization_details"] == expected)
            #expect(try told.claims(tokens.requiredString("access_token"))["authorization_details"] == expected)
        }
    }

    @Test("details that a client may not ask, or beside a message, are refused, and nobody is asked")
    func unfitDetails() async throws {
        try await ToldCentre.run(.poll, detailTypes: ["payment"]) { told in
            for details in ["x", "[]", #"[{"type":"other"}]"#, Self.details.replacing("120.00", with: "0.00")] {
                let refusal = try await told.centre.refusal(["authorization_details": details])
                #expect(refusal == "invalid_authorization_details", "\(details)")
            }
            let both = ["authorization_details": Self.details, "binding_message": "Call 4711"]
            #expect(try await told.centre.refusal(both) == "invalid_request")
            #expect(try await told.centre.questions(told.phone).isEmpty)
        }
        try await ToldCentre.run(.poll) { told in
            let refusal = try await told.centre.refusal(["authorization_details": Self.details])
            #expect(refusal == "invalid_authorization_details")
        }
    }
}
