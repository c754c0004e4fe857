import OAuth
import Testing

@Suite("RFC 8707, section 2: resource indicators")
struct ResourceIndicatorTests {
    @Test(
        "takes",
        arguments: [
            "https://api.example/", "https://api.example", "https://api.example/app?tenant=a", "http://localhost:8080/",
            "urn:example:api", "com.example.app:/x", "https://api.example:8443/%20", "x:y", "HTTPS://api.example",
        ])
    func takes(text: String) throws {
        let resource = try ResourceIndicator(text)
        #expect(resource.text == text && resource.description == text)
    }

    @Test(
        "refuses",
        arguments: [
            "", "api", "/api", "//api.example", "?x", "https://api.example/#", "https://api.example/#a", "urn:a#b",
            "https:",
            ":", ":x", "1a:b", "-a:b", "a b:c", "https://api.example/a b", "https://api.example/%",
            "https://api.example/%zz",
            "https://api.example/\u{E9}", "\u{212A}:a", "https://api.example/\n", "https://api.example/<>",
            "https://api.example/" + String(repeating: "a", count: 1024),
        ])
    func refuses(text: String) {
        #expect(throws: OAuthError(.invalidTarget)) { try ResourceIndicator(text) }
    }

    @Test func twoAreTheSameWhenTheirBytesAre() throws {
        let resource = try ResourceIndicator("https://api.example/a")
        #expect(try ResourceIndicator("https://api.example/a") == resource)
        for other in [
            "https://api.example/a/", "https://api.example:443/a", "https://api.example/%61", "https://API.example/a",
        ] {
            #expect(try ResourceIndicator(other) != resource)
        }
    }

    @Test func aRequestMayNameSeveral() throws {
        func resources(_ query: String) throws -> [String] {
            try ResourceIndicator.all(in: Parameters(parsing: query, repeating: [ResourceIndicator.parameter])).map(
                \.text)
        }
        #expect(try resources("").isEmpty && resources("resource=").isEmpty)
        #expect(try resources("resource=urn:b&x=1&resource=urn:a&resource=urn:b") == ["urn:b", "urn:a"])
        let eight = (0..<8).map { "resource=urn:\($0)" }.joined(separator: "&")
        #expect(try resources(eight).count == 8)
        #expect(throws: OAuthError(.invalidTarget)) { try resources(eight + "&resource=urn:8") }
        #expect(throws: OAuthError(.invalidTarget)) { try resources("resource=urn:a&resource=b") }
    }
}

@Suite(
    "RFC 6749, section 3.1, RFC 8707, section 2, and RFC 8693, section 2.1: parameters that may occur more than once")
struct RepeatedParameterTests {
    @Test func onlyWhatMayBeRepeatedIs() throws {
        let parameters = try Parameters(parsing: "a=1&r=2&b=3&r=4&r=", repeating: ["r"])
        #expect(parameters.values("r") == ["2", "4"] && parameters["r"] == "2" && parameters.values("none").isEmpty)
        #expect(parameters.values("a") == ["1"] && parameters.encoded == "a=1&r=2&b=3&r=4")
        for text in ["r=1&a=1&a=2", "r=1&r=2&R=1&R=2", "a&a", "r=1&r=2&%E2%84%AA=1&%E2%84%AA=2"] {
            #expect(throws: OAuthError(.invalidRequest)) { try Parameters(parsing: text, repeating: ["r", "K"]) }
        }
        #expect(throws: OAuthError(.invalidRequest)) { try Parameters(parsing: "r=1&r=2") }
    }

    @Test func eachCounts() throws {
        let text = (0..<64).map { "r=\($0)" }.joined(separator: "&")
        #expect(try Parameters(parsing: text, repeating: ["r"]).values("r").count == 64)
        #expect(throws: OAuthError(.invalidRequest)) { try Parameters(parsing: text + "&r=", repeating: ["r"]) }
    }
}
