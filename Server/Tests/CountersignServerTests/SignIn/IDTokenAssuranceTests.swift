import Ceremony
import Countersign
import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import Testing
import UAF
import UAFClient
import UAFRelyingParty
import _Primitives

/// What the person signs in with, and what the client reads of it.
struct ToldAssurance: Sendable, CustomTestStringConvertible {
    /// The operator's policies by name, each one alternative of models; the account is enrolled by the first.
    let enrolment: [String]
    /// What a sign-in takes.
    let factors: FactorMatrix
    let methods: [String]
    let level: String

    var testDescription: String { self.methods.joined(separator: " ") }

    static let all = [
        ToldAssurance(
            enrolment: ["C516#0001"], factors: [[.pin], [.fingerprint]], methods: ["pin", "swk", "mfa"],
            level: "urn:countersign:acr:two-factor"),
        ToldAssurance(
            enrolment: ["C516#0001", "C516#0003"], factors: [[.pin, .fingerprint]],
            methods: ["pin", "fpt", "swk", "mfa"], level: "urn:countersign:acr:two-factor"),
        ToldAssurance(
            enrolment: ["C516#0001", "C516#0006"], factors: [[.pin, .devicePossession]],
            methods: ["pin", "swk", "mfa"], level: "urn:countersign:acr:two-factor"),
    ]
}

@Suite("How surely a person has signed in, in the ID token as the client gets it (OpenID Connect Core 1.0, section 2)")
struct IDTokenAssuranceTests {
    private static func server(_ told: ToldAssurance) async throws -> ServerFixture {
        try await ServerFixture(
            rules: {
                var rules = RuleSet(metadata: try .builtIn())
                try rules.policies.add(
                    Policy(accepted: [try told.enrolment.map { MatchCriteria(aaid: [try AAID($0)]) }]), named: "all",
                    metadata: rules.metadata)
                return rules
            }, factors: told.factors)
    }

    /// The claims of an ID token whose signature is the provider's, by the keys that it publishes.
    private static func claims(_ token: String, _ client: any TestClientProtocol) async throws -> JSONObject {
        let published = try await client.send(.get, "/oauth2/jwks").object
        let keys = try JWKSet(parsing: JSON.object(published).serialized)
        let unverified = try UnverifiedJWS(compact: token)
        let key = try #require(keys.keys.first { $0.keyID == unverified.header.keyID })
        return try JWTClaims(unverified.verified(by: try VerificationKey(key, algorithm: .es256))).members
    }

    @Test(
        "amr has every method of every key that signed, acr the level, one of those that discovery names",
        arguments: ToldAssurance.all)
    func told(_ told: ToldAssurance) async throws {
        let server = try await Self.server(told)
        try await server.withPublicClient { client in
            // Two readings: one enrols the finger, one signs in with it.
            let sensor = ScriptedSensor()
            sensor.feel(.match, .match)
            let phone = try await server.enrolledPhone(client, policy: "all", sensor: sensor)
            let party = try await server.relyingParty()
            let browser = TestBrowser(client)
            let (request, page) = try await server.signInPage(browser, party)
            _ = try await phone.authenticate(try server.typedPayload(page))
            let completed = try await browser.get("/sign-in/complete?request=\(request)")
            let tokens = try await party.exchange(try #require(completed.redirectParameters["code"]), client).object
            let claims = try await Self.claims(try tokens.requiredString("id_token"), client)
            #expect(try claims.strings("amr") == told.methods)
            #expect(try claims.string("acr") == told.level)
            let discovery = try await client.send(.get, "/.well-known/openid-configuration").object
            let named = try #require(try discovery.strings("acr_values_supported"))
            #expect(named.contains(told.level))
            #expect(Set(AssuranceLevel.allCases.map(\.rawValue)).isSubset(of: named))
        }
    }

    @Test("Possession of the device alone signs nobody in: no server takes such a rule, and a PIN's is not met by it")
    func possessionAlone() async throws {
        let alone = ToldAssurance(
            enrolment: ["C516#0006"], factors: [[.devicePossession]], methods: [], level: "")
        await #expect(throws: RequestError.self) { try await Self.server(alone) }
        let named = ToldAssurance(
            enrolment: ["C516#0006"], factors: [[.pin]], methods: [], level: "")
        await #expect(throws: RequestError.self) { try await Self.server(named) }
    }
}
