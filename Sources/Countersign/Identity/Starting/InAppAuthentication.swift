import Ceremony
import _Primitives

/// A sign-in request of an app that is itself a service (OpenID Connect Core 1.0, section 3.1.2.1).
public struct InAppAuthenticationRequest: Hashable, Sendable {
    /// The server's identifier.
    public var idmIdentifier: String
    /// The `client_id` of the service.
    public var clientID: String
    /// One of the service's redirect addresses, byte for byte.
    public var redirectURI: String
    /// The requested scope, which includes `openid`.
    public var scope: String
    /// A value that returns with the code, for the app to compare.
    public var state: String?
    /// A value that returns in the ID token, for the back end to compare.
    public var nonce: String?
    /// The challenge for the back end's verifier (RFC 7636, `S256`). The app never has the verifier.
    public var codeChallenge: String

    /// Creates a request. The default scope is `openid` alone.
    public init(
        idmIdentifier: String, clientID: String, redirectURI: String, scope: String = "openid", state: String? = nil,
        nonce: String? = nil, codeChallenge: String
    ) {
        self.idmIdentifier = idmIdentifier
        self.clientID = clientID
        self.redirectURI = redirectURI
        self.scope = scope
        self.state = state
        self.nonce = nonce
        self.codeChallenge = codeChallenge
    }

    var message: InAppRequest {
        InAppRequest(
            clientID: self.clientID, redirectURI: self.redirectURI, scope: self.scope, state: self.state,
            nonce: self.nonce, codeChallenge: self.codeChallenge)
    }
}

/// The authorization code, which the app passes to its back end. The back end redeems the code at the token endpoint
/// (RFC 6749, section 4.1.3) and receives the person's data. The app never receives the data.
public struct AuthorizationCode: Sendable, CustomStringConvertible, CustomReflectable {
    /// The code: a secret that works once.
    public let code: String
    /// The value that the app sent with its request.
    public let state: String?
    /// The provider's identifier (RFC 9207), for the app to compare.
    public let issuer: String

    init(_ response: CodeResponse) {
        self.code = response.code.withBytes { String(decoding: $0, as: UTF8.self) }
        self.state = response.state
        self.issuer = response.issuer
    }

    /// A description without the code.
    public var description: String { "AuthorizationCode(\(self.issuer))" }
    /// A mirror with the provider's identifier only.
    public var customMirror: Mirror { Mirror(self, children: ["issuer": self.issuer]) }
}
