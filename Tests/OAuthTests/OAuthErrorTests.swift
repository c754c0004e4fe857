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

    @Test(
        "has another status at some endpoints (CIBA, section 13; RFC 9449, section 7.1)",
        arguments: [
            (OAuthError.Code.accessDenied, 400, 403, 400), (.invalidDPoPProof, 400, 400, 401),
            (.useDPoPNonce, 400, 400, 401),
            (.invalidRequest, 400, 400, 400), (.invalidClient, 401, 401, 401), (.unknownUserID, 400, 400, 400),
            (.insufficientScope, 403, 403, 403), (.slowDown, 400, 400, 400), (.temporarilyUnavailable, 503, 503, 503),
        ])
    func statusesOfEndpoints(code: OAuthError.Code, token: Int, backchannel: Int, resource: Int) {
        let error = OAuthError(code)
        #expect(error.status == token && error.status(at: .token) == token)
        #expect(error.status(at: .backchannel) == backchannel && error.status(at: .resource) == resource)
    }

    @Test("writes challenges of proofs (RFC 9449, section 7.1)")
    func challengesOfProofs() {
        #expect(
            OAuthError(.useDPoPNonce, "Again.").challenge(scheme: "DPoP", realm: "x")
                == "DPoP realm=\"x\", error=\"use_dpop_nonce\", error_description=\"Again.\", algs=\"ES256 EdDSA PS256\""
        )
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
