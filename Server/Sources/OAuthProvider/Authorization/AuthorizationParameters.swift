import OAuth
import Store
import _Primitives

/// The parameters of an authorization request after every check that needs no session (RFC 6749, section 4.1.1; OpenID
/// Connect Core 1.0, section 3.1.2.1; RFC 7636, section 4.3).
struct AuthorizationParameters {
    /// What a request is told that lacks what its code is to be bound to, and so is the operator; `nil` where it lacks
    /// nothing.
    static func missingBinding(_ parameters: Parameters, of client: ClientRecord) -> String? {
        guard parameters["code_challenge"] == nil, parameters["code_challenge_method"] == nil else { return nil }
        let challenge = "a code_challenge with the code_challenge_method S256 (PKCE)"
        switch client.codeBinding {
        case .usual, .pkce:
            if let reason = client.reasonForChallenges { return "\(reason) sends \(challenge)." }
            return
                "This client sends \(challenge). For one that cannot, and checks its nonce, the operator can set --pkce nonce."
        case .nonce:
            let scope = parameters["scope"].flatMap { try? Scope($0) }
            guard parameters["nonce"] == nil || scope?.contains(Scope.openID) != true else { return nil }
            return
                "This client sends \(challenge) or, with the scope openid, a nonce. For one that can send neither the operator can set --pkce none."
        case .nothing: return nil
        }
    }

    /// What a client is told that has no keys, and sends a signed request. Nothing that it has signed is passed over.
    static let unsigned = OAuthError(
        .requestNotSupported, "Do not use request.",
        detail:
            "the client has no keys that it could have signed it with: the operator can give it --jwks or --jwks-uri")

    let scope: Scope
    /// Where the tokens are to be used. Whether each is for the client is for the endpoint to ask.
    let resources: [ResourceIndicator]
    let nonce: String?
    /// `nil` where the code is bound to the nonce instead, or to nothing but the client.
    let challenge: CodeChallenge?
    /// How the person is to be asked, and how surely authenticated.
    let wishes: AuthorizationWishes
    let idTokenHint: String?
    /// The key that has to be shown with the code (`dpop_jkt`).
    let keyThumbprint: KeyThumbprint?

    /// Checks in the order of the standard. Throws `OAuthError`, for the client to be told.
    init(_ parameters: Parameters, of client: ClientRecord, limits: Limits) throws(OAuthError) {
        // What would change the meaning of everything else first.
        guard parameters["request"] == nil else { throw Self.unsigned }
        guard parameters["request_uri"] == nil else {
            throw OAuthError(.requestURINotSupported, "Do not use request_uri.")
        }
        guard try parameters.required("response_type").hasSameBytes(as: "code") else {
            throw OAuthError(.unsupportedResponseType, "The only response_type is code.")
        }
        var asked = parameters
        if asked["max_age"] == nil, let age = client.settings.profile.defaultMaximumAge {
            asked.append("max_age", "\(age.components.seconds)")
        }
        self.wishes = try AuthorizationWishes(asked)
        self.scope = try OpenIDProvider.scope(parameters["scope"], settings: client.settings)
        self.resources = try ResourceIndicator.all(in: parameters)
        self.nonce = parameters["nonce"]
        guard (self.nonce?.utf8.count ?? 0) <= limits.oauth.nonceCharacters else {
            throw OAuthError(.invalidRequest, "The nonce is too long.")
        }
        self.challenge = try Self.challenge(parameters, of: client)
        self.idTokenHint = parameters["id_token_hint"]
        self.keyThumbprint =
            if let text = parameters["dpop_jkt"] { try KeyThumbprint(text) } else { nil }
    }

    /// Whether the person must not be asked anything.
    var isSilent: Bool { self.wishes.isSilent }

    /// The challenge. A client that need not send one is held to the one that it sends.
    private static func challenge(_ parameters: Parameters, of client: ClientRecord) throws(OAuthError)
        -> CodeChallenge?
    {
        if let missing = Self.missingBinding(parameters, of: client) { throw OAuthError(.invalidRequest, missing) }
        if parameters["code_challenge"] == nil, parameters["code_challenge_method"] == nil { return nil }
        guard parameters["code_challenge_method"]?.hasSameBytes(as: CodeChallenge.method) ?? false else {
            throw OAuthError(.invalidRequest, "The code_challenge_method must be S256.")
        }
        return try CodeChallenge(parameters.required("code_challenge"))
    }
}

/// Where the answer to an authorization request goes, and how. Only an address that was found registered makes one.
struct AuthorizationReply {
    let redirectURI: RedirectURI
    let state: String?
    let issuer: String
    /// As the client wants it. What it wants wrongly it is told in the query.
    let mode: ResponseMode
    /// What a request of the app sign-in service is, with the name by which whoever asks for help finds it.
    var service: (wishes: SignInServiceWishes, request: String)?

    /// - Parameter mode: What the client has sent, whatever it is.
    init(redirectURI: RedirectURI, state: String?, issuer: String, mode: String?) {
        self.redirectURI = redirectURI
        self.state = state
        self.issuer = issuer
        let isForm = mode?.hasSameBytes(as: ResponseMode.formPost.rawValue) ?? false
        self.mode = isForm && redirectURI.takesForms ? .formPost : .query
    }

    /// Success (RFC 6749, section 4.1.2; RFC 9207, section 2).
    func answer(code: String) -> ClientAnswer {
        var parameters: Parameters = ["code": code]
        if let service { parameters.append("type", service.wishes.type) }
        return self.answer(parameters)
    }

    /// Failure (RFC 6749, section 4.1.2.1).
    func answer(error: OAuthError) -> ClientAnswer {
        if let service { return self.answer(service.wishes.failure(of: error), saying: error.message) }
        var parameters: Parameters = ["error": error.code.rawValue]
        if let message = error.message { parameters.append("error_description", message) }
        return self.answer(parameters)
    }

    /// Failure, as the app sign-in service has it: a web site is told a code to show a page for, and of an app the browser
    /// shows what is wrong.
    func answer(_ failure: SignInServiceFailure, saying sentence: String? = nil) -> ClientAnswer {
        guard let service, service.wishes.answers == .cookie else { return .told(sentence ?? failure.sentence) }
        return .redirect(
            self.redirectURI.adding(["auth": "fail", "code": failure.rawValue, "request_id": service.request]))
    }

    private func answer(_ parameters: Parameters) -> ClientAnswer {
        var parameters = parameters
        if let state { parameters.append("state", state) }
        parameters.append("iss", self.issuer)
        return switch self.mode {
        case .query: .redirect(self.redirectURI.adding(parameters))
        case .formPost:
            .post(PostedAnswer(address: self.redirectURI.text, origin: self.redirectURI.origin, fields: parameters))
        }
    }
}

extension RedirectURI {
    /// Whether a form can be posted there. An app that is opened by its scheme gets an address and nothing else.
    var takesForms: Bool { self.kind != .privateScheme }
}
