import OAuth
import Records
import Settings
import _Primitives

/// The worth of a browser's session for an authorization request (OpenID Connect Core 1.0, section 3.1.2.3).
struct SessionWorth {
    /// The session, if it is enough for a code without any question.
    var fitting: SessionRecord?
    /// The session, if its person has to be asked first and nothing else is missing.
    var asking: SessionRecord?
    /// The consent on which a code would rest.
    var consent: ConsentRecord?
    /// The reason why a code needs a page; `nil` if a code needs no page.
    var obstacle: OAuthError? = Self.nobodySignedIn

    /// The error for a request without a page if no session fits.
    static let nobodySignedIn = OAuthError(.loginRequired, "The person has to sign in.")

    /// The error for a request without a page if a session fits, but a page is needed all the same.
    static let nobodyUnasked = OAuthError(
        .interactionRequired, "An app at an address that others can take gets nothing without the person being asked.")

    /// The error for a request without a page if the person has to agree to the terms first.
    static let nobodyAgreedToTerms = OAuthError(.interactionRequired, "The person has to agree to the terms first.")

    /// The error for a request without a page that names another person than the signed-in person.
    static let accountToChoose = OAuthError(
        .accountSelectionRequired, "The person would have to choose who they are.")
}

extension Authorizations {
    /// Returns the worth of a browser's session for a request.
    ///
    /// Throws `OAuthError` `login_required` if the session belongs to another person than the expected person.
    func worth(
        of secret: SessionSecret?, for request: AuthorizationRequestRecord, _ wishes: AuthorizationWishes,
        client: ClientRecord
    ) async throws -> SessionWorth {
        var worth = SessionWorth()
        // Details need a question each time, whatever the session. An app that any other program on the person's device
        // could pretend to be gets nothing without a question (RFC 8252, section 8.6).
        let address = try RedirectURI(registered: request.redirectURI)
        let isAsked = wishes.details != nil || client.settings.isPublic && address.kind != .https
        guard wishes.isSilent || !isAsked,
            let (session, person) = try await self.fittingSession(secret, for: request, wishes, client: client)
        else { return worth }
        let scope = try Scope(request.scope)
        let terms = ConsentTerms(of: client, scope: scope, resources: request.resources, wishes)
        if let terms { worth.consent = try await self.remembered(terms, account: session.account) }
        let isAnother = wishes.namesAnother(than: person, scope: scope)
        if isAsked {
            worth.obstacle = SessionWorth.nobodyUnasked
        } else if terms != nil, worth.consent == nil {
            worth.obstacle = Self.nobodyAgreed
            worth.asking = isAnother ? nil : session
        } else if try await self.standing.missingTerms(ofAccount: session.account) != nil {
            worth.obstacle = SessionWorth.nobodyAgreedToTerms
            worth.asking = isAnother ? nil : session
        } else if isAnother {
            worth.obstacle = SessionWorth.accountToChoose
        } else {
            worth.obstacle = nil
            worth.fitting = session
        }
        return worth
    }

    /// Returns the browser's session if it is enough for the request.
    ///
    /// Throws `OAuthError` `login_required` if the session belongs to another person than the expected person.
    private func fittingSession(
        _ secret: SessionSecret?, for request: AuthorizationRequestRecord, _ wishes: AuthorizationWishes,
        client: ClientRecord
    ) async throws -> (SessionRecord, Person)? {
        // A `max_age` of zero also asks for a new authentication (OpenID Connect Core 1.0, section 3.1.2.1).
        guard !wishes.isFresh, wishes.maximumAge != .zero, let secret,
            let session = try await self.sessions.live(secret)
        else { return nil }
        guard wishes.levels.areMet(by: session.authentication.acr, in: self.levels) else { return nil }
        // A session counts only if this client accepts its sign-in method, even if another client accepted the method.
        guard client.settings.signInMethods.containsBytes(of: session.authentication.method) else { return nil }
        // A service that asks people itself needs a session in which the person answered this service, in a role that
        // the person still has.
        guard try await self.standing.takes(session.account, in: session.authentication.role, at: client.id) else {
            return nil
        }
        if let age = wishes.maximumAge, self.time.now() - session.authentication.at > age { return nil }
        let subject = self.keys.subject(ofAccount: session.account, of: client)
        if let expected = request.expectedSubject, !expected.hasSameBytes(as: subject) { throw Self.anotherPerson }
        guard let person = try await self.standing.person(ofAccount: session.account) else { return nil }
        return (session, person)
    }

    /// Returns a code of the session; `nil` if the session has ended meanwhile.
    func code(
        of session: SessionRecord, for request: AuthorizationRequestRecord, _ wishes: AuthorizationWishes,
        consent: ConsentRecord?, address: String?, at now: Timestamp
    ) async throws -> String? {
        let issue = try await self.issue(
            session, client: request.client, redirectURI: request.redirectURI, scope: try Scope(request.scope),
            nonce: request.nonce, challenge: request.codeChallenge, keyThumbprint: request.keyThumbprint,
            wishes: wishes, consent: consent?.id, resources: request.resources, at: now)
        do {
            let detail = AuditEvent.signInDetail(service: request.client, methods: session.authentication.amr)
            try await self.store.addGrant(
                issue.grant, code: issue.code, usedAt: now,
                audit: AuditEvent(
                    .signedInBySession, at: now, accountID: session.account, detail: detail, address: address))
        } catch let error as StoreError where error.code == .notFound {
            return nil
        }
        return issue.secret
    }

    // MARK: Sessions that become worth more

    /// Adds an authentication to the session of a secret, if the session is the session of the same account. The session
    /// continues under a new secret, with its former end (decision 118).
    ///
    /// The last authentication of a session counts. An authentication that is less sure than the session is therefore
    /// not added, nor is an authentication without the role in which the person is signed in to a service of
    /// personalised identities.
    ///
    /// Cost: one query, one store step, two hashes.
    public func raise(_ secret: SessionSecret, by further: FurtherAuthentication) async throws -> RaisedSession {
        guard let session = try await self.sessions.live(secret), session.account.hasSameBytes(as: further.account)
        else { return .ended }
        let present = session.authentication
        guard present.role == nil, RequestedLevels.isMet(present.acr, by: further.acr, in: self.levels) else {
            return .kept
        }
        let authentication = AuthenticationRecord(
            id: self.random.identifier(), account: further.account, method: AuthenticationRecord.phoneMethod,
            at: further.at, acr: further.acr, amr: further.amr, browser: present.browser, address: present.address,
            device: further.device)
        let (next, now) = (SessionSecret(random: self.random), self.time.now())
        let event = AuditEvent(
            .sessionRaised, at: now, accountID: session.account, detail: further.amr.joined(separator: ","))
        do {
            try await self.sessions.store.raise(
                session.adding(authentication, cookie: next.digest, at: now), from: secret.digest, audit: event)
            return .raised(next)
        } catch let error as StoreError where error.code == .notFound {
            return .ended
        }
    }

    // MARK: Requests that wait

    /// Returns a waiting request, with the worth of its browser's session for the request now. `nil` if the session
    /// counts for nothing, and the request waits on.
    private func judged(
        _ id: String, _ browser: BrowserSecret, _ session: SessionSecret
    ) async throws -> (AuthorizationRequestRecord, AuthorizationWishes, SessionWorth)? {
        guard let request = try await self.openRequest(id, browser), request.session == nil,
            let client = try await self.clients.client(of: request)
        else { return nil }
        let wishes = try AuthorizationWishes(of: request)
        // At the app sign-in service a person always authenticates.
        guard wishes.service == nil else { return nil }
        let worth: SessionWorth
        do { worth = try await self.worth(of: session, for: request, wishes, client: client) } catch is OAuthError {
            return nil
        }
        guard worth.fitting != nil || worth.asking != nil,
            // An existing session of the browser counts for no device (``DeviceAuthorizations``).
            try await self.store.deviceCode(request: id) == nil
        else { return nil }
        return (request, wishes, worth)
    }

    /// `true` if a waiting request needs no sign-in page any more: the person has meanwhile signed in in another tab of
    /// the browser, and the session counts for the request. A question to the person may be left. Changes nothing.
    ///
    /// Cost: without a session none; else up to eight queries, two hashes.
    public func isAnswered(request id: String, browser: BrowserSecret, by session: SessionSecret?) async throws -> Bool
    {
        guard let session else { return false }
        return try await self.judged(id, browser, session) != nil
    }

    /// Judges a waiting request once more, as a new request with the browser's present session. Several tabs of a
    /// browser may wait while the person signs in in one tab.
    ///
    /// Returns `nil` if the session counts for nothing, and the request waits on; also if another call has ended the
    /// request. Of any number of calls at most one gets a code. If a question is left, or the session ends meanwhile, a
    /// new request with a new identifier takes the place of the old one.
    ///
    /// - Parameters:
    ///   - source: The browser's source. A sign-in by session is counted as a sign-in that begins.
    ///   - address: The browser's network address, for the audit trail.
    ///
    /// Cost: as ``isAnswered(request:browser:by:)``, and two store steps.
    public func answer(
        request id: String, browser: BrowserSecret, by session: SessionSecret?, source: String, address: String?
    ) async throws -> AuthorizationAnswer? {
        guard let session, let (request, wishes, worth) = try await self.judged(id, browser, session) else {
            return nil
        }
        let now = self.time.now()
        if let shortage = self.signIns.spend(source, at: now) { return .tooMany(shortage) }
        guard try await self.store.removeRequest(id) else { return nil }
        if let fitting = worth.fitting,
            let code = try await self.code(
                of: fitting, for: request, wishes, consent: worth.consent, address: address, at: now)
        {
            return .client(try self.reply(to: request).answer(code: code))
        }
        var next = request
        next.id = self.random.identifier()
        next.session = worth.asking?.id
        try await self.store.addRequest(next)
        return next.session == nil
            ? .signIn(request: next.id, client: next.client) : .consent(request: next.id, client: next.client)
    }
}

extension AuthorizationWishes {
    /// `true` if the `login_hint` names another person than the given person.
    ///
    /// The comparison uses only names that the client receives about the person anyway: a client that receives no name
    /// learns nothing from trying names. Names are compared letter by letter, an e-mail address only with an e-mail
    /// address.
    fileprivate func namesAnother(than person: Person, scope: Scope) -> Bool {
        guard let hint = self.loginHint else { return false }
        var names: [String] = []
        if scope.contains(Scope.profile), let username = person.username { names.append(username) }
        if scope.contains(Scope.email), let email = person.email { names.append(email.address) }
        func isAddress(_ text: String) -> Bool { text.utf8.contains(UInt8(ascii: "@")) }
        let comparable = names.filter { isAddress($0) == isAddress(hint) }
        return !comparable.isEmpty && !comparable.containsBytes(of: hint)
    }
}
