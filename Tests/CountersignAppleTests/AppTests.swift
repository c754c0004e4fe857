import Countersign
import CountersignApple
import Foundation
import Testing
import UAFClient
import _Primitives

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Decision 132: the app, its browser and its device")
struct AppTests {
    @Test("the name of a start is the system's own, or the moment of the start, or an error")
    func bootName() throws {
        #expect(try BootName(session: "A-B", startedAt: (1, 2)).text == "A-B")
        #expect(try BootName(session: nil, startedAt: (1_700_000_000, 25)).text == "1700000000.25")
        #expect(try BootName(session: "", startedAt: (1_700_000_001, 25)).text == "1700000001.25")
        #expect(throws: StorageError(.unavailable, "")) { try BootName(session: nil, startedAt: nil) }
        #expect(throws: StorageError(.unavailable, "")) { try BootName(session: nil, startedAt: (0, 0)) }
    }

    @Test("a token of Apple's push service is told in hexadecimal letters")
    func pushAddress() {
        let address = PushAddress.applePushNotificationService(deviceToken: Data([0, 0x1F, 0xA0, 0xFF]))
        #expect(address.dispatcher == "apple-push-notification-service")
        #expect(address.address == "001fa0ff")
    }

    @Test("a registered address says how the browser comes back, and a loopback address leads to no app")
    func callback() throws {
        #expect(try CallbackAddress("Com.Example.Bank:/signed-in") == .scheme("com.example.bank"))
        #expect(
            try CallbackAddress("https://bank.example.com/signed-in")
                == .https(host: "bank.example.com", path: "/signed-in"))
        #expect(try CallbackAddress("https://bank.example.com") == .https(host: "bank.example.com", path: "/"))
        for wrong in ["http://127.0.0.1/signed-in", "https:///a", "https://a.example:8443/", "", "no address"] {
            #expect(throws: WebAuthenticationError(.unavailable)) { try CallbackAddress(wrong) }
        }
    }

    @Test("a person who closes the page has cancelled, and other numbers say that no page was shown")
    func browser() {
        #expect(WebAuthenticationRefusal.error(code: 1) == WebAuthenticationError(.cancelled))
        for code in [0, 2, 3] {
            #expect(WebAuthenticationRefusal.error(code: code) == WebAuthenticationError(.unavailable))
        }
    }

    private static let attestErrors: [(Int, AppAttestorError)] = [
        (0, .unavailable), (1, .unsupported), (2, .unavailable), (3, .keyGone), (4, .unavailable), (99, .unavailable),
    ]

    @Test("each number of App Attest has its meaning (decision 124)", arguments: Self.attestErrors)
    func appAttest(code: Int, error: UAFClient.AppAttestorError) {
        #expect(AppAttestRefusal.error(code: code) == error)
    }

    private func cookie(
        name: String = "session", value: String = "secret", domain: String? = nil, path: String = "/",
        isSecure: Bool = true, isHTTPOnly: Bool = true, isSameSite: Bool = true
    ) -> WebViewCookie {
        WebViewCookie(
            name: name, value: value, host: "www.example.com", domain: domain, path: path, isSecure: isSecure,
            isHTTPOnly: isHTTPOnly, isSameSite: isSameSite)
    }

    @Test("a cookie is the field of its host, with a domain only if the cookie has one (RFC 6265, section 4.1)")
    func cookieField() throws {
        #expect(self.cookie().setCookieField == "session=secret; Path=/; Secure; HttpOnly; SameSite=Lax")
        #expect(
            self.cookie(domain: "example.com", path: "/a", isSecure: false, isHTTPOnly: false, isSameSite: false)
                .setCookieField == "session=secret; Path=/a; Domain=example.com; SameSite=None")
        let origin = try #require(self.cookie().origin)
        #expect(origin.absoluteString == "https://www.example.com/")
        let field = try #require(self.cookie().setCookieField)
        let made = try #require(
            HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": field], for: origin).first)
        #expect(made.name == "session")
        #expect(made.value == "secret")
        #expect(made.isSecure)
    }

    @Test("a cookie that would end its field is refused")
    func cookieRefused() {
        #expect(self.cookie(name: "").setCookieField == nil)
        #expect(self.cookie(name: "a=b").setCookieField == nil)
        for text in ["a;b", "a b", "a\r\nb", "ä"] {
            #expect(self.cookie(value: text).setCookieField == nil)
            #expect(self.cookie(domain: text).setCookieField == nil)
            #expect(self.cookie(path: "/" + text).setCookieField == nil)
        }
    }

    @Test("a stored cookie is sent by its domain, path and scheme (RFC 6265, section 5.4)")
    func sent() throws {
        let page = try #require(URL(string: "https://www.example.com/a/b"))
        let other = try #require(URL(string: "https://example.com/a"))
        func isSent(_ domain: String, _ path: String = "/", secure: Bool = true, to url: URL) -> Bool {
            WebViewCookie.isSent(storedDomain: domain, path: path, isSecure: secure, to: url)
        }
        #expect(isSent("www.example.com", to: page))
        #expect(isSent(".example.com", to: page))
        #expect(isSent(".Example.com", "/a", to: other))
        #expect(!isSent("example.com", to: page))
        #expect(!isSent("www.example.com", "/c", to: page))
        #expect(!isSent("www.example.com", to: try #require(URL(string: "http://www.example.com/"))))
        #expect(isSent("www.example.com", secure: false, to: try #require(URL(string: "http://www.example.com/"))))
    }
}
