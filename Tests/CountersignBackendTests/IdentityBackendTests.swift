import Countersign
import CountersignBackend
import Foundation
import JOSE
import OAuth
import PersonalInformation
import Synchronization
import Testing
import _Primitives

/// A provider as a back end meets it, with real keys; what it answers can be spoilt in one place.
private final class Provider: Transport {
    struct Answers: Sendable {
        var issuer = "https://id.example"
        var claims: JSONObject = [:]
        var profile: JSONObject = ["sub": .string("pairwise-1")]
        var tokenStatus = 200
        var tokenError = "invalid_grant"
        var signsWithOtherKey = false
        /// The path that answers with 503.
        var failing: String?
    }

    let key: SigningKey
    let other: SigningKey
    private let state: Mutex<(answers: Answers, requests: [TransportRequest])>

    init(_ answers: Answers) throws {
        self.key = try SigningKey(
            kept: try SigningKey.make(.es256, random: .system), algorithm: .es256, keyID: "k1")
        self.other = try SigningKey(
            kept: try SigningKey.make(.es256, random: .system), algorithm: .es256, keyID: "k1")
        self.state = Mutex((answers, []))
    }

    var requests: [TransportRequest] { self.state.withLock { $0.requests } }
    func answer(_ change: (inout Answers) -> Void) { self.state.withLock { change(&$0.answers) } }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let answers = self.state.withLock { state in
            state.requests.append(request)
            return state.answers
        }
        guard request.url.path() != answers.failing else { return self.json([:], status: 503) }
        switch request.url.path() {
        case "/.well-known/openid-configuration":
            return self.json([
                "issuer": .string(answers.issuer), "token_endpoint": .string("https://id.example/oauth2/token"),
                "userinfo_endpoint": .string("https://id.example/oauth2/userinfo"),
                "jwks_uri": .string("https://id.example/oauth2/jwks"),
            ])
        case "/oauth2/jwks": return self.json(JWKSet([self.key.publicKey!]).publicJSON)
        case "/oauth2/userinfo": return self.json(answers.profile)
        default:
            guard answers.tokenStatus == 200 else {
                return self.json(["error": .string(answers.tokenError)], status: answers.tokenStatus)
            }
            let token = try JWS.sign(
                JSON.object(answers.claims).serialized, with: answers.signsWithOtherKey ? self.other : self.key)
            return self.json([
                "access_token": .string("access"), "token_type": .string("Bearer"), "id_token": .string(token),
            ])
        }
    }

    private func json(_ object: JSONObject, status: Int = 200) -> TransportResponse {
        TransportResponse(status: status, headers: [], body: JSON.object(object).serialized)
    }
}

/// The back end of an app that signs itself in.
@Suite struct IdentityBackendTests {
    private static let now = Timestamp(seconds: 1_800_000_000)

    private func backend(_ provider: Provider, _ time: TimeSource = TimeSource { Self.now }) -> IdentityBackend {
        IdentityBackend(
            BackendConfiguration(
                issuer: "https://id.example", clientID: "town-app", clientSecret: SecretBytes(Array("s3cret".utf8)),
                redirectURI: "https://town.example/app"),
            transport: provider, time: time)
    }

    private func expect(
        _ code: BackendError.Code, _ body: () async throws -> SignedInPerson,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let error = await #expect(throws: BackendError.self, sourceLocation: sourceLocation) { () async throws in
            try await body()
        }
        #expect(error?.code == code, sourceLocation: sourceLocation)
    }

    /// Answers that fit a sign-in.
    private func right(_ signIn: InAppSignIn) -> (inout Provider.Answers) -> Void {
        { answers in
            answers.claims = [
                "iss": .string("https://id.example"), "aud": .string("town-app"), "sub": .string("pairwise-1"),
                "exp": .integer(Self.now.seconds + 60), "iat": .integer(Self.now.seconds),
                "auth_time": .integer(Self.now.seconds - 5), "nonce": .string(signIn.offer.nonce),
                "acr": .string("two"), "amr": .array([.string("pin"), .string("hwk")]),
            ]
            answers.profile = [
                "sub": .string("pairwise-1"), "roles": .array([.string("citizen")]), "given_name": .string("Ada"),
                // As the server writes them.
                "address": PersonalAttribute.address.claim(of: "Main Street\n1\n12345\nTown\nDE")!,
                "nationalities": PersonalAttribute.nationality.claim(of: "DE")!,
                "place_of_birth": PersonalAttribute.placeOfBirth.claim(of: "Town")!,
            ]
        }
    }

    @Test("A code becomes a person: mapping id, role, confirmed attributes")
    func finishes() async throws {
        let provider = try Provider(Provider.Answers())
        let backend = self.backend(provider)
        let signIn = backend.begin()
        provider.answer(self.right(signIn))
        let person = try await backend.finish(
            signIn, code: "c", state: signIn.offer.state, issuer: "https://id.example")
        #expect(person.mappingID == "pairwise-1")
        #expect(person.roles == ["citizen"])
        #expect(
            person.attributes == [
                .givenName: "Ada", .address: "Main Street 1\n12345 Town\nDE", .nationality: "DE", .placeOfBirth: "Town",
            ])
        #expect(person.authenticatedAt == Self.now - .seconds(5))
        #expect(person.assurance == "two" && person.methods == ["pin", "hwk"])
        #expect(!"\(person)".contains("Ada"))

        let exchange = try #require(provider.requests.first { $0.url.path() == "/oauth2/token" })
        let form = try Parameters(parsing: String(decoding: exchange.body, as: UTF8.self))
        #expect(form["code_verifier"] == signIn.codeVerifier.text)
        #expect(form["redirect_uri"] == "https://town.example/app")
        #expect(try CodeChallenge(signIn.offer.codeChallenge).matches(signIn.codeVerifier))
    }

    @Test("A sign-in that was kept as text goes on")
    func takesUp() async throws {
        let provider = try Provider(Provider.Answers())
        let backend = self.backend(provider)
        let begun = backend.begin()
        let offer = try JSONDecoder().decode(
            InAppSignInOffer.self, from: JSONEncoder().encode(begun.offer))
        let signIn = try InAppSignIn(offer: offer, codeVerifier: begun.codeVerifier.text)
        provider.answer(self.right(signIn))
        let person = try await backend.finish(
            signIn, code: "c", state: offer.state, issuer: "https://id.example")
        #expect(person.mappingID == "pairwise-1")
    }

    @Test("What the app brings of another sign-in or server is refused before anything is asked")
    func refusesForeign() async throws {
        let provider = try Provider(Provider.Answers())
        let backend = self.backend(provider)
        let signIn = backend.begin()
        for state in [nil, "", backend.begin().offer.state] {
            await self.expect(.notThisSignIn) {
                try await backend.finish(signIn, code: "c", state: state, issuer: "https://id.example")
            }
        }
        await self.expect(.notThisSignIn) {
            try await backend.finish(
                signIn, code: "c", state: signIn.offer.state, issuer: "https://evil.example")
        }
        #expect(provider.requests.isEmpty)
    }

    @Test(
        "An ID token that is not this sign-in's signs nobody in",
        arguments: ["iss", "aud", "exp", "nonce", "sub", "key"])
    func refusesOtherTokens(_ member: String) async throws {
        let provider = try Provider(Provider.Answers())
        let backend = self.backend(provider)
        let signIn = backend.begin()
        provider.answer(self.right(signIn))
        provider.answer { answers in
            switch member {
            case "exp": answers.claims["exp"] = .integer(Self.now.seconds - 31)
            case "key": answers.signsWithOtherKey = true
            default: answers.claims[member] = .string("another")
            }
        }
        await self.expect(.answerNotTrusted) {
            try await backend.finish(signIn, code: "c", state: signIn.offer.state, issuer: "https://id.example")
        }
    }

    @Test("Refusals tell an operator's mistake from a code that is gone")
    func tellsRefusals() async throws {
        let provider = try Provider(Provider.Answers())
        let backend = self.backend(provider)
        let signIn = backend.begin()
        provider.answer(self.right(signIn))
        for (status, error, code) in [
            (400, "invalid_grant", BackendError.Code.codeRefused), (401, "invalid_client", .clientRefused),
            (503, "temporarily_unavailable", .serverUnreachable), (400, "invalid_request", .serverMisconfigured),
        ] {
            provider.answer {
                $0.tokenStatus = status
                $0.tokenError = error
            }
            await self.expect(code) {
                try await backend.finish(signIn, code: "c", state: signIn.offer.state, issuer: "https://id.example")
            }
        }
    }

    @Test(
        "A server that fails is told as one that cannot be reached, wherever it fails",
        arguments: ["/.well-known/openid-configuration", "/oauth2/token", "/oauth2/jwks", "/oauth2/userinfo"])
    func tellsFailures(path: String) async throws {
        let provider = try Provider(Provider.Answers())
        let backend = self.backend(provider)
        let signIn = backend.begin()
        provider.answer(self.right(signIn))
        provider.answer { $0.failing = path }
        await self.expect(.serverUnreachable) {
            try await backend.finish(signIn, code: "c", state: signIn.offer.state, issuer: "https://id.example")
        }
        provider.answer { $0.failing = nil }
        _ = try await backend.finish(signIn, code: "c", state: signIn.offer.state, issuer: "https://id.example")
    }

    @Test("A discovery document of another issuer is not gone by")
    func refusesOtherIssuer() async throws {
        let provider = try Provider(Provider.Answers())
        provider.answer { $0.issuer = "https://other.example" }
        let backend = self.backend(provider)
        let signIn = backend.begin()
        await self.expect(.serverMisconfigured) {
            try await backend.finish(signIn, code: "c", state: signIn.offer.state, issuer: "https://id.example")
        }
        #expect(!provider.requests.contains { $0.url.path() == "/oauth2/token" })
    }

    @Test("A service's secret goes nowhere in the clear")
    func refusesClear() async throws {
        let provider = try Provider(Provider.Answers())
        let backend = IdentityBackend(
            BackendConfiguration(
                issuer: "http://id.example", clientID: "town-app", clientSecret: SecretBytes(Array("s".utf8)),
                redirectURI: "https://town.example/app"),
            transport: provider)
        let signIn = backend.begin()
        await self.expect(.serverMisconfigured) {
            try await backend.finish(signIn, code: "c", state: signIn.offer.state, issuer: "http://id.example")
        }
        #expect(provider.requests.isEmpty)
    }
}
