import OAuth
import Testing

@Suite("RFC 6749, sections 3.1, 3.2 and appendix B: parameters")
struct ParametersTests {
    @Test func readsWhatAppendixBWrites() throws {
        // The example of appendix B.
        let parameters = try Parameters(parsing: "value=+%25%26%2B%C2%A3%E2%82%AC")
        #expect(parameters["value"] == " %&+\u{A3}\u{20AC}")
    }

    @Test func writesWhatItReads() throws {
        let parameters = Parameters(["state": "a b&c=d%/?#\u{20AC}", "iss": "http://localhost:8080"])
        #expect(parameters.encoded == "state=a%20b%26c%3Dd%25%2F%3F%23%E2%82%AC&iss=http%3A%2F%2Flocalhost%3A8080")
        #expect(try Parameters(parsing: parameters.encoded) == parameters)
    }

    @Test("counts a parameter without a value as left out", arguments: ["a=&b=1", "a&b=1", "b=1&&", "&b=1&a="])
    func emptyValues(text: String) throws {
        let parameters = try Parameters(parsing: text)
        #expect(parameters["a"] == nil)
        #expect(parameters.members.map(\.name) == ["b"])
        #expect(throws: OAuthError(.invalidRequest)) { try parameters.required("a") }
        #expect(try parameters.required("b") == "1")
    }

    @Test(
        "refuses",
        arguments: [
            "a=%", "a=%4", "a=%4g", "a=%g4", "a=%%41", "a=%FF", "a=%C0%80", "a=%ED%A0%80", "a=%00", "a=%0A", "a=%7F",
            "a=%C2%85", "a= b", "a=\u{20AC}", "a=\u{7F}", "a=1&a=1", "a=&a=", "a=1&%61=2", "=1", "=",
        ])
    func refuses(text: String) {
        #expect(throws: OAuthError(.invalidRequest)) { try Parameters(parsing: text) }
    }

    @Test("tells names by their bytes, whatever Unicode calls equivalent")
    func namesAreBytes() throws {
        let parameters = try Parameters(parsing: "K=1&%E2%84%AA=2&%C3%A9=3&e%CC%81=4&;=5&%CD%BE=6")
        #expect(parameters.members.map(\.value) == ["1", "2", "3", "4", "5", "6"])
        #expect(parameters["K"] == "1" && parameters["\u{212A}"] == "2" && parameters["e\u{301}"] == "4")
        #expect(Parameters(["a": "K"]) != Parameters(["a": "\u{212A}"]))
        #expect(throws: OAuthError(.invalidRequest)) { try Parameters(parsing: "%C3%A9=1&%C3%A9=2") }
    }

    @Test("refuses more combining marks in a row than a text has (UAX #15, section 13)")
    func boundsCombiningMarks() throws {
        func marked(_ count: Int) -> String { "e" + String(repeating: "%CC%81", count: count) }
        #expect(try Parameters(parsing: "a=\(marked(30))&\(marked(30))=1").members.count == 2)
        #expect(throws: OAuthError(.invalidRequest)) { try Parameters(parsing: "a=\(marked(31))") }
        #expect(throws: OAuthError(.invalidRequest)) { try Parameters(parsing: "\(marked(31))=1") }
    }

    @Test func refusesMoreThanTheLimits() throws {
        let limits = Parameters.Limits(bytes: 11, count: 2)
        #expect(try Parameters(parsing: "a=12345&b=1", limits: limits).members.count == 2)
        #expect(throws: OAuthError(.invalidRequest)) { try Parameters(parsing: "a=123456&b=1", limits: limits) }
        #expect(throws: OAuthError(.invalidRequest)) { try Parameters(parsing: "a=1&b=1&c=1", limits: limits) }
        #expect(throws: OAuthError(.invalidRequest)) {
            try Parameters(parsing: (0..<65).map { "a\($0)=1" }.joined(separator: "&"))
        }
    }

    @Test(
        "what the sender of a form has not encoded is encoded: spaces, and letters beyond ASCII",
        arguments: [
            ("scope=openid profile", "openid profile"), ("scope=openid+profile", "openid profile"),
            ("scope=openid%20profile", "openid profile"), ("scope=Z\u{FC}rich \u{1F511}", "Z\u{FC}rich \u{1F511}"),
            ("scope=%C3%BC\u{FC}", "\u{FC}\u{FC}"), ("scope= a ", " a "), ("scope=a%2Bb c", "a+b c"),
            ("scope=\u{E9}", "\u{E9}"),
        ])
    func rawLetters(form: String, value: String) throws {
        #expect(try Parameters(parsing: Parameters.encodingRest(ofForm: form))["scope"] == value)
        #expect(
            Parameters.encodingRest(ofForm: Parameters.encodingRest(ofForm: form))
                == Parameters.encodingRest(ofForm: form))
    }

    @Test("a query is not read so", arguments: ["scope=openid profile", "scope=Z\u{FC}rich"])
    func rawLettersOfQueries(query: String) {
        #expect(throws: OAuthError(.invalidRequest)) { try Parameters(parsing: query) }
    }

    @Test(
        "control characters, names that occur twice and wrong escapes stay refused",
        arguments: [
            "a=b\0c", "a=b\nc d", "a=b\tc", "a=b\u{7F}", "a=b\u{85}", "a b=1&a+b=2", "\u{FC}=1&%C3%BC=2", "a=b %",
            "a=%FC \u{FC}",
        ])
    func rawControls(form: String) {
        #expect(throws: OAuthError(.invalidRequest)) { try Parameters(parsing: Parameters.encodingRest(ofForm: form)) }
    }

    @Test func equalityKeepsTheOrder() {
        #expect(Parameters(["a": "1", "b": "2"]) != Parameters(["b": "2", "a": "1"]))
        #expect(Set([Parameters(["a": "1"]), Parameters(["a": "1"])]).count == 1)
    }
}

@Suite("RFC 6749, section 3.3: scope")
struct ScopeTests {
    @Test func keepsNamesOnceInTheirOrder() throws {
        let many = (0..<16).map { "s\($0)" }.joined(separator: " ")
        #expect(try Scope(many + " s0").names.count == 16)
        #expect(throws: OAuthError(.invalidScope)) { try Scope(many + " s16") }
        let scope = try Scope("profile openid profile")
        #expect(scope.names == ["profile", "openid"])
        #expect(scope.description == "profile openid")
        #expect(scope.contains(Scope.openID) && !scope.contains("email"))
        #expect(scope.limited(to: ["openid", "email"]).names == ["openid"])
    }

    @Test("surplus spaces are taken", arguments: ["openid ", " openid", "openid  profile", "  openid   profile "])
    func spaces(text: String) throws {
        #expect(try Scope(text).names == (text.contains("profile") ? ["openid", "profile"] : ["openid"]))
    }

    @Test(
        "refuses",
        arguments: [
            "", " ", "  ", "open\"id", "open\\id", "open\u{E9}", "openid\tprofile", "openid\u{A0}profile",
            (0...16).map { "s\($0)" }.joined(separator: " "),
        ])
    func refuses(text: String) {
        #expect(throws: OAuthError(.invalidScope)) { try Scope(text) }
    }
}
