import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import NIOCore
import OAuth
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

@Suite("The app sign-in service: clients that sign with a key of their own (row F051 of the parity table)")
struct AppSignInPrivateKeyTests {
    private static let id = "sample_client_api"
    private static let unproven = "The client did not authenticate."

    /// A back end whose codes have no challenge, and its key.
    private struct BackEnd: Sendable {
        let place: AppSignIn
        let key: SigningKey

        /// An assertion that is right but for the changes; `nil` leaves a claim out.
        func assertion(_ changes: [String: JSON?] = [:], by key: SigningKey? = nil) throws -> String {
            let now = self.place.server.clock.now().seconds
            var claims: JSONObject = [
                "iss": .string(id), "sub": .string(id), "aud": .string("http://localhost:8080/v0/sign_in/token"),
                "iat": .integer(now), "exp": .integer(now + 60), "jti": .string(RandomSource.system.identifier()),
            ]
            for (name, value) in changes { claims[name] = value }
            return try JWS.sign(JSON.object(claims).serialized, type: "JWT", with: key ?? self.key)
        }

        /// A code without a challenge.
        func code(_ changes: [String: String?] = [:]) async throws -> String {
            var asked: [String: String?] = ["code_challenge": nil, "code_challenge_method": nil]
            asked.merge(changes) { $1 }
            return try await self.place.code(id, asked)
        }

        func redeem(
            _ code: String, _ assertion: String?, _ changes: [String: String?] = [:]
        ) async throws -> TestResponse {
            var shown: [String: String?] = [
                "code_verifier": nil, "client_assertion": assertion,
                "client_assertion_type": assertion == nil
                    ? nil : "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            ]
            shown.merge(changes) { $1 }
            return try await self.place.redeem(code, shown)
        }
    }

    private static func run(
        _ algorithm: JWSAlgorithm = .es256, pkce: Bool = false,
        _ body: @escaping @Sendable (BackEnd) async throws -> Void
    ) async throws {
        try await AppSignIn.run { place async throws in
            let key = try SigningKey(
                kept: SigningKey.make(algorithm, random: .system), algorithm: algorithm, keyID: nil)
            var settings = ClientSettings(
                idTokenAlgorithm: .es256, authenticationMethod: "private_key_jwt",
                keySet: JSON.object(JWKSet([try #require(key.publicKey)]).publicJSON).text,
                signInMethods: ["password"])
            settings.signInService = SignInServiceSettings(
                usesPKCE: pkce, audience: "sample", levels: [.init("loa1")], wrapsData: false)
            _ = try await place.server.assembly.provider.clients.register(
                name: "Sample", redirectURIs: ["https://sample.va.example/callback"], settings: settings, id: id)
            try await body(BackEnd(place: place, key: key))
        }
    }

    @Test(
        "a back end gets tokens for its code and a statement that it has signed",
        arguments: [JWSAlgorithm.rs256, .es256])
    func given(algorithm: JWSAlgorithm) async throws {
        try await Self.run(algorithm) { end async throws in
            let answer = try await end.redeem(end.code(), end.assertion())
            let tokens = try AppTokens(answer)
            #expect(try await end.place.introspect(tokens.access) == 200)
            #expect(try await end.place.refresh(tokens.refresh).status == .ok)
            #expect(try await end.redeem(end.code(), end.assertion(), ["client_id": Self.id]).status == .ok)
        }
    }

    @Test(
        "a back end is at an https address, and gets no session that an app opens: its key would not be asked for",
        arguments: ["com.example.app:/in", "http://127.0.0.1:8099/in", "https://sample.va.example/callback"])
    func places(address: String) async throws {
        try await Self.run { end async throws in
            let provider = end.place.server.assembly.provider
            var settings = try #require(try await provider.clients.client(Self.id)).settings
            settings.signInService?.takesAnyScheme = true
            settings.signInService?.sharesSessions = address.hasPrefix("https")
            let changed = settings
            let refused = await #expect(throws: OAuthError.self) {
                try await provider.clients.register(
                    name: "Other", redirectURIs: [address], settings: changed, id: "other")
            }
            #expect(refused?.message?.contains(address.hasPrefix("https") ? "sharedSessions" : "https") == true)
        }
    }

    @Test("its refresh token is spent where it is shown at the other face: no key guards it")
    func otherFace() async throws {
        try await Self.run { end async throws in
            let tokens = try AppTokens(try await end.redeem(end.code(), end.assertion()))
            let there = try await end.place.client.execute(
                uri: "/oauth2/token", method: .post, headers: [.contentType: "application/x-www-form-urlencoded"],
                body: ByteBuffer(
                    string: AppSignIn.encoded([
                        "grant_type": "refresh_token", "refresh_token": tokens.refresh, "client_id": AppSignIn.app,
                    ])))
            #expect(there.status == .badRequest)
            #expect(try await end.place.refresh(tokens.refresh).status == .unauthorized)
        }
    }

    @Test("each thing that is wrong with its statement is refused by itself, and spends the code")
    func refusals() async throws {
        try await Self.run { end async throws in
            let now = end.place.server.clock.now().seconds
            let cases: [[String: JSON?]] = [
                ["iss": .string("other")], ["iss": nil], ["sub": .string("other")], ["sub": nil],
                ["aud": .string("http://localhost:8080")], ["aud": nil], ["exp": .integer(now - 30)], ["exp": nil],
                ["exp": .integer(now + 3631)], ["iat": .integer(now + 31)], ["jti": nil],
                ["sub": .string(AppSignIn.app), "iss": .string(AppSignIn.app)],
            ]
            for changes in cases {
                let code = try await end.code()
                let answer = try await end.redeem(code, end.assertion(changes))
                #expect(answer.status == .badRequest && answer.errors == Self.unproven, "\(changes) \(answer.text)")
                #expect(Set(try answer.json.members.map(\.name)) == ["errors"])
                let again = try await end.redeem(code, end.assertion())
                #expect(again.errors == "The code is not valid.", "\(changes)")
            }
            let other = try SigningKey(
                kept: SigningKey.make(.es256, random: .system), algorithm: .es256, keyID: nil)
            #expect(try await end.redeem(end.code(), end.assertion(by: other)).errors == Self.unproven)
            #expect(try await end.redeem(end.code(), "x.y.z").errors == Self.unproven)
            let type = try await end.redeem(end.code(), end.assertion(), ["client_assertion_type": "other"])
            #expect(type.errors == Self.unproven)
            #expect(try await end.redeem(end.code(), nil).status == .badRequest, "a code alone is nobody's proof")
            let verifier = try await end.redeem(end.code(), nil, ["code_verifier": end.place.verifier])
            #expect(verifier.status == .badRequest, "a verifier of no challenge proves nothing")
            #expect(try await end.redeem(end.code(), end.assertion()).status == .ok)
        }
    }

    @Test("its statement counts once")
    func replayed() async throws {
        try await Self.run { end async throws in
            let assertion = try end.assertion()
            #expect(try await end.redeem(end.code(), assertion).status == .ok)
            #expect(try await end.redeem(end.code(), assertion).errors == Self.unproven)
        }
    }

    @Test("another's code is refused with a statement that is right, and an app's with one at all")
    func otherClients() async throws {
        try await Self.run { end async throws in
            let answer = try await end.redeem(
                end.place.code(AppSignIn.app), end.assertion(), ["code_verifier": end.place.verifier])
            #expect(answer.errors == "The code is not valid.")
            // The app is registered without a key: what it shows as proof is none.
            let app = try await end.redeem(
                end.place.code(AppSignIn.app),
                end.assertion(["iss": .string(AppSignIn.app), "sub": .string(AppSignIn.app)]),
                ["code_verifier": end.place.verifier])
            #expect(app.errors == Self.unproven)
        }
    }

    @Test("without a challenge its sign-in needs a state, and with one its code needs the verifier as well")
    func challenges() async throws {
        try await Self.run { end async throws in
            let bare: [String: String?] = ["code_challenge": nil, "code_challenge_method": nil, "state": nil]
            let refused = try await end.place.client.execute(uri: end.place.authorize(Self.id, bare), method: .get)
            #expect(refused.status == .badRequest && refused.errors == "The state is missing.")
            let bound = { try await end.place.code(Self.id) }
            #expect(try await end.redeem(bound(), end.assertion()).status == .badRequest)
            let both = try await end.redeem(bound(), end.assertion(), ["code_verifier": end.place.verifier])
            #expect(both.status == .ok)
            let verifierAlone = try await end.redeem(bound(), nil, ["code_verifier": end.place.verifier])
            #expect(verifierAlone.errors == Self.unproven)
            // A verifier where the sign-in had no challenge: somebody has taken the challenge away.
            let stripped = try await end.redeem(end.code(), end.assertion(), ["code_verifier": end.place.verifier])
            #expect(stripped.errors == "The code is not valid.")
        }
        try await Self.run(pkce: true) { end async throws in
            let bare: [String: String?] = ["code_challenge": nil, "code_challenge_method": nil]
            let refused = try await end.place.client.execute(uri: end.place.authorize(Self.id, bare), method: .get)
            #expect(refused.errors == "The code_challenge_method is not valid.")
        }
    }

    @Test("a code that its client shows again with all that is right ends what it gave")
    func shownAgain() async throws {
        try await Self.run { end async throws in
            let code = try await end.code()
            let tokens = try AppTokens(try await end.redeem(code, end.assertion()))
            // By itself it ends nothing.
            #expect(try await end.redeem(code, nil).status == .badRequest)
            #expect(try await end.place.introspect(tokens.access) == 200)
            #expect(try await end.redeem(code, end.assertion()).status == .badRequest)
            #expect(try await end.place.introspect(tokens.access) == 401)
        }
    }

    @Test("an app without a key needs a challenge, whatever the operator wants")
    func appsNeedChallenges() async throws {
        try await AppSignIn.run { place async throws in
            var change = ClientChange()
            change.signInService = ["pkce": .bool(false)]
            await #expect(throws: OAuthError(.invalidRequest)) {
                try await place.server.assembly.provider.clients.change(AppSignIn.app, change)
            }
        }
    }
}
