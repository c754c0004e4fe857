import OAuth
import Testing
import _Primitives

@Suite("RFC 6749, section 5.2: error response")
struct OAuthErrorTests {
    @Test func theBodyHasCodeAndSentence() {
        let error = OAuthError(.invalidGrant, "The code is used.", detail: "code of client bank")
        #expect(error.json == ["error": .string("invalid_grant"), "error_description": .string("The code is used.")])
        #expect(OAuthError(.invalidGrant).json == ["error": .string("invalid_grant")])
    }

    @Test func theDetailIsForTheLogAlone() {
        let error = OAuthError(.invalidGrant, "No.", detail: "private")
        #expect(!JSON.object(error.json).text.contains("private"))
        #expect(!error.challenge(scheme: "Bearer", realm: "r").contains("private"))
        #expect(error.description == "OAuthError.invalid_grant: No. (private)")
    }

    @Test func charactersThatAreNotAllowedAreReplaced() {
        #expect(OAuthError(.invalidRequest, "a\"b\\c\nd\u{E9}").message == "a?b?c?d?")
    }

    @Test(
        "has the status of its code",
        arguments: [
            (OAuthError.Code.invalidRequest, 400), (.invalidClient, 401), (.invalidGrant, 400),
            (.unsupportedGrantType, 400), (.invalidToken, 401), (.insufficientScope, 403), (.serverError, 500),
            (.temporarilyUnavailable, 503),
        ])
    func statuses(code: OAuthError.Code, status: Int) {
        #expect(OAuthError(code).status == status)
    }

    @Test("writes challenges (RFC 6750, section 3)")
    func challenges() {
        #expect(OAuthError(.invalidClient, "No.").challenge(scheme: "Basic", realm: "x") == "Basic realm=\"x\"")
        #expect(
            OAuthError(.invalidToken, "It is expired.").challenge(scheme: "Bearer", realm: "x")
                == "Bearer realm=\"x\", error=\"invalid_token\", error_description=\"It is expired.\"")
    }

    @Test func unknownCodesAreRead() {
        #expect(OAuthError.Code(rawValue: "slow_down") != .invalidRequest)
        #expect(OAuthError(OAuthError.Code(rawValue: "slow_down")).status == 400)
    }
}
