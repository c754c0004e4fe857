import OAuth
import Testing
import _Primitives

@Suite("RFC 9449, section 4.3, and RFC 3986, section 6.2: where a request goes, in one spelling")
struct TargetURITests {
    @Test(
        "normalises",
        arguments: [
            ("https://server.example/token", "https://server.example/token"),
            ("https://server.example", "https://server.example/"),
            ("https://server.example/", "https://server.example/"),
            ("HTTPS://Server.EXAMPLE/Token", "https://server.example/Token"),
            ("https://server.example:443/token", "https://server.example/token"),
            ("https://server.example:/token", "https://server.example/token"),
            ("http://server.example:80/token", "http://server.example/token"),
            ("http://server.example:443/", "http://server.example:443/"),
            ("https://server.example:80/", "https://server.example:80/"),
            ("https://server.example:8443/token", "https://server.example:8443/token"),
            ("https://server.example/token?a=b", "https://server.example/token"),
            ("https://server.example/token#a", "https://server.example/token"),
            ("https://server.example/token?a#b?c", "https://server.example/token"),
            ("https://server.example/token#a?b", "https://server.example/token"),
            ("https://server.example?a/b", "https://server.example/"),
            ("https://server.example/%7euser/%41%2f%c3%a9", "https://server.example/~user/A%2F%C3%A9"),
            ("https://server.example/a/./b/../c", "https://server.example/a/c"),
            ("https://server.example/a/%2e%2E/c", "https://server.example/c"),
            ("https://server.example/../../token", "https://server.example/token"),
            ("https://server.example/a/..", "https://server.example/"),
            ("https://server.example/a/b/.", "https://server.example/a/b/"),
            ("https://server.example/a//b/", "https://server.example/a//b/"),
            ("http://127.0.0.1:8080/token", "http://127.0.0.1:8080/token"),
            ("https://[2001:DB8::1]:443/x", "https://[2001:db8::1]/x"),
            ("https://server.example/a;b=c,d:e@f", "https://server.example/a;b=c,d:e@f"),
        ])
    func normalises(text: String, result: String) throws {
        let target = try #require(TargetURI(text))
        #expect(target.text == result && target.description == result)
        #expect(result.hasPrefix(target.origin + "/"))
        #expect(TargetURI(result) == target)
    }

    @Test(
        "keeps apart",
        arguments: [
            "https://server.example/Token", "https://server.example/token/", "http://server.example/token",
            "https://server.example:8443/token", "https://server.example./token", "https://server.example/%74oken%2F",
            "https://server.example/token%20", "https://server.example//token", "https://other.example/token",
            "https://server.example.other.example/token", "https://server.example/token;v=1",
        ])
    func keepsApart(text: String) throws {
        let token = try #require(TargetURI("https://server.example/token"))
        let other = try #require(TargetURI(text))
        #expect(other != token)
    }

    @Test(
        "refuses",
        arguments: [
            "", "/token", "server.example/token", "//server.example/token", "https:", "https:/", "https://",
            "https:///token",
            "https:server.example", "ftp://server.example/", "https://user@server.example/",
            "https://user:secret@server.example/", "https://server.example:0/", "https://server.example:080/",
            "https://server.example:65536/", "https://server.example:a/", "https://server.example/%", "https://[::1/",
            "https://server.example/%4", "https://server.example/%zz", "https://server.example/a b", "?https://a",
            "https://server.example/\u{E9}", "https://server.example/\u{301}", "https://s%65rver.example/",
            "#https://a",
            "\u{212A}ttps://a/", "https?://a/", "https#://a/",
            "https://server.example/" + String(repeating: "a", count: 2048),
        ])
    func refuses(text: String) {
        #expect(TargetURI(text) == nil)
    }

    @Test("what is normalised stays as it is, and the query never counts", arguments: 0..<400 as Range<UInt64>)
    func property(seed: UInt64) {
        var draw = Draw(seed: seed)
        let pieces = ["a", "B", "/", ".", "..", "%2e", "%2F", "%7E", "%c3", "//", ":", "@", ";", "-", "~", "%25", "2e"]
        let start = draw.element(of: ["https://a.example", "HTTP://A.example:80", "https://[::1]:8443"])
        let text = start + "/" + draw.text(of: pieces, upTo: 12)
        guard let target = TargetURI(text) else {
            Issue.record("\(text) is an address")
            return
        }
        #expect(TargetURI(target.text) == target)
        #expect(TargetURI(text + "?" + draw.text(of: pieces + ["?"], upTo: 4)) == target)
        #expect(TargetURI(text + "#x") == target)
        #expect(!target.text.contains("/../") && !target.text.contains("/./"))
        #expect(!target.text.hasSuffix("/..") && !target.text.hasSuffix("/."))
    }
}
