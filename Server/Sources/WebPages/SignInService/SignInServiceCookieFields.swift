import AppSignIn
import Endpoints
import Foundation
import HTTPTypes
import Hummingbird
import _Primitives

/// The four cookies of a web site's session, as the server writes and reads the cookies.
///
/// | Cookie | Scripts | Path | Hosts |
/// |---|---|---|---|
/// | access token | no | `/` | this one, or those of the deployment's domain |
/// | refresh token | no | where it is renewed | this one |
/// | anti-CSRF token | no | `/` | this one |
/// | info token | yes | `/` | this one, or those of the deployment's domain |
///
/// All cookies live until the session ends, if the session is not renewed. On loopback without TLS, the cookies lose
/// `Secure`.
struct SignInServiceCookieFields: Sendable {
    let names: SignInService.Names
    /// `true` if people reach the server by https.
    let isSecure: Bool
    /// The path on which sessions are renewed, as browsers see the path. The refresh token goes to this path alone.
    let refreshPath: String

    private func name(_ cookie: SignInServiceCookie) -> String { "\(self.names.cookiePrefix)_\(cookie.rawValue)" }

    private func path(_ cookie: SignInServiceCookie) -> String {
        cookie == .refreshToken ? self.refreshPath : "/"
    }

    private static func isForSite(_ cookie: SignInServiceCookie) -> Bool { cookie == .accessToken || cookie == .info }

    /// Returns the three tokens in the cookies of a request, and not the info token. Some programs percent-encode
    /// characters that browsers leave alone, so the function decodes each value.
    func values(of request: Request) -> [SignInServiceCookie: String] {
        var values: [SignInServiceCookie: String] = [:]
        for cookie in [SignInServiceCookie.accessToken, .refreshToken, .antiCSRFToken] {
            let value = CookieFields.value(of: self.name(cookie), in: request.headers[values: .cookie])
            values[cookie] = value.flatMap(\.removingPercentEncoding).flatMap { $0.isEmpty ? nil : $0 }
        }
        return values
    }

    /// Returns the cookies of a session.
    func fields(_ tokens: SignInServiceTokens, at now: Timestamp) -> [HTTPField] {
        let info: JSONObject = [
            "access_token_expiration": .string(tokens.accessEndsAt.description),
            "refresh_token_expiration": .string(tokens.sessionEndsAt.description),
        ]
        let values: [(SignInServiceCookie, String?)] = [
            (.accessToken, tokens.accessToken), (.refreshToken, tokens.refreshToken),
            (.antiCSRFToken, tokens.antiCSRFToken), (.info, JSON.object(info).text.cookieEncoded),
        ]
        let lifetime = Self.lifetime(until: tokens.sessionEndsAt, at: now)
        return values.compactMap { cookie, value in value.map { self.field(cookie, $0, lifetime) } }
    }

    /// The fields that delete the cookies.
    var endings: [HTTPField] {
        let lifetime = Self.lifetime(until: Timestamp(seconds: 0), at: Timestamp(seconds: 0))
        return SignInServiceCookie.allCases.map { self.field($0, "", lifetime) }
    }

    /// Returns the lifetime of the cookies, as each cookie states its lifetime.
    private static func lifetime(until end: Timestamp, at now: Timestamp) -> String {
        "; Expires=\(end.httpDate); Max-Age=\(max(0, (end - now).components.seconds))"
    }

    private func field(_ cookie: SignInServiceCookie, _ value: String, _ lifetime: String) -> HTTPField {
        var text = "\(self.name(cookie))=\(value); Path=\(self.path(cookie))"
        if Self.isForSite(cookie), let domain = self.names.cookieDomain { text += "; Domain=\(domain)" }
        text += lifetime
        if self.isSecure { text += "; Secure" }
        if cookie != .info { text += "; HttpOnly" }
        return HTTPField(name: .setCookie, value: text + "; SameSite=Lax")
    }
}

extension String {
    /// The text with percent-encoding for characters that cannot stand in a cookie's value (RFC 6265, section 4.1.1).
    fileprivate var cookieEncoded: String {
        var letters: [UInt8] = []
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in self.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                letters.append(byte)
            default: letters += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: letters, as: UTF8.self)
    }
}

extension Timestamp {
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// The moment as HTTP writes a date (RFC 9110, section 5.6.7): `Fri, 15 Jan 2027 08:00:00 GMT`.
    var httpDate: String {
        // The text is 2027-01-15T08:00:00…, and the first of January 1970 was a Thursday.
        let text = Array(self.description.utf8)
        func part(_ range: Range<Int>) -> String { String(decoding: text[range], as: UTF8.self) }
        let day = Int(self.seconds / 86_400)
        let month = Int(part(5..<7)) ?? 1
        return
            "\(Self.weekdays[(day % 7 + 7) % 7]), \(part(8..<10)) \(Self.months[month - 1]) \(part(0..<4)) \(part(11..<19)) GMT"
    }
}
