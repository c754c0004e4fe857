import JOSE
public import _Primitives

/// The answer of the token endpoint (RFC 6749, section 5.1; OpenID Connect Core 1.0, section 3.1.3.3).
public struct TokenResponse: Sendable, CustomStringConvertible {
    /// The access token (`access_token`): a secret.
    public let accessToken: String
    /// Whole seconds from now until the access token ends.
    public let expiresIn: Duration
    /// What the access token may be used for (`scope`).
    public let scope: Scope
    /// The ID token (`id_token`), where `openid` was asked for.
    public var idToken: String?
    /// The refresh token (`refresh_token`), where there is one: a secret.
    public var refreshToken: String?
    /// How the access token is shown (`token_type`).
    public let tokenType: PresentedToken.Scheme
    /// What the access token is (`issued_token_type`, RFC 8693, section 2.2.1), where it was exchanged for another token.
    public var issuedTokenType: String?
    /// What the apps of a device sign in by (`device_secret`, OpenID Connect Native SSO for Mobile Apps 1.0), where there is
    /// one: a secret.
    public var deviceSecret: String?
    /// What the access token is good for in detail (`authorization_details`, RFC 9396, section 7); `nil` for nothing.
    public var authorizationDetails: AuthorizationDetails?

    /// An answer of these tokens.
    public init(
        accessToken: String, expiresIn: Duration, scope: Scope, idToken: String?, refreshToken: String? = nil,
        tokenType: PresentedToken.Scheme = .bearer, issuedTokenType: String? = nil
    ) {
        self.issuedTokenType = issuedTokenType
        self.refreshToken = refreshToken
        self.tokenType = tokenType
        self.accessToken = accessToken
        self.expiresIn = expiresIn
        self.scope = scope
        self.idToken = idToken
    }

    /// The body. It is never to be cached.
    public var json: JSONObject {
        var json: JSONObject = [
            "access_token": .string(self.accessToken), "token_type": .string(self.tokenType.rawValue),
            "expires_in": .integer(self.expiresIn.components.seconds), "scope": .string(self.scope.description),
        ]
        json["id_token"] = self.idToken.map(JSON.string)
        json["refresh_token"] = self.refreshToken.map(JSON.string)
        json["issued_token_type"] = self.issuedTokenType.map(JSON.string)
        json["device_secret"] = self.deviceSecret.map(JSON.string)
        // The draft has both names, one in its text and one in its examples, and clients look for either.
        json["device_token"] = self.deviceSecret.map(JSON.string)
        json["authorization_details"] = self.authorizationDetails?.json
        return json
    }

    public var description: String { "TokenResponse(\(self.scope))" }
}

/// The discovery document (RFC 8414, section 2; OpenID Connect Discovery 1.0, section 3; RFC 9207, section 3).
///
/// It says what this product can do, so most of it is not a choice: authorization codes with S256, pairwise subjects.
public struct ProviderMetadata: Hashable, Sendable {
    /// The issuer's address, without a slash at its end.
    public let issuer: String
    /// The scopes that can be asked for.
    public var scopes: [String]
    /// The ways to tokens.
    public var grantTypes: [String]
    /// The ways in which clients prove who they are.
    public var clientAuthenticationMethods: [String]
    /// What clients can sign with that prove themselves by a signature.
    public var clientSigningAlgorithms: [String]
    /// What clients may sign their authorization requests with (RFC 9101); none where the server takes no signed ones.
    public var requestObjectAlgorithms: [String] = []
    /// The types of authorization details that can be asked for (RFC 9396, section 10).
    public var authorizationDetailTypes: [String] = []
    /// How clients can hear what people have answered (OpenID Connect CIBA Core 1.0, section 4).
    public var backchannelModes = ["poll"]
    /// What ID tokens can be signed with.
    public var idTokenAlgorithms: [String]
    /// How the key of an encrypted ID token can reach a client.
    public var idTokenKeyManagement: [String] = []
    /// What ID tokens can be encrypted with.
    public var idTokenEncryptions: [String] = []
    /// What answers about tokens can be signed with (RFC 9701, section 7).
    public var introspectionAlgorithms: [String] = []
    /// Whether the apps of a device can sign in by each other (OpenID Connect Native SSO for Mobile Apps 1.0).
    public var supportsNativeSSO = false
    /// The values that `acr` can have.
    public var acrValues: [String]
    /// The claims that may be in an ID token or come from userinfo.
    public var claims: [String]
    /// The ways in which a client can be answered.
    public var responseModes: [String]
    /// The words of `prompt` (Initiating User Registration via OpenID Connect 1.0, section 4).
    public var promptValues: [String]
    /// Where the addresses begin that ask clients for their certificates (RFC 8705, section 5); `nil` where none does.
    public var mutualTLSOrigin: String?
    /// Whether clients can register themselves (`registration_endpoint`).
    public var hasRegistration = false
    /// `true` if a client's identifier can be the address of its metadata (`client_id_metadata_document_supported`,
    /// draft-ietf-oauth-client-id-metadata-document, section 5).
    public var takesClientIDDocuments = false

    /// Metadata of the issuer at that address, which all endpoints begin with.
    public init(
        issuer: String, scopes: [String], grantTypes: [String], clientAuthenticationMethods: [String],
        clientSigningAlgorithms: [String] = [], idTokenAlgorithms: [String], acrValues: [String], claims: [String],
        responseModes: [String] = ["query"], promptValues: [String] = ["none", "login"]
    ) {
        self.responseModes = responseModes
        self.promptValues = promptValues
        self.issuer = issuer
        self.scopes = scopes
        self.grantTypes = grantTypes
        self.clientAuthenticationMethods = clientAuthenticationMethods
        self.clientSigningAlgorithms = clientSigningAlgorithms
        self.idTokenAlgorithms = idTokenAlgorithms
        self.acrValues = acrValues
        self.claims = claims
    }

    /// `authorization_endpoint`
    public var authorizationEndpoint: String { self.issuer + "/oauth2/authorize" }
    /// `token_endpoint`
    public var tokenEndpoint: String { Self.tokenEndpoint(of: self.issuer) }
    /// `userinfo_endpoint`
    public var userinfoEndpoint: String { Self.userinfoEndpoint(of: self.issuer) }
    /// `jwks_uri`
    public var keySetAddress: String { self.issuer + "/oauth2/jwks" }
    /// `revocation_endpoint` (RFC 7009)
    public var revocationEndpoint: String { self.issuer + "/oauth2/revoke" }
    /// `introspection_endpoint` (RFC 7662)
    public var introspectionEndpoint: String { self.issuer + "/oauth2/introspect" }
    /// `pushed_authorization_request_endpoint` (RFC 9126)
    public var pushedRequestEndpoint: String { Self.pushedRequestEndpoint(of: self.issuer) }
    /// `device_authorization_endpoint` (RFC 8628)
    public var deviceAuthorizationEndpoint: String { self.issuer + "/oauth2/device_authorization" }
    /// `backchannel_authentication_endpoint` (OpenID Connect CIBA Core 1.0)
    public var backchannelAuthenticationEndpoint: String { self.issuer + "/oauth2/bc-authorize" }
    /// `authorization_challenge_endpoint` (OAuth 2.0 for First-Party Applications)
    public var challengeEndpoint: String { Self.challengeEndpoint(of: self.issuer) }
    /// `end_session_endpoint`
    public var endSessionEndpoint: String { self.issuer + "/oauth2/logout" }

    /// `registration_endpoint` (RFC 7591)
    public static func registrationEndpoint(of issuer: String) -> String { issuer + "/oauth2/register" }
    /// The token endpoint of an issuer: what proofs of keys name there (`htu`, RFC 9449, section 4.2).
    public static func tokenEndpoint(of issuer: String) -> String { issuer + "/oauth2/token" }
    /// The endpoint for pushed requests of an issuer: what proofs of keys name there.
    public static func pushedRequestEndpoint(of issuer: String) -> String { issuer + "/oauth2/par" }
    /// The authorization challenge endpoint of an issuer: what proofs of keys name there.
    public static func challengeEndpoint(of issuer: String) -> String { issuer + "/oauth2/challenge" }
    /// The userinfo endpoint of an issuer: what proofs of keys name there.
    public static func userinfoEndpoint(of issuer: String) -> String { issuer + "/oauth2/userinfo" }

    /// The addresses that clients call by themselves, and may show a certificate at.
    private static let endpointsOfClients = [
        "token_endpoint", "revocation_endpoint", "introspection_endpoint", "userinfo_endpoint",
        "pushed_authorization_request_endpoint", "device_authorization_endpoint", "backchannel_authentication_endpoint",
        "authorization_challenge_endpoint",
    ]

    /// The document.
    public var json: JSONObject {
        func texts(_ values: [String]) -> JSON { .array(values.map(JSON.string)) }
        var json: JSONObject = [
            "issuer": .string(self.issuer),
            "authorization_endpoint": .string(self.authorizationEndpoint),
            "token_endpoint": .string(self.tokenEndpoint),
            "userinfo_endpoint": .string(self.userinfoEndpoint),
            "jwks_uri": .string(self.keySetAddress),
            "end_session_endpoint": .string(self.endSessionEndpoint),
            "revocation_endpoint": .string(self.revocationEndpoint),
            "introspection_endpoint": .string(self.introspectionEndpoint),
            "pushed_authorization_request_endpoint": .string(self.pushedRequestEndpoint),
            "authorization_challenge_endpoint": .string(self.challengeEndpoint),
            "device_authorization_endpoint": .string(self.deviceAuthorizationEndpoint),
            "backchannel_authentication_endpoint": .string(self.backchannelAuthenticationEndpoint),
            "backchannel_token_delivery_modes_supported": texts(self.backchannelModes),
            "backchannel_user_code_parameter_supported": .bool(false),
            "scopes_supported": texts(self.scopes),
            "response_types_supported": texts(["code"]),
            "response_modes_supported": texts(self.responseModes),
            "grant_types_supported": texts(self.grantTypes),
            "subject_types_supported": texts(["pairwise"]),
            "id_token_signing_alg_values_supported": texts(self.idTokenAlgorithms),
            "token_endpoint_auth_methods_supported": texts(self.clientAuthenticationMethods),
            "revocation_endpoint_auth_methods_supported": texts(self.clientAuthenticationMethods),
            // Whoever asks about tokens has proved who they are (RFC 7662, section 2.1).
            "introspection_endpoint_auth_methods_supported": texts(
                self.clientAuthenticationMethods.filter { !$0.hasSameBytes(as: "none") }),
            "code_challenge_methods_supported": texts([CodeChallenge.method]),
            "dpop_signing_alg_values_supported": texts(DPoPProof.algorithms.map(\.rawValue).sorted()),
            "acr_values_supported": texts(self.acrValues),
            "claims_supported": texts(self.claims),
            "claims_parameter_supported": .bool(true),
            // The pages have one language, whatever is asked for (`ui_locales`).
            "ui_locales_supported": texts(["en"]),
            "prompt_values_supported": texts(self.promptValues),
            "authorization_response_iss_parameter_supported": .bool(true),
            "backchannel_logout_supported": .bool(true),
            "backchannel_logout_session_supported": .bool(true),
            "request_parameter_supported": .bool(!self.requestObjectAlgorithms.isEmpty),
            "request_uri_parameter_supported": .bool(false),
        ]
        if !self.requestObjectAlgorithms.isEmpty {
            json["request_object_signing_alg_values_supported"] = texts(self.requestObjectAlgorithms)
        }
        if !self.authorizationDetailTypes.isEmpty {
            json["authorization_details_types_supported"] = texts(self.authorizationDetailTypes)
        }
        if !self.idTokenKeyManagement.isEmpty {
            json["id_token_encryption_alg_values_supported"] = texts(self.idTokenKeyManagement)
            json["id_token_encryption_enc_values_supported"] = texts(self.idTokenEncryptions)
        }
        if self.hasRegistration {
            json["registration_endpoint"] = .string(Self.registrationEndpoint(of: self.issuer))
        }
        if self.takesClientIDDocuments { json["client_id_metadata_document_supported"] = .bool(true) }
        if !self.clientSigningAlgorithms.isEmpty {
            for endpoint in ["token", "revocation", "introspection"] {
                json["\(endpoint)_endpoint_auth_signing_alg_values_supported"] = texts(self.clientSigningAlgorithms)
            }
        }
        if !self.introspectionAlgorithms.isEmpty {
            json["introspection_signing_alg_values_supported"] = texts(self.introspectionAlgorithms)
        }
        if let origin = self.mutualTLSOrigin {
            json["tls_client_certificate_bound_access_tokens"] = .bool(true)
            var aliases: JSONObject = [:]
            for name in Self.endpointsOfClients {
                guard case .string(let address)? = json[name] else { continue }
                aliases[name] = .string(origin + address.dropFirst(self.issuer.count))
            }
            json["mtls_endpoint_aliases"] = .object(aliases)
        }
        if self.supportsNativeSSO { json["native_sso_supported"] = .bool(true) }
        return json
    }
}
