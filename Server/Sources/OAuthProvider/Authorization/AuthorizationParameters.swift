import OAuth
import Store
import _Primitives

/// The parameters of an authorization request after every check that needs no session (RFC 6749, section 4.1.1; OpenID
/// Connect Core 1.0, section 3.1.2.1; RFC 7636, section 4.3).
struct AuthorizationParameters {
    /// What a request without a challenge is told, and so is the operator.
    static let challengeAdvice =
        "A code_challenge with the code_challenge_method S256 is needed (PKCE). For a confidential client that "
        + "cannot send one and checks its nonce, the operator can set --pkce nonce."

    let scope: Scope
    let nonce: String?
    /// `nil` where the code is bound to the nonce instead.
    let challenge: CodeChallenge?
    /// The person must not be asked anything.
    let isSilent: Bool
    /// The person must authenticate anew.
    let isFresh: Bool
    /// How long ago the person may have authenticated.
    let maximumAge: Duration?
    let idTokenHint: String?
    /// The key that has to be shown with the code (`dpop_jkt`).
    let keyThumbprint: KeyThumbprint?

    /// Checks in the order of the standard. Throws `OAuthError`, for the client to be told.
    init(_ parameters: Parameters, settings: ClientSettings, limits: Limits) throws(OAuthError) {
        // What would change the meaning of everything else first.
        guard parameters["request"] == nil else { throw OAuthError(.requestNotSupported, "Do not use request.") }
        guard parameters["request_uri"] == nil else {
            throw OAuthError(.requestURINotSupported, "Do not use request_uri.")
        }
        guard try parameters.required("response_type").hasSameBytes(as: "code") else {
            throw OAuthError(.unsupportedResponseType, "The only response_type is code.")
        }
        guard (parameters["response_mode"] ?? "query").hasSameBytes(as: "query") else {
            throw OAuthError(.invalidRequest, "The only response_mode is query.")
        }
        // Whoever may not renew tokens is not refused for asking: OpenID Connect Core 1.0, section 11, has it left out.
        let mayRenew = settings.grantTypes.containsBytes(of: RefreshTokenGrant.type)
        let scope = try Scope(parameters["scope"] ?? "")
            .limited(to: OpenIDProvider.scopes.filter { mayRenew || !$0.hasSameBytes(as: Scope.offlineAccess) })
        guard scope.contains(Scope.openID) else { throw OAuthError(.invalidScope, "The scope openid is needed.") }
        self.scope = scope
        self.nonce = parameters["nonce"]
        guard (self.nonce?.utf8.count ?? 0) <= limits.oauth.nonceCharacters else {
            throw OAuthError(.invalidRequest, "The nonce is too long.")
        }
        self.challenge = try Self.challenge(parameters, codeBinding: settings.codeBinding)
        (self.isSilent, self.isFresh) = try Self.prompt(parameters["prompt"])
        self.maximumAge = try Self.maximumAge(parameters["max_age"])
        self.idTokenHint = parameters["id_token_hint"]
        self.keyThumbprint =
            if let text = parameters["dpop_jkt"] { try KeyThumbprint(text) } else { nil }
    }

    /// The challenge. A client that need not send one is held to the one that it sends.
    private static func challenge(_ parameters: Parameters, codeBinding: ClientSettings.CodeBinding)
        throws(OAuthError) -> CodeChallenge?
    {
        if parameters["code_challenge"] == nil, parameters["code_challenge_method"] == nil {
            guard codeBinding == .nonce else { throw OAuthError(.invalidRequest, Self.challengeAdvice) }
            guard parameters["nonce"]?.isEmpty == false else {
                throw OAuthError(
                    .invalidRequest, "A client with --pkce nonce has to send a nonce where it sends no code_challenge.")
            }
            return nil
        }
        guard parameters["code_challenge_method"]?.hasSameBytes(as: CodeChallenge.method) ?? false else {
            throw OAuthError(.invalidRequest, "The code_challenge_method must be S256.")
        }
        return try CodeChallenge(parameters.required("code_challenge"))
    }

    /// `none` alone, or wishes that a new authentication on the person's phone fulfils: it shows who asks.
    private static func prompt(_ text: String?) throws(OAuthError) -> (isSilent: Bool, isFresh: Bool) {
        guard let text else { return (false, false) }
        let words = text.splitBytes(at: " ")
        if words.allSatisfy({ $0.hasSameBytes(as: "none") }) { return (true, false) }
        guard words.allSatisfy({ ["login", "consent", "select_account"].containsBytes(of: $0) }) else {
            throw OAuthError(.invalidRequest, "The prompt is not known, or none is not alone.")
        }
        return (false, true)
    }

    private static func maximumAge(_ text: String?) throws(OAuthError) -> Duration? {
        guard let text else { return nil }
        guard text.utf8.count <= Limits.Fixed.maximumAgeDigits,
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let seconds = Int64(text)
        else { throw OAuthError(.invalidRequest, "The max_age is not a number of seconds.") }
        return .seconds(seconds)
    }
}

/// Where the answer to an authorization request goes. Only an address that was found registered makes one.
struct AuthorizationReply {
    let redirectURI: RedirectURI
    let state: String?
    let issuer: String

    /// Success (RFC 6749, section 4.1.2; RFC 9207, section 2).
    func address(code: String) -> String { self.address(["code": code]) }

    /// Failure (RFC 6749, section 4.1.2.1).
    func address(error: OAuthError) -> String {
        var parameters: Parameters = ["error": error.code.rawValue]
        if let message = error.message { parameters.append("error_description", message) }
        return self.address(parameters)
    }

    private func address(_ parameters: Parameters) -> String {
        var parameters = parameters
        if let state { parameters.append("state", state) }
        parameters.append("iss", self.issuer)
        return self.redirectURI.adding(parameters)
    }
}
