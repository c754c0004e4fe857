import Accounts
import CeremonyEngine
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
import Testing
import Texts
import _Primitives

@Suite(
    "RFC 8414, section 2, and OpenID Connect Discovery 1.0, section 3: each member of the metadata is what the server does"
)
struct MetadataTests {
    private static let issuer = "http://localhost:8080"

    /// A server, a browser that has a session there, a client, and the metadata.
    private func withMetadata(
        _ test: @escaping @Sendable (ServerFixture, TestBrowser, RelyingParty, JSONObject) async throws -> Void
    ) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let browser = try await server.signedInBrowser(client, party)
            let metadata = try await client.send(.get, "/.well-known/openid-configuration").object
            try await test(server, browser, party, metadata)
        }
    }

    private func error(_ browser: TestBrowser, _ address: String) async throws -> String? {
        try await browser.get(address).redirectParameters["error"]
    }

    @Test("Both documents say the same, under the issuer that they name, and no member goes unexamined here")
    func members() async throws {
        try await self.withMetadata { _, browser, _, metadata in
            let other = try await browser.client.send(.get, "/.well-known/oauth-authorization-server").object
            #expect(metadata == other)
            #expect(metadata["issuer"] == .string(Self.issuer))
            #expect(
                Set(metadata.members.map(\.name)) == [
                    "issuer", "authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri",
                    "end_session_endpoint", "scopes_supported", "response_types_supported", "response_modes_supported",
                    "grant_types_supported", "subject_types_supported", "id_token_signing_alg_values_supported",
                    "id_token_encryption_alg_values_supported", "id_token_encryption_enc_values_supported",
                    "token_endpoint_auth_methods_supported", "token_endpoint_auth_signing_alg_values_supported",
                    "revocation_endpoint", "revocation_endpoint_auth_methods_supported",
                    "revocation_endpoint_auth_signing_alg_values_supported", "introspection_endpoint",
                    "introspection_endpoint_auth_methods_supported",
                    "introspection_endpoint_auth_signing_alg_values_supported",
                    "introspection_signing_alg_values_supported", "userinfo_signing_alg_values_supported",
                    "native_sso_supported",
                    "code_challenge_methods_supported", "acr_values_supported", "dpop_signing_alg_values_supported",
                    "pushed_authorization_request_endpoint", "device_authorization_endpoint",
                    "authorization_challenge_endpoint",
                    "backchannel_authentication_endpoint", "backchannel_token_delivery_modes_supported",
                    "backchannel_user_code_parameter_supported", "backchannel_logout_supported",
                    "backchannel_logout_session_supported",
                    "claims_supported", "prompt_values_supported", "ui_locales_supported", "claims_parameter_supported",
                    "authorization_response_iss_parameter_supported",
                    "request_parameter_supported", "request_object_signing_alg_values_supported",
                    "authorization_details_types_supported",
                    "request_uri_parameter_supported",
                ])
            let keys = try metadata.requiredString("jwks_uri").dropFirst(Self.issuer.count)
            let (answer, set) = try await browser.client.send(.get, String(keys))
            #expect(answer.status == .ok)
            #expect(try set.array("keys")?.isEmpty == false)
        }
    }

    @Test("What an authorization request may ask for is taken, and everything else of its kind is refused")
    func authorization() async throws {
        try await self.withMetadata { _, browser, party, metadata in
            let right = party.authorizeAddress()
            #expect(right.hasPrefix(try metadata.requiredString("authorization_endpoint").dropFirst(Self.issuer.count)))
            func expectTaken(_ name: String, _ parameter: String, _ others: [String], _ error: String) async throws {
                let taken = try metadata.strings(name) ?? []
                #expect(!taken.isEmpty, "\(name)")
                let bare = right.replacing(try Regex("[&?]\(parameter)=[^&]*"), with: "").replacing(
                    "authorize&", with: "authorize?")
                for value in taken + others {
                    let answer = try await self.error(browser, "\(bare)&\(parameter)=\(value)")
                    #expect(answer == (taken.contains(value) ? nil : error), "\(parameter)=\(value)")
                }
            }
            try await expectTaken(
                "response_types_supported", "response_type",
                ["token", "id_token", "none", "code%20token", "code%20id_token", "id_token%20token"],
                "unsupported_response_type")
            try await expectTaken(
                "response_modes_supported", "response_mode", ["fragment", "query.jwt", "form_post.jwt"],
                "invalid_request")
            try await expectTaken(
                "code_challenge_methods_supported", "code_challenge_method", ["plain", "s256", "S512"],
                "invalid_request")
            let prompts = try #require(try metadata.strings("prompt_values_supported"))
            #expect(prompts == ["none", "login", "consent", "select_account", "create"])
            #expect(try await browser.get(right + "&prompt=none").redirectParameters["code"] != nil)
            for prompt in prompts.dropFirst() {
                let asked = try await browser.get(right + "&prompt=\(prompt)")
                #expect(
                    try #require(asked.headers[.location]).hasPrefix(
                        prompt == "consent" ? "/sign-in/consent?" : "/sign-in?"), "\(prompt)")
            }
            #expect(try await self.error(browser, right + "&prompt=register") == "invalid_request")
            #expect(try metadata.strings("ui_locales_supported") == Languages.catalogue.all.map(\.tag))
            #expect(try await browser.get(right + "&ui_locales=fr%20en").redirectParameters["code"] != nil)
            // By clients that have registered keys, as `SignedRequestTests` do; this one has none.
            #expect(try metadata.bool("request_parameter_supported") == true)
            #expect(try await self.error(browser, right + "&request=e30.e30.") == "request_not_supported")
            #expect(try metadata.bool("request_uri_parameter_supported") == false)
            #expect(
                try await self.error(browser, right + "&request_uri=https%3A%2F%2Fa.example%2F")
                    == "request_uri_not_supported")
            #expect(try metadata.bool("authorization_response_iss_parameter_supported") == true)
            for address in [right, right + "&prompt=register"] {
                #expect(try await browser.get(address).redirectParameters["iss"] == Self.issuer)
            }
        }
    }

    @Test("The token endpoint takes the named grants and the named ways to authenticate, and no others")
    func tokens() async throws {
        try await self.withMetadata { _, browser, party, metadata in
            let address = String(try metadata.requiredString("token_endpoint").dropFirst(Self.issuer.count))
            func form(_ grant: String, _ more: String) async throws -> String {
                let code = try #require(
                    try await browser.get(party.authorizeAddress()).redirectParameters["code"])
                return "grant_type=\(grant)&code=\(code)&code_verifier=\(party.verifier)"
                    + "&redirect_uri=http%3A%2F%2F127.0.0.1%3A8081%2Fcallback" + more
            }
            func answer(_ form: String, _ headers: HTTPFields = [:]) async throws -> JSONObject {
                var headers = headers
                headers[.contentType] = "application/x-www-form-urlencoded"
                let answer = try await browser.client.execute(
                    uri: address, method: .post, headers: headers, body: ByteBuffer(string: form))
                return try JSON(parsing: Array(answer.body.readableBytesView)).objectValue
            }
            let basic: HTTPFields = [.authorization: party.authorization]
            let device = "urn:ietf:params:oauth:grant-type:device_code"
            let asked = "urn:openid:params:grant-type:ciba"
            #expect(
                try metadata.strings("grant_types_supported") == [
                    "authorization_code", "refresh_token", device, asked, "client_credentials",
                    "urn:ietf:params:oauth:grant-type:jwt-bearer",
                    "urn:ietf:params:oauth:grant-type:token-exchange",
                ])
            for grant in [
                "authorization_code", "password", "client_credentials", "refresh_token", "implicit",
                device, asked, "urn:ietf:params:oauth:grant-type:jwt-bearer",
            ] {
                let given = try await answer(try await form(grant, ""), basic)
                let error = try given.string("error")
                let expected =
                    switch grant {
                    case "authorization_code": String?.none
                    case "refresh_token", device, asked, "client_credentials",
                        "urn:ietf:params:oauth:grant-type:jwt-bearer":
                        "unauthorized_client"
                    default: "unsupported_grant_type"
                    }
                #expect(error == expected, "\(grant)")
            }
            let methods = try metadata.strings("token_endpoint_auth_methods_supported")
            #expect(methods == ["client_secret_basic", "client_secret_post", "private_key_jwt", "none"])
            // Whoever has nothing to prove themselves by may give up a token, and ask about none.
            #expect(try metadata.strings("revocation_endpoint_auth_methods_supported") == methods)
            #expect(try metadata.strings("introspection_endpoint_auth_methods_supported") == methods?.dropLast())
            let own = "&client_id=\(party.id)"
            let posted = try await answer(try await form("authorization_code", "\(own)&client_secret=\(party.secret)"))
            #expect(posted["access_token"] != nil)
            let nobody = try await answer(try await form("authorization_code", own))
            #expect(try nobody.string("error") == "invalid_client")
            let assertion = try await answer(
                try await form(
                    "authorization_code",
                    own + "&client_assertion=e30.e30.e30"
                        + "&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer"))
            #expect(try assertion.string("error") == "invalid_client")
        }
    }

    @Test("Clients can sign who they are with each of the named algorithms")
    func signatures() async throws {
        try await self.withMetadata { server, browser, _, metadata in
            let named = try #require(try metadata.strings("token_endpoint_auth_signing_alg_values_supported"))
            #expect(Set(named) == ["RS256", "ES256", "PS256", "EdDSA"])
            for name in named {
                let algorithm = try #require(JWSAlgorithm(rawValue: name))
                let kept = try SigningKey.make(algorithm, random: .system)
                let key = try SigningKey(kept: kept, algorithm: algorithm, keyID: nil)
                let keys = JWKSet([try #require(key.publicKey)])
                let client = try await server.assembly.provider.clients.register(
                    name: "Bank", redirectURIs: ["http://127.0.0.1:8081/callback"],
                    settings: ClientSettings(
                        idTokenAlgorithm: .es256, authenticationMethod: "private_key_jwt",
                        keySet: JSON.object(keys.publicJSON).text)
                ).client
                let party = RelyingParty(id: client.id, secret: "")
                let code = try #require(try await browser.get(party.authorizeAddress()).redirectParameters["code"])
                var form = try ClientAssertion.parameters(
                    clientID: client.id, issuer: Self.issuer, lifetime: .seconds(60), with: key,
                    at: server.clock.timeSource.now(), random: .system)
                for (name, value) in [
                    ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", party.redirectURI),
                    ("code_verifier", party.verifier),
                ] { form.append(name, value) }
                let answer = try await browser.client.execute(
                    uri: "/oauth2/token", method: .post,
                    headers: [.contentType: "application/x-www-form-urlencoded"],
                    body: ByteBuffer(string: form.encoded))
                #expect(answer.status == .ok, "\(name)")
            }
        }
    }

    @Test("The scopes, claims, levels and kinds of subject are those that people are told of with")
    func claims() async throws {
        try await self.withMetadata { server, browser, party, metadata in
            _ = try await server.assembly.directory.setEmail(
                AccountEmail(address: "alice@post.example", isVerified: true), username: "alice", by: "test")
            _ = try await server.assembly.directory.setPhone(
                AccountPhone(number: "+4930901820", isVerified: true), username: "alice", by: "test")
            _ = try await server.assembly.directory.setAddress(
                PostalAddress(["locality": .string("Berlin")]), username: "alice", by: "test")
            _ = try await server.assembly.directory.setProfile(
                PersonProfile([
                    "given_name": .string("Alice"), "family_name": .string("Example"), "middle_name": .string("M."),
                    "picture": .string("https://pictures.example/a.png"), "locale": .string("de-CH"),
                    "zoneinfo": .string("Europe/Zurich"),
                ]), username: "alice", by: "test")
            _ = try await server.assembly.provider.clients.change(
                party.id, ClientChange(tokens: TokenSettingsChange(group: "apps")))
            func told(_ party: RelyingParty, scope: String) async throws -> (token: JSONObject, names: Set<String>) {
                let address = party.authorizeAddress().replacing("openid%20profile", with: scope)
                let code = try #require(try await browser.get(address).redirectParameters["code"])
                let answer = try await party.exchange(code, browser.client).object
                let parts = try answer.requiredString("id_token").split(separator: ".")
                let token = try JSON(parsing: try #require(Base64URL.decode(String(parts[1])))).objectValue
                let access = try answer.requiredString("access_token")
                let info = try await browser.client.send(
                    .get, String(try metadata.requiredString("userinfo_endpoint").dropFirst(Self.issuer.count)),
                    headers: [.authorization: "Bearer \(access)"])
                return (token, Set(token.members.map(\.name) + info.object.members.map(\.name)))
            }
            let scopes = try #require(try metadata.strings("scopes_supported"))
            let all = try await told(party, scope: scopes.joined(separator: "%20"))
            let claims = try #require(try metadata.strings("claims_supported"))
            #expect(all.names == Set(claims))
            // Each scope has claims of its own, and one that is not named has none.
            for scope in scopes where scope != "openid" && scope != "offline_access" {
                let without = scopes.filter { $0 != scope }.joined(separator: "%20")
                #expect(try await told(party, scope: without).names.isStrictSubset(of: all.names), "\(scope)")
            }
            let more = (scopes + ["groups", "roles"]).joined(separator: "%20")
            #expect(try await told(party, scope: more).names == all.names)
            // Each claim of a person can be named by itself; what goes with a device secret is none.
            #expect(try metadata.bool("claims_parameter_supported") == true)
            let bare = try await told(party, scope: "openid").names
            for claim in all.names.subtracting(bare) where claim != "ds_hash" {
                let wish = "openid&claims=%7B%22userinfo%22%3A%7B%22\(claim)%22%3Anull%7D%7D"
                #expect(try await told(party, scope: wish).names == bare.union([claim]), "\(claim)")
            }
            let levels = try #require(try metadata.strings("acr_values_supported"))
            #expect(levels.contains(try all.token.requiredString("acr")))
            #expect(try metadata.strings("subject_types_supported") == ["pairwise"])
            let other = try await server.relyingParty()
            let elsewhere = try await told(other, scope: "openid").token
            #expect(try elsewhere.requiredString("sub") != all.token.requiredString("sub"))
            #expect(
                try await told(party, scope: "openid").token.requiredString("sub") == all.token.requiredString("sub"))
        }
    }

    @Test("ID tokens are signed with each algorithm that is named, and with no other")
    func algorithms() async throws {
        try await self.withMetadata { server, browser, _, metadata in
            let named = try #require(try metadata.strings("id_token_signing_alg_values_supported"))
            #expect(named.contains("RS256"))
            try await server.withSocketClient { administrator in
                for name in named + ["none", "HS256", "RS384", "ES256K"] {
                    let added = try await administrator.send(
                        .post, "/admin/v1/clients",
                        [
                            "name": .string("Shop"), "idTokenSignedResponseAlg": .string(name),
                            "redirectUris": .array([.string("http://127.0.0.1:8081/callback")]),
                        ])
                    guard named.contains(name) else {
                        #expect(added.response.status == .badRequest, "\(name)")
                        continue
                    }
                    let shop = RelyingParty(
                        id: try added.object.requiredString("clientId"),
                        secret: try added.object.requiredString("clientSecret"))
                    let code = try #require(
                        try await browser.get(shop.authorizeAddress()).redirectParameters["code"])
                    let token = try await shop.exchange(code, browser.client).object.requiredString("id_token")
                    let header = try #require(Base64URL.decode(String(token.split(separator: ".")[0])))
                    #expect(try JSON(parsing: header).objectValue.requiredString("alg") == name)
                }
            }
        }
    }

    @Test("Signing out is done at the address that is named")
    func signOut() async throws {
        try await self.withMetadata { _, browser, party, metadata in
            let address = String(try metadata.requiredString("end_session_endpoint").dropFirst(Self.issuer.count))
            let asked = try await browser.get(address)
            #expect(asked.text.contains("data-testid=\"sign-out\""))
            let form = asked.text.matches(of: #/name="([a-z_]+)" value="([^"]*)"/#).map { "\($0.1)=\($0.2)" }
            _ = try await browser.post(address, form: form.joined(separator: "&"))
            #expect(try await browser.get(party.authorizeAddress()).redirectParameters["code"] == nil)
        }
    }
}

extension JSON {
    fileprivate var objectValue: JSONObject {
        get throws {
            guard case .object(let object) = self else { throw JSONError(.missing, "an object") }
            return object
        }
    }
}
