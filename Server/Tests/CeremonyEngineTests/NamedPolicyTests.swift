import CeremonyEngine
import SQLiteStore
import Store
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@Suite("Policies by name (decision 20): a relying party asks for more than the default")
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
        return try await server.engine.dispatch(
            DispatchRequest(dispatcher: "link", operation: .authentication, context: context), client: server.bank)
    }

    @Test("An answer must meet the policy that was named", arguments: ["finger", nil])
    func named(policy: String?) async throws {
        let server = try Self.server()
        let (_, phone) = try await server.enrol()
        let dispatched = try await Self.dispatch(server, policy)
        let request = try await server.engine.redeem(
            token: try #require(dispatched.token), operation: .authentication)
        let message = try AuthenticationRequest(parsing: (request.uafRequest ?? "").utf8)
        #expect(message.policy.accepted.flatMap { $0 }.contains { $0.aaid == [Self.pin] } == (policy == nil))
        // A phone that answers with the PIN all the same.
        let answer = try await server.engine.answerAuthentication(try phone.authenticate(request, counter: 2))
        #expect(answer.response.statusCode == (policy == nil ? .ok : .unacceptableAuthenticator))
    }

    @Test("For a known person the keys that meet the policy are named, and no others")
    func knownPerson() async throws {
        let server = try Self.server()
        let (account, _) = try await server.enrol()
        let finger = try TestPhone(factor: .fingerprint)
        let activation = try await server.engine.createActivation(username: "alice", by: "test")
        let registration = try await server.engine.redeem(
            token: try TestPhone.token(activation.link), operation: .registration)
        let confirmation = try await server.engine.answerRegistration(try finger.register(registration)).confirmation
        _ = try await server.engine.confirmActivation(
            id: activation.id, number: try #require(confirmation?.number), by: "test")
        for policy in ["finger", "no-pin"] {
            let dispatched = try await Self.dispatch(server, policy, to: account)
            let request = try await server.engine.redeem(
                token: try #require(dispatched.token), operation: .authentication)
            let message = try AuthenticationRequest(parsing: (request.uafRequest ?? "").utf8)
            #expect(message.policy.accepted == [[MatchCriteria(aaid: [Self.finger], keyIDs: [finger.keyID])]])
        }
    }

    @Test("Who has no key that meets the policy is told 1492 when the token is redeemed")
    func noSuitableKey() async throws {
        let server = try Self.server()
        let (account, _) = try await server.enrol()
        let dispatched = try await Self.dispatch(server, "finger", to: account)
        let request = try await server.engine.redeem(
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
        let claimed = try await server.engine.redeem(
            token: try #require(try await Self.dispatch(server, "no-pin").token), operation: .authentication)
        // A catalog in which the default policy's models are missing is no catalog.
        #expect(throws: RequestError.self) {
            try server.engine.replaceRules(metadata: MetadataCatalog(), policies: PolicyCatalog())
        }
        #expect(server.engine.policies.names == ["finger", "no-pin"])
        var metadata = try MetadataCatalog.builtIn()
        metadata.revoke(Self.pin)
        try server.engine.replaceRules(metadata: metadata, policies: PolicyCatalog())
        let request = try await server.engine.redeem(
            token: try #require(waiting.token), operation: .authentication)
        #expect(request.statusCode == .unacceptableAuthenticator)
        let answer = try await server.engine.answerAuthentication(try phone.authenticate(claimed, counter: 2))
        #expect(answer.response.statusCode == .invalidRequest)
        // And what is revoked from now on is revoked for requests from before.
        let open = try await server.engine.authenticationRequest(username: nil, source: "a")
        let revoked = try await server.engine.answerAuthentication(try phone.authenticate(open, counter: 2))
        #expect(revoked.response.statusCode == .revokedAuthenticator)
    }
}
