import OAuth
import Store
import _Primitives

/// What the session that a browser shows is worth for an authorization request (OpenID Connect Core 1.0, section 3.1.2.3).
struct SessionWorth {
    /// The session, where it is enough for a code and nobody has to be asked.
    var fitting: SessionRecord?
    /// The session, where its person has to be asked first and nothing else is missing.
    var asking: SessionRecord?
    /// The consent that a code would stand on.
    var consent: ConsentRecord?
    /// Why there is no code without a page; `nil` where there is one.
    var obstacle: OAuthError? = Self.nobodySignedIn

    /// What a request without a page is told where no session fits it.
    static let nobodySignedIn = OAuthError(.loginRequired, "The person has to sign in.")

    /// What a request without a page is told where a session fits it, and a page would have to be shown all the same.
    static let nobodyUnasked = OAuthError(
        .interactionRequired, "An app at an address that others can take gets nothing without the person being asked.")

    /// What a request without a page is told that names somebody else than the one who is signed in.
    static let accountToChoose = OAuthError(
        .accountSelectionRequired, "The person would have to choose who they are.")
}

extension OpenIDProvider {
    /// What the session that a browser shows is worth for a request.
    ///
    /// Throws `OAuthError` `login_required` where the session is another person's than the expected one's.
    func worth(
        of secret: SessionSecret?, for request: AuthorizationRequestRecord, _ wishes: AuthorizationWishes,
        client: ClientRecord
    ) async throws -> SessionWorth {
        var worth = SessionWorth()
        // No session stands for details: they are asked each time. And to an app that any other program on the person's
        // device could pass for nothing goes unasked (RFC 8252, section 8.6).
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
        } else if try await self.missingTerms(ofAccount: session.account) != nil {
            worth.obstacle = Self.nobodyAgreedToTerms
            worth.asking = isAnother ? nil : session
        } else if isAnother {
            worth.obstacle = SessionWorth.accountToChoose
        } else {
            worth.obstacle = nil
            worth.fitting = session
        }
        return worth
    }

    /// The session that the browser has, where that is enough for what is asked.
    ///
    /// Throws `OAuthError` `login_required` where the session is another person's than the expected one's.
    private func fittingSession(
        _ secret: SessionSecret?, for request: AuthorizationRequestRecord, _ wishes: AuthorizationWishes,
        client: ClientRecord
    ) async throws -> (SessionRecord, Person)? {
        // An age of nothing asks for another authentication, too (OpenID Connect Core 1.0, section 3.1.2.1).
        guard !wishes.isFresh, wishes.maximumAge != .zero, let secret,
            let session = try await self.liveSession(secret)
        else { return nil }
        guard wishes.levels.areMet(by: session.authentication.acr, in: self.configuration.levels) else { return nil }
        // A way to sign in that this client does not take is none because another client took it.
        guard client.settings.signInMethods.containsBytes(of: session.authentication.method) else { return nil }
        // Nor is a session enough for a service that asks people itself, which this one has not answered, or not as what its
        // person still is there.
        guard try await self.people.takes(session.account, in: session.authentication.role, at: client.id) else {
            return nil
        }
        if let age = wishes.maximumAge, self.time.now() - session.authentication.at > age { return nil }
        let subject = self.subject(ofAccount: session.account, of: client)
        if let expected = request.expectedSubject, !expected.hasSameBytes(as: subject) { throw Self.anotherPerson }
        guard let person = try await self.people.person(account: session.account) else { return nil }
        return (session, person)
    }

    /// A code of that session; `nil` where it has ended meanwhile.
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

    // MARK: Requests that wait

    /// A request that waits for its person, with what its browser's session is worth for the request now; `nil` where the
    /// session counts for nothing, and the request waits on.
    private func judged(
        _ id: String, _ browser: BrowserSecret, _ session: SessionSecret
    ) async throws -> (AuthorizationRequestRecord, AuthorizationWishes, SessionWorth)? {
        guard let request = try await self.openRequest(id, browser), request.session == nil,
            let client = try await self.client(of: request)
        else { return nil }
        let wishes = try AuthorizationWishes(of: request)
        // At the app sign-in service a person always authenticates.
        guard wishes.service == nil else { return nil }
        let worth: SessionWorth
        do { worth = try await self.worth(of: session, for: request, wishes, client: client) } catch is OAuthError {
            return nil
        }
        guard worth.fitting != nil || worth.asking != nil,
            // A session that the browser has counts for no device (``DeviceAuthorizations``).
            try await self.store.deviceCode(request: id) == nil
        else { return nil }
        return (request, wishes, worth)
    }

    /// `true` if a request that waits would not wait if it came now: somebody has signed in meanwhile in another tab of the
    /// browser, and the session counts for the request. Changes nothing.
    ///
    /// Cost: without a session none; else up to six queries, two hashes.
    public func isAnswered(request id: String, browser: BrowserSecret, by session: SessionSecret?) async throws -> Bool
    {
        guard let session else { return false }
        return try await self.judged(id, browser, session) != nil
    }

    /// Judges a request that waits once more, as a new request of the session that the browser has now: several tabs of a
    /// browser may wait while its person signs in in one of them. `nil` where the session counts for nothing, and the request
    /// waits on. Of any number of calls one gets a code.
    ///
    /// - Parameters:
    ///   - source: Where the browser is. A sign-in by session is counted as one that begins.
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
    /// Whether the `login_hint` names somebody else than that person, by what the client is told of the person anyway: a
    /// client that is told no name learns nothing by trying some. Names are compared letter by letter, an e-mail address
    /// with an e-mail address alone.
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
