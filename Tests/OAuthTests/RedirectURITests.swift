import OAuth
import Testing

@Suite("RFC 6749, section 3.1.2, and RFC 8252, section 7.3: redirect addresses")
struct RedirectURITests {
    @Test(
        "takes",
        arguments: [
            ("https://bank.example/callback", "https://bank.example"),
            ("https://bank.example", "https://bank.example"),
            ("https://bank.example:8443/a/b?c=d&e=%20", "https://bank.example:8443"),
            ("http://127.0.0.1:8081/callback", "http://127.0.0.1:8081"),
            ("http://127.9.0.1/", "http://127.9.0.1"), ("http://[::1]:8081/cb", "http://[::1]:8081"),
            ("https://[2001:db8::1]/cb", "https://[2001:db8::1]"), ("https://localhost/cb", "https://localhost"),
            ("https://bank.example?x", "https://bank.example"),
        ])
    func takes(text: String, origin: String) throws {
        let address = try RedirectURI(text)
        #expect(address.text == text && address.origin == origin && address.description == text)
    }

    @Test(
        "refuses",
        arguments: [
            "", "/callback", "bank.example/callback", "//bank.example/", "ftp://bank.example/", "https://", "https:///",
            "https:bank.example", "HTTPS://bank.example/", "javascript:alert(1)", "data:text/html,x",
            "com.example.app:/callback", "https://bank.example/#", "https://bank.example/#x",
            "https://user@bank.example/", "https://user:pass@bank.example/", "https://bank.example:/",
            "https://bank.example:0/", "https://bank.example:080/", "https://bank.example:65536/",
            "https://bank.example:+80/", "https://bank.example:8a/", "https://ba nk.example/",
            "https://bank.example/\n",
            "https://bank.example/\u{E9}", "https://bank.example/<", "https://bank.example/%",
            "https://bank.example/%2",
            "https://bank.example/%2g", "https://bank.example\\@evil.example/", "https://ba%6ek.example/",
            "https://[::1/", "https://[]/", "https://[::1]x/", "https://[zz::1]/",
            "http://bank.example/", "http://localhost:8081/", "http://127.0.0.1.evil.example/", "http://127.1/",
            "http://0127.0.0.1/", "http://127.0.0.01/", "http://127.0.0.256/", "http://10.0.0.1/", "http://[::2]/",
            "http://[::ffff:127.0.0.1]/", "http://0.0.0.0/", "http://127.0.0.+1/",
            "https://bank.example/" + String(repeating: "a", count: 1024),
        ])
    func refuses(text: String) {
        #expect(throws: OAuthError(.invalidRequest)) { try RedirectURI(text) }
    }

    @Test func twoAreTheSameWhenTheirTextsAre() throws {
        #expect(try RedirectURI("https://bank.example/a") == RedirectURI("https://bank.example/a"))
        for other in [
            "https://bank.example/a/", "https://bank.example/a?", "https://bank.example:443/a",
            "https://Bank.example/a",
            "https://bank.example/%61",
        ] {
            #expect(try RedirectURI("https://bank.example/a") != RedirectURI(other))
        }
    }

    @Test(
        "adds parameters to the query",
        arguments: [
            ("https://b.example/cb", "https://b.example/cb?code=a%26b&state=x"),
            ("https://b.example/cb?", "https://b.example/cb?code=a%26b&state=x"),
            ("https://b.example/cb?t=1", "https://b.example/cb?t=1&code=a%26b&state=x"),
            ("https://b.example/cb?t=1&", "https://b.example/cb?t=1&code=a%26b&state=x"),
            ("https://b.example", "https://b.example?code=a%26b&state=x"),
        ])
    func addsParameters(text: String, result: String) throws {
        let address = try RedirectURI(text)
        #expect(address.adding(Parameters(["code": "a&b", "state": "x"])) == result)
        #expect(address.adding(Parameters([:])) == text)
    }
}
