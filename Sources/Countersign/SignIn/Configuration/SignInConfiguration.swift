import OAuth
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Where people of an app sign in, and how the app keeps them signed in.
public struct SignInConfiguration: Hashable, Sendable {
    /// Which of the server's two faces the app speaks to.
    public enum Face: Hashable, Sendable {
        /// OpenID Connect: `/oauth2/…`.
        case openID
        /// The sign-in service: `/sign-in` and `/v0/sign_in/…`.
        case signInService(SignInServiceAddresses)
    }

    /// What becomes of a session when the app ends.
    public enum Keeping: Hashable, Sendable {
        /// Where the person agrees it is kept behind their finger or face, else not at all.
        case behindBiometrics(BiometricGuard)
        /// It is kept on this device, and opens without a question: for apps whose content needs no more than the device's
        /// own lock.
        case onThisDevice
        /// It ends with the app.
        case inMemory
    }

    /// The server's address, without a path. `https`, or `http` on this device: `localhost` or a literal loopback address.
    public var baseURL: URL
    /// Which face, and where its parts are.
    public var face: Face
    /// The name under which the app is registered: `client_id`, or `application` at the sign-in service.
    public var clientID: String
    /// The registered address that the browser comes back to. A loopback address of the OpenID face has no port, and whichever
    /// is free is taken; one of the sign-in service, which is not told of any, has the port that it is registered with.
    public var redirectURI: String
    /// What answers must name as who they are from (`iss`, RFC 9207): by default ``baseURL`` without a slash at its end.
    /// `nil` takes an answer that names nobody, of a sign-in service that does not say; one that names somebody else is
    /// refused all the same.
    public var issuer: String?
    /// What the app asks for. At the sign-in service `device_sso` alone has a meaning.
    public var scopes: [String]
    /// What becomes of a session when the app ends.
    public var keeping: Keeping
    /// The sites that the app's web views are signed in at; `nil` for none.
    public var webViews: WebViewSites?
    /// How long one exchange with the server may take.
    public var networkTimeout: Duration

    /// A configuration for the OpenID face. It asks for tokens that can be renewed.
    public init(baseURL: URL, clientID: String, redirectURI: String) {
        self.init(baseURL: baseURL, face: .openID, clientID: clientID, redirectURI: redirectURI)
        self.scopes = [Scope.openID, Scope.offlineAccess]
    }

    /// A configuration for the sign-in service. It asks for a device secret, by which web views are signed in.
    public init(baseURL: URL, application: String, redirectURI: String) {
        self.init(
            baseURL: baseURL, face: .signInService(SignInServiceAddresses()), clientID: application,
            redirectURI: redirectURI)
        self.scopes = [Scope.deviceSSO]
    }

    private init(baseURL: URL, face: Face, clientID: String, redirectURI: String) {
        self.baseURL = baseURL
        self.face = face
        self.clientID = clientID
        self.redirectURI = redirectURI
        let text = baseURL.absoluteString
        self.issuer = text.utf8.last == UInt8(ascii: "/") ? String(text.dropLast()) : text
        self.scopes = []
        self.keeping = .behindBiometrics(.currentSet)
        self.networkTimeout = .seconds(60)
    }

    /// Which app this is at which server. What is kept of a sign-in names it, and is shown to no other server.
    var registration: String {
        let face = self.face == .openID ? "openid" : "sign-in"
        return "\(face) \(self.clientID) \(self.baseURL.absoluteString)"
    }

    /// The address of a path at the server.
    func address(_ path: String) -> URL? { self.baseURL.address(of: path) }
}

/// Where the parts of a sign-in service are.
public struct SignInServiceAddresses: Hashable, Sendable {
    /// The page where people choose who vouches for them, which may be at a site of its own; `nil` for `/sign-in` at the
    /// server.
    public var signInPage: URL?
    /// Where codes and device secrets are exchanged.
    public var tokenPath = "/v0/sign_in/token"
    /// Where tokens are renewed.
    public var refreshPath = "/v0/sign_in/refresh"
    /// Where sessions end.
    public var revokePath = "/v0/sign_in/revoke"

    /// The usual ones.
    public init() {}
}
