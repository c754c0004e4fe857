import Accounts
import Crypto
import HTTPTypes
import Hummingbird
import OAuthProvider
import Store
import _Primitives

/// The cookies of a browser: one knows it again, one says that it is signed in, and one says to an account that somebody has signed
/// in to it there by its password.
///
/// All are for this host alone, out of reach of scripts, and not sent with what another site posts or embeds. Where the
/// server shares its host, they are for its path, so that nobody else there is sent them, and two servers of one host do not
/// take each other's; a browser allows the prefix `__Host-` for whole hosts alone. On loopback, where there is no TLS, they
/// lose the prefix and `Secure` (founding decision, Loopback).
struct BrowserCookies: Sendable {
    /// Whether people reach the server by https.
    let isSecure: Bool
    /// Below which path of its host the server is.
    let path: IssuerPath
    /// How long a browser is known.
    let lifetime: Duration
    /// How long an account knows a browser.
    let knownLifetime: Duration
    let random: RandomSource
    /// What the cookies' names begin with, after the browser's own prefix.
    var name = "countersign"

    private var prefix: String {
        guard self.isSecure else { return "" }
        return self.path.text.isEmpty ? "__Host-" : "__Secure-"
    }
    var browserName: String { "\(self.prefix)\(self.name)_browser" }
    var sessionName: String { "\(self.prefix)\(self.name)_session" }

    var knownName: String { "\(self.prefix)\(self.name)_known" }

    /// From where somebody shows a password, and what their browser is given where they sign in.
    func visitor(of request: Request, source: String) -> Visitor {
        Visitor(
            source: source,
            shown: self.value(self.knownName, of: request).flatMap(KnownBrowserSecret.init(cookie:)),
            given: KnownBrowserSecret(random: self.random))
    }

    /// Has an account know the browser of somebody who has signed in.
    func set(knownBy visitor: Visitor) -> HTTPFields {
        HTTPFields(
            [visitor.given].compactMap(\.self).map {
                self.field(
                    self.knownName, $0.cookieValue, "; Max-Age=\(self.knownLifetime.components.seconds)")
            })
    }

    /// The browser, where it is known.
    func browser(of request: Request) -> BrowserSecret? {
        self.value(self.browserName, of: request).flatMap(BrowserSecret.init(cookie:))
    }

    /// The session that the browser shows.
    func session(of request: Request) -> SessionSecret? {
        self.value(self.sessionName, of: request).flatMap(SessionSecret.init(cookie:))
    }

    /// A secret for a browser that is not known.
    func newBrowser() -> BrowserSecret { BrowserSecret(random: self.random) }

    /// Keeps the browser known.
    func set(_ browser: BrowserSecret) -> HTTPField {
        self.field(self.browserName, browser.cookieValue, "; Max-Age=\(self.lifetime.components.seconds)")
    }

    /// Signs the browser in until it is closed, or the session ends at the server.
    func set(_ session: SessionSecret) -> HTTPField { self.field(self.sessionName, session.cookieValue, "") }

    /// Forgets the session.
    var endSession: HTTPField { self.field(self.sessionName, "", "; Max-Age=0") }

    /// What a form must carry as a sign that it stood on a page of ours: only this server and the browser can make it.
    func formToken(_ session: SessionSecret) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Array("form of session \(session.cookieValue)".utf8))))
    }

    /// The same for a form of a browser that is not signed in, about what it has begun.
    func formToken(_ browser: BrowserSecret, request: String) -> String {
        let text = "form of browser \(browser.cookieValue) for request \(request)"
        return Base64URL.encode(Array(SHA256.hash(data: Array(text.utf8))))
    }

    private func field(_ name: String, _ value: String, _ lifetime: String) -> HTTPField {
        let secure = self.isSecure ? "; Secure" : ""
        let place = self.path.text.isEmpty ? "/" : self.path.text
        return HTTPField(
            name: .setCookie, value: "\(name)=\(value); Path=\(place)\(lifetime)\(secure); HttpOnly; SameSite=Lax")
    }

    private func value(_ name: String, of request: Request) -> String? {
        CookieFields.value(of: name, in: request.headers[values: .cookie])
    }
}

/// The words by which a phone shows which browser wants to sign in.
enum BrowserWords {
    /// "Chrome on Linux", from `User-Agent`; "a browser" where it says nothing that is known. Nothing of the header
    /// itself is passed on.
    static func describe(userAgent: String?) -> String {
        guard let userAgent, userAgent.utf8.count <= Limits.Fixed.userAgentBytes else { return "a browser" }
        func first(_ table: [(mark: String, words: String)]) -> String? {
            table.first { userAgent.contains($0.mark) }?.words
        }
        // In this order: each one's header also holds the marks of those behind it.
        let browser = first([
            ("Edg", "Edge"), ("OPR/", "Opera"), ("SamsungBrowser/", "Samsung Internet"), ("FxiOS/", "Firefox"),
            ("CriOS/", "Chrome"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"),
        ])
        let system = first([
            ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("CrOS", "ChromeOS"),
            ("Windows", "Windows"), ("Mac OS X", "Mac"), ("Linux", "Linux"),
        ])
        return [browser ?? "a browser", system].compactMap { $0 }.joined(separator: " on ")
    }
}
