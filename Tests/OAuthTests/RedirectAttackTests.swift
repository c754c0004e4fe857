import OAuth
import Testing
import _Primitives

@Suite("RFC 9700, section 4.1: attacks on redirect addresses")
struct RedirectAttackTests {
    private static let registered = "https://bank.example/callback"

    /// What section 4.1.1 and its kin try: addresses that a careless comparison takes for the registered one.
    @Test(
        "none is the registered address",
        arguments: [
            "https://bank.example.evil.example/callback", "https://evil.example/bank.example/callback",
            "https://evilbank.example/callback", "https://bank.example/callback/../evil",
            "https://bank.example/callback/%2e%2e/evil", "https://bank.example//callback",
            "https://bank.example/callback;evil", "https://bank.example/callback%00",
            "https://bank.example/callback?redirect=https://evil.example/", "https://bank.example/Callback",
            "https://bank.example./callback", "https://bank.example:443/callback", "https://bank.example:8443/callback",
            "https://bank.example/callback&x=y", "https://BANK.EXAMPLE/callback",
        ])
    func isAnotherAddress(text: String) throws {
        let registered = try RedirectURI(Self.registered)
        // Some are addresses of their own, and some are none at all. None is the same.
        let other = try? RedirectURI(text)
        #expect(other != registered)
    }

    @Test(
        "no address hides where it leads",
        arguments: [
            "https://bank.example@evil.example/callback", "https://bank.example:x@evil.example/callback",
            "https://bank.example\\.evil.example/callback", "https://bank.example%2eevil.example/callback",
            "https://bank.example\u{3002}evil.example/callback", "https://b\u{430}nk.example/callback",
            "https://evil.example#bank.example/callback", "https://bank.example\t.evil.example/",
            "https://bank.example\r\nLocation: https://evil.example/", "\thttps://bank.example/callback",
            "https://bank.example/callback ", "https:\\\\bank.example\\callback", "https:/bank.example/callback",
            "javascript://bank.example/%0aalert(1)", "data:text/html;base64,PHNjcmlwdD4=", "file:///etc/passwd",
            "https://\u{202E}elpmaxe.knab/callback",
        ])
    func isNoAddress(text: String) {
        #expect(throws: OAuthError(.invalidRequest)) { try RedirectURI(text) }
    }

    @Test("no character beyond RFC 3986 is taken", arguments: 0x00...0x7F)
    func characters(value: Int) throws {
        let letter = String(UnicodeScalar(UInt8(value)))
        let path = Self.registered + "?a" + letter + "41b"
        let allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/?[]@!$&'()*+,;=%"
        if allowed.contains(letter) {
            #expect(try RedirectURI(path).text == path)
        } else {
            #expect(throws: OAuthError(.invalidRequest)) { try RedirectURI(path) }
        }
    }

    @Test func whatIsAddedCannotBreakOut() throws {
        let address = try RedirectURI(Self.registered).adding([
            "state": "x&code=forged#fragment\u{20AC}", "error description": "a=b",
        ])
        #expect(
            address == Self.registered
                + "?state=x%26code%3Dforged%23fragment%E2%82%AC&error%20description=a%3Db")
        let query = try #require(address.split(separator: "?").last)
        let parameters = try Parameters(parsing: query)
        #expect(parameters["code"] == nil)
        #expect(parameters["state"] == "x&code=forged#fragment\u{20AC}")
        // The result is an address that could be registered itself.
        #expect(try RedirectURI(address).origin == "https://bank.example")
    }

    @Test("http is for literal loopback addresses alone (RFC 8252, section 8.3)", arguments: 0..<256)
    func loopback(first: Int) throws {
        let text = "http://\(first).0.0.1:8081/callback"
        if first == 127 {
            #expect(try RedirectURI(text).origin == "http://127.0.0.1:8081")
        } else {
            #expect(throws: OAuthError(.invalidRequest)) { try RedirectURI(text) }
        }
        #expect(try RedirectURI("https://\(first).0.0.1/callback").origin == "https://\(first).0.0.1")
    }

    @Test(
        "ports are numbers", arguments: [("1", true), ("80", true), ("65535", true), ("65536", false), ("00", false)])
    func ports(port: String, isTaken: Bool) {
        #expect(((try? RedirectURI("https://bank.example:\(port)/")) != nil) == isTaken)
        #expect(((try? RedirectURI("http://[::1]:\(port)/")) != nil) == isTaken)
    }

    @Test func thereIsAnEndToLength() throws {
        let base = "https://bank.example/"
        let longest = base + String(repeating: "a", count: 1024 - base.utf8.count)
        #expect(try RedirectURI(longest).text.utf8.count == 1024)
        #expect(throws: OAuthError(.invalidRequest)) { try RedirectURI(longest + "a") }
    }
}

@Suite("RFC 6749, section 5.2, and RFC 6750, section 3: what a peer reads of an error")
struct ErrorTextTests {
    @Test("every printable character but two passes", arguments: 0x00...0xFF)
    func characters(value: Int) throws {
        let scalar = try #require(Unicode.Scalar(UInt32(value)))
        let passes = (0x20...0x7E).contains(value) && value != 0x22 && value != 0x5C
        let error = OAuthError(.invalidRequest, "a\(Character(scalar))b")
        #expect(error.message == (passes ? "a\(Character(scalar))b" : "a?b"))
        // So that no sentence can end a quoted string of a header, or begin another header.
        let challenge = error.challenge(scheme: "Bearer", realm: "r")
        #expect(challenge.filter { $0 == "\"" }.count == 6)
        #expect(challenge.unicodeScalars.allSatisfy { (0x20...0x7E).contains($0.value) })
    }

    @Test func anErrorIsEqualByItsCodeAlone() {
        #expect(OAuthError(.invalidGrant, "a", detail: "b") == OAuthError(.invalidGrant))
        #expect(OAuthError(.invalidGrant) != OAuthError(.invalidRequest))
        #expect(Set([OAuthError(.invalidGrant, "a"), OAuthError(.invalidGrant, "b")]).count == 1)
    }

    @Test(
        "codes are spelled as they are registered",
        arguments: [
            (OAuthError.Code.invalidRequest, "invalid_request"), (.invalidClient, "invalid_client"),
            (.invalidGrant, "invalid_grant"), (.unsupportedGrantType, "unsupported_grant_type"),
            (.unsupportedResponseType, "unsupported_response_type"), (.invalidScope, "invalid_scope"),
            (.accessDenied, "access_denied"), (.serverError, "server_error"),
            (.temporarilyUnavailable, "temporarily_unavailable"), (.loginRequired, "login_required"),
            (.requestNotSupported, "request_not_supported"), (.requestURINotSupported, "request_uri_not_supported"),
            (.invalidToken, "invalid_token"), (.insufficientScope, "insufficient_scope"),
            (.unauthorizedClient, "unauthorized_client"), (.interactionRequired, "interaction_required"),
            (.consentRequired, "consent_required"), (.accountSelectionRequired, "account_selection_required"),
            (.invalidRequestObject, "invalid_request_object"), (.invalidRequestURI, "invalid_request_uri"),
            (.unmetAuthenticationRequirements, "unmet_authentication_requirements"), (.invalidTarget, "invalid_target"),
            (.invalidAuthorizationDetails, "invalid_authorization_details"), (.invalidDPoPProof, "invalid_dpop_proof"),
            (.useDPoPNonce, "use_dpop_nonce"), (.authorizationPending, "authorization_pending"),
            (.slowDown, "slow_down"), (.expiredToken, "expired_token"),
            (.expiredLoginHintToken, "expired_login_hint_token"), (.unknownUserID, "unknown_user_id"),
            (.missingUserCode, "missing_user_code"), (.invalidUserCode, "invalid_user_code"),
            (.invalidBindingMessage, "invalid_binding_message"), (.transactionFailed, "transaction_failed"),
            (.unsupportedTokenType, "unsupported_token_type"), (.invalidRedirectURI, "invalid_redirect_uri"),
            (.invalidClientMetadata, "invalid_client_metadata"),
            (.invalidSoftwareStatement, "invalid_software_statement"),
            (.unapprovedSoftwareStatement, "unapproved_software_statement"),
        ])
    func spelling(code: OAuthError.Code, text: String) {
        #expect(code.rawValue == text)
        #expect(OAuthError(code).json == ["error": .string(text)])
    }
}
