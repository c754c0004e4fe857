import OAuth
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The configuration of an app's sign-in: the server, the app's registration, and the way in which sessions are kept.
public struct SignInConfiguration: Hashable, Sendable {
    /// The server's two interfaces for apps.
    public enum Face: Hashable, Sendable {
        /// The OpenID Connect interface: `/oauth2/…`.
        case openID
        /// The interface of the sign-in service: `/sign-in` and `/v0/sign_in/…`.
        case signInService(SignInServiceAddresses)
    }

    /// The way in which a session is kept when the app ends.
    public enum Keeping: Hashable, Sendable {
        /// The session is kept behind the person's finger or face if the person agrees, otherwise not at all.
        case behindBiometrics(BiometricGuard)
        /// The session is kept on this device, and opens without a question. Meant for apps whose content needs only
        /// the device's own lock.
        case onThisDevice
        /// The session ends with the app.
        case inMemory
    }

    /// The server's address, without a path. The scheme is `https`, or `http` on this device: `localhost` or a literal
    /// loopback address.
    public var baseURL: URL
    /// The server's interface, with the addresses of its parts.
    public var face: Face
    /// The name of the app's registration: `client_id`, or `application` at the sign-in service.
    public var clientID: String
    /// The registered address to which the browser returns.
    ///
    /// A loopback address of the OpenID face has no port, and the app takes a free port. At the sign-in service, which
    /// receives no redirect address, a loopback address has the port of its registration.
    public var redirectURI: String
    /// The issuer that answers must name (`iss`, RFC 9207); an answer that names another issuer, or none, is refused.
    /// The default is ``baseURL`` without a slash at its end.
    ///
    /// With `nil`, answers must name no issuer, for a sign-in service that names none. An answer with any issuer is
    /// then refused.
    public var issuer: String?
    /// The scopes that the app requests. At the sign-in service only `device_sso` has a meaning.
    public var scopes: [String]
    /// The way in which a session is kept when the app ends.
    public var keeping: Keeping
    /// The sites at which the app's web views are signed in; `nil` for none.
    public var webViews: WebViewSites?
    /// The pinned keys of the server. The default is `nil`: the system's certificate authorities alone decide.
    ///
    /// With pins, ``SignIn`` needs a transport that enforces pins (``Transport/pinned(to:)``), and ends with
    /// `misconfigured` for any other transport. The pins apply to the requests of the SDK, and neither to the browser nor
    /// to web views, which verify certificates on their own.
    public var tlsPins: TLSPins?
    /// The maximum time of one exchange with the server.
    public var networkTimeout: Duration

    /// Creates a configuration for the OpenID face. The configuration requests tokens that can be renewed.
    public init(baseURL: URL, clientID: String, redirectURI: String) {
        self.init(baseURL: baseURL, face: .openID, clientID: clientID, redirectURI: redirectURI)
        self.scopes = [Scope.openID, Scope.offlineAccess]
    }

    /// Creates a configuration for the sign-in service. The configuration requests a device secret, with which web
    /// views are signed in.
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
        self.tlsPins = nil
        self.networkTimeout = .seconds(60)
    }

    /// The identifier of this app at this server. The stored data of a sign-in contains the identifier, and the app
    /// shows the data to no other server.
    var registration: String {
        let face = self.face == .openID ? "openid" : "sign-in"
        return "\(face) \(self.clientID) \(self.baseURL.absoluteString)"
    }

    /// Returns the address of a path at the server.
    func address(_ path: String) -> URL? { self.baseURL.address(of: path) }
}

/// The addresses of a sign-in service.
public struct SignInServiceAddresses: Hashable, Sendable {
    /// The page on which a person chooses an identity provider. The page may be at a separate site; `nil` for
    /// `/sign-in` at the server.
    public var signInPage: URL?
    /// The path for the exchange of codes and device secrets.
    public var tokenPath = "/v0/sign_in/token"
    /// The path for the renewal of tokens.
    public var refreshPath = "/v0/sign_in/refresh"
    /// The path for ending sessions.
    public var revokePath = "/v0/sign_in/revoke"

    /// Creates the default addresses.
    public init() {}
}
