import OAuth
import Store
import _Primitives

extension OpenIDProvider {
    /// The authorization endpoint (RFC 6749, section 3.1; OpenID Connect Core 1.0, section 3.1.2).
    ///
    /// - Parameters:
    ///   - text: The query, or the form of a POST, as it came.
    ///   - browser: The browser. Only it can complete the request.
    ///   - session: The session that the browser shows, if any.
    ///   - source: Where the browser is. It has a budget of sign-ins that begin, those by a session among them.
    ///   - address: The browser's network address, for the audit trail.
    ///   - explain: Is told why, where the request is refused: for the operator's log.
    ///
    /// Cost: one query (client), one store step, three hashes. With a session two more queries; with `id_token_hint` one
    /// verification.
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
                repeating: Self.repeatable)
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
            // There is nothing to answer, or no more.
            guard error != OAuthError(.invalidRequestURI) else { return .page(error) }
            do { try await self.end(asked, browser: browser) } catch let error as OAuthError { return .page(error) }
            return .client(reply.answer(error: error))
        }
    }

    /// What to do with a browser whose client can be answered. Throws `OAuthError`, for the client to be told.
    private func answer(
        _ asked: inout AskedAuthorization, of client: ClientRecord, _ reply: AuthorizationReply, browser: BrowserSecret,
        session: SessionSecret?, source: String, address: String?, setting: inout String?
    ) async throws -> AuthorizationAnswer {
        try Self.checkKind(
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
        // Counted before anything is written: a sign-in by session as one that begins at the page.
        if let shortage = self.signIns.spend(source, at: now) { return .tooMany(shortage) }
        if let fitting = worth.fitting {
            // Before there is a code: one that was pushed never gives two.
            try await self.end(asked, browser: browser)
            // It is this browser's to be answered now, whatever becomes of the session.
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

    /// Checks what needs no browser, and finds whom alone the request expects.
    ///
    /// Throws `OAuthError`, for the client to be told. `setting` is set to the setting of the client that it does not fit.
    func check(_ parameters: Parameters, of client: ClientRecord, setting: inout String?) async throws -> (
        AuthorizationParameters, expected: String?
    ) {
        setting = self.noteMissingBinding(parameters, client: client)
        let checked = try AuthorizationParameters(parameters, of: client, limits: self.limits)
        // The address is one of the client's.
        if checked.wishes.responseMode == .formPost,
            let address = parameters["redirect_uri"].flatMap({ client.address(answering: $0) }), !address.takesForms
        {
            throw OAuthError(.invalidRequest, "To an app's own scheme no form can be posted: use the query.")
        }
        try await self.checkResources(checked.resources, of: client)
        try self.checkDetails(checked.wishes.details, of: client, setting: &setting)
        let (hinted, named) = (
            try await self.expectedSubject(checked.idTokenHint, client: client), checked.wishes.expectedSubject
        )
        if let hinted, let named, !hinted.hasSameBytes(as: named) { throw Self.anotherPerson }
        return (checked, hinted ?? named)
    }

    /// Finds out whom the answer may go to. Until this is known, nobody is sent anywhere (RFC 6749, section 4.1.2.1).
    ///
    /// - Parameter setting: Is set to the setting of the client that the request does not fit.
    private func recipient(of parameters: Parameters, from source: String, setting: inout String?) async throws -> (
        ClientRecord, AuthorizationReply
    ) {
        guard let client = try await self.client(parameters.required("client_id"), for: .network(source)) else {
            throw OAuthError(.invalidRequest, "The client is not known here.")
        }
        guard !client.settings.isDisabled else {
            setting = "--disabled"
            throw Self.disabled(.unauthorizedClient)
        }
        guard client.settings.signInService == nil else { throw Self.isOfSignInService }
        return (client, try self.reply(to: parameters, of: client, setting: &setting))
    }

    /// Where the answer to a request of this client goes. Throws `OAuthError` where it must not go there.
    ///
    /// - Parameter setting: Is set to the setting of the client that the request does not fit.
    func reply(to parameters: Parameters, of client: ClientRecord, setting: inout String?) throws -> AuthorizationReply
    {
        let address = try parameters.required("redirect_uri")
        guard let redirectURI = client.address(answering: address) else {
            setting = "--redirect-uri"
            self.note(
                client, "--redirect-uri",
                "A sign-in was asked for with an address that is not registered. Addresses are compared letter by letter."
            )
            throw OAuthError(.invalidRequest, "The redirect address is not registered for this client.")
        }
        let state = parameters["state"]
        guard (state?.utf8.count ?? 0) <= self.limits.oauth.stateCharacters else {
            // It cannot be given back, so the client could not tell the answer from a forged one.
            throw OAuthError(.invalidRequest, "The state is too long.")
        }
        return AuthorizationReply(
            redirectURI: redirectURI, state: state, issuer: self.issuer, mode: parameters["response_mode"])
    }

    /// Tells the operator of a request that lacks what its code is to be bound to; its developer reads the same. Returns the
    /// setting.
    private func noteMissingBinding(_ parameters: Parameters, client: ClientRecord) -> String? {
        guard let missing = AuthorizationParameters.missingBinding(parameters, of: client) else { return nil }
        self.note(client, "--pkce", missing)
        return "--pkce"
    }

    /// Tells the operator what a client lacks, within the budget of such notes.
    func note(_ client: ClientRecord, _ setting: String, _ advice: String) {
        guard self.notes.spend(client.id, at: self.time.now()) == nil else { return }
        self.configuration.note(ClientMisfit(client: client.id, setting: setting, advice: advice))
    }

    /// What a request is told whose hint names another person than the browser's: not that there is one.
    static let anotherPerson = OAuthError(
        .loginRequired, "Another person has to sign in than the one who has.", detail: "somebody else is signed in")

    /// The subject that a hint names: nobody else may be signed in for the request (OpenID Connect Core 1.0, section
    /// 3.1.2.1). An ID token of another client names nobody whom this one may know.
    private func expectedSubject(_ idTokenHint: String?, client: ClientRecord) async throws -> String? {
        guard let hint = try await self.hint(idTokenHint) else { return nil }
        guard hint.client.hasSameBytes(as: client.id) else { throw Self.anotherPerson }
        return hint.subject
    }
}
