import JOSE
public import _Primitives

/// The answer of the token endpoint (RFC 6749, section 5.1; OpenID Connect Core 1.0, section 3.1.3.3).
public struct TokenResponse: Sendable, CustomStringConvertible {
    /// The access token (`access_token`): a secret.
    public let accessToken: String
    /// The remaining lifetime of the access token, in whole seconds.
    public let expiresIn: Duration
    /// The permitted uses of the access token (`scope`).
    public let scope: Scope
    /// The ID token (`id_token`), if `openid` was requested.
    public var idToken: String?
    /// The refresh token (`refresh_token`), if any: a secret.
    public var refreshToken: String?
    /// The scheme of the access token (`token_type`).
    public let tokenType: PresentedToken.Scheme
    /// The type of the access token (`issued_token_type`, RFC 8693, section 2.2.1), if the token was exchanged for
    /// another token.
    public var issuedTokenType: String?
    /// The secret with which the apps of a device sign in (`device_secret`, OpenID Connect Native SSO for Mobile Apps
    /// 1.0), if any.
    public var deviceSecret: String?
    /// The detailed permissions of the access token (`authorization_details`, RFC 9396, section 7); `nil` for none.
    public var authorizationDetails: AuthorizationDetails?

    /// Creates an answer from the tokens.
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

    /// The body of the answer. The body must never be cached.
    public var json: JSONObject {
        var json: JSONObject = [
            "access_token": .string(self.accessToken), "token_type": .string(self.tokenType.rawValue),
            "expires_in": .integer(self.expiresIn.components.seconds), "scope": .string(self.scope.description),
        ]
        json["id_token"] = self.idToken.map(JSON.string)
        json["refresh_token"] = self.refreshToken.map(JSON.string)
        json["issued_token_type"] = self.issuedTokenType.map(JSON.string)
        json["device_secret"] = self.deviceSecret.map(JSON.string)
        // The draft uses both names, one in its text and the other in its examples. Clients look for either name.
        json["device_token"] = self.deviceSecret.map(JSON.string)
        json["authorization_details"] = self.authorizationDetails?.json
        return json
    }

    public var description: String { "TokenResponse(\(self.scope))" }
}

/// The discovery document (RFC 8414, section 2; OpenID Connect Discovery 1.0, section 3; RFC 9207, section 3).
///
/// The document describes the abilities of this product, so most of it is fixed: authorization codes with S256,
/// pairwise subjects.
public struct ProviderMetadata: Hashable, Sendable {
    /// The issuer's address, without a slash at its end.
    public let issuer: String
    /// The scopes that clients can request.
    public var scopes: [String]
    /// The supported grant types.
    public var grantTypes: [String]
    /// The supported authentication methods of clients.
    public var clientAuthenticationMethods: [String]
    /// The signature algorithms of clients that authenticate with a signature.
    public var clientSigningAlgorithms: [String]
    /// The signature algorithms for authorization requests (RFC 9101); empty if the server accepts no signed requests.
    public var requestObjectAlgorithms: [String] = []
    /// The types of authorization details that clients can request (RFC 9396, section 10).
    public var authorizationDetailTypes: [String] = []
    /// The ways in which clients learn people's answers (OpenID Connect CIBA Core 1.0, section 4).
    public var backchannelModes = ["poll"]
    /// The signature algorithms of ID tokens.
    public var idTokenAlgorithms: [String]
    /// The key management algorithms of encrypted ID tokens.
    public var idTokenKeyManagement: [String] = []
    /// The content encryption algorithms of ID tokens.
    public var idTokenEncryptions: [String] = []
    /// The signature algorithms of answers about tokens (RFC 9701, section 7).
    public var introspectionAlgorithms: [String] = []
    /// `true` if an app of a device can sign in through another app of the device (OpenID Connect Native SSO for Mobile
    /// Apps 1.0).
    public var supportsNativeSSO = false
    /// The possible values of `acr`.
    public var acrValues: [String]
    /// The possible claims of an ID token and of userinfo.
    public var claims: [String]
    /// The supported response modes.
    public var responseModes: [String]
    /// The supported values of `prompt` (Initiating User Registration via OpenID Connect 1.0, section 4).
    public var promptValues: [String]
    /// The beginning of the addresses that ask clients for their certificates (RFC 8705, section 5); `nil` if no
    /// address does.
    public var mutualTLSOrigin: String?
    /// The languages of the pages, by their tags.
    public var uiLocales: [String] = []
    /// `true` if clients can register themselves (`registration_endpoint`).
    public var hasRegistration = false
    /// `true` if a client's identifier can be the address of its metadata (`client_id_metadata_document_supported`,
    /// draft-ietf-oauth-client-id-metadata-document, section 5).
    public var takesClientIDDocuments = false

    /// Creates metadata of the issuer with the address. The address of every endpoint begins with the issuer's address.
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

    /// Returns the `registration_endpoint` of an issuer (RFC 7591).
    public static func registrationEndpoint(of issuer: String) -> String { issuer + "/oauth2/register" }
    /// Returns the token endpoint of an issuer, the address for key proofs at this endpoint (`htu`, RFC 9449, section
    /// 4.2).
    public static func tokenEndpoint(of issuer: String) -> String { issuer + "/oauth2/token" }
    /// Returns the endpoint of an issuer for pushed requests, the address for key proofs at this endpoint.
    public static func pushedRequestEndpoint(of issuer: String) -> String { issuer + "/oauth2/par" }
    /// Returns the authorization challenge endpoint of an issuer, the address for key proofs at this endpoint.
    public static func challengeEndpoint(of issuer: String) -> String { issuer + "/oauth2/challenge" }
    /// Returns the userinfo endpoint of an issuer, the address for key proofs at this endpoint.
    public static func userinfoEndpoint(of issuer: String) -> String { issuer + "/oauth2/userinfo" }

    /// The endpoints that clients call themselves, possibly with a certificate.
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
            // A caller that asks about tokens has authenticated (RFC 7662, section 2.1).
            "introspection_endpoint_auth_methods_supported": texts(
                self.clientAuthenticationMethods.filter { !$0.hasSameBytes(as: "none") }),
            "code_challenge_methods_supported": texts([CodeChallenge.method]),
            "dpop_signing_alg_values_supported": texts(DPoPProof.algorithms.map(\.rawValue).sorted()),
            "acr_values_supported": texts(self.acrValues),
            "claims_supported": texts(self.claims),
            "claims_parameter_supported": .bool(true),
            "ui_locales_supported": texts(self.uiLocales),
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
