import OAuth
import Records
import Sealing
import _Primitives

/// A session, found by the refresh token that its client has shown.
private struct ShownRefreshToken {
    let token: RefreshToken
    let standing: StandingGrant
    let client: ClientRecord
    let settings: SignInServiceSettings
}

/// Renews sessions, and ends sessions.
extension SignInService {
    // MARK: Renewing

    /// Renews a session (`POST /v0/sign_in/refresh`): the next refresh token, the next access token.
    ///
    /// The checks before the use of the token change nothing, except that a refresh token of the other face ends its
    /// own grant. A client with the wrong anti-CSRF token, or a person who has to agree to something, stays signed in.
    /// A past token ends the session.
    ///
    /// Cost: two queries, one store step, one signature.
    public func refresh(_ request: SignInServiceRequest) async throws -> SignInServiceAnswer {
        try await self.answer(request, status: 401) { named in
            let proof = try self.binding(of: request)
            let shown = try await self.shown(request, &named)
            let facts = try await self.checkedPerson(of: shown.standing, at: shown.client, status: 401)
            try self.checkPage(of: request, shown.client, shown.settings, status: 401)
            try self.checkAntiCSRF(of: shown, request)
            let binding = proof.map { TokenBinding.key($0.thumbprint) }
            try Self.checkKey(of: shown, binding)
            try await self.provider.keys.require(shown.client.settings.idTokenAlgorithm, of: .signInService)
            if let proof { try await self.provider.proofs.take(proof) }
            let now = self.provider.time.now()
            let renewed = try await self.provider.renewals.renew(
                shown.token, isBound: false, until: Self.end(of: shown, at: now), by: shown.client, showing: binding,
                knowing: facts, at: now, refuse: Self.refusal)
            switch renewed {
            case .admitted(let admitted, let next, let end):
                let tokens = try await self.tokens(
                    of: admitted, for: shown.client, shown.settings, refreshToken: next, parent: shown.token,
                    sessionEndsAt: end, boundTo: admitted.grant.keyThumbprint == nil ? nil : binding, at: now)
                return Self.answer(tokens, shown.settings)
            case .refused(let detail): throw Self.tokenRefusal(detail)
            }
        }
    }

    /// Returns the end of a session that goes on.
    private static func end(of shown: ShownRefreshToken, at now: Timestamp) -> Timestamp {
        min(now + shown.settings.refreshTokenLifetime, shown.standing.grant.expiresAt)
    }

    private static func refusal(_ refusal: StandingRefusal) -> any Error {
        switch refusal {
        case .key(.missing): Self.tokenRefusal("no proof of its key")
        case .key: Self.tokenRefusal("another key")
        case .notAgreed: Self.tokenRefusal("nobody has agreed to it")
        case .locked, .notTaken, .terms: SignInServiceError(refusal, status: 401)
        }
    }

    /// Returns the session of the request's refresh token: a parameter, else a cookie. Throws ``SignInServiceError``. A
    /// token at the wrong face ends its grant.
    private func shown(_ request: SignInServiceRequest, _ named: inout String?) async throws -> ShownRefreshToken {
        guard let text = request.parameters["refresh_token"] ?? request.cookies[.refreshToken] else {
            throw SignInServiceError.malformed("The refresh_token is missing.")
        }
        guard let token = RefreshToken(inParts: text, keys: self.provider.keys.signing) else {
            // A refresh token of the other face is no longer accepted anywhere after this.
            if let foreign = RefreshToken(text, keys: self.provider.keys.signing) {
                try await self.provider.wrongFace.burn(foreign, shownBy: nil)
            }
            throw Self.tokenRefusal("not one of ours")
        }
        guard let standing = try await self.store.grant(token.grant, token: nil, at: self.provider.time.now()) else {
            throw Self.tokenRefusal("ended, or revoked")
        }
        named = standing.grant.client
        guard let (client, settings) = try await self.client(standing.grant.client) else {
            try await self.provider.wrongFace.burn(token, shownBy: nil)
            throw Self.tokenRefusal("its client is none of the app sign-in service any more")
        }
        if let id = request.parameters["client_id"], !id.hasSameBytes(as: client.id) {
            throw Self.tokenRefusal("another client's")
        }
        try self.checkPlace(of: request, settings)
        return ShownRefreshToken(token: token, standing: standing, client: client, settings: settings)
    }

    /// Returns the same message for all cases: a client with another's token learns nothing about the token.
    private static func tokenRefusal(_ detail: String) -> SignInServiceError {
        .refused("The refresh token is not valid.", detail)
    }

    /// Checks the key before the proof of the key is taken.
    private static func checkKey(of shown: ShownRefreshToken, _ binding: TokenBinding?) throws {
        let key = ShownKey(of: shown.standing.grant.keyThumbprint, shown: binding?.text)
        guard key == .right else { throw Self.refusal(.key(key)) }
    }

    private func checkAntiCSRF(of shown: ShownRefreshToken, _ request: SignInServiceRequest) throws {
        guard shown.settings.usesAntiCSRF else { return }
        let expected = self.antiCSRFToken(ofHash: Self.hash(shown.token.inParts))
        let given = request.parameters["anti_csrf_token"] ?? request.cookies[.antiCSRFToken] ?? ""
        guard constantTimeEqual(Array(given.utf8), Array(expected.utf8)) else {
            throw SignInServiceError.refused("The anti-CSRF token is not valid.", "missing, or another session's")
        }
    }

    // MARK: Ending

    /// Ends a session (`POST /v0/sign_in/revoke`) and the sessions derived from it. With its device's secret all
    /// sessions of the device end, even if a web view shows the secret. Another device's secret is ignored. Ended
    /// sessions are worth nothing from then on, on every node.
    ///
    /// Cost: two queries, two store steps.
    public func revoke(_ request: SignInServiceRequest) async throws -> SignInServiceAnswer {
        try await self.answer(request, status: 401) { named in
            let shown = try await self.shown(request, &named)
            try self.checkAntiCSRF(of: shown, request)
            let now = self.provider.time.now()
            // The use of the token detects a past token, and so ends the session.
            let used = try await self.provider.renewals.use(
                shown.token, isBound: false, until: Self.end(of: shown, at: now), by: shown.client, at: now)
            if case .refused(let detail) = used { throw Self.tokenRefusal(detail) }
            let grant = shown.standing.grant
            let digest = request.parameters["device_secret"].map { Sealing.digest(ofSecret: $0) }
            // A secret of another device is not this session's. All sessions of a device come from the session of the
            // device's app.
            if let digest, let own = grant.deviceSecret, constantTimeEqual(own, digest) {
                try await self.end(
                    grant.origin ?? grant.id, of: shown.standing, by: shown.client, as: .deviceSessionsEnded, at: now)
            } else {
                try await self.end(grant.id, of: shown.standing, by: shown.client, at: now)
            }
            return SignInServiceAnswer(cookies: shown.settings.answers == .cookie ? .delete : .keep)
        }
    }

    /// Ends a person's session, by its grant, and the sessions derived from it.
    private func end(
        _ grant: String, of standing: StandingGrant, by client: ClientRecord,
        as kind: AuditEvent.Kind = .grantRevoked, at now: Timestamp
    ) async throws {
        let account = standing.authentication.account
        _ = try await self.store.endGrants(
            .grant(grant), account: account,
            audit: AuditEvent(kind, at: now, accountID: account, actor: client.id, detail: grant))
    }

    /// Ends everything that the session's person has (`revoke_all_sessions`): the sessions of this service, and the
    /// sessions of browsers, with all grants, device secrets and consents.
    ///
    /// Cost: one verification, two queries, two store steps.
    public func revokeAll(_ request: SignInServiceRequest) async throws -> SignInServiceAnswer {
        try await self.answer(request, status: 401) { named in
            let (session, isByCookie) = try await self.session(of: request)
            named = session.client.id
            try self.checkPlace(of: request, session.settings)
            if isByCookie { try self.checkCause(of: request, session, status: 401) }
            _ = try await self.provider.sessions.endAll(ofAccount: session.account)
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
        try await self.answer(request) { _ in
            guard let id = request.parameters["client_id"], let (client, settings) = try await self.client(id) else {
                throw SignInServiceError.malformed("The client_id is not known.")
            }
            try self.checkPlace(of: request, settings)
            let kept = SignInServiceAnswer(
                status: client.postLogoutRedirectURIs.isEmpty ? 200 : 302,
                location: client.postLogoutRedirectURIs.first)
            var done = kept
            done.cookies = .delete
            let session: SignInServiceSession
            let isByCookie: Bool
            do {
                (session, isByCookie) = try await self.session(of: request, takesExpiredCookie: true)
            } catch let error as SignInServiceError {
                guard error.code == nil else { throw error }
                return self.isCaused(request, byPageOf: client) ? done : kept
            } catch let error as OAuthError where error.code == .invalidToken {
                return self.isCaused(request, byPageOf: client) ? done : kept
            }
            do {
                guard session.client.id.hasSameBytes(as: client.id) else {
                    throw SignInServiceError.malformed("The session is another client's.")
                }
                if isByCookie { try self.checkCause(of: request, session, status: 400) }
            } catch let error as SignInServiceError {
                // An expired access token counts as signed out, until a permitted page asks for more.
                guard session.expiresAt <= self.provider.time.now() else { throw error }
                return kept
            }
            let upstream = try await self.providerToSignOut(of: session)
            try await self.end(
                session.standing.grant.id, of: session.standing, by: client, at: self.provider.time.now())
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
            if constantTimeEqual(Array(given.utf8), Array(self.antiCSRFToken(ofHash: hash).utf8)) { return }
            guard given.isEmpty else {
                throw SignInServiceError(
                    OAuthError(.invalidRequest, "The anti-CSRF token is not valid."), status: status)
            }
        }
        if self.isCaused(request, byPageOf: session.client) { return }
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

    /// `true` if the browser says that a page of this server caused the request, or a page of the client's on the same
    /// site.
    private func isCaused(_ request: SignInServiceRequest, byPageOf client: ClientRecord) -> Bool {
        if request.site?.hasSameBytes(as: "same-origin") ?? false, !self.sharesHost { return true }
        let isElsewhere = request.site.map { !$0.hasSameBytes(as: "same-site") } ?? false
        guard !isElsewhere, let origin = request.origin else { return false }
        return self.origins(of: client).containsBytes(of: origin)
    }

    /// Throws ``SignInServiceError`` if a foreign page would give a browser the cookies of another person's session:
    /// the browser would be signed in as the author of the page. Programs that are no browsers send nothing about
    /// pages.
    func checkPage(
        of request: SignInServiceRequest, _ client: ClientRecord, _ settings: SignInServiceSettings, status: Int
    ) throws {
        guard settings.answers == .cookie else { return }
        let isForeign = request.site.map { ["cross-site", "none"].containsBytes(of: $0) } ?? false
        let isOurs = request.origin.map { self.origins(of: client).containsBytes(of: $0) } ?? true
        guard isForeign || !isOurs else { return }
        throw SignInServiceError(
            OAuthError(
                .invalidRequest, "This page gets no cookies of the client.",
                detail: "its Origin is none of the client's addresses, or Sec-Fetch-Site names another site"),
            status: status)
    }

    /// `true` if other services may be at this server's origin, since this server's issuer is only a path of the
    /// origin. Only a page's path would tell the page's service, and a browser does not send the path.
    private var sharesHost: Bool {
        !self.provider.issuer.hasSameBytes(as: self.provider.issuerOrigin)
    }

    /// Returns the origins of a client's pages: its registered addresses, and this server, if this server is alone at
    /// its origin.
    private func origins(of client: ClientRecord) -> [String] {
        let own = self.sharesHost ? [] : [self.provider.issuer]
        let addresses = client.redirectURIs + client.postLogoutRedirectURIs + client.settings.profile.origins
        return (own + addresses).compactMap { TargetURI($0)?.origin }
    }

    // MARK: Telling

    /// Returns the facts about a session's person (`GET /v0/sign_in/introspect`), as a document of JSON:API.
    ///
    /// Cost: one verification, three queries.
    public func introspect(_ request: SignInServiceRequest) async throws -> SignInServiceAnswer {
        try await self.answer(request, status: 401) { named in
            let (session, _) = try await self.session(of: request)
            named = session.client.id
            let authentication = session.standing.authentication
            guard let person = try await self.provider.standing.person(ofAccount: session.account) else {
                throw SignInServiceError.endedSession
            }
            let id = self.subject(ofAccount: session.account)
            var attributes = Self.unknownAttributes
            attributes["uuid"] = .string(id)
            attributes["first_name"] = SignInServiceAttribute.firstName.value(of: person) ?? .string("")
            attributes["last_name"] = SignInServiceAttribute.lastName.value(of: person) ?? .string("")
            attributes["email"] = person.email.map { .string($0.address) } ?? .string("")
            attributes["phone_number"] = person.phone.map { .string($0.number) }
            attributes["address"] = person.address.map { .object($0.parts) }
            attributes["authn_context"] = .string(authentication.acr)
            attributes["verified"] = .bool(self.isVerified(authentication.acr, session.settings))
            attributes["access_token_ttl"] = .integer(
                max(0, (session.expiresAt - self.provider.time.now()).components.seconds))
            return SignInServiceAnswer(
                body: [
                    "data": .object([
                        "id": .string(id), "type": .string("users"), "attributes": .object(attributes),
                    ])
                ])
        }
    }

    /// The attributes that this server does not know, all empty. The pages of the service's clients read these
    /// attributes without a check for presence.
    private static let unknownAttributes: JSONObject = {
        var attributes: JSONObject = ["id_theft_flag": .bool(false)]
        for name in [
            "middle_name", "icn", "idme_uuid", "logingov_uuid", "birth_date", "gender", "birls_id", "edipi", "sec_id",
            "vet360_id", "participant_id", "cerner_id",
        ] { attributes[name] = .string("") }
        for name in ["active_mhv_ids", "cerner_facility_ids", "vha_facility_ids"] { attributes[name] = .array([]) }
        return attributes
    }()

    /// `true` if an authentication of that level is enough for the highest level that the client may request: for every
    /// word of the client that needs a level. `false` if no word needs a level.
    private func isVerified(_ level: String, _ settings: SignInServiceSettings) -> Bool {
        let needed = settings.levels.compactMap(\.needed)
        let table = self.provider.configuration.levels
        return !needed.isEmpty
            && needed.allSatisfy { word in
                table.contains { $0.name.hasSameBytes(as: word) && $0.levels.containsBytes(of: level) }
            }
    }
}
