import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import NIOCore
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

@Suite("The app sign-in service: service accounts (row F050 of the parity table)")
struct AppSignInServiceAccountTests {
    private static let scope = "https://api.va.example/v0/account_controls"
    private static let refusal = "The assertion is not valid."

    /// A service account that an operator has registered, and the key that it signs with.
    private struct Account: Sendable {
        let place: AppSignIn
        let key: SigningKey

        /// Registers one over the administration.
        static func register(
            _ place: AppSignIn, _ algorithm: JWSAlgorithm = .es256, scopes: [String] = [scope],
            changing changes: JSONObject = [:]
        ) async throws -> (Account, TestAnswer) {
            let key = try SigningKey(
                kept: SigningKey.make(algorithm, random: .system), algorithm: algorithm, keyID: nil)
            var body: JSONObject = [
                "name": .string("Account controls"), "clientId": .string("account_controls"),
                "tokenEndpointAuthMethod": .string("private_key_jwt"),
                "jwks": .object(JWKSet([try #require(key.publicKey)]).publicJSON),
                "grantTypes": .array([.string("urn:ietf:params:oauth:grant-type:jwt-bearer")]),
                "scopes": .array(scopes.map(JSON.string)), "idTokenSignedResponseAlg": .string("ES256"),
                "signInService": .object([
                    "authentication": .string("service_account"),
                    "accessTokenAudience": .string("api.va.example"),
                    "accessTokenUserAttributes": .array([.string("icn"), .string("type")]),
                ]),
            ]
            for (name, value) in changes.members { body[name] = value }
            let registered = body
            let answer = try await place.server.withSocketClient { client in
                let answer = try await client.send(.post, "/admin/v1/clients", registered)
                return TestAnswer(status: answer.response.status, object: answer.object)
            }
            return (Account(place: place, key: key), answer)
        }

        /// An assertion that is right but for the changes; `nil` leaves a claim out.
        func assertion(_ changes: [String: JSON?] = [:], by key: SigningKey? = nil) throws -> String {
            let now = self.place.server.clock.now().seconds
            var claims: JSONObject = [
                "iss": .string("api.va.example"), "sub": .string("somebody@va.example"),
                "aud": .string("http://localhost:8080/v0/sign_in/token"), "iat": .integer(now),
                "exp": .integer(now + 300), "jti": .string(RandomSource.system.identifier()),
                "scopes": .array([.string(scope)]), "service_account_id": .string("account_controls"),
                "user_attributes": .object(["icn": .string("1012845943V900681")]),
            ]
            for (name, value) in changes { claims[name] = value }
            return try JWS.sign(JSON.object(claims).serialized, type: "JWT", with: key ?? self.key)
        }

        func ask(_ assertion: String) async throws -> TestResponse {
            try await self.place.post(
                "token",
                ["grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": assertion])
        }

        func ask(_ changes: [String: JSON?]) async throws -> TestResponse {
            try await self.ask(self.assertion(changes))
        }
    }

    private struct TestAnswer: Sendable {
        let status: HTTPResponse.Status
        let object: JSONObject
    }

    private static func run(
        _ algorithm: JWSAlgorithm = .es256, scopes: [String] = [scope],
        _ body: @escaping @Sendable (Account) async throws -> Void
    ) async throws {
        try await AppSignIn.run { place async throws in
            let (account, answer) = try await Account.register(place, algorithm, scopes: scopes)
            try #require(answer.status == .created, "\(JSON.object(answer.object).text)")
            try await body(account)
        }
    }

    /// Sees to it that an assertion is refused for what is changed of it, and for nothing else.
    private static func refuses(_ wrong: [[String: JSON?]], right: [[String: JSON?]] = [[:]], _ sentence: String)
        async throws
    {
        try await Self.run { account async throws in
            for changes in wrong {
                let answer = try await account.ask(changes)
                #expect(answer.status == .badRequest && answer.errors == sentence, "\(changes) \(answer.text)")
                #expect(Set(try answer.json.members.map(\.name)) == ["errors"])
            }
            for changes in right {
                let answer = try await account.ask(changes)
                #expect(answer.status == .ok, "\(changes) \(answer.text)")
            }
        }
    }

    @Test("a service gets a token for a statement that it has signed", arguments: [JWSAlgorithm.rs256, .es256])
    func given(algorithm: JWSAlgorithm) async throws {
        try await Self.run(algorithm) { account async throws in
            let answer = try await account.ask([:])
            #expect(answer.status == .ok && answer.headers[.cacheControl] == "no-store")
            let body = try answer.json
            let data = try body.requiredObject("data")
            #expect(body.members.count == 1 && data.members.map(\.name) == ["access_token"])
            let text = try data.requiredString("access_token")
            let set = try await account.place.client.send(.get, "/sign_in/openid_connect/certs").object
            let token = try UnverifiedJWS(compact: text)
            #expect(token.header.hasType("service-account-access+jwt"))
            let claims = try JWTClaims(
                token.verified(by: JWKSet(parsing: JSON.object(set).serialized), allowing: [.es256]))
            #expect(claims.issuer == "va.gov sign in" && claims.audience == ["api.va.example"])
            #expect(claims.subject == "somebody@va.example")
            let now = account.place.server.clock.now()
            #expect(claims.issuedAt == Timestamp(seconds: now.seconds))
            #expect(claims.expiration == Timestamp(seconds: now.seconds + 300))
            #expect(claims.members["scopes"] == .array([.string(Self.scope)]))
            #expect(claims.members["service_account_id"] == .string("account_controls"))
            #expect(claims.members["user_attributes"] == .object(["icn": .string("1012845943V900681")]))
            #expect(claims.members["version"] == .string("V0") && claims.members["client_id"] == nil)
            #expect(claims.members["session_handle"] == nil)
        }
    }

    // MARK: What is wrong with one

    @Test("iss is the audience of the service account's tokens")
    func issuer() async throws {
        try await Self.refuses(
            [["iss": .string("account_controls")], ["iss": nil], ["iss": .string("")]], Self.refusal)
    }

    @Test("sub says for whom it acts")
    func subject() async throws {
        try await Self.refuses(
            [["sub": nil], ["sub": .string("")], ["sub": .string(String(repeating: "s", count: 257))]],
            right: [["sub": .string(String(repeating: "s", count: 256))]], Self.refusal)
    }

    @Test("aud has the address that it is sent to, alone or among others")
    func audience() async throws {
        let address = "http://localhost:8080/v0/sign_in/token"
        try await Self.refuses(
            [
                ["aud": nil], ["aud": .string("http://localhost:8080")], ["aud": .array([])],
                ["aud": .string(address + "/")], ["aud": .string("https://other.example/v0/sign_in/token")],
            ],
            right: [[:], ["aud": .array([.string("https://other.example"), .string(address)])]], Self.refusal)
    }

    @Test("iat has come")
    func issuedAt() async throws {
        let now = FakeClock().now().seconds
        try await Self.refuses(
            [["iat": .integer(now + 31)], ["iat": nil], ["iat": .string("now")]],
            right: [["iat": .integer(now + 30)], ["iat": .integer(now - 300)]], Self.refusal)
    }

    @Test("exp lies ahead, by five minutes at most")
    func expiry() async throws {
        let now = FakeClock().now().seconds
        try await Self.refuses(
            [["exp": .integer(now - 30)], ["exp": nil], ["exp": .integer(now + 331)]],
            right: [["exp": .integer(now + 330)], ["exp": .integer(now - 29)]], Self.refusal)
    }

    @Test("scopes are the service account's, and none where it has none")
    func scopes() async throws {
        let sentence = "The scopes are not the service account's."
        try await Self.refuses(
            [
                ["scopes": .array([.string(Self.scope + "/other")])], ["scopes": .array([])], ["scopes": nil],
                ["scopes": .array([.string(Self.scope), .string("https://api.va.example/v0/other")])],
            ], sentence)
        try await Self.refuses(
            [["scopes": .string(Self.scope)], ["scopes": .array([.integer(1)])]], Self.refusal)
        try await Self.run(scopes: []) { account async throws in
            #expect(try await account.ask(["scopes": .array([])]).status == .ok)
            #expect(try await account.ask(["scopes": nil]).status == .ok)
            #expect(try await account.ask([:]).errors == sentence)
        }
    }

    @Test("service_account_id names a service account, and no other client")
    func account() async throws {
        try await Self.refuses(
            [
                ["service_account_id": .string("nobody")], ["service_account_id": nil],
                ["service_account_id": .string(AppSignIn.app)], ["service_account_id": .string("")],
            ], Self.refusal)
    }

    @Test("user_attributes are those that the service account may name, each a text")
    func attributes() async throws {
        let sentence = "The user_attributes are not the service account's."
        try await Self.refuses(
            [["user_attributes": .object(["icn": .string("1"), "ssn": .string("2")])]],
            right: [
                ["user_attributes": nil], ["user_attributes": .object([:])],
                ["user_attributes": .object(["icn": .string("1"), "type": .string("idme")])],
            ], sentence)
        try await Self.refuses(
            [
                ["user_attributes": .object(["icn": .integer(1)])],
                ["user_attributes": .object(["icn": .string(String(repeating: "i", count: 257))])],
            ], "Each of the user_attributes is a text of 256 bytes at most.")
        try await Self.refuses([["user_attributes": .array([])]], Self.refusal)
    }

    @Test("the signature is of one of its keys, by what its keys are for")
    func signature() async throws {
        try await Self.run { account async throws in
            // By the name of the right one, so that it is the signature that does not hold.
            let other = try SigningKey(
                kept: SigningKey.make(.es256, random: .system), algorithm: .es256, keyID: account.key.keyID)
            let secret = try SigningKey(
                JWK(.octets([UInt8](repeating: 1, count: 32)), algorithm: "HS256"), algorithm: .hs256)
            for key in [other, secret] {
                let answer = try await account.ask(account.assertion(by: key))
                #expect(answer.status == .badRequest && answer.errors == Self.refusal)
            }
            let parts = try account.assertion().split(separator: ".").map(String.init)
            let changed = try account.assertion(["sub": .string("another@va.example")])
                .split(separator: ".").map(String.init)
            for forged in [
                "\(parts[0]).\(changed[1]).\(parts[2])", "\(parts[0]).\(parts[1]).\(changed[2])",
                "\(Base64URL.encode(Array(#"{"alg":"none"}"#.utf8))).\(parts[1]).", parts[0], "", "a.b.c",
            ] {
                let answer = try await account.ask(forged)
                #expect(answer.status == .badRequest && answer.errors != nil, "\(forged)")
            }
            #expect(try await account.ask([:]).status == .ok)
        }
    }

    @Test("an assertion counts once, also one without a name of its own; nobody else can use it up")
    func replayed() async throws {
        try await Self.run { account async throws in
            let sentence = "The assertion was shown before: sign another one, with another jti."
            for changes in [[:], ["jti": nil]] as [[String: JSON?]] {
                let assertion = try account.assertion(changes)
                #expect(try await account.ask(assertion).status == .ok)
                #expect(try await account.ask(assertion).errors == sentence)
            }
            let named = try account.assertion(["jti": .string("one")])
            #expect(
                try await account.ask(account.assertion(["jti": .string("one"), "aud": nil])).errors == Self.refusal)
            #expect(try await account.ask(named).status == .ok, "what was refused has used up nothing")
            #expect(try await account.ask(["jti": .string("one")]).errors == sentence)
            // Without a name it is all that it says that makes it the same.
            #expect(try await account.ask(["jti": nil, "sub": .string("another")]).status == .ok)
        }
    }

    @Test("its token opens nothing here: no session, no administration, no other face")
    func opensNothing() async throws {
        try await Self.run { account async throws in
            let text = try await account.ask([:]).json.requiredObject("data").requiredString("access_token")
            #expect(try await account.place.introspect(text) == 401)
            let exchange = try await account.place.post(
                "token",
                [
                    "grant_type": AppSignIn.exchangeGrant, "subject_token": text,
                    "subject_token_type": AppSignIn.accessTokenKind, "actor_token": "x",
                    "actor_token_type": AppSignIn.actorKind, "client_id": AppSignIn.web,
                ])
            #expect(exchange.status == .badRequest)
            for path in ["/oauth2/userinfo", "/account/sessions"] {
                let answer = try await account.place.client.execute(
                    uri: path, method: .get, headers: [.authorization: "Bearer \(text)"])
                #expect(answer.status != .ok, "\(path)")
            }
            // Nobody signs in to it, and it is nothing at the other face.
            let authorize = try await account.place.client.execute(
                uri: account.place.authorize("account_controls"), method: .get)
            #expect(authorize.errors == "The client_id is not known.")
            let other = try await account.place.client.execute(
                uri: "/oauth2/token", method: .post, headers: [.contentType: "application/x-www-form-urlencoded"],
                body: ByteBuffer(
                    string: AppSignIn.encoded([
                        "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": account.assertion(),
                    ])))
            #expect(other.status == .badRequest)
            #expect(try other.json["error"] == .string("invalid_grant"))
        }
    }

    @Test("a service account that is switched off or deleted gets nothing")
    func ends() async throws {
        try await Self.run { account async throws in
            let provider = account.place.server.assembly.provider
            var change = ClientChange()
            change.isDisabled = true
            _ = try await provider.clients.change("account_controls", change)
            #expect(try await account.ask([:]).errors == Self.refusal)
            change.isDisabled = false
            _ = try await provider.clients.change("account_controls", change)
            #expect(try await account.ask([:]).status == .ok)
            _ = try await provider.clients.delete("account_controls")
            #expect(try await account.ask([:]).errors == Self.refusal)
        }
    }

    @Test("what a service account cannot be is refused in a sentence")
    func registration() async throws {
        try await AppSignIn.run { place async throws in
            let service: JSONObject = [
                "authentication": .string("service_account"), "accessTokenAudience": .string("api.va.example"),
            ]
            func with(_ name: String, _ value: JSON) -> JSONObject {
                var changed = service
                changed[name] = value
                return ["signInService": .object(changed)]
            }
            let cases: [JSONObject] = [
                ["tokenEndpointAuthMethod": .string("none"), "jwks": .object([:])],
                ["grantTypes": .array([.string("authorization_code")])],
                ["redirectUris": .array([.string("https://app.example/in")])],
                with("accessTokenSeconds", .integer(301)), with("sharedSessions", .bool(true)),
                with("antiCsrf", .bool(true)), with("serviceLevels", .array([.string("loa1")])),
                with("accessTokenAudience", .string("")),
                with("accessTokenUserAttributes", .array([.string("icn"), .string("icn")])),
                with("accessTokenUserAttributes", .array((0...16).map { .string("a\($0)") })),
                with("accessTokenAttributes", .array([.string("email")])), ["scopes": .array([.string("openid")])],
            ]
            for changes in cases {
                let (_, answer) = try await Account.register(place, changing: changes)
                #expect(answer.status == .badRequest, "\(changes)")
                #expect(try answer.object.string("detail")?.isEmpty == false)
            }
            // What is a service account's is no app's.
            for changes in [
                [
                    "signInService": .object([
                        "accessTokenUserAttributes": .array([.string("icn")])
                    ])
                ], ["scopes": .array([.string(Self.scope)])],
            ] as [JSONObject] {
                let answer = try await place.server.withSocketClient { client in
                    try await client.send(.patch, "/admin/v1/clients/vamobile", changes).response.status
                }
                #expect(answer == .badRequest, "\(changes)")
            }
        }
    }
}
