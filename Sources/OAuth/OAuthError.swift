import JOSE
public import _Primitives

/// An error of RFC 6749, OpenID Connect Core, RFC 6750 or another specification with registered errors, with texts for
/// the peer and for the log. Two errors are equal if their codes are equal.
public struct OAuthError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The registered code. An unknown code can be read.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        // RFC 6749, sections 4.1.2.1 and 5.2
        /// A parameter is missing, wrong, or repeated.
        public static let invalidRequest = Self(rawValue: "invalid_request")
        /// The client is unknown, or did not prove its identity.
        public static let invalidClient = Self(rawValue: "invalid_client")
        /// The grant (an authorization code, a refresh token or an assertion) is wrong, used, too old or another
        /// client's, or does not fit the redirect address or the verifier.
        public static let invalidGrant = Self(rawValue: "invalid_grant")
        /// The client is known, but may not do this.
        public static let unauthorizedClient = Self(rawValue: "unauthorized_client")
        /// The grant type is unknown here.
        public static let unsupportedGrantType = Self(rawValue: "unsupported_grant_type")
        /// The response type is unknown here.
        public static let unsupportedResponseType = Self(rawValue: "unsupported_response_type")
        /// The scope is unknown, malformed, or wider than allowed.
        public static let invalidScope = Self(rawValue: "invalid_scope")
        /// The person refused, or the server refused for the person.
        public static let accessDenied = Self(rawValue: "access_denied")
        /// The server could not answer because of a fault of its own.
        public static let serverError = Self(rawValue: "server_error")
        /// The server cannot answer now. The caller may try again.
        public static let temporarilyUnavailable = Self(rawValue: "temporarily_unavailable")

        // OpenID Connect Core 1.0, section 3.1.2.6
        /// The person would have to sign in, but `prompt` is `none`.
        public static let loginRequired = Self(rawValue: "login_required")
        /// The person would have to answer something else than a sign-in, but `prompt` is `none`.
        public static let interactionRequired = Self(rawValue: "interaction_required")
        /// The person would have to agree, but `prompt` is `none`.
        public static let consentRequired = Self(rawValue: "consent_required")
        /// The person would have to choose an account, but `prompt` is `none`.
        public static let accountSelectionRequired = Self(rawValue: "account_selection_required")
        /// The object of `request` belongs to another client or another server, is too old, or is not a request.
        public static let invalidRequestObject = Self(rawValue: "invalid_request_object")
        /// The request that `request_uri` names is missing, used, or belongs to another client.
        public static let invalidRequestURI = Self(rawValue: "invalid_request_uri")
        /// `request` is not supported.
        public static let requestNotSupported = Self(rawValue: "request_not_supported")
        /// `request_uri` is not supported.
        public static let requestURINotSupported = Self(rawValue: "request_uri_not_supported")

        // OpenID Connect Core Error Code unmet_authentication_requirements 1.0
        /// The person cannot sign in as strongly as the request requires.
        public static let unmetAuthenticationRequirements = Self(rawValue: "unmet_authentication_requirements")

        // RFC 8707, section 2, and RFC 8693, section 2.2.2
        /// A resource or audience is malformed, unknown, or not for this client.
        public static let invalidTarget = Self(rawValue: "invalid_target")

        // RFC 9396, section 5
        /// The authorization details are malformed, or of an unknown type.
        public static let invalidAuthorizationDetails = Self(rawValue: "invalid_authorization_details")

        // RFC 9449, sections 5 and 8
        /// The proof that the sender holds a key is missing, or is wrong for this request.
        public static let invalidDPoPProof = Self(rawValue: "invalid_dpop_proof")
        /// The proof has to contain the nonce of this answer. The client tries again at once.
        public static let useDPoPNonce = Self(rawValue: "use_dpop_nonce")

        // RFC 8628, section 3.5, and OpenID Connect CIBA Core 1.0, section 11
        /// The person has not answered yet. The client asks again.
        public static let authorizationPending = Self(rawValue: "authorization_pending")
        /// The person has not answered yet, as with ``authorizationPending``. From now on the client waits five seconds
        /// longer between its requests.
        public static let slowDown = Self(rawValue: "slow_down")
        /// The person did not answer in time. The client begins again.
        public static let expiredToken = Self(rawValue: "expired_token")

        // OpenID Connect CIBA Core 1.0, sections 11 and 13
        /// The hint has expired.
        public static let expiredLoginHintToken = Self(rawValue: "expired_login_hint_token")
        /// The hint identifies no person.
        public static let unknownUserID = Self(rawValue: "unknown_user_id")
        /// The person's own code is required but missing.
        public static let missingUserCode = Self(rawValue: "missing_user_code")
        /// The person's own code is wrong.
        public static let invalidUserCode = Self(rawValue: "invalid_user_code")
        /// The binding message cannot be shown.
        public static let invalidBindingMessage = Self(rawValue: "invalid_binding_message")
        /// The operation ended without an answer. Clients in push mode receive this code.
        public static let transactionFailed = Self(rawValue: "transaction_failed")

        // OAuth 2.0 for First-Party Applications
        /// The person has to prove more. The answer says what is missing.
        public static let insufficientAuthorization = Self(rawValue: "insufficient_authorization")
        /// The sign-in of the `auth_session` has ended, belongs to another client, or continued with another
        /// `auth_session`.
        public static let invalidSession = Self(rawValue: "invalid_session")
        /// The sign-in can continue only in a browser.
        public static let redirectToWeb = Self(rawValue: "redirect_to_web")

        // RFC 7009, section 2.2.1
        /// The server does not revoke tokens of this kind.
        public static let unsupportedTokenType = Self(rawValue: "unsupported_token_type")

        // RFC 7591, section 3.2.2
        /// A redirect address cannot be registered.
        public static let invalidRedirectURI = Self(rawValue: "invalid_redirect_uri")
        /// A value of a registration cannot be registered.
        public static let invalidClientMetadata = Self(rawValue: "invalid_client_metadata")
        /// The software statement is wrong.
        public static let invalidSoftwareStatement = Self(rawValue: "invalid_software_statement")
        /// The software statement is right, but the software may not be registered here.
        public static let unapprovedSoftwareStatement = Self(rawValue: "unapproved_software_statement")

        // RFC 6750, section 3.1
        /// The access token is expired, revoked, another issuer's, or not a token at all.
        public static let invalidToken = Self(rawValue: "invalid_token")
        /// The access token is valid, but not for this request.
        public static let insufficientScope = Self(rawValue: "insufficient_scope")
    }

    /// The kind of endpoint that answers without a redirect. The status of three codes depends on the kind.
    public enum Endpoint: Sendable {
        /// The token endpoint, and the endpoints that answer in the same way: pushed requests, devices, revocation,
        /// introspection, registration.
        case token
        /// The backchannel authentication endpoint.
        case backchannel
        /// A resource, which accepts access tokens.
        case resource
    }

    /// The kind of error.
    public let code: Code
    /// The text for the peer (`error_description`): an English sentence without a secret; `nil` for none.
    public let message: String?
    /// The text for the log alone.
    public let detail: String?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - message: The text for the peer. Characters that RFC 6749, section 5.2, does not allow become question marks.
    ///   - detail: The text for the log, which is never sent.
    public init(_ code: Code, _ message: String? = nil, detail: String? = nil) {
        self.code = code
        self.message = message.map { message in
            String(
                String.UnicodeScalarView(
                    message.unicodeScalars.map {
                        (0x20...0x7E).contains($0.value) && $0 != "\"" && $0 != "\\" ? $0 : "?"
                    }))
        }
        self.detail = detail
    }

    /// The status of an answer without a redirect (RFC 6749, section 5.2; RFC 6750, section 3.1).
    ///
    /// 401 for a client or a token that was not accepted, 403 for a token without the necessary scope, 503 and 500 for
    /// the server's own failures, and 400 for the rest.
    public var status: Int { self.status(at: .token) }

    /// Returns the status of an answer at this kind of endpoint.
    ///
    /// A refusal by a person or a server is 403 at the backchannel authentication endpoint (OpenID Connect CIBA Core
    /// 1.0, section 13). A missing or wrong proof is 401 at a resource (RFC 9449, sections 7.1 and 9). Otherwise the
    /// result is ``status``.
    public func status(at endpoint: Endpoint) -> Int {
        switch self.code {
        case .accessDenied where endpoint == .backchannel: 403
        case .invalidDPoPProof where endpoint == .resource, .useDPoPNonce where endpoint == .resource: 401
        case .invalidClient, .invalidToken: 401
        case .insufficientScope: 403
        case .temporarilyUnavailable: 503
        case .serverError: 500
        default: 400
        }
    }

    /// The body of an answer without a redirect (RFC 6749, section 5.2).
    public var json: JSONObject {
        var json: JSONObject = ["error": .string(self.code.rawValue)]
        json["error_description"] = self.message.map(JSON.string)
        return json
    }

    /// Returns the value of `WWW-Authenticate` (RFC 6750, section 3; RFC 9449, section 7.1).
    ///
    /// - Parameter scheme: `Basic` at the token endpoint; `Bearer` or `DPoP` at a resource that accepts access tokens.
    public func challenge(scheme: String, realm: String) -> String {
        var text = "\(scheme) realm=\"\(realm)\""
        if scheme == "Bearer" || scheme == "DPoP" {
            text += ", error=\"\(self.code.rawValue)\""
            if let message { text += ", error_description=\"\(message)\"" }
        }
        if scheme == "DPoP" {
            text += ", algs=\"\(DPoPProof.algorithms.map(\.rawValue).sorted().joined(separator: " "))\""
        }
        return text
    }

    public var description: String {
        "OAuthError.\(self.code.rawValue): \(self.message ?? "")" + (self.detail.map { " (\($0))" } ?? "")
    }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}
