public import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A client's identifier and secret for its authentication (RFC 6749, section 2.3.1).
public struct ClientCredentials: Sendable, CustomStringConvertible {
    /// The way of the credentials to the server (`token_endpoint_auth_method`).
    public enum Method: String, Sendable, CaseIterable {
        case basic = "client_secret_basic"
        case post = "client_secret_post"
    }

    /// The client's identifier (`client_id`).
    public let clientID: String
    /// The client's secret (`client_secret`).
    public let secret: SecretBytes
    /// The way of the credentials to the server.
    public let method: Method

    /// Reads the value of an `Authorization` header of the scheme `Basic`. Identifier and secret are form-encoded in
    /// the value, as RFC 6749 requires.
    ///
    /// Throws ``OAuthError`` `invalid_client`.
    public init(basic header: String) throws(OAuthError) {
        guard header.utf8.count <= 1024, let text = authorizationValue(header, scheme: "basic"),
            let data = Data(base64Encoded: String(text))
        else { throw Self.refusal("not Basic credentials") }
        guard let colon = data.firstIndex(of: UInt8(ascii: ":")) else { throw Self.refusal("no colon") }
        let clientID: String
        let secret: String
        do {
            clientID = try FormEncoding.decode(data[..<colon])
            secret = try FormEncoding.decode(data[data.index(after: colon)...])
        } catch {
            throw Self.refusal("not form-encoded")
        }
        guard !clientID.isEmpty, !secret.isEmpty else { throw Self.refusal("an empty part") }
        self.clientID = clientID
        self.secret = SecretBytes(utf8: secret)
        self.method = .basic
    }

    /// Reads the credentials of a request from its header or from its body. A request must not have both.
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - parameters: The request's body.
    /// - Throws: ``OAuthError`` `invalid_client` if the request has no credentials or the header is not a right `Basic`
    ///   header, `invalid_request` if the request has credentials in both places or if `client_id` names another
    ///   client than the header.
    public init(header: String?, parameters: Parameters) throws(OAuthError) {
        let secret = parameters["client_secret"]
        if let header {
            guard secret == nil else {
                throw OAuthError(.invalidRequest, "The client authenticates in two ways.")
            }
            try self.init(basic: header)
            if let named = parameters["client_id"], !named.hasSameBytes(as: self.clientID) {
                throw OAuthError(.invalidRequest, "The client_id is not the authenticated client.")
            }
        } else {
            guard let clientID = parameters["client_id"], let secret else { throw Self.refusal("no credentials") }
            self.init(clientID: clientID, secret: SecretBytes(utf8: secret), method: .post)
        }
    }

    /// Returns the value of `Authorization` for these credentials.
    public static func basic(clientID: String, secret: String) -> String {
        let pair = FormEncoding.encode(clientID) + ":" + FormEncoding.encode(secret)
        return "Basic " + Data(pair.utf8).base64EncodedString()
    }

    private init(clientID: String, secret: SecretBytes, method: Method) {
        self.clientID = clientID
        self.secret = secret
        self.method = method
    }

    public var description: String { "ClientCredentials(\(self.clientID), \(self.method.rawValue))" }

    private static func refusal(_ detail: String) -> OAuthError {
        OAuthError(.invalidClient, "The client did not authenticate.", detail: detail)
    }
}

/// An access token from an `Authorization` header (RFC 6750, section 2.1).
public struct BearerToken: Sendable, CustomStringConvertible {
    /// The token as sent: a secret.
    public let text: String

    /// Reads the value of an `Authorization` header of the scheme `Bearer`.
    ///
    /// Throws ``OAuthError`` `invalid_token`, also if the header is missing.
    public init(header: String?) throws(OAuthError) {
        guard let header, header.utf8.count <= 8192, let text = authorizationValue(header, scheme: "bearer") else {
            throw OAuthError(.invalidToken, "An access token is needed.")
        }
        self.text = String(text)
    }

    public var description: String { "BearerToken" }
}

/// An access token with its scheme. A token that is bound to a key counts only with `DPoP`, and any other token only
/// with `Bearer` (RFC 9449, section 7.1).
public struct PresentedToken: Sendable, CustomStringConvertible {
    /// The scheme of an access token.
    public enum Scheme: String, Sendable, CaseIterable {
        /// Every holder of the token can use the token (RFC 6750).
        case bearer = "Bearer"
        /// The request also has a proof of the token's key (RFC 9449).
        case dpop = "DPoP"
    }

    /// The token as sent: a secret.
    public let text: String
    /// The scheme. Letter case does not count (RFC 9110, section 11.1).
    public let scheme: Scheme

    /// Reads the value of an `Authorization` header of one of the two schemes.
    ///
    /// Throws ``OAuthError`` `invalid_token`, also if the header is missing.
    public init(header: String?) throws(OAuthError) {
        if let header, header.utf8.count <= 8192 {
            for scheme in Scheme.allCases {
                guard let text = authorizationValue(header, scheme: scheme.rawValue.asciiLowercased) else { continue }
                self.text = String(text)
                self.scheme = scheme
                return
            }
        }
        throw OAuthError(.invalidToken, "An access token is needed.")
    }

    /// Reads the token of a request from its header or from its form (`access_token`, RFC 6750, section 2.2).
    ///
    /// A request must not have both. A form cannot link a proof to its token, so a token in a form has the scheme
    /// `Bearer`.
    ///
    /// Throws ``OAuthError`` `invalid_request` for two tokens, `invalid_token` if the token is missing or malformed.
    public init(header: String?, form: Parameters) throws(OAuthError) {
        guard let text = form["access_token"] else {
            try self.init(header: header)
            return
        }
        guard header == nil else {
            throw OAuthError(.invalidRequest, "The access token is in the header or in the form, and not in both.")
        }
        guard text.utf8.count <= 8192, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw OAuthError(.invalidToken, "An access token is needed.")
        }
        self.init(text: text, scheme: .bearer)
    }

    private init(text: String, scheme: Scheme) {
        self.text = text
        self.scheme = scheme
    }

    public var description: String { "PresentedToken(\(self.scheme.rawValue))" }
}

/// Returns the text after the scheme's name and one space or more: visible characters without a space; `nil` for
/// another scheme or form.
private func authorizationValue(_ header: String, scheme: String) -> Substring? {
    let parts = header.splitBytes(at: " ").filter { !$0.isEmpty }
    guard parts.count == 2, parts[0].asciiLowercased.hasSameBytes(as: scheme),
        parts[1].utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    return parts[1]
}
