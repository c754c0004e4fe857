import OAuth
import Testing
import _Primitives

@Suite("RFC 7636: proof key for code exchange")
struct PKCETests {
    @Test("computes the example of appendix B")
    func example() throws {
        let verifier = try CodeVerifier("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        #expect(verifier.challenge.text == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
        let challenge = try CodeChallenge("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
        #expect(challenge.matches(verifier))
        #expect(!challenge.matches(try CodeVerifier("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXl")))
    }

    @Test func newVerifiersDiffer() {
        let first = CodeVerifier(random: .system)
        #expect(first.text.utf8.count == 43)
        #expect(first != CodeVerifier(random: .system))
        #expect(first.description == "CodeVerifier")
    }

    @Test(
        "refuses verifiers of another length or with other characters (section 4.1)",
        arguments: [
            "", String(repeating: "a", count: 42), String(repeating: "a", count: 129),
            String(repeating: "a", count: 43) + "+", String(repeating: "a", count: 43) + "\u{E9}",
            String(repeating: "a", count: 43) + " ",
        ])
    func refusesVerifiers(text: String) {
        #expect(throws: OAuthError(.invalidGrant)) { try CodeVerifier(text) }
    }

    @Test("takes the shortest and the longest verifier", arguments: [43, 128])
    func lengths(count: Int) throws {
        let text = String((0..<count).map { Array("aZ09-._~")[$0 % 8] })
        #expect(try CodeVerifier(text).challenge.digest.count == 32)
    }

    @Test(
        "refuses challenges that are no SHA-256 (section 4.2)",
        arguments: [
            "", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM=", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-c",
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cN", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM",
        ])
    func refusesChallenges(text: String) {
        #expect(throws: OAuthError(.invalidRequest)) { try CodeChallenge(text) }
    }
}
