import Accounts
import Crypto
import Endpoints
import HTTPTypes
import Hummingbird
import OAuthProvider
import Settings
import _Primitives

/// The three cookies of a browser: for the browser itself, for its session, and for an account that knows the browser.
///
/// The first cookie identifies the browser. The second signs the browser in. The third tells an account that a person
/// has signed in to the account by password in this browser before.
///
/// All cookies are for this host alone, and out of reach of scripts. Browsers do not send the cookies with the posts or
/// the embedded content of another site. If the server shares its host, the cookies are for the server's path: no other
/// server of the host receives the cookies, and two servers of one host do not take each other's cookies. A browser
/// allows the prefix `__Host-` for whole hosts alone. On loopback without TLS, the cookies lose the prefix and `Secure`
/// (founding decision, Loopback).
struct BrowserCookies: Sendable {
    /// `true` if people reach the server by https.
    let isSecure: Bool
    /// The path of the server on its host.
    let path: IssuerPath
    /// The time for which the server knows a browser.
    let lifetime: Duration
    /// The time for which an account knows a browser.
    let knownLifetime: Duration
    let random: RandomSource
    /// The beginning of the cookies' names, after the browser's own prefix.
    var name = "countersign"

    private var prefix: String { CookieFields.prefix(isSecure: self.isSecure, path: self.path.text) }
    private var sessionCookie: SessionCookie {
        SessionCookie(isSecure: self.isSecure, path: self.path, server: self.name)
    }
    var browserName: String { "\(self.prefix)\(self.name)_browser" }

    var knownName: String { "\(self.prefix)\(self.name)_known" }

    /// Returns the visitor of a request: the network, the secret of a known browser, and a new secret for a sign-in by
    /// password.
    func visitor(of request: Request, source: String) -> Visitor {
        Visitor(
            source: source,
            shown: self.value(self.knownName, of: request).flatMap(KnownBrowserSecret.init(cookie:)),
            given: KnownBrowserSecret(random: self.random))
    }

    /// Returns the cookie by which an account knows the browser of a person who has signed in; empty if the visitor got
    /// no secret.
    func set(knownBy visitor: Visitor) -> HTTPFields {
        HTTPFields(
            [visitor.given].compactMap(\.self).map {
                self.field(
                    self.knownName, $0.cookieValue, "; Max-Age=\(self.knownLifetime.components.seconds)")
            })
    }

    /// Returns the browser's secret from its cookie; `nil` without a well-formed cookie.
    func browser(of request: Request) -> BrowserSecret? {
        self.value(self.browserName, of: request).flatMap(BrowserSecret.init(cookie:))
    }

    /// Returns the secret of a session from the browser's cookie; `nil` without a well-formed cookie. The session may
    /// have ended.
    func session(of request: Request) -> SessionSecret? { self.sessionCookie.secret(of: request) }

    /// Returns a secret for an unknown browser.
    func newBrowser() -> BrowserSecret { BrowserSecret(random: self.random) }

    /// Returns the cookie that keeps the browser known.
    func set(_ browser: BrowserSecret) -> HTTPField {
        self.field(self.browserName, browser.cookieValue, "; Max-Age=\(self.lifetime.components.seconds)")
    }

    /// Returns the cookie that signs the browser in, until the browser is closed or the session ends at the server.
    func set(_ session: SessionSecret) -> HTTPField { self.sessionCookie.set(session) }

    /// The cookie that makes the browser forget the session.
    var endSession: HTTPField { self.sessionCookie.end }

    /// Returns the sign that a form stood on a page of this server. Only this server and the browser can make the sign.
    func formToken(_ session: SessionSecret) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Array("form of session \(session.cookieValue)".utf8))))
    }

    /// Returns the sign of a form in a browser that is not signed in, for a request that the browser has begun.
    func formToken(_ browser: BrowserSecret, request: String) -> String {
        let text = "form of browser \(browser.cookieValue) for request \(request)"
        return Base64URL.encode(Array(SHA256.hash(data: Array(text.utf8))))
    }

    private func field(_ name: String, _ value: String, _ lifetime: String) -> HTTPField {
        HTTPField(
            name: .setCookie,
            value: CookieFields.setting(name, value, lifetime, isSecure: self.isSecure, path: self.path.text))
    }

    private func value(_ name: String, of request: Request) -> String? {
        CookieFields.value(of: name, in: request.headers[values: .cookie])
    }
}
