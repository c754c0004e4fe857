import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Crypto
import Endpoints
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

/// The address of a back end. The address notes each call, and answers as the test says.
private final class StatusReceiver: OutgoingCalls {
    private let state = Mutex<(calls: [OutgoingCall], status: Int)>(([], 200))

    var calls: [OutgoingCall] { self.state.withLock { $0.calls } }

    func answer(_ status: Int) { self.state.withLock { $0.status = status } }

    func send(_ call: OutgoingCall) async throws -> OutgoingAnswer {
        self.state.withLock { state in
            state.calls.append(call)
            return OutgoingAnswer(status: state.status, body: [])
        }
    }
}

/// A bank whose back end is told how its sessions end.
private struct ToldBank: Sendable {
    static let address = "https://bank.example/status"
    static let text = "Pay 120 EUR to Jo Gardener"

    let server: ServerFixture
    let client: any TestClientProtocol
    let phone: VirtualPhone
    let party: RelyingParty
    /// The bank's name for alice.
    let subject: String
    let receiver: StatusReceiver

    static func run(_ test: @escaping @Sendable (ToldBank) async throws -> Void) async throws {
        let receiver = StatusReceiver()
        let server = try await ServerFixture(calls: receiver)
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let party = try await server.relyingParty()
            try await Self.tell(party, at: Self.address, server)
            // The service learns its name for the person at a sign-in.
            let browser = TestBrowser(client)
            let (request, page) = try await server.signInPage(browser, party)
            _ = try await phone.authenticate(try server.typedPayload(page))
            let tokens = try await party.complete(request, in: browser)
            let claims = try await client.userinfo(try tokens.object.requiredString("access_token"))
            let bank = ToldBank(
                server: server, client: client, phone: phone, party: party,
                subject: try claims.object.requiredString("sub"), receiver: receiver)
            #expect(try await bank.deliver().isEmpty, "a sign-in in a browser is no dispatch")
            try await test(bank)
        }
    }

    static func tell(_ party: RelyingParty, at address: String, _ server: ServerFixture) async throws {
        var change = ClientChange()
        change.statusURI = address
        _ = try await server.assembly.provider.clients.change(party.id, change)
    }

    /// Dispatches a payment, and returns the session and the phone's link.
    func dispatch(by party: RelyingParty? = nil) async throws -> (session: String, link: String) {
        let content: JSONObject = [
            "contentType": .string("text/plain"), "content": .string(Base64URL.encode(Array(Self.text.utf8))),
        ]
        var context = JSONObject()
        if party == nil {
            context = ["subject": .string(self.subject), "transaction": .array([.object(content)])]
        }
        let request: JSONObject = ["op": .string("Auth"), "context": .string(JSON.object(context).text)]
        let dispatched = try await self.client.send(
            .post, "/token/dispatch/authentication",
            ["dispatcher": .string("link"), "getUafRequest": .object(request)],
            headers: [.authorization: (party ?? self.party).authorization])
        return (
            try dispatched.object.requiredString("sessionId"), try dispatched.object.requiredString("link")
        )
    }

    func confirm(_ link: String) async throws {
        _ = try await self.phone.authenticate(try OutOfBandPayload(link: link))
    }

    /// Delivers what is due, as a node does.
    @discardableResult func deliver() async throws -> [OutboxResult] {
        let outbox = try self.server.outbox(.client)
        var results: [OutboxResult] = []
        for message in try await outbox.takeDue() { results.append(try await outbox.deliver(message)) }
        return results
    }

    /// The statement of a call.
    static func token(_ call: OutgoingCall?) throws -> String {
        guard case .form(let form)? = call?.content else { throw OAuthError(.serverError, detail: "no form") }
        return try Parameters(parsing: form).required("status_token")
    }

    /// The claims of a statement, after its signature was verified by the keys of `jwks_uri`.
    func claims(_ token: String) async throws -> JWTClaims {
        let document = try await self.client.send(.get, "/oauth2/jwks").object
        let keys = try JWKSet(parsing: JSON.object(document).serialized)
        let verified = try UnverifiedJWS(compact: token).verified(by: keys, allowing: [.es256])
        #expect(verified.header.hasType("session-status+jwt"))
        return try JWTClaims(verified)
    }

    /// The claims of the last statement.
    func told() async throws -> JWTClaims {
        #expect(self.receiver.calls.last?.address == Self.address)
        return try await self.claims(try Self.token(self.receiver.calls.last))
    }

    /// The state that the last statement says.
    func toldState() async throws -> String? {
        try await self.told().members.object("status")?.string("status")
    }
}

@Suite("Decision 122: a back end is told by a signed statement how its session has ended (operations parity 93)")
struct SessionStatusDeliveryTests {
    @Test("The statement is a JWT for the client with the document that a question for the status gets")
    func statement() async throws {
        try await ToldBank.run { bank in
            let (session, link) = try await bank.dispatch()
            #expect(try await bank.deliver().isEmpty, "a token was created")
            try await bank.confirm(link)
            #expect(try await bank.deliver() == [.delivered])
            #expect(bank.receiver.calls.count == 1 && bank.receiver.calls.last?.authorization == nil)
            let claims = try await bank.told()
            let now = bank.server.clock.timeSource.now()
            #expect(claims.issuer == "http://localhost:8080" && claims.audience == [bank.party.id])
            #expect(claims.subject == bank.subject)
            #expect(claims.issuedAt == Timestamp(seconds: now.seconds))
            #expect(claims.expiration == Timestamp(seconds: now.seconds) + .seconds(120))
            #expect(
                Set(claims.members.members.map(\.name)) == [
                    "iss", "sub", "aud", "iat", "exp", "jti", "session_id", "status",
                ])
            #expect(try claims.members.string("session_id") == session)
            var told = try #require(try claims.members.object("status"))
            var asked = try await bank.client.send(
                .post, "/status", ["sessionId": .string(session)], headers: [.authorization: bank.party.authorization]
            ).object
            let result = try told.requiredString("result")
            (told["result"], asked["result"]) = (nil, nil)
            #expect(told == asked && told["status"] == .string("succeeded"))
            let keys = try JWKSet(parsing: JSON.object(bank.server.assembly.provider.keys.keySet).serialized)
            let signed = try UnverifiedJWS(compact: result).verified(by: keys, allowing: [.es256])
            #expect(signed.header.hasType("transaction-confirmation+jwt"))
            let hash = Base64URL.encode(Array(SHA256.hash(data: Data(ToldBank.text.utf8))))
            #expect(try JWTClaims(signed).members["transaction_hash"] == .string(hash))
            bank.server.clock.advance(by: .seconds(3600))
            #expect(try await bank.deliver().isEmpty, "once")
        }
    }

    @Test("Every end of a session is told, and no earlier state")
    func ends() async throws {
        try await ToldBank.run { bank in
            let denied = try await bank.dispatch()
            bank.phone.person.script.reactions[.pin] = .cancels
            bank.phone.person.script.reactions[.authenticator] = .cancels
            _ = try? await bank.phone.authenticate(try OutOfBandPayload(link: denied.link))
            #expect(try await bank.deliver() == [.delivered])
            let claims = try await bank.told()
            #expect(try claims.members.string("session_id") == denied.session)
            let status = try #require(try claims.members.object("status"))
            #expect(status["status"] == .string("failed") && status["clientErrorCode"] != nil)
            #expect(status["result"] == nil)

            let expired = try await bank.dispatch()
            bank.server.clock.advance(by: .seconds(61))
            #expect(try await bank.deliver().isEmpty, "the step that ends the session leaves the message")
            _ = try await bank.server.assembly.ceremonies.sweep.run()
            #expect(try await bank.deliver() == [.delivered])
            let late = try await bank.told().members
            #expect(try late.string("session_id") == expired.session)
            let information = try late.object("status")?.object("tokenInformation")
            #expect(information?["tokenResult"] == .string("tokenTimedOut"))

            _ = try await bank.dispatch()
            try await bank.server.assembly.directory.delete(username: "alice", by: "test")
            #expect(try await bank.deliver() == [.delivered], "the session ends with the account")
            #expect(try await bank.toldState() == "failed")
            #expect(bank.receiver.calls.count == 3)
        }
    }

    @Test("The statement names the refusal that a device has signed, as the answer to a question does (decision 119)")
    func denials() async throws {
        try await ToldBank.run { bank in
            for (statement, word) in [
                (DenialStatement.unwanted, "denied"), (.wrongContent, "wrongContent"), (.notMe, "notMe"),
            ] {
                let (session, link) = try await bank.dispatch()
                try await bank.phone.client.operations.denial.payload(try OutOfBandPayload(link: link))
                    .statement(statement).execute()
                let asked = try await bank.client.send(
                    .post, "/status", ["sessionId": .string(session)],
                    headers: [.authorization: bank.party.authorization]
                ).object
                #expect(try await bank.deliver() == [.delivered])
                let told = try await bank.told().members.object("status")
                #expect(told == asked && told?["refusal"] == .string(word))
            }
        }
    }

    @Test("The statement stays true after the rows of the session are gone")
    func outlivesTheSession() async throws {
        try await ToldBank.run { bank in
            bank.receiver.answer(503)
            let (session, link) = try await bank.dispatch()
            try await bank.confirm(link)
            #expect(try await bank.deliver() == [.failed])
            bank.server.clock.advance(by: .seconds(20 * 60))
            while try await bank.server.assembly.ceremonies.sweep.run() > 0 {}
            let asked = try await bank.client.send(
                .post, "/status", ["sessionId": .string(session)], headers: [.authorization: bank.party.authorization])
            #expect(asked.object["status"] == .string("unknown"))
            bank.receiver.answer(204)
            #expect(try await bank.deliver() == [.delivered])
            let status = try #require(try await bank.told().members.object("status"))
            #expect(status["status"] == .string("succeeded") && status["subject"] == .string(bank.subject))
            #expect(status["result"] != nil && status["authenticators"] != nil)
        }
    }

    @Test("A client is never told of another client's session, and not without an address or while switched off")
    func strangers() async throws {
        try await ToldBank.run { bank in
            let (silent, other) = (try await bank.server.relyingParty(), try await bank.server.relyingParty())
            try await ToldBank.tell(other, at: "https://other.example/status", bank.server)
            let (_, link) = try await bank.dispatch(by: silent)
            try await bank.confirm(link)
            #expect(try await bank.deliver().isEmpty && bank.receiver.calls.isEmpty, "no address")

            try await bank.confirm(try await bank.dispatch().link)
            #expect(try await bank.deliver() == [.delivered])
            #expect(bank.receiver.calls.map(\.address) == [ToldBank.address], "the bank alone")
            #expect(try await bank.told().audience == [bank.party.id])

            // A person has another name at each client.
            try await bank.confirm(try await bank.dispatch(by: other).link)
            #expect(try await bank.deliver() == [.delivered])
            let call = try #require(bank.receiver.calls.last)
            #expect(call.address == "https://other.example/status")
            let claims = try await bank.claims(try ToldBank.token(call))
            #expect(claims.audience == [other.id])
            #expect(claims.subject != nil && claims.subject != bank.subject)

            try await bank.confirm(try await bank.dispatch().link)
            var change = ClientChange()
            change.isDisabled = true
            _ = try await bank.server.assembly.provider.clients.change(bank.party.id, change)
            #expect(try await bank.deliver() == [.delivered], "no longer needed")
            #expect(bank.receiver.calls.count == 2)
        }
    }

    @Test(
        "Every status but success is tried again, with a new statement about the same session", arguments: [302, 500])
    func retries(status: Int) async throws {
        try await ToldBank.run { bank in
            bank.receiver.answer(status)
            let (session, link) = try await bank.dispatch()
            try await bank.confirm(link)
            for pause in [5, 10, 20] {
                #expect(try await bank.deliver() == [.failed])
                bank.server.clock.advance(by: .seconds(pause) - .milliseconds(1))
                #expect(try await bank.deliver().isEmpty, "not before \(pause) s")
                bank.server.clock.advance(by: .milliseconds(1))
            }
            bank.receiver.answer(200)
            #expect(try await bank.deliver() == [.delivered])
            var identifiers: Set<String> = []
            for call in bank.receiver.calls {
                let claims = try await bank.claims(try ToldBank.token(call)).members
                identifiers.insert(try claims.requiredString("jti"))
                #expect(try claims.string("session_id") == session)
            }
            #expect(identifiers.count == 4)
        }
    }

    @Test("After a day the statement is given up, and the trail says so")
    func givingUp() async throws {
        try await ToldBank.run { bank in
            bank.receiver.answer(500)
            try await bank.confirm(try await bank.dispatch().link)
            #expect(try await bank.deliver() == [.failed])
            bank.server.clock.advance(by: .seconds(24 * 60 * 60))
            #expect(try await bank.deliver() == [.givenUp])
            let events = try await bank.server.auditEvents(AuditEvent.Kind(rawValue: "status-undelivered"))
            #expect(events.map(\.actor) == [bank.party.id])
            #expect(try await bank.server.database.waitingMessages(to: .client).count == 0)
        }
    }

    @Test("Past the bound of a client the oldest statement is given up, and the trail says so once")
    func tooMany() async throws {
        try await ToldBank.run { bank in
            let (server, store) = (bank.server, bank.server.database)
            func end(_ numbers: ClosedRange<Int>) async throws {
                for number in numbers {
                    let (id, now) = ("of-many-\(number)", server.clock.now())
                    try await store.createCeremony(
                        CeremonyRecord(
                            id: id, kind: .authentication, clientID: bank.party.id, createdAt: now, expiresAt: now,
                            detail: CeremonyDetail()), tokens: [], audit: nil)
                    _ = try await store.change(.id(id)) { record in
                        record.phase = .ended
                        record.outcome = .expired
                        record.changedAt = now
                        return CeremonyChange()
                    }
                }
            }
            bank.receiver.answer(500)
            let most = Limits.Fixed.waitingStatements
            // The same node all along.
            let outbox = try server.outbox(.client)
            func deliver() async throws -> [OutboxResult] {
                server.clock.advance(by: .seconds(1))
                var results: [OutboxResult] = []
                for message in try await outbox.takeDue() { results.append(try await outbox.deliver(message)) }
                return results
            }
            try await end(1...most - 1)
            #expect(try await deliver().allSatisfy { $0 == .failed })
            for number in most...most + 2 {
                try await end(number...number)
                let count = bank.receiver.calls.count
                let results = try await deliver()
                #expect(results.count { $0 == .givenUp } == 1)
                #expect(bank.receiver.calls.count == count + results.count - 1, "the statement is not sent")
                #expect(try await store.waitingMessages(to: .client).count == most - 1)
            }
            let events = try await server.auditEvents(AuditEvent.Kind(rawValue: "status-undelivered"))
            #expect(events.map(\.actor) == [bank.party.id])
        }
    }

    @Test("Of many statements that are given up the trail has one entry an hour for the client")
    func givingUpMany() async throws {
        try await ToldBank.run { bank in
            bank.receiver.answer(500)
            // The same node all along.
            let outbox = try bank.server.outbox(.client)
            func givenUp(after time: Duration) async throws -> Int {
                bank.server.clock.advance(by: time)
                var count = 0
                for message in try await outbox.takeDue() {
                    let isGivenUp = try await outbox.deliver(message) == .givenUp
                    count += isGivenUp ? 1 : 0
                }
                return count
            }
            func entries() async throws -> Int {
                try await bank.server.auditEvents(AuditEvent.Kind(rawValue: "status-undelivered")).count
            }
            let (day, pause) = (Duration.seconds(24 * 60 * 60), Limits.Fixed.undeliveredPause - .seconds(1))
            for _ in 0..<3 { try await bank.confirm(try await bank.dispatch().link) }
            #expect(try await givenUp(after: pause) == 0)
            try await bank.confirm(try await bank.dispatch().link)
            #expect(try await givenUp(after: day - pause) == 3)
            #expect(try await entries() == 1)
            #expect(try await givenUp(after: pause) == 1)
            #expect(try await entries() == 1)
            try await bank.confirm(try await bank.dispatch().link)
            #expect(try await givenUp(after: day) == 1)
            #expect(try await entries() == 2)
        }
    }

    @Test("A node that is killed between the commit and the delivery loses nothing: another node tells the client")
    func killed() async throws {
        try await ToldBank.run { bank in
            try await bank.confirm(try await bank.dispatch().link)
            let first = try bank.server.outbox(.client)
            let taken = try await first.takeDue()
            #expect(taken.count == 1)
            // The first node is never heard of again.
            #expect(try await bank.deliver().isEmpty)
            bank.server.clock.advance(by: Limits().oauth.deliveryLease)
            #expect(try await bank.deliver() == [.delivered])
            #expect(try await bank.toldState() == "succeeded")
            #expect(bank.receiver.calls.count == 1)
        }
    }

    @Test("A step that fails leaves no statement: nothing is sent before its commit")
    func uncommitted() async throws {
        try await ToldBank.run { bank in
            let (session, _) = try await bank.dispatch()
            await #expect(throws: Interrupted.self) {
                _ = try await bank.server.database.change(.id(session)) { record in
                    record.phase = .ended
                    record.outcome = .failed
                    throw Interrupted()
                }
            }
            #expect(try await bank.server.database.waitingMessages(to: .client).count == 0)
            _ = try await bank.server.database.change(.id(session)) { record in
                record.phase = .ended
                record.outcome = .failed
                return CeremonyChange()
            }
            #expect(try await bank.server.database.waitingMessages(to: .client).count == 1)
        }
    }

    private struct Interrupted: Error {}

    @Test("An operator sets, sees and takes away the address, by the rules of all addresses of clients")
    func administration() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let body: JSONObject = [
                "name": .string("Bank"), "redirectUris": .array([.string("https://bank.example/in")]),
                "idTokenSignedResponseAlg": .string("ES256"), "statusUri": .string(ToldBank.address),
            ]
            let added = try await client.send(.post, "/admin/v1/clients", body)
            #expect(added.response.status == .created)
            #expect(added.object["statusUri"] == .string(ToldBank.address))
            let path = "/admin/v1/clients/\(try added.object.requiredString("clientId"))"
            for wrong in ["http://bank.example/status", "ftp://bank.example/", "https://bank.example/#a", "status"] {
                let refused = try await client.send(.patch, path, ["statusUri": .string(wrong)])
                #expect(refused.response.status == .badRequest, "\(wrong)")
            }
            #expect(try await client.send(.get, path).object["statusUri"] == .string(ToldBank.address))
            #expect(
                try await client.send(.patch, path, ["name": .string("The Bank")]).object["statusUri"]
                    == .string(ToldBank.address))
            #expect(try await client.send(.patch, path, ["statusUri": .string("")]).object["statusUri"] == nil)
            #expect(try await client.send(.get, path).object["statusUri"] == nil)
        }
        #expect(try await server.auditEvents(.clientStatusAddressChanged).count == 1)
    }
}

@Suite("Operations parity 93; HTML, section 9.2: a reader of the events of a session resumes", .timeLimit(.minutes(10)))
struct ResumedStatusTests {
    private static let lastEventID = HTTPField.Name("Last-Event-ID")

    /// Reads the events of a session until their end.
    private static func events(_ session: String, after last: String? = nil, _ bank: ToldBank) async throws
        -> (status: HTTPResponse.Status, text: String)
    {
        var headers: HTTPFields = [.authorization: bank.party.authorization]
        if let name = Self.lastEventID { headers[name] = last }
        let answer = try await bank.client.execute(
            uri: "/status/\(session)/events", method: .get, headers: headers, body: nil)
        return (answer.status, String(buffer: answer.body))
    }

    private static func identifiers(_ text: String) -> [String] {
        text.split(separator: "\n").filter { $0.hasPrefix("id: ") }.map { String($0.dropFirst(4)) }
    }

    private static func wait(for line: String, _ bank: ToldBank) async {
        while !bank.server.assembly.channels.metrics.contains("\n\(line)\n") { await Task.yield() }
    }

    @Test("Each state has an identifier, and a reader without one gets the present state first")
    func present() async throws {
        try await ToldBank.run { bank in
            let (session, link) = try await bank.dispatch()
            async let all = Self.events(session, bank)
            await Self.wait(for: "countersign_channels_open 1", bank)
            // The reader's first state is the first event, whatever comes at the same time.
            try await bank.confirm(link)
            let first = try await all
            #expect(first.status == .ok)
            #expect(first.text.hasSuffix("\n\n") && first.text.contains("\"status\":\"succeeded\""))
            let seen = Self.identifiers(first.text)
            #expect(Set(seen).count == seen.count && seen.last?.hasPrefix("succeeded-") == true)
            let last = try #require(seen.last)
            let again = try await Self.events(session, bank)
            #expect(Self.identifiers(again.text) == [last], "the present state")
        }
    }

    @Test("A reader that names the state which it has gets the next one, and none twice")
    func resumes() async throws {
        try await ToldBank.run { bank in
            let (session, link) = try await bank.dispatch()
            let status = try await bank.server.assembly.ceremonies.sessions.status(
                sessionID: session, clientID: bank.party.id)
            async let rest = Self.events(session, after: status.eventID, bank)
            await Self.wait(for: "countersign_channels_open 1", bank)
            try await bank.confirm(link)
            let resumed = try await rest
            #expect(!resumed.text.contains("tokenCreated"))
            #expect(Self.identifiers(resumed.text).last?.hasPrefix("succeeded-") == true)
            // A reader that missed the change gets the present state.
            let late = try await Self.events(session, after: status.eventID, bank)
            #expect(late.status == .ok && Self.identifiers(late.text).last == Self.identifiers(resumed.text).last)
        }
    }

    @Test("A reader that has the last state is told to come back no more; a name that is none is passed over")
    func ends() async throws {
        try await ToldBank.run { bank in
            let (session, link) = try await bank.dispatch()
            try await bank.confirm(link)
            let last = try #require(Self.identifiers(try await Self.events(session, bank).text).last)
            let end = try await Self.events(session, after: last, bank)
            #expect(end.status == .noContent && end.text.isEmpty)
            for wrong in ["", "x", last + "0", "unknown", String(repeating: "9", count: 2000)] {
                let answer = try await Self.events(session, after: wrong, bank)
                #expect(answer.status == .ok && Self.identifiers(answer.text) == [last], "\(wrong.prefix(9))")
            }
            #expect(try await Self.events("none", after: "unknown", bank).status == .noContent)
        }
    }
}
