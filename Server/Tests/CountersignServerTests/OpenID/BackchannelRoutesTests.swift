import Accounts
import Ceremony
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import NIOCore
import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import _Primitives

/// A call centre that has people asked on their phones, over HTTP.
struct CallCentre: Sendable {
    static let grant = "urn:openid:params:grant-type:ciba"

    let server: ServerFixture
    let client: any TestClientProtocol
    let authorization: String
    let id: String
    let matchesNumbers: Bool

    init(
        _ server: ServerFixture, _ client: any TestClientProtocol, grants: [String] = [Self.grant, "refresh_token"],
        answers: ClientSettings.AnswerDelivery = ClientSettings.AnswerDelivery(), detailTypes: [String] = [],
        matchesNumbers: Bool = false
    ) async throws {
        self.matchesNumbers = matchesNumbers
        var settings = ClientSettings(
            idTokenAlgorithm: .es256, grantTypes: grants, profile: ClientProfile(detailTypes: detailTypes))
        settings.answers = answers
        settings.profile.matchesNumbers = matchesNumbers
        let registered = try await server.assembly.provider.clients.register(
            name: "Call Centre", redirectURIs: ["https://calls.example/about"], settings: settings)
        self.server = server
        self.client = client
        self.id = registered.client.id
        self.authorization =
            "Basic " + Data("\(self.id):\(try #require(registered.secret))".utf8).base64EncodedString()
    }

    func post(_ path: String, _ parameters: OAuth.Parameters, authorized: Bool = true) async throws -> (
        response: TestResponse, object: JSONObject
    ) {
        var headers: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
        if authorized { headers[.authorization] = self.authorization }
        let response = try await self.client.execute(
            uri: path, method: .post, headers: headers, body: ByteBuffer(string: parameters.encoded))
        guard case .object(let object)? = try? JSON(parsing: Array(response.body.readableBytesView)) else {
            return (response, [:])
        }
        return (response, object)
    }

    /// Has somebody asked; a request that is right but for `changes`, where `nil` leaves a parameter out.
    func ask(_ changes: [String: String?] = [:], authorized: Bool = true) async throws -> (
        response: TestResponse, object: JSONObject
    ) {
        var values: [String: String?] = ["scope": "openid profile", "login_hint": "alice"]
        if !self.matchesNumbers, changes["authorization_details"] == nil { values["binding_message"] = "Call 1" }
        values.merge(changes) { $1 }
        var parameters: OAuth.Parameters = [:]
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            if let value { parameters.append(name, value) }
        }
        return try await self.post("/oauth2/bc-authorize", parameters, authorized: authorized)
    }

    func refusal(_ changes: [String: String?]) async throws -> String? {
        let answer = try await self.ask(changes)
        #expect(answer.object["auth_req_id"] == nil)
        return try answer.object.string("error")
    }

    func begin(_ changes: [String: String?] = [:]) async throws -> String {
        try await self.ask(changes).object.requiredString("auth_req_id")
    }

    func poll(_ request: String) async throws -> JSONObject {
        try await self.post("/oauth2/token", ["grant_type": Self.grant, "auth_req_id": request]).object
    }

    func error(_ request: String) async throws -> String? { try await self.poll(request).string("error") }

    /// A question after the pause that it has to have.
    func pollInTime(_ request: String) async throws -> JSONObject {
        self.server.clock.advance(by: .seconds(5))
        return try await self.poll(request)
    }

    /// What waits for a person, as their phone finds it.
    func questions(_ phone: VirtualPhone) async throws -> [JSONObject] {
        let authenticated = try await phone.authenticate(username: "alice")
        phone.person.forget()
        let token = try #require(authenticated.authorizationProvider?.headers.first).value
        let list = try await self.client.send(
            .get, "/account/v1/questions", headers: [.authorization: token]
        ).object
        #expect(list["username"] == .string("alice"))
        return try #require(try list.array("questions")).map { question in
            guard case .object(let object) = question else { throw JSONError(.wrongType, "a question") }
            return object
        }
    }

    /// Has the person take up what waits for them, and answer it, as an app does.
    func answer(_ phone: VirtualPhone) async throws {
        let authenticated = try await phone.authenticate(username: "alice")
        phone.person.forget()
        let provider = try #require(authenticated.authorizationProvider)
        let questions: [ServiceQuestion] = try await phone.client.operations.waitingQuestions.username("alice")
            .authorizationProvider(provider).execute()
        let question = try #require(questions.first)
        #expect(question.service == "Call Centre" && question.origin == "https://calls.example")
        _ = try await phone.authenticate(question.payload)
    }
}

@Suite("OpenID Connect CIBA Core 1.0: a person is asked on the phone, without a browser (parity F125, F126, F128)")
struct BackchannelRoutesTests {
    private func withCallCentre(
        limits: Limits = Limits(), _ test: @escaping @Sendable (CallCentre, VirtualPhone) async throws -> Void
    ) async throws {
        let server = try await ServerFixture(limits: limits)
        try await server.withPublicClient { client in
            try await test(try await CallCentre(server, client), try await server.enrolledPhone(client))
        }
    }

    @Test("acknowledged, pending, approved on the phone, and given once")
    func approves() async throws {
        try await self.withCallCentre { centre, phone in
            let answer = try await centre.ask()
            #expect(answer.response.status == .ok && answer.response.headers[.cacheControl] == "no-store")
            #expect(answer.object.members.count == 3)
            #expect(answer.object["expires_in"] == .integer(300) && answer.object["interval"] == .integer(5))
            let request = try answer.object.requiredString("auth_req_id")
            #expect(Base64URL.decode(request)?.count == 32)
            #expect(try await centre.error(request) == "authorization_pending")
            try await centre.answer(phone)
            let requester = try #require(phone.person.asked.compactMap(\.requester).first)
            #expect(requester.service == "Call Centre" && requester.origin == "https://calls.example")
            let tokens = try await centre.pollInTime(request)
            let access = try tokens.requiredString("access_token")
            #expect(tokens["id_token"] != nil && tokens["refresh_token"] == nil)
            func userinfo() async throws -> (response: TestResponse, object: JSONObject) {
                try await centre.client.send(
                    .get, "/oauth2/userinfo", headers: [.authorization: "Bearer \(access)"])
            }
            #expect(try await userinfo().object["preferred_username"] == .string("alice"))
            #expect(try await centre.questions(phone).isEmpty)
            // One success: who asks again ends what it gave.
            #expect(try await centre.pollInTime(request)["error"] == .string("invalid_grant"))
            #expect(try await userinfo().response.status == .unauthorized)
        }
    }

    @Test("a service of personalised identities gets nothing of whoever has answered in none of its roles")
    func service() async throws {
        try await self.withCallCentre { centre, phone in
            let profile: JSONObject = ["roles": .array([.resident]), "push": .bool(true)]
            _ = try await centre.server.assembly.identities.setService(centre.id, to: profile, by: "test")
            let request = try await centre.begin()
            try await centre.answer(phone)
            let answer = try await centre.pollInTime(request)
            #expect(answer["error"] == .string("access_denied") && answer["access_token"] == nil)
        }
    }

    @Test("identity parity 98: a service of personalised identities without the right to push is refused, for any name")
    func withoutPush() async throws {
        try await self.withCallCentre { centre, phone in
            let profile: JSONObject = ["roles": .array([.resident])]
            _ = try await centre.server.assembly.identities.setService(centre.id, to: profile, by: "test")
            for name in ["alice", "nobody"] {
                #expect(try await centre.refusal(["login_hint": name]) == "unauthorized_client")
            }
            #expect(try await centre.questions(phone).isEmpty)
        }
    }

    @Test("identity parity 98: a client without the grant of CIBA has nobody asked")
    func withoutGrant() async throws {
        try await self.withCallCentre { centre, phone in
            let other = try await CallCentre(centre.server, centre.client, grants: ["authorization_code"])
            for name in ["alice", "nobody"] {
                #expect(try await other.refusal(["login_hint": name]) == "unauthorized_client")
            }
            #expect(try await centre.questions(phone).isEmpty)
        }
    }

    @Test("identity parity 98: a question is pushed to the person's device without a word of it, and begun there")
    func pushed() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let centre = try await CallCentre(server, client, matchesNumbers: true)
            let account = try await server.assembly.directory.account(written: "alice")
            let device = try #require(try await server.database.devices(accountID: account.id).first)
            try await server.database.changeDispatchTarget(
                DispatchTargetChange(
                    deviceID: device.id, accountID: account.id, dispatcher: .changed(to: "device-stream"),
                    address: .changed(to: "none"),
                    audit: AuditEvent(AuditEvent.Kind(rawValue: "test"), at: server.clock.now())))
            let answer = try await centre.ask().object
            while try await server.database.waitingMessages(to: .device).count == 0 { await Task.yield() }
            let waiting: PendingOutOfBandOperationsResult = try await phone.client.operations
                .pendingOutOfBandOperations.execute()
            let operation = try #require(waiting.operations.first)
            #expect(operation.service == "Call Centre")
            phone.person.script.numbers = [try answer.requiredString("number")]
            _ = try await phone.authenticate(operation.payload)
            let tokens = try await centre.pollInTime(try answer.requiredString("auth_req_id"))
            #expect(tokens["id_token"] != nil)
            _ = try await centre.ask(["login_hint": "nobody"])
            #expect(try await server.database.waitingMessages(to: .device).count == 1, "a push to nobody")
        }
    }

    @Test("identity parity 99: the status of a question is pending, then success, failure or expired")
    func statuses() async throws {
        try await self.withCallCentre { plain, phone in
            let centre = try await CallCentre(plain.server, plain.client, matchesNumbers: true)
            func begin() async throws -> (request: String, number: String) {
                let answer = try await centre.ask().object
                let request = try answer.requiredString("auth_req_id")
                #expect(try await centre.error(request) == "authorization_pending")
                return (request, try answer.requiredString("number"))
            }
            let (accepted, number) = try await begin()
            phone.person.script.numbers = [number]
            try await centre.answer(phone)
            #expect(try await centre.pollInTime(accepted)["id_token"] != nil)
            let (refused, right) = try await begin()
            phone.person.script.numbers = [right == "123456" ? "654321" : "123456"]
            await #expect(throws: OperationError(.wrongNumber)) { try await centre.answer(phone) }
            #expect(try await centre.pollInTime(refused)["error"] == .string("access_denied"))
            let (left, _) = try await begin()
            centre.server.clock.advance(by: .seconds(300))
            #expect(try await centre.error(left) == "expired_token")
        }
    }

    @Test("a no on the phone is told")
    func denied() async throws {
        try await self.withCallCentre { centre, phone in
            let request = try await centre.begin()
            let link = try #require(try await centre.questions(phone).first).requiredString("link")
            phone.person.script.reactions[.pin] = .cancels
            phone.person.script.reactions[.authenticator] = .cancels
            _ = try? await phone.authenticate(try OutOfBandPayload(link: link))
            #expect(try await centre.error(request) == "access_denied")
            #expect(try await centre.pollInTime(request)["error"] == .string("access_denied"))
        }
    }

    @Test("a request ends, as the client wishes within bounds", arguments: [(nil, 300), ("60", 60), ("99999", 600)])
    func expires(wish: String?, seconds: Int) async throws {
        try await self.withCallCentre { centre, phone in
            let answer = try await centre.ask(["requested_expiry": wish])
            #expect(answer.object["expires_in"] == .integer(Int64(seconds)))
            let request = try answer.object.requiredString("auth_req_id")
            centre.server.clock.advance(by: .seconds(seconds - 1))
            #expect(try await centre.error(request) == "authorization_pending")
            #expect(try await centre.questions(phone).count == 1)
            centre.server.clock.advance(by: .seconds(1))
            #expect(try await centre.error(request) == "expired_token")
            #expect(try await centre.questions(phone).isEmpty)
        }
    }

    @Test("who asks too often waits five seconds longer each time, from the last question that was judged")
    func slowDown() async throws {
        try await self.withCallCentre { centre, _ in
            let request = try await centre.begin()
            #expect(try await centre.error(request) == "authorization_pending")
            #expect(try await centre.error(request) == "slow_down")
            #expect(try await centre.pollInTime(request)["error"] == .string("slow_down"), "ten seconds now")
            #expect(try await centre.pollInTime(request)["error"] == .string("slow_down"), "and then fifteen")
            for _ in 0..<2 { #expect(try await centre.pollInTime(request)["error"] == .string("slow_down")) }
            #expect(try await centre.pollInTime(request)["error"] == .string("slow_down"), "thirty, and no more")
            #expect(try await centre.pollInTime(request)["error"] == .string("authorization_pending"))
        }
    }

    @Test("a person whom nobody is is acknowledged and expires, as one who does not answer")
    func unknownPerson() async throws {
        try await self.withCallCentre { centre, _ in
            var told: [[String?]] = []
            for name in ["alice", "nobody", "no body\u{202E}"] {
                let answer = try await centre.ask(["login_hint": name])
                #expect(answer.response.status == .ok)
                let request = try answer.object.requiredString("auth_req_id")
                var errors = [try await centre.error(request)]
                centre.server.clock.advance(by: .seconds(300))
                errors.append(try await centre.error(request))
                told.append(errors + ["\(answer.response.body.readableBytes)"])
            }
            #expect(told[0].prefix(2) == ["authorization_pending", "expired_token"])
            #expect(Set(told).count == 1)
        }
    }

    @Test(
        "a request has exactly one hint",
        arguments: [
            ["login_hint": nil], ["login_hint_token": "x"], ["id_token_hint": "x"],
            ["login_hint": nil, "id_token_hint": "x", "login_hint_token": "x"],
            // None of these is right by itself, either.
            ["login_hint": nil, "login_hint_token": "x"], ["login_hint": nil, "id_token_hint": "x"],
        ] as [[String: String?]])
    func hints(changes: [String: String?]) async throws {
        try await self.withCallCentre { centre, phone in
            let refusal = try await centre.refusal(changes)
            #expect(refusal == "invalid_request")
            #expect(try await centre.questions(phone).isEmpty)
        }
    }

    @Test("an ID token names the person whom the client knows by it, and no other client's does")
    func idTokenHint() async throws {
        try await self.withCallCentre { centre, phone in
            let request = try await centre.begin()
            try await centre.answer(phone)
            let hint = try await centre.poll(request).requiredString("id_token")
            let again = try await centre.begin(["login_hint": nil, "id_token_hint": hint])
            try await centre.answer(phone)
            #expect(try await centre.poll(again)["access_token"] != nil)
            let other = try await CallCentre(centre.server, centre.client)
            #expect(try await other.refusal(["login_hint": nil, "id_token_hint": hint]) == "invalid_request")
        }
    }

    @Test("the binding message is shown on the phone, and signed")
    func bindingMessage() async throws {
        try await self.withCallCentre { centre, phone in
            let request = try await centre.begin(["binding_message": "Call 4711: change of address"])
            try await centre.answer(phone)
            let shown = phone.person.asked.compactMap(\.transaction)
            #expect(shown.contains(Data("Call 4711: change of address".utf8)))
            #expect(try await centre.poll(request)["access_token"] != nil)
        }
    }

    @Test("operations parity 91: without a number that the client shows, a request needs a text")
    func neither() async throws {
        try await self.withCallCentre { centre, phone in
            let refusal = try await centre.refusal(["binding_message": nil])
            #expect(refusal == "invalid_binding_message")
            #expect(try await centre.questions(phone).isEmpty)
            #expect(try await centre.ask().object["number"] == nil)
        }
    }

    @Test("operations parity 91: a client that shows numbers gets one, and the person types it on the phone")
    func number() async throws {
        try await self.withCallCentre { plain, phone in
            let centre = try await CallCentre(plain.server, plain.client, matchesNumbers: true)
            var numbers: [String] = []
            for name in ["alice", "nobody"] {
                let answer = try await centre.ask(["login_hint": name])
                numbers.append(try answer.object.requiredString("number"))
                #expect(answer.object.members.count == 4)
            }
            #expect(numbers.allSatisfy { $0.utf8.count == 6 && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } })
            let wrong = try await centre.ask().object
            let right = try wrong.requiredString("number")
            phone.person.script.numbers = [right == "123456" ? "654321" : "123456"]
            await #expect(throws: OperationError(.wrongNumber)) { try await centre.answer(phone) }
            #expect(try await centre.error(try wrong.requiredString("auth_req_id")) == "access_denied")
            let answer = try await centre.ask().object
            phone.person.script.numbers = [try answer.requiredString("number")]
            try await centre.answer(phone)
            let tokens = try await centre.pollInTime(try answer.requiredString("auth_req_id"))
            #expect(tokens["access_token"] != nil)
        }
    }

    @Test(
        "a binding message that cannot be shown is refused",
        arguments: ["   ", "a\u{202E}b", "a\u{E000}b", String(repeating: "x", count: 201)])
    func unfitMessage(message: String) async throws {
        try await self.withCallCentre { centre, phone in
            let refusal = try await centre.refusal(["binding_message": message])
            #expect(refusal == "invalid_binding_message")
            #expect(try await centre.questions(phone).isEmpty)
        }
    }

    @Test("what else is wrong with a request is told, before anybody is asked")
    func refusals() async throws {
        try await self.withCallCentre { centre, phone in
            for wish in ["0", "-1", "1.5", "x", "9999999999"] {
                #expect(try await centre.refusal(["requested_expiry": wish]) == "invalid_request", "\(wish)")
            }
            #expect(try await centre.refusal(["scope": "profile"]) == "invalid_scope")
            #expect(try await centre.refusal(["request": "e30.e30.x"]) == "invalid_request")
            let nobody = try await centre.ask(authorized: false)
            #expect(nobody.response.status == .unauthorized && nobody.object["error"] == .string("invalid_client"))
            let other = try await CallCentre(centre.server, centre.client, grants: ["authorization_code"])
            #expect(try await other.refusal([:]) == "unauthorized_client")
            #expect(try await centre.questions(phone).isEmpty)
            // A client that proves nothing can have nobody asked.
            await #expect(throws: OAuthError(.invalidRequest)) {
                try await centre.server.assembly.provider.clients.register(
                    name: "App", redirectURIs: ["https://app.example/"],
                    settings: ClientSettings(
                        idTokenAlgorithm: .es256, grantTypes: [CallCentre.grant], authenticationMethod: "none"))
            }
        }
    }

    @Test("no other client has anything of a request")
    func isItsClients() async throws {
        try await self.withCallCentre { centre, phone in
            let other = try await CallCentre(centre.server, centre.client)
            let request = try await centre.begin()
            try await centre.answer(phone)
            #expect(try await other.error(request) == "invalid_grant")
            #expect(try await centre.poll(request)["access_token"] != nil, "and it changes nothing")
        }
    }

    @Test("of fifty questions at once one has the tokens")
    func oneSuccess() async throws {
        try await self.withCallCentre { centre, phone in
            let request = try await centre.begin()
            try await centre.answer(phone)
            let count = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<50 { group.addTask { try await centre.poll(request)["access_token"] != nil } }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(count == 1)
        }
    }

    @Test("a phone has one link for a question, which works once; a locked account is given nothing")
    func links() async throws {
        try await self.withCallCentre { centre, phone in
            let request = try await centre.begin()
            let first = try #require(try await centre.questions(phone).first).requiredString("link")
            let second = try #require(try await centre.questions(phone).first).requiredString("link")
            #expect(first == second)
            _ = try await phone.authenticate(try OutOfBandPayload(link: second))
            await #expect(throws: (any Error).self) { try await phone.authenticate(try OutOfBandPayload(link: second)) }
            let account = try await centre.server.assembly.directory.account(username: "alice").id
            _ = try await centre.server.database.setAccountLocked(
                true, id: account, audit: AuditEvent(AuditEvent.Kind(rawValue: "test"), at: Timestamp(seconds: 1)))
            #expect(try await centre.error(request) == "access_denied")
        }
    }

    @Test("nobody reads what waits for a person without an authentication in the app")
    func questionsNeedTheDevice() async throws {
        try await self.withCallCentre { centre, _ in
            _ = try await centre.begin()
            for header in [nil, centre.authorization, "Bearer x"] {
                let answer = try await centre.client.send(
                    .get, "/account/v1/questions", headers: header.map { [.authorization: $0] } ?? [:])
                #expect(answer.response.status == .unauthorized)
            }
        }
    }

    @Test("a client has a person asked so often, whether there is such a person or not")
    func tooOften() async throws {
        var limits = Limits()
        (limits.personDispatchBurst, limits.personDispatchesPerMinute) = (2, 6)
        try await self.withCallCentre(limits: limits) { centre, _ in
            for name in ["alice", "nobody"] {
                for _ in 0..<2 { _ = try await centre.begin(["login_hint": name]) }
                let refused = try await centre.ask(["login_hint": name])
                #expect(refused.response.status == .tooManyRequests && refused.response.headers[.retryAfter] == "10")
            }
        }
    }
}
