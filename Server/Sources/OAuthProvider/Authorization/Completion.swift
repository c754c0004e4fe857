public import OAuth
import Store
public import _Primitives

/// What to do with a browser whose person has authenticated.
public enum CompletionAnswer: Sendable, Equatable {
    /// Set the session's cookie and send the browser to the client (status 303). The method is the one by which the
    /// person has authenticated.
    case signedIn(redirect: String, session: SessionSecret, method: String)
    /// Send the browser to the client, with an error (status 303).
    case redirect(String)
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
    /// From then on the request is gone.
    public let expiresAt: Timestamp
}

extension OpenIDProvider {
    /// The request, for the browser that started it; `nil` for every other, and once it has ended.
    ///
    /// Cost: two queries, one hash.
    public func pending(request id: String, browser: BrowserSecret) async throws -> PendingAuthorization? {
        guard let request = try await self.openRequest(id, browser), let client = try await self.client(request.client)
        else { return nil }
        return PendingAuthorization(
            client: client.id, clientName: client.name, clientOrigin: try self.reply(to: request).redirectURI.origin,
            expiresAt: request.expiresAt)
    }

    /// Signs the browser in after its person has authenticated: takes the outcome, begins a session with a new
    /// identifier, and gives the client its code.
    ///
    /// Of any number of calls one signs in: the one that ends the request, in the step that begins the session. A call
    /// that throws has changed nothing that would keep a later one from signing in. A session that the browser shows ends.
    ///
    /// - Parameters:
    ///   - id: From ``AuthorizationAnswer/signIn(request:client:)``.
    ///   - session: The session that the browser shows, if any.
    ///   - explain: Is told why, where nobody is signed in: for the operator's log.
    ///
    /// Cost: two queries, one store step beside the outcome's own, four hashes, one HMAC.
    public func complete(
        request id: String, browser: BrowserSecret, session old: SessionSecret?,
        explain: (ProviderRefusal) -> Void = { _ in }
    ) async throws -> CompletionAnswer {
        let ended = OAuthError(.invalidRequest, "This sign-in has ended, or was started in another browser.")
        let denied = OAuthError(.accessDenied, "The account cannot sign in.")
        guard let request = try await self.openRequest(id, browser),
            let (outcome, method) = try await self.outcome(of: request, browser: browser)
        else {
            explain(ProviderRefusal(ended))
            return .page(ended)
        }
        let reply = try self.reply(to: request)
        guard try await self.people.person(account: outcome.account) != nil else {
            explain(ProviderRefusal(denied, client: request.client))
            return try await self.store.removeRequest(id) ? .redirect(reply.address(error: denied)) : .page(ended)
        }
        if let expected = request.expectedSubject,
            !expected.hasSameBytes(as: self.subject(ofAccount: outcome.account, client: request.client))
        {
            explain(ProviderRefusal(Self.anotherPerson, client: request.client))
            return try await self.store.removeRequest(id)
                ? .redirect(reply.address(error: Self.anotherPerson)) : .page(ended)
        }
        let now = self.time.now()
        let secret = SessionSecret(random: self.random)
        let authentication = AuthenticationRecord(
            id: self.random.identifier(), account: outcome.account, method: method, at: outcome.authenticatedAt,
            acr: outcome.acr, amr: outcome.amr, browser: outcome.browser, address: outcome.address,
            device: outcome.device)
        let session = SessionRecord(
            id: self.random.identifier(), cookieDigest: secret.digest, authentications: [authentication], usedAt: now,
            expiresAt: now + self.limits.sessionLifetime)
        let issue = self.issue(
            session, client: request.client, redirectURI: request.redirectURI, scope: try Scope(request.scope),
            nonce: request.nonce, challenge: request.codeChallenge,
            keyThumbprint: request.keyThumbprint, at: now)
        let completed = CompletedAuthorization(request: id, session: session, grant: issue.grant, code: issue.code)
        do {
            try await self.store.complete(completed, replacing: old?.digest)
        } catch let error as StoreError where error.code == .notFound {
            // Where the request is still there, the device is gone, or the account was locked this moment.
            explain(ProviderRefusal(denied, client: request.client))
            return try await self.store.removeRequest(id) ? .redirect(reply.address(error: denied)) : .page(ended)
        }
        return .signedIn(redirect: reply.address(code: issue.secret), session: secret, method: method)
    }

    /// Ends a request because its person said no: the client is told `access_denied`.
    ///
    /// Cost: one query, one store step.
    public func refuse(request id: String, browser: BrowserSecret) async throws -> AuthorizationAnswer {
        guard let request = try await self.openRequest(id, browser), try await self.store.removeRequest(id) else {
            return .page(OAuthError(.invalidRequest, "This sign-in has ended, or was started in another browser."))
        }
        return .redirect(
            try self.reply(to: request).address(error: OAuthError(.accessDenied, "The person did not sign in.")))
    }

    /// The outcome of the method by which the person has authenticated for the request, and the method's name.
    private func outcome(of request: AuthorizationRequestRecord, browser: BrowserSecret) async throws -> (
        AuthenticationOutcome, String
    )? {
        for method in self.methods {
            if let outcome = try await method.outcome(request: request.id, browser: browser, client: request.client) {
                return (outcome, method.name)
            }
        }
        return nil
    }

    private func openRequest(_ id: String, _ browser: BrowserSecret) async throws -> AuthorizationRequestRecord? {
        guard let request = try await self.store.request(id), self.time.now() < request.expiresAt,
            constantTimeEqual(request.browserDigest, browser.digest)
        else { return nil }
        return request
    }

    private func reply(to request: AuthorizationRequestRecord) throws -> AuthorizationReply {
        AuthorizationReply(
            redirectURI: try RedirectURI(request.redirectURI, allowing: RedirectURI.everyKind), state: request.state,
            issuer: self.issuer)
    }
}
