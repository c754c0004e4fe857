import Accounts
import CeremonyEngine
import Records
import SQLStore
import Settings
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@Suite("Policies by name (threat model, Policy downgrade by the caller): asking for more than the default")
struct NamedPolicyTests {
    private static let pin = AuthenticatorModel(factor: .pin, keyStore: .file).aaid
    private static let finger = AuthenticatorModel(factor: .fingerprint, keyStore: .file).aaid

    private static func server() throws -> TestServer {
        var policies = PolicyCatalog()
        let metadata = try MetadataCatalog.builtIn()
        try policies.add(
            Policy(accepted: [[MatchCriteria(aaid: [Self.finger])]]), named: "finger", metadata: metadata)
        var any = MatchCriteria()
        any.authenticationAlgorithms = [.p256Raw]
        any.assertionSchemes = [.uafV1TLV]
        any.userVerification = [.fingerprint, .passcode]
        try policies.add(
            Policy(accepted: [[any]], disallowed: [MatchCriteria(aaid: [Self.pin])]), named: "no-pin",
            metadata: metadata)
        let named = policies
        return try TestServer { $0.policies = named }
    }

    private static func dispatch(_ server: TestServer, _ policy: String?, to account: AccountRecord? = nil) async throws
        -> DispatchAnswer
    {
        var context: JSONObject = [:]
        context["policy"] = policy.map(JSON.string)
        context["subject"] = account.map { .string("bank|\($0.id)") }
        return try await server.engine.dispatches.dispatch(
            DispatchRequest(dispatcher: "link", operation: .authentication, context: context), client: server.bank)
    }

    @Test("An answer must meet the policy that was named", arguments: ["finger", nil])
    func named(policy: String?) async throws {
        let server = try Self.server()
        let (_, phone) = try await server.enrol()
        let dispatched = try await Self.dispatch(server, policy)
        let request = try await server.engine.redemptions.redeem(
            token: try #require(dispatched.token), operation: .authentication)
        let message = try AuthenticationRequest(parsing: (request.uafRequest ?? "").utf8)
        let models = message.policy.accepted.flatMap { $0 }.flatMap { $0.aaid ?? [] }
        #expect(models.contains(Self.pin) == (policy == nil))
        // A phone that answers with the PIN all the same.
        let answer = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(answer.response.statusCode == (policy == nil ? .ok : .unacceptableAuthenticator))
        let status = try await server.engine.sessions.status(
            sessionID: try #require(dispatched.sessionID), clientID: "bank")
        #expect(status.state == (policy == nil ? .succeeded : .failed))
        #expect(status.uafStatusCode == (policy == nil ? 1200 : 1492))
    }

    @Test("For a known person the keys that meet the policy are named, and no others")
    func knownPerson() async throws {
        let server = try Self.server()
        let (account, _) = try await server.enrol()
        let finger = try TestPhone(factor: .fingerprint)
        let enrolment = try await server.engine.enrolments.createEnrolmentLink(username: "alice", by: "test")
        let registration = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(enrolment.link), operation: .registration)
        let confirmation = try await server.engine.registrationAnswers.judge(try finger.register(registration))
            .confirmation
        _ = try await server.engine.enrolments.confirmEnrolment(
            id: enrolment.id, number: try #require(confirmation?.number), by: "test")
        for policy in ["finger", "no-pin"] {
            let dispatched = try await Self.dispatch(server, policy, to: account)
            let request = try await server.engine.redemptions.redeem(
                token: try #require(dispatched.token), operation: .authentication)
            let message = try AuthenticationRequest(parsing: (request.uafRequest ?? "").utf8)
            #expect(message.policy.accepted == [[MatchCriteria(aaid: [Self.finger], keyIDs: [finger.keyID])]])
        }
    }

    @Test("A person who has no key that meets the policy is told 1492 when the token is redeemed")
    func noSuitableKey() async throws {
        let server = try Self.server()
        let (account, _) = try await server.enrol()
        let dispatched = try await Self.dispatch(server, "finger", to: account)
        let request = try await server.engine.redemptions.redeem(
            token: try #require(dispatched.token), operation: .authentication)
        #expect(request.statusCode == .unacceptableAuthenticator && request.uafRequest == nil)
    }

    @Test("A name that is not known is refused", arguments: ["", "Finger", "default", "../finger"])
    func unknown(policy: String) async throws {
        let server = try Self.server()
        await #expect(throws: CeremonyError(.invalidRequest)) { try await Self.dispatch(server, policy) }
    }

    @Test("Rules are replaced as a whole; a policy that went serves no request that named it")
    func replaced() async throws {
        let server = try Self.server()
        let (_, phone) = try await server.enrol()
        let waiting = try await Self.dispatch(server, "finger")
        let claimed = try await server.engine.redemptions.redeem(
            token: try #require(try await Self.dispatch(server, "no-pin").token), operation: .authentication)
        // A catalog in which the default policy's models are missing is no catalog.
        #expect(throws: RequestError.self) {
            try server.engine.replaceRules(
                metadata: MetadataCatalog(), policies: PolicyCatalog(), channelBinding: .ignore)
        }
        #expect(server.engine.policies.names == ["finger", "no-pin"])
        var metadata = try MetadataCatalog.builtIn()
        metadata.revoke(Self.pin)
        try server.engine.replaceRules(metadata: metadata, policies: PolicyCatalog(), channelBinding: .ignore)
        let request = try await server.engine.redemptions.redeem(
            token: try #require(waiting.token), operation: .authentication)
        #expect(request.statusCode == .unacceptableAuthenticator)
        let answer = try await server.engine.authenticationAnswers.judge(try phone.authenticate(claimed, counter: 2))
        #expect(answer.response.statusCode == .invalidRequest)
        // And what is revoked from now on is revoked for requests from before.
        let open = try await server.engine.requests.authentication(username: nil, source: "a")
        let revoked = try await server.engine.authenticationAnswers.judge(try phone.authenticate(open, counter: 2))
        #expect(revoked.response.statusCode == .revokedAuthenticator)
    }
}

@Suite("Policies by name for registrations, and for relying parties that ask in an app's place (uaf-sections §8.1)")
struct NamedPolicyRequestTests {
    private static let pin = AuthenticatorModel(factor: .pin, keyStore: .file).aaid
    private static let finger = AuthenticatorModel(factor: .fingerprint, keyStore: .file).aaid

    private static func server() throws -> TestServer {
        var policies = PolicyCatalog()
        let metadata = try MetadataCatalog.builtIn()
        for (name, aaid) in [("finger", Self.finger), ("pin", Self.pin)] {
            try policies.add(
                Policy(accepted: [[MatchCriteria(aaid: [aaid])]], disallowed: [MatchCriteria(aaid: [Names.face])]),
                named: name, metadata: metadata)
        }
        let named = policies
        return try TestServer {
            $0.policies = named
            $0.limits.challengeBurst = 30
        }
    }

    private enum Names {
        static let face = AuthenticatorModel(factor: .face, keyStore: .file).aaid
    }

    private static func forget(_ server: TestServer) throws {
        try server.engine.replaceRules(
            metadata: .builtIn(), policies: PolicyCatalog(), channelBinding: .ignore)
    }

    private static func enrolment(_ server: TestServer, policy: String?) async throws -> EnrolmentLink {
        _ = try? await server.directory.create(username: "alice", displayName: nil, by: "test")
        return try await server.engine.enrolments.createEnrolmentLink(username: "alice", policy: policy, by: "operator")
    }

    private static func redeem(_ server: TestServer, _ enrolment: EnrolmentLink) async throws -> ReturnUAFRequest {
        try await server.engine.redemptions.redeem(
            token: try TestPhone.token(enrolment.link), operation: .registration)
    }

    @Test("An enrolment must meet the policy that its link was made with", arguments: ["finger", nil])
    func enrolment(policy: String?) async throws {
        let server = try Self.server()
        for factor in [AuthenticatorModel.Factor.pin, .fingerprint] {
            let enrolment = try await Self.enrolment(server, policy: policy)
            let request = try await Self.redeem(server, enrolment)
            let message = try RegistrationRequest(parsing: (request.uafRequest ?? "").utf8)
            #expect((message.policy.accepted == [[MatchCriteria(aaid: [Self.finger])]]) == (policy != nil))
            #expect(message.policy.disallowed.contains(MatchCriteria(aaid: [Names.face])) == (policy != nil))
            let answer = try await server.engine.registrationAnswers.judge(
                try TestPhone(factor: factor).register(request))
            let isWanted = policy == nil || factor == .fingerprint
            #expect(answer.statusCode == (isWanted ? .accepted : .unacceptableAuthenticator))
            #expect(
                try await server.engine.enrolments.enrolment(id: enrolment.id).state
                    == (isWanted ? .pendingConfirmation : .failed))
        }
    }

    @Test("The account's keys are kept out beside what the policy itself keeps out")
    func existingKeys() async throws {
        let server = try Self.server()
        let (_, phone) = try await server.enrol()
        let request = try await Self.redeem(server, try await Self.enrolment(server, policy: "finger"))
        let message = try RegistrationRequest(parsing: (request.uafRequest ?? "").utf8)
        #expect(
            message.policy.disallowed == [
                MatchCriteria(aaid: [Names.face]), MatchCriteria(aaid: [Self.pin], keyIDs: [phone.keyID]),
            ])
    }

    @Test("A name that is not known makes no link", arguments: ["", "Finger", "default", "open", "finger "])
    func unknownActivation(policy: String) async throws {
        let server = try Self.server()
        let account = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        await #expect(throws: CeremonyError(.invalidRequest)) {
            try await server.engine.enrolments.createEnrolmentLink(username: "alice", policy: policy, by: "operator")
        }
        let trail = try await server.database.auditEntries(after: 0, limit: 9).map(\.event)
        #expect(!trail.contains { $0.kind.rawValue == "activation-created" && $0.accountID == account.id })
    }

    @Test("A policy that went before the link was redeemed is told as 1492, before the answer as 1491")
    func goneActivation() async throws {
        let server = try Self.server()
        let unread = try await Self.enrolment(server, policy: "finger")
        let read = try await Self.enrolment(server, policy: "finger")
        let request = try await Self.redeem(server, read)
        try Self.forget(server)
        let late = try await Self.redeem(server, unread)
        #expect(late.statusCode == .unacceptableAuthenticator && late.uafRequest == nil)
        let answer = try await server.engine.registrationAnswers.judge(
            try TestPhone(factor: .fingerprint).register(request))
        #expect(answer.statusCode == .invalidRequest)
        #expect(try await server.engine.enrolments.enrolment(id: read.id).state == .failed)
        #expect(try await server.directory.devices(username: "alice").isEmpty)
    }

    @Test("A phone that registers in its app names a policy, and must meet it", arguments: ["finger", nil])
    func inApp(policy: String?) async throws {
        let server = try Self.server()
        let (account, _) = try await server.enrol()
        let device = try await server.device(of: account)
        for factor in [AuthenticatorModel.Factor.password, .fingerprint] {
            let request = try await server.engine.requests.registration(of: device, policy: policy)
            let answer = try await server.engine.registrationAnswers.judge(
                try TestPhone(factor: factor).register(request))
            let isWanted = policy == nil || factor == .fingerprint
            #expect(answer.statusCode == (isWanted ? .ok : .unacceptableAuthenticator))
        }
        let request = try await server.engine.requests.registration(of: device, policy: "finger")
        try Self.forget(server)
        let late = try await server.engine.registrationAnswers.judge(
            try TestPhone(factor: .fingerprint).register(request))
        #expect(late.statusCode == .invalidRequest)
    }

    @Test("In the app and for a relying party a name that is not known is 1400", arguments: ["", "Finger", "default"])
    func unknown(policy: String) async throws {
        let server = try Self.server()
        let (account, _) = try await server.enrol()
        let registration = try await server.engine.requests.registration(
            of: try await server.device(of: account), policy: policy)
        #expect(registration.statusCode == .badRequest && registration.uafRequest == nil)
        let authentication = try await server.engine.requests.authentication(username: "alice", policy: policy)
        #expect(authentication.statusCode == .badRequest && authentication.uafRequest == nil)
    }

    @Test("A relying party names a policy for a person or for anybody, and the answer must meet it")
    func relyingParty() async throws {
        let server = try Self.server()
        let (_, phone) = try await server.enrol()
        for username in ["alice", nil] {
            let request = try await server.engine.requests.authentication(username: username, policy: "pin")
            let message = try AuthenticationRequest(parsing: (request.uafRequest ?? "").utf8)
            #expect(
                message.policy.accepted == [
                    [MatchCriteria(aaid: [Self.pin], keyIDs: username.map { _ in [phone.keyID] })]
                ])
            let counter: UInt32 = username == nil ? 3 : 2
            let answer = try await server.engine.authenticationAnswers.judge(
                try phone.authenticate(request, counter: counter))
            #expect(answer.response.statusCode == .ok && answer.authenticated != nil)
        }
        let other = try await server.engine.requests.authentication(username: nil, policy: "finger")
        let refused = try await server.engine.authenticationAnswers.judge(try phone.authenticate(other, counter: 4))
        #expect(refused.response.statusCode == .unacceptableAuthenticator && refused.authenticated == nil)
        let request = try await server.engine.requests.authentication(username: "alice", policy: "pin")
        try Self.forget(server)
        let late = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 4))
        #expect(late.response.statusCode == .invalidRequest)
    }

    @Test("Whether a name exists, and with which keys, shows by no policy: the invented keys fit each, one a model")
    func invented() async throws {
        let server = try Self.server()
        try await server.enrol()
        func criteria(_ username: String, _ policy: String?) async throws -> [MatchCriteria] {
            let request = try await server.engine.requests.authentication(username: username, policy: policy)
            #expect(request.statusCode == .ok)
            return try AuthenticationRequest(parsing: (request.uafRequest ?? "").utf8).policy.accepted.flatMap { $0 }
        }
        // Alice has no finger registered, nobody nothing.
        for username in ["alice", "nobody"] {
            let first = try await criteria(username, "finger")
            #expect((1...3).contains(first.count), "so many devices")
            #expect(first.allSatisfy { $0.aaid == [Self.finger] && $0.keyIDs?.count == 1 })
            #expect(try await criteria(username, "finger") == first)
        }
        for username in ["nobody", "n1", "n2", "n3", "n4", "n5"] {
            let byDefault = try await criteria(username, nil)
            let devices = try await criteria(username, "finger").count
            #expect((1...3).contains(devices) && byDefault.count >= devices)
            for (policy, model) in [("finger", Self.finger), ("pin", Self.pin)] {
                let named = try await criteria(username, policy)
                #expect(named.count == devices, "as many devices by every policy")
                for key in byDefault where key.aaid == [model] { #expect(named.contains(key)) }
            }
        }
    }

    @Test("A relying party that proved who it is has no budget of challenges, whoever else has used up theirs")
    func budget() async throws {
        let server = try Self.server()
        for _ in 0..<30 { _ = try await server.engine.requests.authentication(username: nil, source: "a") }
        await #expect(throws: CeremonyError(.tooManyRequests)) {
            try await server.engine.requests.authentication(username: nil, source: "a")
        }
        for _ in 0..<40 {
            let request = try await server.engine.requests.authentication(username: nil, policy: nil)
            #expect(request.statusCode == .ok)
        }
        await #expect(throws: CeremonyError(.invalidRequest)) {
            try await server.engine.requests.authentication(username: "", policy: "pin")
        }
    }
}
