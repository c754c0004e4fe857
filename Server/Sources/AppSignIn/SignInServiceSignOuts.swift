import JOSE
import OAuth
import OAuthProvider
import Records
import _Primitives

/// The next step for a browser that comes back from a provider at which it was signed out.
public enum SignInServiceReturn: Sendable {
    /// The browser goes to its client's registered address, or gets an error.
    case answered(SignInServiceAnswer)
    /// The client has registered no address. A page confirms the sign-out, with the address of the service for people.
    case page(clientName: String, home: String?)
}

/// Signs people out of the clients of the app sign-in service, and at their provider as well (OpenID Connect
/// RP-Initiated Logout 1.0).
public struct SignInServiceSignOuts: Sendable {
    let sessions: SignInServiceSessions
    let pages: SignInServicePages
    /// The sessions of browsers.
    let browsers: Sessions
    let grants: AccountGrants
    /// Sign-ins by other providers.
    let upstream: UpstreamSignIns

    private var endpoint: SignInServiceEndpoint { self.sessions.endpoint }
    private var clients: Clients { self.sessions.clients }

    /// Ends everything that the session's person has (`revoke_all_sessions`): the sessions of this service, and the
    /// sessions of browsers, with all grants, device secrets and consents.
    ///
    /// Cost: one verification, two queries, two store steps.
    public func revokeAll(_ request: SignInServiceRequest) async throws -> SignInServiceAnswer {
        try await self.endpoint.answer(request, status: 401) { named in
            let (session, isByCookie) = try await self.sessions.session(of: request)
            named = session.client.id
            try self.endpoint.checkPlace(of: request, session.settings)
            if isByCookie { try self.checkCause(of: request, session, status: 401) }
            _ = try await self.browsers.endAll(ofAccount: session.account)
            _ = try await self.grants.end(.all, ofAccount: session.account)
            return SignInServiceAnswer(cookies: isByCookie ? .delete : .keep)
        }
    }

    /// Signs a browser or an app out (`logout`): the session ends, the cookies go, and a browser is sent to its
    /// client's registered address.
    ///
    /// A browser that is no longer signed in is sent to the address as well. Its cookies go only if a page of the site
    /// has asked, since another party's link may not remove the cookies. If the person's provider also signs people
    /// out, the browser first goes to the provider, and comes back by ``returned(_:)``.
    ///
    /// Cost: one verification, three queries, one store step; for such a provider two queries more, and a call if the
    /// provider has not named its sign-out address within the last day.
    public func logout(_ request: SignInServiceRequest) async throws -> SignInServiceAnswer {
        try await self.endpoint.answer(request) { _ in
            guard let id = request.parameters["client_id"], let (client, settings) = try await self.endpoint.client(id)
            else {
                throw SignInServiceError.malformed("The client_id is not known.")
            }
            try self.endpoint.checkPlace(of: request, settings)
            let kept = SignInServiceAnswer(
                status: client.postLogoutRedirectURIs.isEmpty ? 200 : 302,
                location: client.postLogoutRedirectURIs.first)
            var done = kept
            done.cookies = .delete
            let session: SignInServiceSession
            let isByCookie: Bool
            do {
                (session, isByCookie) = try await self.sessions.session(of: request, takesExpiredCookie: true)
            } catch let error as SignInServiceError {
                guard error.code == nil else { throw error }
                return self.pages.isCaused(request, byPageOf: client) ? done : kept
            } catch let error as OAuthError where error.code == .invalidToken {
                return self.pages.isCaused(request, byPageOf: client) ? done : kept
            }
            do {
                guard session.client.id.hasSameBytes(as: client.id) else {
                    throw SignInServiceError.malformed("The session is another client's.")
                }
                if isByCookie { try self.checkCause(of: request, session, status: 400) }
            } catch let error as SignInServiceError {
                // An expired access token counts as signed out, until a permitted page asks for more.
                guard session.expiresAt <= self.clients.time.now() else { throw error }
                return kept
            }
            let upstream = try await self.providerToSignOut(of: session)
            try await self.sessions.end(
                session.standing.grant.id, of: session.standing, by: client, at: self.clients.time.now())
            guard let upstream else { return done }
            return await self.sent(done, to: upstream, from: client)
        }
    }

    /// Checks that a permitted page caused a request with a browser's cookies: cookies also go with a link, and anybody
    /// can write a link.
    ///
    /// The page is a page of this server itself, or of an address of the client's on the same site, as the browser
    /// says. Otherwise the page must know the anti-CSRF token. If the operator permits cookies from the client's back
    /// end, a request that says nothing about a page is accepted, too.
    private func checkCause(
        of request: SignInServiceRequest, _ session: SignInServiceSession, status: Int
    ) throws {
        if session.settings.usesAntiCSRF, case .string(let hash)? = session.claims[SignInServiceClaim.refreshTokenHash]
        {
            let given = request.parameters["anti_csrf_token"] ?? ""
            if constantTimeEqual(Array(given.utf8), Array(self.sessions.antiCSRFToken(ofHash: hash).utf8)) { return }
            guard given.isEmpty else {
                throw SignInServiceError(
                    OAuthError(.invalidRequest, "The anti-CSRF token is not valid."), status: status)
            }
        }
        if self.pages.isCaused(request, byPageOf: session.client) { return }
        if session.settings.takesBackEndCookies, !request.saysPage { return }
        var error = SignInServiceError(
            OAuthError(
                .invalidRequest, "It does not show which page has asked for this.",
                detail:
                    "neither Sec-Fetch-Site: same-origin, nor Origin or Referer of an address of the client's, nor anti_csrf_token"
            ), status: status)
        if !request.saysPage { error.setting = "--sign-in-service backEndCookies=true" }
        throw error
    }

    // MARK: At the person's provider

    /// Returns the provider by which the person of a session has signed in, if its operator wants people signed out at
    /// the provider as well; `nil` for none. Cost: one query if the person came from a provider.
    private func providerToSignOut(of session: SignInServiceSession) async throws -> UpstreamProvider? {
        let method = session.standing.authentication.method
        guard method.hasBytes(atStart: UpstreamProvider.methodPrefix),
            let upstream = try await self.upstream.store.upstreamProvider(
                SignInServiceAuthorizations.type(ofMethod: method)),
            upstream.signsOut
        else { return nil }
        return upstream
    }

    /// Returns an answer that sends a browser to a provider before the client's registered address. The browser is
    /// already signed out here. If the provider names no sign-out address, the browser goes on at once, and the log
    /// tells the operator.
    private func sent(
        _ done: SignInServiceAnswer, to upstream: UpstreamProvider, from client: ClientRecord
    ) async -> SignInServiceAnswer {
        var answer = done
        do {
            let address = try await self.upstream.signOutAddress(of: upstream, state: self.signOutState(of: client))
            (answer.status, answer.location) = (302, address)
        } catch {
            let reason = (error as? UpstreamRefusal)?.reason ?? "it is not called any more"
            answer.refusal = ProviderRefusal(
                OAuthError(
                    OAuthError.Code(rawValue: UpstreamRefusal.Code.failed.rawValue),
                    "Nobody is signed out at the provider \(upstream.name):", detail: reason),
                client: client.id, setting: "--sign-out")
        }
        return answer
    }

    /// Answers a browser that comes back from a provider (`GET /v0/sign_in/logingov_logout_proxy`). The browser's
    /// `state` names the client, and the browser goes to the client's own address.
    ///
    /// Cost: one query, one hash.
    public func returned(_ request: SignInServiceRequest) async throws -> SignInServiceReturn {
        guard let id = request.parameters["state"].flatMap(self.client(ofSignOutState:)),
            let (client, _) = try await self.endpoint.client(id)
        else {
            return .answered(
                try await self.endpoint.answer(request) { _ in
                    throw SignInServiceError.malformed(
                        "The state is not valid.", "missing, none of ours, or its client is gone")
                })
        }
        guard let address = client.postLogoutRedirectURIs.first else {
            return .page(clientName: client.name, home: client.clientURI)
        }
        return .answered(SignInServiceAnswer(status: 302, location: address))
    }

    private static let signOutStateKind = "state of a sign-out at another provider"

    /// Returns a text that names the client of a browser on its way to a provider: different each time, and made only
    /// by this server. The text gives no access, and leads only to the address of a sign-out of the client.
    private func signOutState(of client: ClientRecord) -> String {
        let value = "\(Base64URL.encode(Array(client.id.utf8))).\(self.clients.random.token(byteCount: 16))"
        return "\(value).\(self.signOutCode(of: value))"
    }

    private func client(ofSignOutState state: String) -> String? {
        let parts = state.splitBytes(at: ".").map(String.init)
        guard parts.count == 3 else { return nil }
        let expected = self.signOutCode(of: "\(parts[0]).\(parts[1])")
        guard constantTimeEqual(Array(parts[2].utf8), Array(expected.utf8)), let id = Base64URL.decode(parts[0]) else {
            return nil
        }
        return String(validating: id, as: UTF8.self)
    }

    private func signOutCode(of value: String) -> String {
        self.clients.keys.signing.pairwise(Self.signOutStateKind, client: "", of: value)
    }
}
