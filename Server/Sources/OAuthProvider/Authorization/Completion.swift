public import OAuth
import Store
public import _Primitives

/// What to do with a browser whose person has authenticated.
public enum CompletionAnswer: Sendable, Equatable {
    /// Set the session's cookie and take the browser to the client. The method is the one by which the person has
    /// authenticated.
    case signedIn(ClientAnswer, session: SessionSecret, method: String)
    /// Ask the person whether the device that waits is to be signed in (``DeviceAuthorizations``): nothing has changed yet.
    case confirmDevice
    /// Set the session's cookie, where there is a new one, and ask its person whether this client may have what it wants,
    /// or whether they agree to the operator's terms.
    case consent(client: String, session: SessionSecret?, method: String)
    /// Take the browser to the client, with an error.
    case refused(ClientAnswer)
    /// Show an error page.
    case page(OAuthError)
}

/// An authorization request that waits for a person.
public struct PendingAuthorization: Sendable, Equatable {
    /// The client that asks.
    public let client: String
    /// What people are shown: who asks.
    public let clientName: String
    /// Scheme, host and port where the person will be led.
    public let clientOrigin: String
    /// Who the client believes comes: for a field in which a name is typed, and for nothing else. Whether there is such an
    /// account no page says.
    public let loginHint: String?
    /// Whether the client believes that the person has no account yet.
    public let isNewcomer: Bool
    /// The ways in which people may sign in to it, the first of them first.
    public let methods: [String]
    /// What the person is asked to agree to, beside signing in: it is shown on the page, and the phone shows it and signs it.
    public let agreement: String?
    /// Whether it is an app that keeps no secret: its code goes to the person's device, and not to a service.
    public let isApp: Bool
    /// The hash that binds the code, if the request has one (RFC 7636): 32 bytes.
    public let codeChallenge: [UInt8]?
    /// From then on the request is gone.
    public let expiresAt: Timestamp
}

extension OpenIDProvider {
    /// The request, for the browser that started it; `nil` for every other, and once it has ended.
    ///
    /// Cost: two queries, one hash.
    public func pending(request id: String, browser: BrowserSecret) async throws -> PendingAuthorization? {
        guard let request = try await self.openRequest(id, browser),
            let client = try await self.client(of: request)
        else { return nil }
        let wishes = try AuthorizationWishes(of: request)
        return PendingAuthorization(
            client: client.id, clientName: client.name, clientOrigin: try self.reply(to: request).redirectURI.origin,
            loginHint: wishes.loginHint, isNewcomer: wishes.prompts.contains(.create),
            methods: wishes.service == nil
                ? self.methods(of: client, for: wishes.details) : self.methods(of: client, for: wishes),
            agreement: try self.agreement(to: wishes.details),
            isApp: client.settings.signInService.map { $0.answers == .api } ?? client.settings.isPublic,
            codeChallenge: request.codeChallenge, expiresAt: request.expiresAt)
    }

    /// Signs the browser in after its person has authenticated: takes the outcome, begins a session with a new
    /// identifier, and gives the client its code.
    ///
    /// Where the browser shows a session of the same person that is less sure than the request asks, the authentication is
    /// added to that session, which goes on under a new cookie. Where the authentication is less sure than the request
    /// asks, nobody is signed in, and the client is told.
    ///
    /// Where the person has to agree first, the session begins, and the request waits on (``decide(request:browser:session:isGranted:address:explain:)``).
    ///
    /// Of any number of calls one signs in: the one that ends the request, in the step that begins the session. A call
    /// that throws has changed nothing that would keep a later one from signing in. Any other session that the browser shows
    /// ends.
    ///
    /// - Parameters:
    ///   - id: From ``AuthorizationAnswer/signIn(request:client:)``.
    ///   - session: The session that the browser shows, if any.
    ///   - explain: Is told why, where nobody is signed in: for the operator's log.
    ///
    /// Cost: three queries, one store step beside the outcome's own, four hashes, one HMAC.
    public func complete(
        request id: String, browser: BrowserSecret, session old: SessionSecret?,
        explain: (ProviderRefusal) -> Void = { _ in }
    ) async throws -> CompletionAnswer {
        let ended = OAuthError(.invalidRequest, "This sign-in has ended, or was started in another browser.")
        guard let request = try await self.openRequest(id, browser),
            let client = try await self.client(of: request),
            let (outcome, method) = try await self.outcome(of: request, browser: browser)
        else {
            explain(ProviderRefusal(ended))
            return .page(ended)
        }
        if try await self.store.deviceCode(request: id) != nil { return .confirmDevice }
        let reply = try self.reply(to: request)
        let wishes = try AuthorizationWishes(of: request)
        if wishes.service != nil, let failure = try await self.failure(of: outcome, by: method) {
            explain(ProviderRefusal(OAuthError(.accessDenied, failure.sentence), client: request.client))
            return try await self.store.removeRequest(id) ? .refused(reply.answer(failure)) : .page(ended)
        }
        if let refusal = try await self.refusal(of: outcome, for: request, wishes) {
            explain(ProviderRefusal(refusal, client: request.client))
            return try await self.store.removeRequest(id) ? .refused(reply.answer(error: refusal)) : .page(ended)
        }
        // A browser that comes again with what the first time has led to is led there again.
        // Without the session that has begun nobody is: the outcome was spent on it.
        if let asking = request.session {
            guard let old, try await self.liveSession(old)?.id.hasSameBytes(as: asking) ?? false else {
                explain(ProviderRefusal(ended, client: client.id))
                return .page(ended)
            }
            return .consent(client: client.id, session: nil, method: method)
        }
        let terms = ConsentTerms(
            of: client, scope: try Scope(request.scope), resources: request.resources, wishes)
        var consent: ConsentRecord?
        if let terms { consent = try await self.remembered(terms, account: outcome.account) }
        var isAsking = terms != nil && consent == nil
        if !isAsking { isAsking = try await self.missingTerms(ofAccount: outcome.account, at: client) != nil }
        if !isAsking { isAsking = self.isAskedEachTime(client, reply.redirectURI, by: method) }
        if !isAsking { isAsking = try await self.connection(for: id, since: outcome.authenticatedAt) != nil }
        let now = self.time.now()
        let secret = SessionSecret(random: self.random)
        let authentication = self.authentication(of: outcome, by: method)
        func completed(_ session: SessionRecord) async throws -> (CompletedAuthorization, code: String) {
            let issue = try await self.issue(
                session, client: request.client, redirectURI: request.redirectURI, scope: try Scope(request.scope),
                nonce: request.nonce, challenge: request.codeChallenge, keyThumbprint: request.keyThumbprint,
                wishes: wishes, consent: consent?.id, resources: request.resources, at: now)
            return (
                CompletedAuthorization(request: id, session: session, grant: issue.grant, code: issue.code),
                issue.secret
            )
        }
        if let old, let lesser = try await self.lesserSession(old, than: authentication, wishes) {
            let session = lesser.adding(authentication, cookie: secret.digest, at: now)
            let (stepUp, code) = try await completed(session)
            do {
                if isAsking {
                    try await self.store.authenticate(
                        AuthenticatedRequest(request: id, session: session, isStepUp: true), replacing: old.digest)
                    return .consent(client: client.id, session: secret, method: method)
                }
                try await self.store.stepUp(stepUp, from: old.digest)
                return .signedIn(reply.answer(code: code), session: secret, method: method)
            } catch let error as StoreError where error.code == .notFound {
                // Where it was the session that has ended, it is a sign-in like any other.
            }
        }
        let session = self.session(of: authentication, cookie: secret, at: now)
        let (signIn, code) = try await completed(session)
        do {
            if isAsking {
                try await self.store.authenticate(
                    AuthenticatedRequest(request: id, session: session, isStepUp: false), replacing: old?.digest)
                return .consent(client: client.id, session: secret, method: method)
            }
            try await self.store.complete(signIn, replacing: old?.digest)
        } catch let error as StoreError where error.code == .notFound {
            // Where the request is still there, the device is gone, or the account was locked this moment.
            explain(ProviderRefusal(Self.denied, client: request.client))
            let answer = wishes.service == nil ? reply.answer(error: Self.denied) : reply.answer(.locked)
            return try await self.store.removeRequest(id) ? .refused(answer) : .page(ended)
        }
        return .signedIn(reply.answer(code: code), session: secret, method: method)
    }

    /// Whether a person who came by that way is asked on a page of ours before there is a code: another provider can have
    /// answered for them without a word, and an app that any other program on the device could pass for gets nothing
    /// unasked (RFC 8252, section 8.6).
    func isAskedEachTime(_ client: ClientRecord, _ redirectURI: RedirectURI, by method: String) -> Bool {
        client.settings.isPublic && redirectURI.kind != .https
            && method.hasBytes(atStart: UpstreamProvider.methodPrefix)
    }

    /// What the person wants connected who has authenticated for a request at that moment: for it, and not before.
    func connection(for request: String, since moment: Timestamp) async throws -> WantedConnection? {
        for method in self.methods {
            if let wanted = try await method.wantedConnection(request: request), wanted.since <= moment {
                return wanted
            }
        }
        return nil
    }

    static let denied = OAuthError(.accessDenied, "The account cannot sign in.")

    /// What a service of personalised identities is told of whoever came otherwise.
    static let notForService = OAuthError(
        .accessDenied, "The service takes people by their personalised identity alone.")

    /// What keeps a person out of clients of the app sign-in service who has authenticated; `nil` for nothing. Of whoever came
    /// by another provider the register was asked when they came.
    private func failure(of outcome: AuthenticationOutcome, by method: String) async throws -> SignInServiceFailure? {
        guard let person = try await self.people.person(account: outcome.account) else { return .locked }
        guard !method.hasBytes(atStart: UpstreamProvider.methodPrefix) else { return nil }
        return self.configuration.simulatedPeople?.failure(ofAccount: person.username)
    }

    /// Why an outcome signs nobody in; `nil` where it does.
    func refusal(
        of outcome: AuthenticationOutcome, for request: AuthorizationRequestRecord, _ wishes: AuthorizationWishes
    ) async throws -> OAuthError? {
        guard try await self.people.person(account: outcome.account) != nil else { return Self.denied }
        guard try await self.people.takes(outcome.account, in: outcome.role, at: request.client) else {
            return Self.notForService
        }
        if let expected = request.expectedSubject {
            let subject = try await self.subject(ofAccount: outcome.account, ofClient: request.client)
            guard expected.hasSameBytes(as: subject) else { return Self.anotherPerson }
        }
        guard try self.isAgreed(to: wishes.details, by: outcome) else {
            return OAuthError(.accessDenied, "The person did not agree to the authorization_details.")
        }
        return wishes.levels.areMet(by: outcome.acr, in: self.configuration.levels) ? nil : RequestedLevels.unmet
    }

    /// The session that the browser shows, where it is the same person's and was not enough for what is asked.
    private func lesserSession(
        _ secret: SessionSecret, than authentication: AuthenticationRecord, _ wishes: AuthorizationWishes
    ) async throws -> SessionRecord? {
        guard let session = try await self.liveSession(secret),
            session.account.hasSameBytes(as: authentication.account),
            !wishes.levels.areMet(by: session.authentication.acr, in: self.configuration.levels)
        else { return nil }
        return session
    }

    /// Ends a request because its person said no: the client is told `access_denied`.
    ///
    /// Cost: one query, one store step.
    public func refuse(request id: String, browser: BrowserSecret) async throws -> AuthorizationAnswer {
        guard let request = try await self.openRequest(id, browser), try await self.store.removeRequest(id) else {
            return .page(OAuthError(.invalidRequest, "This sign-in has ended, or was started in another browser."))
        }
        return .client(
            try self.reply(to: request).answer(error: OAuthError(.accessDenied, "The person did not sign in.")))
    }

    /// What is kept of an outcome.
    func authentication(of outcome: AuthenticationOutcome, by method: String) -> AuthenticationRecord {
        AuthenticationRecord(
            id: self.random.identifier(), account: outcome.account, method: method, at: outcome.authenticatedAt,
            acr: outcome.acr, amr: outcome.amr, browser: outcome.browser, address: outcome.address,
            device: outcome.device, role: outcome.role)
    }

    /// A session that begins with an authentication. Without a cookie no browser has it.
    func session(of authentication: AuthenticationRecord, cookie: SessionSecret?, at now: Timestamp) -> SessionRecord {
        SessionRecord(
            id: self.random.identifier(), cookieDigest: (cookie ?? SessionSecret(random: self.random)).digest,
            authentications: [authentication], usedAt: now, expiresAt: now + self.limits.sessionLifetime,
            hasBrowser: cookie != nil)
    }

    /// The outcome of the method, of those that the client takes, by which the person has authenticated for the request, and
    /// the method's name.
    func outcome(of request: AuthorizationRequestRecord, browser: BrowserSecret) async throws -> (
        AuthenticationOutcome, String
    )? {
        let allowed =
            try await self.client(of: request).map {
                try self.methods(of: $0, for: AuthorizationWishes(of: request))
            } ?? []
        for method in self.methods where allowed.contains(where: method.isWay) {
            let outcome = try await method.outcome(request: request.id, browser: browser, client: request.client)
            if let outcome, allowed.containsBytes(of: outcome.way ?? method.name) {
                return (outcome, outcome.way ?? method.name)
            }
        }
        return nil
    }

    /// The request, where it waits and the browser is its own.
    func openRequest(_ id: String, _ browser: BrowserSecret) async throws -> AuthorizationRequestRecord? {
        guard let request = try await self.store.request(id), self.time.now() < request.expiresAt,
            constantTimeEqual(request.browserDigest, browser.digest)
        else { return nil }
        return request
    }

    func reply(to request: AuthorizationRequestRecord) throws -> AuthorizationReply {
        let wishes = try AuthorizationWishes(of: request)
        var reply = AuthorizationReply(
            redirectURI: try RedirectURI(registered: request.redirectURI), state: request.state, issuer: self.issuer,
            mode: wishes.responseMode.rawValue)
        reply.service = wishes.service.map { ($0, request.id) }
        return reply
    }
}

extension SessionRecord {
    /// The session after its person has authenticated once more. It ends when it would have ended.
    fileprivate func adding(_ authentication: AuthenticationRecord, cookie: [UInt8], at now: Timestamp) -> SessionRecord
    {
        SessionRecord(
            id: self.id, cookieDigest: cookie, authentications: [authentication] + self.authentications, usedAt: now,
            expiresAt: self.expiresAt, hasBrowser: self.hasBrowser)
    }
}
