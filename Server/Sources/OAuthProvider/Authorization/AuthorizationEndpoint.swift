import OAuth
import Records
import Settings
import _Primitives

extension OpenIDProvider {
    /// Answers a request to the authorization endpoint (RFC 6749, section 3.1; OpenID Connect Core 1.0, section 3.1.2).
    ///
    /// - Parameters:
    ///   - text: The query, or the form of a POST, as received.
    ///   - browser: The browser. Only this browser can complete the request.
    ///   - session: The session of the browser's cookie, if any.
    ///   - source: The browser's source. Each source has a budget of new sign-ins, and sign-ins by a session count too.
    ///   - address: The browser's network address, for the audit trail.
    ///   - explain: Receives the reason of a refusal, for the operator's log.
    ///
    /// Cost: one query (client), one store step, three hashes. With a session three more queries, a fourth for a code
    /// without a page, and one each for a third party's client and for the operator's terms. A pushed request and each
    /// resource cost one query more; a signed request one query and one signature; `id_token_hint` one verification.
    public func authorize(
        _ text: String, browser: BrowserSecret, session: SessionSecret?, source: String, address: String?,
        explain: (ProviderRefusal) -> Void = { _ in }
    ) async throws -> AuthorizationAnswer {
        var (clientID, setting): (String?, String?)
        var asked: AskedAuthorization
        let client: ClientRecord
        let reply: AuthorizationReply
        do {
            let parameters = try Parameters(
                parsing: text, limits: Parameters.Limits(bytes: self.limits.oauth.parameterBytes),
                repeating: ClientEndpoint.repeatable)
            clientID = parameters["client_id"]
            asked = try await self.asked(by: parameters, browser: browser, from: source)
            (client, reply) = try await self.recipient(of: asked.parameters, from: source, setting: &setting)
        } catch let error as OAuthError {
            explain(ProviderRefusal(error, client: clientID, setting: setting))
            return .page(error)
        } catch let shortage as Shortage {
            return .tooMany(shortage)
        }
        do {
            return try await self.answer(
                &asked, of: client, reply, browser: browser, session: session, source: source, address: address,
                setting: &setting)
        } catch let error as OAuthError {
            explain(ProviderRefusal(error, client: client.id, setting: setting))
            // The request has nothing to answer, or no longer has.
            guard error != OAuthError(.invalidRequestURI) else { return .page(error) }
            do { try await self.end(asked, browser: browser) } catch let error as OAuthError { return .page(error) }
            return .client(reply.answer(error: error))
        }
    }

    /// Returns the next step for a browser whose client can be answered. Throws `OAuthError`, for the client's answer.
    private func answer(
        _ asked: inout AskedAuthorization, of client: ClientRecord, _ reply: AuthorizationReply, browser: BrowserSecret,
        session: SessionSecret?, source: String, address: String?, setting: inout String?
    ) async throws -> AuthorizationAnswer {
        try ClientRules.checkKind(
            ofRequestBy: client, isSigned: asked.isSigned, isPushed: asked.isPushed, setting: &setting)
        let (checked, expected) = try await self.check(asked.parameters, of: client, setting: &setting)
        guard checked.wishes.levels.canBeMet(in: self.configuration.levels) else { throw RequestedLevels.unmet }
        let hasDetails = checked.wishes.details != nil
        guard !hasDetails || !checked.isSilent else {
            throw OAuthError(.consentRequired, "The person has to be asked about the authorization_details.")
        }
        let now = self.time.now()
        var request = AuthorizationRequestRecord(
            id: self.random.identifier(), browserDigest: browser.digest, client: client.id,
            redirectURI: reply.redirectURI.text, scope: checked.scope.description,
            resources: checked.resources.map(\.text), state: reply.state,
            nonce: checked.nonce, codeChallenge: checked.challenge?.digest, expectedSubject: expected,
            keyThumbprint: checked.keyThumbprint?.text, wishes: checked.wishes.text,
            expiresAt: now + self.limits.authorizationRequestLifetime)
        let worth = try await self.worth(of: session, for: request, checked.wishes, client: client)
        if checked.isSilent, let obstacle = worth.obstacle { throw obstacle }
        // Counted before anything is written. A sign-in by session counts like a sign-in that begins at the page.
        if let shortage = self.signIns.spend(source, at: now) { return .tooMany(shortage) }
        if let fitting = worth.fitting {
            // The pushed request ends before a code exists: a pushed request never gives two codes.
            try await self.end(asked, browser: browser)
            // The request now belongs to this browser, whatever becomes of the session.
            asked.pushed = nil
            if let code = try await self.code(
                of: fitting, for: request, checked.wishes, consent: worth.consent, address: address, at: now)
            {
                return .client(reply.answer(code: code))
            }
        }
        guard !checked.isSilent else { throw SessionWorth.nobodySignedIn }
        request.session = worth.asking?.id
        let waiting = try await self.begin(request, asked)
        return worth.asking == nil
            ? .signIn(request: waiting, client: client.id) : .consent(request: waiting, client: client.id)
    }

    /// Checks everything that needs no browser, and finds the subject if the request expects a particular person.
    ///
    /// Throws `OAuthError`, for the client's answer. Sets `setting` to the client's setting that the request does not
    /// fit.
    func check(_ parameters: Parameters, of client: ClientRecord, setting: inout String?) async throws -> (
        AuthorizationParameters, expected: String?
    ) {
        setting = self.noteMissingBinding(parameters, client: client)
        let checked = try AuthorizationParameters(parameters, of: client, limits: self.limits)
        // The address is a registered address of the client.
        if checked.wishes.responseMode == .formPost,
            let address = parameters["redirect_uri"].flatMap({ client.address(answering: $0) }), !address.takesForms
        {
            throw OAuthError(.invalidRequest, "To an app's own scheme no form can be posted: use the query.")
        }
        try await self.audiences.check(checked.resources, of: client)
        try self.checkDetails(checked.wishes.details, of: client, setting: &setting)
        let (hinted, named) = (
            try await self.expectedSubject(checked.idTokenHint, client: client), checked.wishes.expectedSubject
        )
        if let hinted, let named, !hinted.hasSameBytes(as: named) { throw Self.anotherPerson }
        return (checked, hinted ?? named)
    }

    /// Finds the recipient of the answer. Until the recipient is known, the browser is sent nowhere (RFC 6749, section
    /// 4.1.2.1).
    ///
    /// - Parameter setting: Is set to the client's setting that the request does not fit.
    private func recipient(of parameters: Parameters, from source: String, setting: inout String?) async throws -> (
        ClientRecord, AuthorizationReply
    ) {
        guard let client = try await self.clients.client(parameters.required("client_id"), for: .network(source)) else {
            throw OAuthError(.invalidRequest, "The client is not known here.")
        }
        guard !client.settings.isDisabled else {
            setting = "--disabled"
            throw Clients.disabled(.unauthorizedClient)
        }
        guard client.settings.signInService == nil else { throw Clients.isOfSignInService }
        return (client, try self.reply(to: parameters, of: client, setting: &setting))
    }

    /// Returns the address and the form of the answer to a request of this client. Throws `OAuthError` if the answer
    /// must not go to the address.
    ///
    /// - Parameter setting: Is set to the client's setting that the request does not fit.
    func reply(to parameters: Parameters, of client: ClientRecord, setting: inout String?) throws -> AuthorizationReply
    {
        let address = try parameters.required("redirect_uri")
        guard let redirectURI = client.address(answering: address) else {
            setting = "--redirect-uri"
            self.clients.note(
                client, "--redirect-uri",
                "A sign-in was asked for with an address that is not registered. Addresses are compared letter by letter."
            )
            throw OAuthError(.invalidRequest, "The redirect address is not registered for this client.")
        }
        let state = parameters["state"]
        guard (state?.utf8.count ?? 0) <= self.limits.oauth.stateCharacters else {
            // A state that is too long cannot be given back, so the client could not tell the answer from a forged
            // answer.
            throw OAuthError(.invalidRequest, "The state is too long.")
        }
        return AuthorizationReply(
            redirectURI: redirectURI, state: state, issuer: self.issuer, mode: parameters["response_mode"])
    }

    /// Reports a request without a binding for its code to the operator. The client's developer reads the same text.
    /// Returns the setting.
    private func noteMissingBinding(_ parameters: Parameters, client: ClientRecord) -> String? {
        guard let missing = AuthorizationParameters.missingBinding(parameters, of: client) else { return nil }
        self.clients.note(client, "--pkce", missing)
        return "--pkce"
    }

    /// The error for a request whose hint names another person than the browser's person. The message does not say that
    /// another person is signed in.
    static let anotherPerson = OAuthError(
        .loginRequired, "Another person has to sign in than the one who has.", detail: "somebody else is signed in")

    /// Returns the subject of an `id_token_hint`: only this subject may be signed in for the request (OpenID Connect
    /// Core 1.0, section 3.1.2.1). Returns `nil` without a hint.
    ///
    /// Throws `login_required` for an ID token of another client, which names no person whom this client may know, and
    /// `invalid_request` for a hint that is not of this server or is too old.
    private func expectedSubject(_ idTokenHint: String?, client: ClientRecord) async throws -> String? {
        guard let hint = try await self.tokens.hint(idTokenHint) else { return nil }
        guard hint.client.hasSameBytes(as: client.id) else { throw Self.anotherPerson }
        return hint.subject
    }
}
