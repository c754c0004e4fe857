public import _Primitives

/// An error of RFC 6749, OpenID Connect Core or RFC 6750, as the peer and as the log see it. Two are equal when their
/// codes are.
public struct OAuthError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The registered code. An unknown one can be read.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        // RFC 6749, sections 4.1.2.1 and 5.2
        /// A parameter is missing, wrong, or there twice.
        public static let invalidRequest = Self(rawValue: "invalid_request")
        /// The client is unknown, or did not prove that it is who it says.
        public static let invalidClient = Self(rawValue: "invalid_client")
        /// The code is wrong, used, too old, another client's, or does not fit the redirect address or the verifier.
        public static let invalidGrant = Self(rawValue: "invalid_grant")
        /// The grant type is not known here.
        public static let unsupportedGrantType = Self(rawValue: "unsupported_grant_type")
        /// The response type is not known here.
        public static let unsupportedResponseType = Self(rawValue: "unsupported_response_type")
        /// The scope is unknown, malformed, or wider than allowed.
        public static let invalidScope = Self(rawValue: "invalid_scope")
        /// The person, or the server for them, said no.
        public static let accessDenied = Self(rawValue: "access_denied")
        /// The server could not answer because of a fault of its own.
        public static let serverError = Self(rawValue: "server_error")
        /// The server cannot answer now. The caller may try again.
        public static let temporarilyUnavailable = Self(rawValue: "temporarily_unavailable")

        // OpenID Connect Core 1.0, section 3.1.2.6
        /// The person would have to sign in, and `prompt` is `none`.
        public static let loginRequired = Self(rawValue: "login_required")
        /// `request` is not supported.
        public static let requestNotSupported = Self(rawValue: "request_not_supported")
        /// `request_uri` is not supported.
        public static let requestURINotSupported = Self(rawValue: "request_uri_not_supported")

        // RFC 6750, section 3.1
        /// The access token is expired, revoked, another issuer's, or no token at all.
        public static let invalidToken = Self(rawValue: "invalid_token")
        /// The access token is good, but not for this.
        public static let insufficientScope = Self(rawValue: "insufficient_scope")
    }

    /// What went wrong.
    public let code: Code
    /// For the peer (`error_description`): an English sentence without anything secret. `nil` says nothing.
    public let message: String?
    /// For the log alone.
    public let detail: String?

    /// - Parameters:
    ///   - message: Sent to the peer. Characters that RFC 6749, section 5.2, does not allow become question marks.
    ///   - detail: Never sent.
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

    /// The status of an answer without a redirect: 401 for a client or token that was not accepted, 403 for a token that
    /// does not reach, 503 and 500 for the server's own faults, else 400 (RFC 6749, section 5.2; RFC 6750, section 3.1).
    public var status: Int {
        switch self.code {
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

    /// The value of `WWW-Authenticate` (RFC 6750, section 3).
    ///
    /// - Parameter scheme: `Basic` at the token endpoint, `Bearer` where access tokens are taken.
    public func challenge(scheme: String, realm: String) -> String {
        var text = "\(scheme) realm=\"\(realm)\""
        if scheme == "Bearer" {
            text += ", error=\"\(self.code.rawValue)\""
            if let message { text += ", error_description=\"\(message)\"" }
        }
        return text
    }

    public var description: String {
        "OAuthError.\(self.code.rawValue): \(self.message ?? "")" + (self.detail.map { " (\($0))" } ?? "")
    }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}
