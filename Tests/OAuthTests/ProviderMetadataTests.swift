import OAuth
import Testing
import _Primitives

@Suite("RFC 8414, section 2, and RFC 6749, section 5.1: what the provider says")
struct ProviderMetadataTests {
    private let json = Self.metadata.json

    private static var metadata: ProviderMetadata {
        var metadata = ProviderMetadata(
            issuer: "https://id.example", scopes: ["openid", "profile"], grantTypes: ["authorization_code", "urn:x"],
            clientAuthenticationMethods: ["client_secret_basic", "client_secret_post"],
            clientSigningAlgorithms: ["ES256", "PS256"], idTokenAlgorithms: ["RS256", "ES256"],
            acrValues: ["urn:a", "urn:b"], claims: ["sub"], responseModes: ["query", "form_post"],
            promptValues: ["none", "create"])
        metadata.uiLocales = ["en", "de"]
        return metadata
    }

    @Test(
        "names what the standards require",
        arguments: [
            ("issuer", JSON.string("https://id.example")),
            ("authorization_endpoint", .string("https://id.example/oauth2/authorize")),
            ("token_endpoint", .string("https://id.example/oauth2/token")),
            ("jwks_uri", .string("https://id.example/oauth2/jwks")),
            ("userinfo_endpoint", .string("https://id.example/oauth2/userinfo")),
            ("end_session_endpoint", .string("https://id.example/oauth2/logout")),
            ("revocation_endpoint", .string("https://id.example/oauth2/revoke")),
            ("introspection_endpoint", .string("https://id.example/oauth2/introspect")),
            ("pushed_authorization_request_endpoint", .string("https://id.example/oauth2/par")),
            ("backchannel_authentication_endpoint", .string("https://id.example/oauth2/bc-authorize")),
            ("device_authorization_endpoint", .string("https://id.example/oauth2/device_authorization")),
            ("authorization_challenge_endpoint", .string("https://id.example/oauth2/challenge")),
            ("response_types_supported", .array([.string("code")])),
            ("subject_types_supported", .array([.string("pairwise")])),
            ("id_token_signing_alg_values_supported", .array([.string("RS256"), .string("ES256")])),
            ("prompt_values_supported", .array([.string("none"), .string("create")])),
            ("claims_parameter_supported", .bool(true)),
            ("ui_locales_supported", .array([.string("en"), .string("de")])),
            ("acr_values_supported", .array([.string("urn:a"), .string("urn:b")])),
            ("code_challenge_methods_supported", .array([.string("S256")])),
            ("dpop_signing_alg_values_supported", .array([.string("ES256"), .string("EdDSA"), .string("PS256")])),
            ("token_endpoint_auth_signing_alg_values_supported", .array([.string("ES256"), .string("PS256")])),
            (
                "token_endpoint_auth_methods_supported",
                .array([.string("client_secret_basic"), .string("client_secret_post")])
            ),
            ("authorization_response_iss_parameter_supported", .bool(true)),
            ("request_uri_parameter_supported", .bool(false)),
        ])
    func names(member: String, value: JSON) {
        #expect(self.json[member] == value)
    }

    @Test func everyEndpointIsTheIssuersOwn() throws {
        let members = self.json.members.filter { $0.name.hasSuffix("_endpoint") || $0.name == "jwks_uri" }
        #expect(members.count == 11)
        for member in members {
            guard case .string(let address) = member.value else {
                Issue.record("\(member.name) is no address")
                continue
            }
            #expect(address.hasPrefix("https://id.example/oauth2/"))
        }
    }

    @Test("names nothing that is not there (RFC 8414, section 2)")
    func namesNothingElse() throws {
        #expect(try self.json.strings("grant_types_supported") == ["authorization_code", "urn:x"])
        #expect(try self.json.strings("response_modes_supported") == ["query", "form_post"])
        for member in [
            "registration_endpoint", "check_session_iframe",
        ] {
            #expect(self.json[member] == nil)
        }
        #expect(self.json["request_parameter_supported"] == .bool(false))
        #expect(self.json["request_object_signing_alg_values_supported"] == nil)
        #expect(self.json["authorization_details_types_supported"] == nil)
        var more = ProviderMetadata(
            issuer: "https://id.example", scopes: [], grantTypes: [], clientAuthenticationMethods: [],
            idTokenAlgorithms: [], acrValues: [], claims: [])
        more.requestObjectAlgorithms = ["ES256"]
        more.authorizationDetailTypes = ["payment"]
        let signed = more.json
        #expect(signed["authorization_details_types_supported"] == .array([.string("payment")]))
        #expect(signed["request_parameter_supported"] == .bool(true))
        #expect(signed["request_object_signing_alg_values_supported"] == .array([.string("ES256")]))
    }

    @Test func theDocumentIsStrictJSON() throws {
        let again = try JSON(parsing: JSON.object(self.json).serialized)
        #expect(again == .object(self.json))
    }

    @Test func aTokenResponseSaysTypeAndTime() throws {
        let response = TokenResponse(
            accessToken: "a", expiresIn: .seconds(300), scope: try Scope("openid profile"), idToken: "i")
        #expect(
            response.json == [
                "access_token": .string("a"), "token_type": .string("Bearer"), "expires_in": .integer(300),
                "scope": .string("openid profile"), "id_token": .string("i"),
            ])
        #expect(response.description == "TokenResponse(openid profile)")
        let bare = TokenResponse(accessToken: "a", expiresIn: .seconds(1), scope: response.scope, idToken: nil)
        #expect(bare.json["id_token"] == nil)
    }
}
