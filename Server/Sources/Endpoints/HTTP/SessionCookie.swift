package import HTTPTypes
package import Hummingbird
package import OAuthProvider

/// The cookie of a signed-in browser.
package struct SessionCookie: Sendable {
    /// The name of the cookie.
    package let name: String
    private let isSecure: Bool
    private let path: IssuerPath

    /// Names the cookie of a server with this path. `isSecure` is `true` if people reach the server by https.
    package init(isSecure: Bool, path: IssuerPath, server: String = "countersign") {
        self.name = "\(CookieFields.prefix(isSecure: isSecure, path: path.text))\(server)_session"
        self.isSecure = isSecure
        self.path = path
    }

    /// Returns the secret of a session from the cookie; `nil` without a well-formed cookie. The session may have ended.
    package func secret(of request: Request) -> SessionSecret? {
        CookieFields.value(of: self.name, in: request.headers[values: .cookie]).flatMap(SessionSecret.init(cookie:))
    }

    /// Returns the field that signs the browser in, until the browser is closed or the session ends at the server.
    package func set(_ session: SessionSecret) -> HTTPField { self.field(session.cookieValue, "") }

    /// The field that makes the browser forget the session.
    package var end: HTTPField { self.field("", "; Max-Age=0") }

    private func field(_ value: String, _ lifetime: String) -> HTTPField {
        HTTPField(
            name: .setCookie,
            value: CookieFields.setting(
                self.name, value, lifetime, isSecure: self.isSecure, path: self.path.text))
    }
}
