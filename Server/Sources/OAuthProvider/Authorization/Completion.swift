public import OAuth
import Records
import Sealing
import Settings
public import _Primitives

/// The next step for a browser whose person has authenticated.
public enum CompletionAnswer: Sendable, Equatable {
    /// Set the session's cookie and take the browser to the client. The method is the method of the person's
    /// authentication.
    case signedIn(ClientAnswer, session: SessionSecret, method: String)
    /// Ask the person if the waiting device is to be signed in (``DeviceAuthorizations``): nothing has changed yet.
    case confirmDevice
    /// Set the cookie of a new session, if any. Then ask the person: about a connection, about the operator's terms, or
    /// about this client's access. The request waits on.
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
    /// The client's name, as the page shows it.
    public let clientName: String
    /// The scheme, host and port of the address to which the browser will return.
    public let clientOrigin: String
    /// The name that the client expects, only for a field in which the person types a name. No page says if the account
    /// exists.
    public let loginHint: String?
    /// `true` if the client expects a person without an account.
    public let isNewcomer: Bool
    /// The ways for the person to sign in to the client for this request, in the client's order. With details, only
    /// ways that sign texts remain; a request of the app sign-in service has one way.
    public let methods: [String]
    /// The text that the person agrees to in addition to the sign-in. The page shows the text, and the phone shows and
    /// signs the text.
    public let agreement: String?
    /// `true` if the client is an app (one that keeps no secret, or an app of the app sign-in service): the code goes
    /// to the person's device, and not to a service.
    public let isApp: Bool
    /// The hash that binds the code, if the request has one (RFC 7636): 32 bytes.
    public let codeChallenge: [UInt8]?
    /// The end of the request's lifetime.
    public let expiresAt: Timestamp
}

extension Authorizations {
    /// Returns a grant of a session and its code, not stored yet, and the code's text for the client.
    ///
    /// Cost: one query (client), one HMAC, one hash.
    func issue(
        _ session: SessionRecord, client: String, redirectURI: String, scope: Scope, nonce: String?,
        challenge: [UInt8]?, keyThumbprint: String?, wishes: AuthorizationWishes, consent: String?,
        resources: [String], at now: Timestamp
    ) async throws -> (grant: GrantRecord, code: CodeRecord, secret: String) {
        let subject = try await self.clients.subject(ofAccount: session.account, ofClient: client)
        let secret = self.random.token(byteCount: 32)
        let code = CodeRecord(
            digest: Sealing.digest(ofSecret: secret), redirectURI: redirectURI, nonce: nonce, challenge: challenge,
            keyThumbprint: keyThumbprint,
            acr: wishes.levels.told(of: session.authentication.acr, in: self.levels),
            expiresAt: now + self.limits.authorizationCodeLifetime)
        let grant = GrantRecord(
            id: self.random.grantIdentifier(at: now), client: client,
            subject: subject,
            authentication: session.authentication.id, session: session.id,
            isLasting: scope.contains(Scope.offlineAccess), scope: scope.description, resources: resources,
            claims: wishes.personClaims, consent: consent, details: wishes.details,
            expiresAt: code.expiresAt + self.limits.accessTokenLifetime)
        return (grant, code, secret)
    }

    /// Returns the request to the browser that started the request; `nil` for other browsers, after the request's end,
    /// and if the client is gone or switched off.
    ///
    /// Cost: two queries, one hash.
    public func pending(request id: String, browser: BrowserSecret) async throws -> PendingAuthorization? {
        guard let request = try await self.openRequest(id, browser),
            let client = try await self.clients.client(of: request)
        else { return nil }
        let wishes = try AuthorizationWishes(of: request)
        return PendingAuthorization(
            client: client.id, clientName: client.name, clientOrigin: try self.reply(to: request).redirectURI.origin,
            loginHint: wishes.loginHint, isNewcomer: wishes.prompts.contains(.create),
            methods: wishes.service == nil
                ? self.details.methods(of: client, for: wishes.details) : self.details.methods(of: client, for: wishes),
            agreement: try self.details.agreement(to: wishes.details),
            isApp: client.settings.signInService.map { $0.answers == .api } ?? client.settings.isPublic,
            codeChallenge: request.codeChallenge, expiresAt: request.expiresAt)
    }

    /// Signs the browser in after its person has authenticated: takes the outcome, begins a session with a new
    /// identifier, and gives the client its code.
    ///
    /// If the browser shows a session of the same person that is less sure than the request asks, the authentication is
    /// added to the session. The session continues under a new cookie. If the authentication is less sure than the
    /// request asks, no person is signed in, and the client receives an error.
    ///
    /// If the person has to agree first, the session begins, and the request waits on
    /// (``decide(request:browser:session:isGranted:address:explain:)``).
    ///
    /// Exactly one of any number of calls signs in: the call that ends the request, in the step that begins the
    /// session. After a call that throws, a later call can still sign in. Any other session that the browser shows
    /// ends.
    ///
    /// - Parameters:
    ///   - id: From ``AuthorizationAnswer/signIn(request:client:)``.
    ///   - session: The session of the browser's cookie, if any.
    ///   - explain: Receives the reason if no person is signed in, for the operator's log.
    ///   - language: Receives `ui_locales` of the request, and returns the language of the person's letters from now
    ///     on; `nil` to leave the language.
    ///
    /// Cost: eight queries, three of them for the client, and one each for a session of the browser, an expected
    /// person, a consent and the operator's terms; one store step beside the outcome's own, four hashes, one HMAC.
    public func complete(
        request id: String, browser: BrowserSecret, session old: SessionSecret?,
        explain: (ProviderRefusal) -> Void = { _ in }, language: (_ uiLocales: String?) -> String? = { _ in nil }
    ) async throws -> CompletionAnswer {
        let ended = OAuthError(.invalidRequest, "This sign-in has ended, or was started in another browser.")
        guard let request = try await self.openRequest(id, browser),
            let client = try await self.clients.client(of: request),
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
        // A browser that repeats the request comes to the same page again. The browser must show the session that has
        // begun, as the outcome was spent on the session.
        if let asking = request.session {
            guard let old, try await self.sessions.live(old)?.id.hasSameBytes(as: asking) ?? false else {
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
        if !isAsking { isAsking = try await self.standing.missingTerms(ofAccount: outcome.account, at: client) != nil }
        if !isAsking { isAsking = self.isAskedEachTime(client, reply.redirectURI, by: method) }
        if !isAsking { isAsking = try await self.connection(for: id, since: outcome.authenticatedAt) != nil }
        let now = self.time.now()
        let language = language(wishes.uiLocales)
        let secret = SessionSecret(random: self.random)
        let authentication = AuthenticationRecord(of: outcome, by: method, random: self.random)
        func completed(_ session: SessionRecord) async throws -> (CompletedAuthorization, code: String) {
            let issue = try await self.issue(
                session, client: request.client, redirectURI: request.redirectURI, scope: try Scope(request.scope),
                nonce: request.nonce, challenge: request.codeChallenge, keyThumbprint: request.keyThumbprint,
                wishes: wishes, consent: consent?.id, resources: request.resources, at: now)
            return (
                CompletedAuthorization(
                    request: id, session: session, grant: issue.grant, code: issue.code, language: language),
                issue.secret
            )
        }
        if let old, let lesser = try await self.lesserSession(old, than: authentication, wishes) {
            let session = lesser.adding(authentication, cookie: secret.digest, at: now)
            let (stepUp, code) = try await completed(session)
            do {
                if isAsking {
                    try await self.store.authenticate(
                        AuthenticatedRequest(request: id, session: session, isStepUp: true, language: language),
                        replacing: old.digest)
                    return .consent(client: client.id, session: secret, method: method)
                }
                try await self.store.stepUp(stepUp, from: old.digest)
                return .signedIn(reply.answer(code: code), session: secret, method: method)
            } catch let error as StoreError where error.code == .notFound {
                // The old session has ended: the sign-in continues like any other.
            }
        }
        let session = SessionRecord(
            of: authentication, cookie: secret, lifetime: self.limits.sessionLifetime, random: self.random, at: now)
        let (signIn, code) = try await completed(session)
        do {
            if isAsking {
                try await self.store.authenticate(
                    AuthenticatedRequest(request: id, session: session, isStepUp: false, language: language),
                    replacing: old?.digest)
                return .consent(client: client.id, session: secret, method: method)
            }
            try await self.store.complete(signIn, replacing: old?.digest)
        } catch let error as StoreError where error.code == .notFound {
            // If the request still exists, the device was removed, or the account was locked this moment.
            explain(ProviderRefusal(Self.denied, client: request.client))
            let answer = wishes.service == nil ? reply.answer(error: Self.denied) : reply.answer(.locked)
            return try await self.store.removeRequest(id) ? .refused(answer) : .page(ended)
        }
        return .signedIn(reply.answer(code: code), session: secret, method: method)
    }

    /// `true` if a person who signed in by that method has to confirm on a page before the app gets a code.
    ///
    /// Another provider can answer for the person without any question. Other programs on the device can pretend to be
    /// an app with such an address, and must get nothing without a question to the person (RFC 8252, section 8.6).
    func isAskedEachTime(_ client: ClientRecord, _ redirectURI: RedirectURI, by method: String) -> Bool {
        client.settings.isPublic && redirectURI.kind != .https
            && method.hasBytes(atStart: UpstreamProvider.methodPrefix)
    }

    /// Returns the connection that waits for the person of a request. The person must have authenticated for the
    /// connection: `moment` must not be before the wish.
    func connection(for request: String, since moment: Timestamp) async throws -> WantedConnection? {
        for method in self.methods {
            if let wanted = try await method.wantedConnection(request: request), wanted.since <= moment {
                return wanted
            }
        }
        return nil
    }

    static let denied = OAuthError(.accessDenied, "The account cannot sign in.")

    /// The error of a service of personalised identities for a person who signed in otherwise.
    static let notForService = OAuthError(
        .accessDenied, "The service takes people by their personalised identity alone.")

    /// Returns the reason why an authenticated person may not use clients of the app sign-in service; `nil` for no
    /// reason. For a person from another provider the register was asked at the arrival.
    private func failure(of outcome: AuthenticationOutcome, by method: String) async throws -> SignInServiceFailure? {
        guard let person = try await self.standing.person(ofAccount: outcome.account) else { return .locked }
        guard !method.hasBytes(atStart: UpstreamProvider.methodPrefix) else { return nil }
        return self.simulatedPeople?.failure(ofAccount: person.username)
    }

    /// Returns the reason why an outcome signs no person in; `nil` if the outcome is good.
    func refusal(
        of outcome: AuthenticationOutcome, for request: AuthorizationRequestRecord, _ wishes: AuthorizationWishes
    ) async throws -> OAuthError? {
        switch try await self.standing.refusal(ofAccount: outcome.account, in: outcome.role, at: request.client) {
        case nil: break
        case .notTaken: return Self.notForService
        case .locked, .notAgreed, .key, .terms: return Self.denied
        }
        if let expected = request.expectedSubject {
            let subject = try await self.clients.subject(ofAccount: outcome.account, ofClient: request.client)
            guard expected.hasSameBytes(as: subject) else { return Self.anotherPerson }
        }
        guard try self.details.isAgreed(to: wishes.details, by: outcome) else {
            return OAuthError(.accessDenied, "The person did not agree to the authorization_details.")
        }
        return wishes.levels.areMet(by: outcome.acr, in: self.levels) ? nil : RequestedLevels.unmet
    }

    /// Returns the session that the browser shows, if the session belongs to the same person and is less sure than the
    /// request asks.
    private func lesserSession(
        _ secret: SessionSecret, than authentication: AuthenticationRecord, _ wishes: AuthorizationWishes
    ) async throws -> SessionRecord? {
        guard let session = try await self.sessions.live(secret),
            session.account.hasSameBytes(as: authentication.account),
            !wishes.levels.areMet(by: session.authentication.acr, in: self.levels)
        else { return nil }
        return session
    }

    /// Ends a request because its person refused. The client receives `access_denied`. The answer is an error page if
    /// the request has ended, or belongs to another browser.
    ///
    /// Cost: one query, one store step.
    public func refuse(request id: String, browser: BrowserSecret) async throws -> AuthorizationAnswer {
        guard let request = try await self.openRequest(id, browser), try await self.store.removeRequest(id) else {
            return .page(OAuthError(.invalidRequest, "This sign-in has ended, or was started in another browser."))
        }
        return .client(
            try self.reply(to: request).answer(error: OAuthError(.accessDenied, "The person did not sign in.")))
    }

    /// Returns the outcome with which the person has authenticated for the request, and the way's name (the method's
    /// name for a method with a single way); `nil` if the person has not authenticated yet. Only methods that the
    /// client accepts count.
    func outcome(of request: AuthorizationRequestRecord, browser: BrowserSecret) async throws -> (
        AuthenticationOutcome, String
    )? {
        let allowed =
            try await self.clients.client(of: request).map {
                try self.details.methods(of: $0, for: AuthorizationWishes(of: request))
            } ?? []
        for method in self.methods where allowed.contains(where: method.isWay) {
            let outcome = try await method.outcome(request: request.id, browser: browser, client: request.client)
            if let outcome, allowed.containsBytes(of: outcome.way ?? method.name) {
                return (outcome, outcome.way ?? method.name)
            }
        }
        return nil
    }

    /// Returns the request; `nil` if the request has ended, or belongs to another browser.
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
    /// Returns the session with one more authentication of its person. The session's end stays the same.
    func adding(_ authentication: AuthenticationRecord, cookie: [UInt8], at now: Timestamp) -> SessionRecord {
        SessionRecord(
            id: self.id, cookieDigest: cookie, authentications: [authentication] + self.authentications, usedAt: now,
            expiresAt: self.expiresAt, hasBrowser: self.hasBrowser)
    }
}

extension AuthenticationRecord {
    /// Creates the record of a person's proof of identity by a method.
    init(of outcome: AuthenticationOutcome, by method: String, random: RandomSource) {
        self.init(
            id: random.identifier(), account: outcome.account, method: method, at: outcome.authenticatedAt,
            acr: outcome.acr, amr: outcome.amr, browser: outcome.browser, address: outcome.address,
            device: outcome.device, role: outcome.role)
    }
}

extension SessionRecord {
    /// Creates a session that begins with an authentication; without a cookie, a session that belongs to no browser.
    init(
        of authentication: AuthenticationRecord, cookie: SessionSecret?, lifetime: Duration, random: RandomSource,
        at now: Timestamp
    ) {
        self.init(
            id: random.identifier(), cookieDigest: (cookie ?? SessionSecret(random: random)).digest,
            authentications: [authentication], usedAt: now, expiresAt: now + lifetime, hasBrowser: cookie != nil)
    }
}

extension AuditEvent.Kind {
    /// A browser with a session was admitted to a service without a phone. The detail names the service and the methods
    /// of the person's earlier authentication; the address is the browser's.
    static let signedInBySession = Self(rawValue: "signed-in-by-session")
    /// A person agreed to the operator's terms; the detail is the version of the terms, the address is the browser's.
    static let termsAgreed = Self(rawValue: "terms-agreed")
}
