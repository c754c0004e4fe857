import OAuth
import Records
import Settings
import _Primitives

/// The parameters of an authorization request after every check that needs no session (RFC 6749, section 4.1.1; OpenID
/// Connect Core 1.0, section 3.1.2.1; RFC 7636, section 4.3).
struct AuthorizationParameters {
    /// Returns the message for the client and the operator if the request lacks a binding for its code; `nil` if the
    /// request lacks nothing.
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

    /// The error for a client without keys that sends a signed request. The server never ignores a signed request.
    static let unsigned = OAuthError(
        .requestNotSupported, "Do not use request.",
        detail:
            "the client has no keys that it could have signed it with: the operator can give it --jwks or --jwks-uri")

    let scope: Scope
    /// The resources where the tokens are to be used. The endpoint checks if the client may use each of them.
    let resources: [ResourceIndicator]
    let nonce: String?
    /// The challenge of PKCE; `nil` if the code is bound to the nonce instead, or to nothing but the client.
    let challenge: CodeChallenge?
    /// The client's wishes: how to ask the person, and how surely to authenticate the person.
    let wishes: AuthorizationWishes
    let idTokenHint: String?
    /// The thumbprint of the key that the client has to show with the code (`dpop_jkt`).
    let keyThumbprint: KeyThumbprint?

    /// Checks the parameters in the order of the standard. Throws `OAuthError`, for the client's answer.
    init(_ parameters: Parameters, of client: ClientRecord, limits: Limits) throws(OAuthError) {
        // Parameters that would change the meaning of all others come first.
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
        self.scope = try Clients.scope(parameters["scope"], settings: client.settings)
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

    /// `true` if the server must ask the person nothing.
    var isSilent: Bool { self.wishes.isSilent }

    /// Returns the challenge. A client that need not send a challenge is held to the challenge that it sends.
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

/// The destination of the answer to an authorization request, and the form of the answer. Only a registered address
/// makes a reply.
struct AuthorizationReply {
    let redirectURI: RedirectURI
    let state: String?
    let issuer: String
    /// A posted form if the client wants one and the address takes forms; in every other case the query.
    let mode: ResponseMode
    /// The wishes of a request of the app sign-in service, with the name by which support staff find the request.
    var service: (wishes: SignInServiceWishes, request: String)?

    /// Creates a reply.
    ///
    /// - Parameter mode: The client's `response_mode`, valid or not.
    init(redirectURI: RedirectURI, state: String?, issuer: String, mode: String?) {
        self.redirectURI = redirectURI
        self.state = state
        self.issuer = issuer
        let isForm = mode?.hasSameBytes(as: ResponseMode.formPost.rawValue) ?? false
        self.mode = isForm && redirectURI.takesForms ? .formPost : .query
    }

    /// Returns the answer of a success (RFC 6749, section 4.1.2; RFC 9207, section 2).
    func answer(code: String) -> ClientAnswer {
        var parameters: Parameters = ["code": code]
        if let service { parameters.append("type", service.wishes.type) }
        return self.answer(parameters)
    }

    /// Returns the answer of a failure (RFC 6749, section 4.1.2.1).
    func answer(error: OAuthError) -> ClientAnswer {
        if let service { return self.answer(service.wishes.failure(of: error), saying: error.message) }
        var parameters: Parameters = ["error": error.code.rawValue]
        if let message = error.message { parameters.append("error_description", message) }
        return self.answer(parameters)
    }

    /// Returns the answer of a failure of the app sign-in service. A web site gets a code, for which it shows a page.
    /// For an app, the browser shows the error.
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
    /// `true` if a form can be posted to the address. An app that its scheme opens gets an address and nothing else.
    var takesForms: Bool { self.kind != .privateScheme }
}
