import OAuth
import Testing
import _Primitives

@Suite("RFC 6749, appendix B: application/x-www-form-urlencoded, letter by letter")
struct EncodingTests {
    private static let unreserved = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~".utf8)

    @Test("writes every ASCII character so that it is read again", arguments: 0x20...0x7E)
    func writesASCII(value: Int) throws {
        let letter = UInt8(value)
        let text = "a" + String(UnicodeScalar(letter)) + "b"
        let encoded = Parameters(["n": text]).encoded
        #expect(try Parameters(parsing: encoded)["n"] == text)
        // RFC 3986, section 2.3: only unreserved characters stand for themselves.
        #expect(encoded.utf8.count == (Self.unreserved.contains(letter) ? 5 : 7))
        #expect(!encoded.contains(" ") && !encoded.dropFirst(2).contains("&"))
    }

    @Test("reads every byte as an escape, or refuses it", arguments: 0x00...0xFF)
    func readsEscapes(value: Int) throws {
        let digits = Array("0123456789abcdef")
        let escape = "%" + String(digits[value >> 4]) + String(digits[value & 0x0F])
        if (0x20...0x7E).contains(value) {
            let expected = String(UnicodeScalar(UInt8(value)))
            #expect(try Parameters(parsing: "n=x\(escape)")["n"] == "x" + expected)
            #expect(try Parameters(parsing: "n=x\(escape.uppercased())")["n"] == "x" + expected)
        } else {
            // A control character, or half a character of UTF-8.
            #expect(throws: OAuthError(.invalidRequest)) { try Parameters(parsing: "n=x\(escape)") }
            #expect(throws: OAuthError(.invalidRequest)) { try Parameters(parsing: "\(escape)n=x") }
        }
    }

    @Test(
        "reads UTF-8 of every length, and refuses what only looks like it",
        arguments: [
            ("%C2%A0", "\u{A0}"), ("%DF%BF", "\u{7FF}"), ("%E0%A0%80", "\u{800}"), ("%EF%BF%BD", "\u{FFFD}"),
            ("%F0%90%80%80", "\u{10000}"), ("%F4%8F%BF%BF", "\u{10FFFF}"),
            ("%C1%BF", nil), ("%E0%9F%BF", nil), ("%ED%BF%BF", nil), ("%F0%8F%BF%BF", nil), ("%F4%90%80%80", nil),
            ("%F8%88%80%80%80", nil), ("%80", nil), ("%C2", nil), ("%E2%82", nil), ("%C2%41", nil),
        ] as [(String, String?)])
    func readsUTF8(encoded: String, text: String?) throws {
        if let text {
            #expect(try Parameters(parsing: "n=\(encoded)")["n"] == text)
        } else {
            #expect(throws: OAuthError(.invalidRequest)) { try Parameters(parsing: "n=\(encoded)") }
        }
    }

    @Test func namesAreDecodedToo() throws {
        let parameters = try Parameters(parsing: "a%20b=1&c+d=2&%C3%A9=3")
        #expect(parameters.members.map(\.name) == ["a b", "c d", "\u{E9}"])
        #expect(parameters["a b"] == "1" && parameters["c d"] == "2")
    }

    @Test func onlyTheFirstEqualsSignDivides() throws {
        let parameters = try Parameters(parsing: "a=b=c&d==")
        #expect(parameters["a"] == "b=c")
        #expect(parameters["d"] == "=")
    }

    @Test func aNameIsTheSameInWhateverSpelling() {
        for text in ["state=1&st%61te=2", "state=1&state", "state&state=1", "a%20b=1&a+b=2"] {
            #expect(throws: OAuthError(.invalidRequest)) { try Parameters(parsing: text) }
        }
    }

    @Test func parametersAreWrittenInTheirOrder() {
        var parameters: Parameters = ["b": "2", "a": "1"]
        parameters.append("c", "3")
        #expect(parameters.encoded == "b=2&a=1&c=3")
        #expect(parameters["c"] == "3")
        #expect(Parameters([:]).encoded.isEmpty)
    }

    @Test("what is written is read again", arguments: 0..<200 as Range<UInt64>)
    func roundTrips(seed: UInt64) throws {
        var draw = Draw(seed: seed)
        var parameters: Parameters = [:]
        for index in 0..<(1 + draw.below(6)) { parameters.append("\(index)" + draw.text(), draw.text()) }
        #expect(try Parameters(parsing: parameters.encoded) == parameters)
    }

    @Test("noise is read or refused, and what is read is written again", arguments: 0..<300 as Range<UInt64>)
    func noise(seed: UInt64) throws {
        var draw = Draw(seed: seed)
        let letters = Array("ab=&%%%+4120cCfFeEdD89~# \u{E9}\u{0}".utf8)
        let text = String(decoding: draw.bytes(from: letters), as: UTF8.self)
        do {
            let parameters = try Parameters(parsing: text)
            #expect(try Parameters(parsing: parameters.encoded) == parameters)
            #expect(Set(parameters.members.map(\.name)).count == parameters.members.count)
        } catch {
            #expect(error == OAuthError(.invalidRequest))
        }
    }

    @Test("noise in an Authorization header is refused", arguments: 0..<200 as Range<UInt64>)
    func headerNoise(seed: UInt64) {
        var draw = Draw(seed: seed)
        let letters = Array("BbEeAaRrSsIiCc :=%+/0\u{E9}\t".utf8)
        let text = String(decoding: draw.bytes(from: letters), as: UTF8.self)
        // None of them is base64 of a name, a colon and a secret.
        #expect(throws: OAuthError(.invalidClient)) { try ClientCredentials(basic: text) }
        #expect(throws: OAuthError(.invalidClient)) { try ClientCredentials(basic: "Basic \(text):") }
    }
}

@Suite("RFC 7636, section 4.1: the letters of a verifier")
struct VerifierLetterTests {
    private static let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~".utf8)

    @Test("takes the unreserved characters and no others", arguments: 0x01...0x7F)
    func letters(value: Int) throws {
        let letter = UInt8(value)
        let text = String(repeating: "v", count: 42) + String(UnicodeScalar(letter))
        if Self.allowed.contains(letter) {
            #expect(try CodeVerifier(text).text == text)
        } else {
            #expect(throws: OAuthError(.invalidGrant)) { try CodeVerifier(text) }
        }
    }

    @Test("another letter is another verifier", arguments: 0..<43)
    func oneLetter(position: Int) throws {
        let verifier = CodeVerifier(random: .system)
        var letters = Array(verifier.text.utf8)
        letters[position] = letters[position] == UInt8(ascii: "a") ? UInt8(ascii: "b") : UInt8(ascii: "a")
        let other = try CodeVerifier(String(decoding: letters, as: UTF8.self))
        let challenge = try CodeChallenge(verifier.challenge.text)
        #expect(challenge.matches(verifier))
        #expect(!challenge.matches(other))
        #expect(other.challenge != challenge)
    }

    @Test func theVerifierItselfIsNoChallenge() throws {
        // RFC 7636, section 4.2: where `plain` is taken, a verifier equals its challenge. It is never taken here.
        let verifier = CodeVerifier(random: .system)
        let plain = try CodeChallenge(verifier.text)
        #expect(!plain.matches(verifier))
        #expect(CodeChallenge.method == "S256")
    }
}
