import Foundation
import OAuth
import Testing
import _Primitives

@Suite("RFC 6749, sections 2.3.1 and 3.3, and RFC 6750, section 2.1: letter by letter")
struct CredentialLetterTests {
    /// As a client writes it: both parts form-encoded, then a colon between, then base64.
    private static func header(_ id: String, _ secret: String) -> String {
        func encoded(_ text: String) -> String { String(Parameters(["": text]).encoded.dropFirst()) }
        return "Basic " + Data("\(encoded(id)):\(encoded(secret))".utf8).base64EncodedString()
    }

    @Test("every printable character can be in an identifier and a secret, either way", arguments: 0x20...0x7E)
    func printable(value: Int) throws {
        let letter = String(UnicodeScalar(UInt8(value)))
        let id = "i" + letter + "d"
        let secret = letter + "s" + letter
        let basic = try ClientCredentials(header: Self.header(id, secret), parameters: [:])
        let post = try ClientCredentials(header: nil, parameters: ["client_id": id, "client_secret": secret])
        for credentials in [basic, post] {
            #expect(credentials.clientID == id)
            #expect(credentials.secret == SecretBytes(utf8: secret))
        }
        #expect(basic.method == .basic && post.method == .post)
    }

    @Test func textBeyondASCIIComesThrough() throws {
        let credentials = try ClientCredentials(basic: Self.header("\u{E9}\u{20AC}", "\u{1F511}"))
        #expect(credentials.clientID == "\u{E9}\u{20AC}")
        #expect(credentials.secret == SecretBytes(utf8: "\u{1F511}"))
    }

    @Test func theFirstColonDivides() throws {
        let data = Data("name:first:second".utf8).base64EncodedString()
        let credentials = try ClientCredentials(basic: "Basic \(data)")
        #expect(credentials.clientID == "name")
        #expect(credentials.secret == SecretBytes(utf8: "first:second"))
    }

    @Test("a control character is refused", arguments: [0x00, 0x09, 0x0A, 0x0D, 0x1F, 0x7F])
    func control(value: Int) {
        let letter = String(UnicodeScalar(UInt8(value)))
        #expect(throws: OAuthError(.invalidClient)) { try ClientCredentials(basic: Self.header("a" + letter, "s")) }
        #expect(throws: OAuthError(.invalidClient)) { try ClientCredentials(basic: Self.header("a", letter)) }
    }

    @Test("a scope has visible characters but two (section 3.3)", arguments: 0x00...0x7F)
    func scope(value: Int) throws {
        let text = "a" + String(UnicodeScalar(UInt8(value))) + "b"
        switch value {
        case 0x20: #expect(try Scope(text).names == ["a", "b"])
        case 0x22, 0x5C, 0x00...0x1F, 0x7F: #expect(throws: OAuthError(.invalidScope)) { try Scope(text) }
        default: #expect(try Scope(text).names == [text])
        }
    }

    @Test("a bearer token has visible characters", arguments: 0x00...0x7F)
    func bearer(value: Int) throws {
        let text = "a" + String(UnicodeScalar(UInt8(value))) + "b"
        if (0x21...0x7E).contains(value) {
            #expect(try BearerToken(header: "Bearer \(text)").text == text)
        } else {
            #expect(throws: OAuthError(.invalidToken)) { try BearerToken(header: "Bearer \(text)") }
        }
    }

    @Test("a token comes by one scheme or the other, in whatever case (RFC 9449, section 7.1; RFC 9110, section 11.1)")
    func schemes() throws {
        for (header, scheme) in [
            ("Bearer hush", PresentedToken.Scheme.bearer), ("bearer hush", .bearer), ("DPoP hush", .dpop),
            ("dpop  hush", .dpop),
            ("DPOP hush", .dpop),
        ] {
            let token = try PresentedToken(header: header)
            #expect(token.text == "hush" && token.scheme == scheme && !token.description.contains("hush"))
        }
        for header in [nil, "", "hush", "Basic aHVzaA==", "DPoP", "DPoP ", "DPoP a b", "DP\u{3BF}P a", "Bearer\thush"] {
            #expect(throws: OAuthError(.invalidToken)) { try PresentedToken(header: header) }
        }
        // Who takes bearer tokens alone does not take one that is bound to a key.
        #expect(throws: OAuthError(.invalidToken)) { try BearerToken(header: "DPoP hush") }
        #expect(throws: OAuthError(.invalidToken)) {
            try PresentedToken(header: "DPoP " + String(repeating: "a", count: 8188))
        }
    }

    @Test func nothingSecretIsInADescription() throws {
        let credentials = try ClientCredentials(basic: Self.header("bank", "hush"))
        let token = try BearerToken(header: "Bearer hush")
        let verifier = try CodeVerifier(String(repeating: "hush", count: 11))
        for text in ["\(credentials)", "\(token)", "\(verifier)"] { #expect(!text.contains("hush")) }
    }
}
