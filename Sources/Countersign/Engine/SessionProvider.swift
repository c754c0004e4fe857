import UAF
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A session of a person at the server, to which an app binds an authentication
/// (``OperationBuilder/sessionProvider(_:)``).
public protocol SessionProvider: Sendable {
    /// The form of the session.
    var form: SessionForm { get }
    /// The credentials that show the session to the server.
    var authorizationProvider: any AuthorizationProvider { get }
}

/// The form in which an app has a session.
public enum SessionForm: String, Hashable, Sendable, CaseIterable {
    /// The cookie of a signed-in browser.
    case cookie
    /// The token of an earlier authentication in the app.
    case token
}

/// The session of a signed-in browser, by its cookies, for example of the app's web view.
public struct CookieSessionProvider: SessionProvider, CustomStringConvertible, CustomReflectable {
    /// The cookies: secrets.
    public let cookies: [AuthorizationCookie]

    /// Creates a session of the cookies. The SDK sends only the cookies for the address of a request.
    public init(_ cookies: [AuthorizationCookie]) { self.cookies = cookies }

    public var form: SessionForm { .cookie }
    /// The provider of the cookies.
    public var authorizationProvider: any AuthorizationProvider { CookieAuthorizationProvider(self.cookies) }

    /// Returns the session with the new value of a cookie, `name=value`, from the server at an address. Only a cookie
    /// that the server received gets the value: another server's cookie of the same name stays.
    fileprivate func renewed(by pair: String, from url: URL, at time: Timestamp) -> Self {
        let parts = pair.splitBytes(at: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return self }
        return Self(
            self.cookies.map { cookie in
                guard cookie.name.hasSameBytes(as: parts[0]), cookie.isSent(to: url, at: time) else { return cookie }
                return AuthorizationCookie(
                    name: cookie.name, value: parts[1], domain: cookie.domain, isHostOnly: cookie.isHostOnly,
                    path: cookie.path, isSecure: cookie.isSecure, expiresAt: cookie.expiresAt)
            })
    }

    /// A description without the cookies.
    public var description: String { "CookieSessionProvider" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The session of an earlier authentication in the app: the token of its ``AuthenticationSuccess/authorizationProvider``.
/// The session lasts as long as the token, some minutes.
public struct JwtSessionProvider: SessionProvider, CustomStringConvertible, CustomReflectable {
    /// The token: a secret.
    public let jwt: String

    /// Creates a session of the token.
    public init(_ jwt: String) { self.jwt = jwt }

    public var form: SessionForm { .token }
    /// The provider of the token.
    public var authorizationProvider: any AuthorizationProvider { JwtAuthorizationProvider(self.jwt) }

    /// A description without the token.
    public var description: String { "JwtSessionProvider" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension SessionProvider {
    /// Returns the session as it goes on after an authentication with the tokens of the server's answer. A session of
    /// another type stays.
    ///
    /// - Parameters:
    ///   - url: The address that received the answer of the authentication, and the session with it.
    ///   - time: The present time, because a cookie can have expired.
    func renewed(by tokens: [Token], from url: URL, at time: Timestamp) -> any SessionProvider {
        switch self {
        case let session as CookieSessionProvider:
            tokens.filter { $0.kind == .httpCookie }.reduce(session) { $0.renewed(by: $1.value, from: url, at: time) }
        case is JwtSessionProvider: tokens.first { $0.kind == .jwt }.map { JwtSessionProvider($0.value) } ?? self
        default: self
        }
    }
}
