import Ceremony
import _Primitives

/// How an app that is a service itself asks to be signed in (OpenID Connect Core 1.0, section 3.1.2.1).
public struct InAppAuthenticationRequest: Hashable, Sendable {
    /// The server.
    public var idmIdentifier: String
    /// The service, by its `client_id`.
    public var clientID: String
    /// One of the service's addresses, to the letter.
    public var redirectURI: String
    /// What is asked for, with `openid` among it.
    public var scope: String
    /// What comes back with the code, for the app to compare.
    public var state: String?
    /// What comes back in the ID token, for the back end to compare.
    public var nonce: String?
    /// The challenge of the back end's verifier (RFC 7636, `S256`). The app never has the verifier.
    public var codeChallenge: String

    /// A request, by default for the scope `openid` alone.
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

/// What the app gives to its back end, which redeems it at the token endpoint (RFC 6749, section 4.1.3) and gets the
/// person's data. The app never does.
public struct AuthorizationCode: Sendable, CustomStringConvertible, CustomReflectable {
    /// The code: a secret that works once.
    public let code: String
    /// What the app gave with its request.
    public let state: String?
    /// The provider (RFC 9207), for the app to compare.
    public let issuer: String

    init(_ response: CodeResponse) {
        self.code = response.code.withBytes { String(decoding: $0, as: UTF8.self) }
        self.state = response.state
        self.issuer = response.issuer
    }

    /// Without the code.
    public var description: String { "AuthorizationCode(\(self.issuer))" }
    /// The provider alone.
    public var customMirror: Mirror { Mirror(self, children: ["issuer": self.issuer]) }
}
