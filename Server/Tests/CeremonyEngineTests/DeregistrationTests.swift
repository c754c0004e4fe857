import Accounts
import Ceremony
import CeremonyEngine
import Foundation
import Records
import SQLStore
import Settings
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@Suite("uaf-sections §8.5: deregistration, each context and each refusal with its status code")
struct DeregistrationTests {
    private let mode: (String) -> JSONObject = { ["username": .string("alice"), "mode": .string($0)] }

    private static func key(_ phone: TestPhone) -> JSON {
        .object(["aaid": .string(phone.aaid.text), "keyID": .string(phone.keyID.base64URL)])
    }

    private static func device(_ server: TestServer, _ account: AccountRecord, _ index: Int = 0) async throws
        -> AuthenticatedDevice
    {
        AuthenticatedDevice(
            accountID: account.id, deviceID: try await server.database.devices(accountID: account.id)[index].id)
    }

    private static func ask(_ context: JSONObject?, operation: UAF.Operation? = .deregistration) -> GetUAFRequest {
        GetUAFRequest(operation: operation, context: context)
    }

    private static func message(_ answer: ReturnUAFRequest) throws -> DeregistrationRequest {
        #expect(answer.statusCode == .ok && answer.operation == .deregistration)
        return try DeregistrationRequest(parsing: (answer.uafRequest ?? "").utf8)
    }

    private static func trail(_ server: TestServer) async throws -> [AuditEvent] {
        try await server.database.auditEntries(after: 0, limit: 999).map(\.event)
            .filter { $0.kind.rawValue == "deregistered" }
    }

    /// The services of the notices that keys were deleted.
    private static func notices(_ server: TestServer, _ account: AccountRecord) async throws -> [String] {
        try await server.directory.notices(accountID: account.id).filter { $0.kind == .authenticatorsRemoved }
            .map(\.subject)
    }

    @Test("what one device loses takes away no other that has no key, as one that is disabled; what asks for all does")
    func devicesWithoutKeys() async throws {
        let server = try TestServer { $0.limits.lockoutFailuresInARow = 1 }
        try await server.addService()
        let (account, disabled) = try await server.personalise()
        let code = try await server.showCode()
        _ = try await disabled.start(code)
        _ = try await disabled.miss(code.id, try await disabled.prepared(code.id))
        let phone = try await server.addPhone(to: "alice")
        #expect(try await server.database.credentials(accountID: account.id).map(\.keyID) == [phone.keyID.bytes])
        func deregister(_ mode: String, _ context: JSONObject) async throws {
            var context = context
            (context["subject"], context["mode"]) = (.string("bank|\(account.id)"), .string(mode))
            let answer = try await server.engine.deregistrations.deregister(Self.ask(context), client: server.bank)
            #expect(answer.statusCode == .ok)
        }
        func devices() async throws -> [String] {
            try await server.database.devices(accountID: account.id).map(\.id)
        }
        try await deregister("key", ["keys": .array([Self.key(phone)])])
        #expect(try await devices() == [disabled.id])
        #expect(
            try await server.engine.identities.listings.activations(accountID: account.id).map(\.isDisabled) == [true])
        try await deregister("username", [:])
        #expect(try await devices().isEmpty)
    }

    @Test("by name all keys of the account go, on every device, and nobody else's")
    func everything() async throws {
        let server = try TestServer()
        let (account, first) = try await server.enrol()
        _ = try await server.addPhone(to: "alice")
        let (bob, _) = try await server.enrol("bob")
        let device = try await Self.device(server, account, 1)
        let answer = try await server.engine.deregistrations.deregister(
            Self.ask(self.mode("username")), askedBy: device)
        #expect(try Self.message(answer).authenticators == [.everything])
        #expect(try await server.database.credentials(accountID: account.id).isEmpty)
        #expect(try await server.database.devices(accountID: account.id).isEmpty)
        #expect(try await server.database.credentials(accountID: bob.id).count == 1)
        let event = try #require(try await Self.trail(server).first)
        #expect(event.accountID == account.id && event.detail == device.deviceID && event.actor == nil)
        #expect(try await Self.notices(server, account).isEmpty, "nobody needs to be told what they did themselves")
        // The first phone's key signs nobody in any more, and the server says so in a way that deletes it there too.
        let refused = try await server.engine.authenticationAnswers.judge(
            try first.authenticate(try await server.claimSignIn(), counter: 2))
        #expect(refused.response.statusCode == .unknownKeyID)
        let further = try DeregistrationRequest(parsing: (refused.response.newUAFRequest ?? "").utf8)
        #expect(further.authenticators == [.key(first.aaid, first.keyID)])
        #expect(further.header.appID == "" && further.header.operation == .deregistration)
    }

    @Test("only an unknown key is followed by a message that deletes it")
    func noFurtherMessage() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        let refused = try await server.engine.authenticationAnswers.judge(
            try phone.authenticate(try await server.claimSignIn(), counter: 2, fault: .signature))
        #expect(refused.response.statusCode == .unacceptableContent && refused.response.newUAFRequest == nil)
    }

    @Test("by model the keys of one model go; asking again is answered the same")
    func model() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        var context = self.mode("aaid")
        context["aaid"] = .string(phone.aaid.text.lowercased())
        let device = try await Self.device(server, account)
        for _ in 0..<2 {
            let answer = try await server.engine.deregistrations.deregister(
                Self.ask(context, operation: nil), askedBy: device)
            #expect(try Self.message(answer).authenticators == [.allKeys(of: phone.aaid)])
            #expect(try await server.database.credentials(accountID: account.id).isEmpty)
        }
        #expect(try await Self.trail(server).count == 1)
        context["aaid"] = .string("ABCD#0001")
        #expect(
            try await server.engine.deregistrations.deregister(Self.ask(context), askedBy: device).statusCode
                == .unknownAAID)
    }

    @Test("by name of the key these go and no others")
    func namedKeys() async throws {
        let server = try TestServer()
        let (account, first) = try await server.enrol()
        let second = try await server.addPhone(to: "alice")
        let never = try TestPhone()
        var context = self.mode("key")
        context["keys"] = .array([Self.key(first), Self.key(never)])
        let device = try await Self.device(server, account)
        let answer = try await server.engine.deregistrations.deregister(Self.ask(context), askedBy: device)
        #expect(
            try Self.message(answer).authenticators == [.key(first.aaid, first.keyID), .key(never.aaid, never.keyID)])
        #expect(
            try await server.database.credentials(accountID: account.id).map(\.keyID) == [second.keyID.bytes])
        // Its device is gone with its last key; it may delete no other.
        context["keys"] = .array([Self.key(second)])
        _ = try Self.message(try await server.engine.deregistrations.deregister(Self.ask(context), askedBy: device))
        #expect(try await server.database.credentials(accountID: account.id).count == 1)
    }

    @Test("1401: another person's name, one that nobody has")
    func foreignName() async throws {
        let server = try TestServer()
        let (account, _) = try await server.enrol()
        try await server.enrol("bob")
        let device = try await Self.device(server, account)
        for username in ["bob", "nobody"] {
            let answer = try await server.engine.deregistrations.deregister(
                Self.ask(["username": .string(username), "mode": .string("username")]), askedBy: device)
            #expect(answer == ReturnUAFRequest(statusCode: .unauthorized, operation: .deregistration))
        }
        for id in ["alice", "bob"] {
            #expect(try await server.database.keys(username: AccountName(stored: id)).active?.keys.count == 1)
        }
        #expect(try await Self.trail(server).isEmpty)
    }

    @Test("A name is its owner's in any spelling; what is too long to be one is nobody's")
    func spellings() async throws {
        let server = try TestServer()
        let (account, _) = try await server.enrol("zoe\u{308}")
        let device = try await Self.device(server, account)
        for (name, code) in [
            ("zoe", UAFStatusCode.unauthorized), (String(repeating: "a", count: 129), .unauthorized),
            ("", .unauthorized), ("zoe\u{308}", .ok), ("zo\u{EB}", .ok),
        ] {
            let answer = try await server.engine.deregistrations.deregister(
                Self.ask(["username": .string(name), "mode": .string("username")]), askedBy: device)
            #expect(answer.statusCode == code, "\(name)")
        }
        #expect(try await server.database.keys(username: "zo\u{EB}").active?.keys.isEmpty == true)
    }

    @Test("1200: another person's key, one that was invented and one that never was; nothing of theirs is deleted")
    func foreignKey() async throws {
        let server = try TestServer { $0.factors = [[.pin]] }
        let (account, own) = try await server.enrol()
        let (bob, bobs) = try await server.enrol("bob")
        let device = try await Self.device(server, account)
        let invented = try await server.engine.requests.authentication(username: "nobody", source: "a")
        let names = try [bobs.id, try #require(try Forgery.keys(invented).first), Forgery.unknownKey(own.aaid)]
        let subject = "bank|\(account.id)"
        for name in names {
            let key = JSON.object(["aaid": .string(name.aaid.text), "keyID": .string(name.keyID.base64URL)])
            for _ in 0..<2 {
                var context = self.mode("key")
                context["keys"] = .array([key])
                let answer = try await server.engine.deregistrations.deregister(Self.ask(context), askedBy: device)
                #expect(try Self.message(answer).authenticators == [.key(name.aaid, name.keyID)])
                let relyingParty = try await server.engine.deregistrations.deregister(
                    Self.ask(["subject": .string(subject), "mode": .string("key"), "keys": .array([key])]),
                    client: server.bank)
                #expect(relyingParty == answer)
            }
        }
        for id in ["alice", "bob"] {
            #expect(try await server.database.keys(username: AccountName(stored: id)).active?.keys.count == 1)
        }
        #expect(try await Self.trail(server).isEmpty)
        // Among the account's own, too.
        var context = self.mode("key")
        context["keys"] = .array([Self.key(bobs), Self.key(own)])
        _ = try Self.message(try await server.engine.deregistrations.deregister(Self.ask(context), askedBy: device))
        #expect(try await server.database.credentials(accountID: account.id).isEmpty)
        #expect(try await server.database.credentials(accountID: bob.id).map(\.keyID) == [bobs.keyID.bytes])
        #expect(try await Self.trail(server).map(\.accountID) == [account.id])
    }

    @Test("1403: a locked account")
    func locked() async throws {
        let server = try TestServer()
        let (account, _) = try await server.enrol()
        let device = try await Self.device(server, account)
        _ = try await server.directory.setLocked(true, username: "alice", by: "test")
        let answer = try await server.engine.deregistrations.deregister(
            Self.ask(self.mode("username")), askedBy: device)
        #expect(answer.statusCode == .forbidden && answer.uafRequest == nil)
        #expect(try await server.database.credentials(accountID: account.id).count == 1)
    }

    @Test(
        "1400: a context that is not understood",
        arguments: [
            nil, "{}", #"{"username":"alice"}"#, #"{"mode":"username"}"#, #"{"username":"alice","mode":"all"}"#,
            #"{"username":"alice","mode":"username","keys":[]}"#, #"{"username":"alice","mode":"username","x":1}"#,
            #"{"username":"alice","mode":"aaid"}"#, #"{"username":"alice","mode":"aaid","aaid":""}"#,
            #"{"username":"alice","mode":"aaid","aaid":"C516-0001"}"#, #"{"username":"alice","mode":"key"}"#,
            #"{"username":"alice","mode":"key","keys":[]}"#, #"{"username":"alice","mode":"key","keys":[1]}"#,
            #"{"username":"alice","mode":"key","keys":[{"aaid":"C516#0001"}]}"#,
            #"{"username":"alice","mode":"key","keys":[{"aaid":"C516#0001","keyID":""}]}"#,
            #"{"username":"alice","mode":"key","keys":[{"aaid":"","keyID":"AAAA"}]}"#,
            #"{"username":"alice","mode":"key","keys":[{"aaid":"C516#0001","keyID":"AAAA","x":1}]}"#,
            #"{"subject":"alice","mode":"username"}"#, "many", "operation",
        ])
    func badContext(text: String?) async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        var request = Self.ask(nil)
        switch text {
        case "many":
            var context = self.mode("key")
            context["keys"] = .array([JSON](repeating: Self.key(phone), count: Limits().deregisteredKeys + 1))
            request.context = context
        case "operation": request = Self.ask(self.mode("username"), operation: .registration)
        case let text?:
            guard case .object(let context) = try JSON(parsing: Array(text.utf8)) else {
                throw JSONError(.wrongType, text)
            }
            request.context = context
        case nil: break
        }
        let device = try await Self.device(server, account)
        #expect(
            try await server.engine.deregistrations.deregister(request, askedBy: device)
                == ReturnUAFRequest(statusCode: .badRequest))
        #expect(try await server.database.credentials(accountID: account.id).count == 1)
    }

    @Test("a relying party deregisters people whom it knows; a stranger's answer is the same, and nothing happens")
    func relyingParty() async throws {
        let server = try TestServer()
        let (account, _) = try await server.enrol()
        func context(_ subject: String) -> JSONObject {
            ["subject": .string(subject), "mode": .string("username")]
        }
        let stranger = try await server.engine.deregistrations.deregister(
            Self.ask(context("shop|\(account.id)")), client: server.bank)
        let never = try await server.engine.deregistrations.deregister(
            Self.ask(context("bank|never")), client: server.bank)
        #expect(try await server.database.credentials(accountID: account.id).count == 1)
        #expect(try await Self.notices(server, account).isEmpty)
        let known = try await server.engine.deregistrations.deregister(
            Self.ask(context("bank|\(account.id)")), client: server.bank)
        #expect(try await server.database.credentials(accountID: account.id).isEmpty)
        #expect(known == stranger && known == never)
        #expect(try Self.message(known).authenticators == [.everything])
        #expect(try await Self.trail(server).map(\.actor) == ["bank"])
        #expect(try await Self.notices(server, account) == ["Demo Bank"])
        #expect(
            try await server.engine.deregistrations.deregister(Self.ask(self.mode("username")), client: server.bank)
                .statusCode
                == .badRequest, "clients know no user names")
    }

    @Test(
        "1403: a relying party without the permission, whatever it asks",
        arguments: [
            #"{"subject":"bank|ALICE","mode":"username"}"#,
            #"{"subject":"bank|ALICE","mode":"aaid","aaid":"C516#0001"}"#,
            #"{"subject":"bank|never","mode":"username"}"#, #"{"subject":"bank|never","mode":"none"}"#, "{}",
        ])
    func mayNotDeregister(text: String) async throws {
        let server = try TestServer()
        let (account, _) = try await server.enrol()
        let text = text.replacingOccurrences(of: "ALICE", with: account.id)
        guard case .object(let context) = try JSON(parsing: Array(text.utf8)) else {
            throw JSONError(.wrongType, text)
        }
        var client = server.bank
        client.mayDeregister = false
        let answer = try await server.engine.deregistrations.deregister(Self.ask(context), client: client)
        #expect(answer == ReturnUAFRequest(statusCode: .forbidden, operation: .deregistration))
        // Its own dispatch, whose token it could redeem itself, is no way round.
        await #expect(throws: CeremonyError(.forbidden)) {
            try await server.engine.dispatches.dispatch(
                DispatchRequest(dispatcher: "link", operation: .deregistration, context: context), client: client)
        }
        #expect(try await server.database.credentials(accountID: account.id).count == 1)
        #expect(try await Self.trail(server).isEmpty)
        #expect(try await Self.notices(server, account).isEmpty)
    }

    @Test("of many that ask at once, one deletes and all are told the same")
    func concurrent() async throws {
        let server = try TestServer()
        let (account, _) = try await server.enrol()
        let device = try await Self.device(server, account)
        let request = Self.ask(self.mode("username"))
        let codes = try await withThrowingTaskGroup(of: UAFStatusCode.self) { group in
            for _ in 0..<32 {
                group.addTask {
                    try await server.engine.deregistrations.deregister(request, askedBy: device).statusCode
                }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(codes == [.ok])
        #expect(try await Self.trail(server).count == 1)
    }

    // MARK: Out of band

    private func dispatch(_ context: JSONObject, _ server: TestServer, _ dispatcher: String = "link") async throws
        -> DispatchAnswer
    {
        try await server.engine.dispatches.dispatch(
            DispatchRequest(dispatcher: dispatcher, operation: .deregistration, context: context), client: server.bank)
    }

    @Test("out of band the server deletes in the step that redeems the token; nothing before")
    func outOfBand() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let second = try await server.addPhone(to: "alice")
        let answer = try await self.dispatch(
            [
                "subject": .string("bank|\(account.id)"), "mode": .string("key"),
                "keys": .array([Self.key(phone)]),
            ], server, "link-png-qr-code")
        #expect(answer.result == .dispatched && answer.link?.isEmpty == false)
        let session = try #require(answer.sessionID)
        #expect(try await server.engine.sessions.status(sessionID: session, clientID: "bank").state == .tokenCreated)
        #expect(try await server.database.credentials(accountID: account.id).count == 2)
        let token = try #require(answer.token)
        for operation in [UAF.Operation.authentication, .registration] {
            await #expect(throws: CeremonyError(.tokenUnknown)) {
                try await server.engine.redemptions.redeem(token: token, operation: operation)
            }
        }
        let request = try await server.engine.redemptions.redeem(token: token, operation: .deregistration)
        #expect(try Self.message(request).authenticators == [.key(phone.aaid, phone.keyID)])
        #expect(request.requester?.origin == "http://127.0.0.1:8081" && request.dispatchChannel == "link-png-qr-code")
        #expect(try await server.database.credentials(accountID: account.id).map(\.keyID) == [second.keyID.bytes])
        #expect(try await server.database.devices(accountID: account.id).count == 1)
        let status = try await server.engine.sessions.status(sessionID: session, clientID: "bank")
        #expect(status.state == .succeeded && status.uafStatusCode == 1200 && status.tokenResult == .tokenRedeemed)
        #expect(status.subject == "bank|\(account.id)")
        let event = try #require(try await Self.trail(server).first)
        #expect(event.actor == "bank" && event.ceremonyID == session && event.accountID == account.id)
        #expect(try await Self.notices(server, account) == ["Demo Bank"])
        await #expect(throws: CeremonyError(.tokenUnknown)) {
            try await server.engine.redemptions.redeem(token: token, operation: .authentication)
        }
    }

    @Test("out of band, showing the token again is answered the same for thirty days; nothing more is deleted or noted")
    func outOfBandAgain() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let answer = try await self.dispatch(
            ["subject": .string("bank|\(account.id)"), "mode": .string("username")], server)
        let token = try #require(answer.token)
        let first = try await server.engine.redemptions.redeem(token: token, operation: .deregistration)
        #expect(try Self.message(first).authenticators == [.key(phone.aaid, phone.keyID)])
        let later = try await server.addPhone(to: "alice")
        for _ in 0..<29 {
            server.clock.advance(.seconds(24 * 60 * 60))
            try await server.engine.sweep.run()
            #expect(try await server.engine.redemptions.redeem(token: token, operation: .deregistration) == first)
        }
        #expect(try await server.database.credentials(accountID: account.id).map(\.keyID) == [later.keyID.bytes])
        #expect(try await Self.trail(server).count == 1)
        #expect(try await Self.notices(server, account).count == 1)
        server.clock.advance(Limits().deregistrationRetention)
        try await server.engine.sweep.run()
        await #expect(throws: CeremonyError(.tokenUnknown)) {
            try await server.engine.redemptions.redeem(token: token, operation: .deregistration)
        }
    }

    @Test("out of band of many that redeem at once all are told the same, and the keys go once")
    func outOfBandAtOnce() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let answer = try await self.dispatch(
            ["subject": .string("bank|\(account.id)"), "mode": .string("username")], server)
        let token = try #require(answer.token)
        let messages = try await withThrowingTaskGroup(of: ReturnUAFRequest.self) { group in
            for _ in 0..<32 {
                group.addTask { try await server.engine.redemptions.redeem(token: token, operation: .deregistration) }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(messages.count == 1)
        #expect(try Self.message(try #require(messages.first)).authenticators == [.key(phone.aaid, phone.keyID)])
        #expect(try await Self.trail(server).count == 1)
    }

    @Test(
        "out of band the message names the keys that went and never all of an application or a model",
        arguments: ["username", "aaid", "key"])
    func outOfBandNames(mode: String) async throws {
        let server = try TestServer()
        let (account, first) = try await server.enrol()
        let second = try await server.addPhone(to: "alice")
        let (bob, bobs) = try await server.enrol("bob")
        var context: JSONObject = ["subject": .string("bank|\(account.id)"), "mode": .string(mode)]
        if mode == "aaid" { context["aaid"] = .string(first.aaid.text) }
        if mode == "key" { context["keys"] = .array([first, second, bobs].map(Self.key)) }
        let answer = try await self.dispatch(context, server)
        let message = try Self.message(
            try await server.engine.redemptions.redeem(token: try #require(answer.token), operation: .deregistration))
        #expect(Set(message.authenticators) == [.key(first.aaid, first.keyID), .key(second.aaid, second.keyID)])
        #expect(try await server.database.credentials(accountID: bob.id).count == 1)
    }

    @Test("out of band the message names every key that went, more than a request may name, up to what a phone reads")
    func outOfBandAll() async throws {
        let server = try TestServer {
            $0.limits.deregisteredKeys = 1
            $0.limits.deregistrationBytes = 300
        }
        let (account, first) = try await server.enrol()
        var phones = [first]
        for _ in 0..<2 { phones.append(try await server.addPhone(to: "alice")) }
        func redeem() async throws -> ReturnUAFRequest {
            let answer = try await self.dispatch(
                ["subject": .string("bank|\(account.id)"), "mode": .string("username")], server)
            return try await server.engine.redemptions.redeem(
                token: try #require(answer.token), operation: .deregistration)
        }
        let request = try await redeem()
        #expect(
            try Set(Self.message(request).authenticators)
                == Set(phones.map { DeregisterAuthenticator.key($0.aaid, $0.keyID) }))
        #expect(try await server.database.credentials(accountID: account.id).isEmpty)
        // Three names of 32 bytes fit into 300 bytes, and four do not: the oldest is left out.
        phones = []
        for _ in 0..<4 { phones.append(try await server.addPhone(to: "alice")) }
        #expect(
            try Set(Self.message(try await redeem()).authenticators)
                == Set(phones.dropFirst().map { DeregisterAuthenticator.key($0.aaid, $0.keyID) }))
        #expect(try await server.database.credentials(accountID: account.id).isEmpty)
    }

    @Test("out of band an expired token deletes nothing")
    func outOfBandTooLate() async throws {
        let server = try TestServer()
        let (account, _) = try await server.enrol()
        let answer = try await self.dispatch(
            ["subject": .string("bank|\(account.id)"), "mode": .string("username")], server)
        server.clock.advance(Limits().dispatchLifetime)
        await #expect(throws: CeremonyError(.tokenExpired)) {
            try await server.engine.redemptions.redeem(token: try #require(answer.token), operation: .deregistration)
        }
        let status = try await server.engine.sessions.status(
            sessionID: try #require(answer.sessionID), clientID: "bank")
        #expect(status.state == .failed && status.tokenResult == .tokenTimedOut)
        #expect(try await server.database.credentials(accountID: account.id).count == 1)
    }

    @Test("out of band another account's key is not deleted, and strangers are not found")
    func outOfBandForeign() async throws {
        let server = try TestServer()
        let (account, _) = try await server.enrol()
        let (bob, bobs) = try await server.enrol("bob")
        let answer = try await self.dispatch(
            [
                "subject": .string("bank|\(account.id)"), "mode": .string("key"), "keys": .array([Self.key(bobs)]),
            ], server)
        let request = try await server.engine.redemptions.redeem(
            token: try #require(answer.token), operation: .deregistration)
        #expect(request.statusCode == .ok && request.uafRequest == nil, "nothing was deleted: no phone is to delete")
        #expect(try await Self.trail(server).isEmpty, "and nothing is said to have been")
        #expect(try await Self.notices(server, account).isEmpty)
        #expect(try await server.database.credentials(accountID: bob.id).count == 1)
        for subject in ["bank|never", "shop|\(account.id)"] {
            let answer = try await self.dispatch(["subject": .string(subject), "mode": .string("username")], server)
            #expect(answer.result == .userNotFound && answer.token == nil)
        }
        for context: JSONObject in [
            [:], ["subject": .string("bank|\(account.id)")],
            ["subject": .string("bank|\(account.id)"), "mode": .string("aaid"), "aaid": .string("ABCD#0001")],
            // Of personalised identities alone.
            ["subject": .string("bank|\(account.id)"), "mode": .string("aaid"), "aaid": .string("C516#0007")],
        ] {
            await #expect(throws: CeremonyError(.invalidRequest)) { try await self.dispatch(context, server) }
        }
    }
}
