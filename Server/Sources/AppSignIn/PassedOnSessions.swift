import OAuth
import OAuthProvider
import Records
import Sealing
import Settings
import _Primitives

/// Passes sessions on: from an app to a page of the web, and from a web site to an app.
public struct PassedOnSessions: Sendable {
    private static let accessTokenKind = "urn:ietf:params:oauth:token-type:access_token"

    let store: any SignInServiceStore
    let sessions: SignInServiceSessions
    let pages: SignInServicePages
    let standing: Standing
    /// The budget of sign-ins that each source may begin.
    let signIns: Budget

    private var endpoint: SignInServiceEndpoint { self.sessions.endpoint }
    private var clients: Clients { self.sessions.clients }

    // MARK: An app's session for a web site's

    /// Opens an app from a web site's session, without another sign-in (`GET /v0/sign_in/authorize_sso`): the app's
    /// claimed https address gets a code. The app's session ends when the web site's would, and is not renewed. A
    /// browser without a session, or with a session that is not enough for the app, is sent to the sign-in page.
    ///
    /// Cost: one verification, three queries, one store step.
    public func authorizeSSO(_ request: SignInServiceRequest) async throws -> SignInServiceAnswer {
        do {
            return try await self.passToApp(request)
        } catch let error as SignInServiceError where error.status != 400 {
            // A person without a session, or with a session that is not enough, signs in.
            var parameters = request.parameters
            if parameters["application"] == nil, let client = parameters["client_id"] {
                parameters.append("application", client)
            }
            if parameters["oauth"] == nil { parameters.append("oauth", "true") }
            return SignInServiceAnswer(status: 302, location: "/sign-in?\(parameters.encoded)")
        } catch let error as SignInServiceError {
            var answer = try await self.endpoint.answer(request) { _ in throw error }
            answer.body = ["error": .string(error.message)]
            return answer
        }
    }

    private func passToApp(_ request: SignInServiceRequest) async throws -> SignInServiceAnswer {
        let parameters = request.parameters
        guard let id = parameters["client_id"], let (app, target) = try await self.endpoint.client(id),
            target.opensSessions
        else {
            throw SignInServiceError.malformed(
                "The client_id is not valid.", "unknown, or no app whose sessions are shared")
        }
        let challenge = try SignInServiceAuthorizations.challenge(parameters)
        try SignInServiceAuthorizations.checkState(parameters["state"], limits: self.clients.limits.oauth)
        // A scheme can belong to another app: nothing goes to a scheme without a person who looks.
        guard let address = try? RedirectURI(app.redirectURIs[0], allowing: [.https]) else {
            throw SignInServiceError.malformed(
                "The client cannot be opened this way.", "its address is not https", setting: "--redirect-uri")
        }
        var cookieAlone = request
        cookieAlone.authorization = nil
        let (session, _) = try await self.sessions.session(of: cookieAlone)
        let (grant, authentication) = (session.standing.grant, session.standing.authentication)
        guard session.settings.sharesSessions, grant.origin == nil,
            app.settings.signInMethods.containsBytes(of: authentication.method),
            Self.isEnough(authentication.acr, for: target, in: self.clients.levels)
        else { throw SignInServiceError.refused("The session is not enough.", "its client, way, level or origin") }
        try await self.sessions.checkTerms(ofAccount: session.account, at: app, status: 401)
        let now = self.clients.time.now()
        if let shortage = self.signIns.spend(request.source, at: now) {
            return SignInServiceAnswer(shortage)
        }
        let secret = self.clients.random.token(byteCount: 32)
        let codeEndsAt = now + self.clients.limits.authorizationCodeLifetime
        let passed = GrantRecord(
            id: self.clients.random.grantIdentifier(at: now), client: app.id,
            subject: self.clients.keys.subject(ofAccount: session.account, of: app),
            authentication: authentication.id, session: nil, isLasting: true, scope: Scope.offlineAccess,
            origin: grant.id, expiresAt: min(codeEndsAt + target.accessTokenLifetime, grant.expiresAt))
        do {
            try await self.store.pass(
                PassedSession(origin: grant.id, deviceSecret: nil, grant: passed, redirectURI: address.text),
                beginning: nil,
                code: CodeRecord(
                    digest: Sealing.digest(ofSecret: secret), redirectURI: address.text, nonce: nil,
                    challenge: challenge.digest, expiresAt: codeEndsAt),
                audit: AuditEvent(
                    .sessionPassedOn, at: now, accountID: session.account, actor: app.id, detail: grant.id,
                    address: request.address))
        } catch let error as StoreError where error.code == .notFound {
            throw SignInServiceError.refused("The session has ended.", error.reason)
        }
        var reply: Parameters = [
            "code": secret, "type": SignInServiceAuthorizations.type(ofMethod: authentication.method),
        ]
        if let state = parameters["state"] { reply.append("state", state) }
        reply.append("iss", self.clients.issuer)
        return SignInServiceAnswer(status: 302, location: address.adding(reply))
    }

    /// `true` if an authentication of that level is enough for the lowest level that a client may request.
    private static func isEnough(_ level: String, for settings: SignInServiceSettings, in table: [AssuranceWord])
        -> Bool
    {
        settings.levels.contains { word in
            guard let needed = word.needed else { return true }
            return table.contains { $0.name.hasSameBytes(as: needed) && $0.levels.containsBytes(of: level) }
        }
    }

    // MARK: A session of the web for an app's

    /// Opens a web session from an app's session. The app shows its access token and its device's secret, and
    /// `client_id` names the client that gets the session, as clients of this service expect.
    ///
    /// The new session has an end of its own and the absolute end of the app's session, and opens no further sessions.
    ///
    /// Cost: one verification, two queries, one store step, one signature.
    func openSession(
        _ request: SignInServiceRequest, _ named: inout String?
    ) async throws -> SignInServiceAnswer {
        let parameters = request.parameters
        let text = try parameters.required("subject_token")
        let kind = try parameters.required("subject_token_type")
        let secret = try parameters.required("actor_token")
        let actorKind = try parameters.required("actor_token_type")
        let target = try parameters.required("client_id")
        let proof = try self.endpoint.proof(of: request)
        let app: SignInServiceSession
        do { app = try await self.sessions.session(of: text, expired: 400) } catch let error as SignInServiceError {
            throw SignInServiceError.malformed(error.message, error.detail)
        }
        named = app.client.id
        try self.endpoint.checkPlace(of: request, app.settings)
        guard kind.hasSameBytes(as: Self.accessTokenKind) else {
            throw SignInServiceError.malformed("The subject_token_type is not valid.")
        }
        let digest = Sealing.digest(ofSecret: secret)
        let grant = app.standing.grant
        guard let kept = grant.deviceSecret, constantTimeEqual(kept, digest),
            case .string(let claimed)? = app.claims[SignInServiceClaim.deviceSecretHash],
            constantTimeEqual(Array(claimed.utf8), Array(SignInServiceSessions.hexadecimal(digest).utf8)),
            grant.origin == nil
        else {
            throw SignInServiceError.malformed(
                "The tokens are not valid together.", "another device's secret, or a session that was opened by one")
        }
        guard NativeSSO.actorKinds.containsBytes(of: actorKind) else {
            throw SignInServiceError.malformed("The actor_token_type is not valid.")
        }
        guard let (client, settings) = try await self.endpoint.client(target) else {
            throw SignInServiceError.malformed("The client_id is not known.")
        }
        guard settings.sharesSessions else {
            throw SignInServiceError.malformed(
                "The client does not take sessions.", setting: "--sign-in-service sharedSessions")
        }
        guard app.settings.opensSessions else {
            throw SignInServiceError.malformed(
                "The app does not open sessions.", setting: "--sign-in-service sharedSessions")
        }
        let authentication = app.standing.authentication
        guard client.settings.signInMethods.containsBytes(of: authentication.method),
            Self.isEnough(authentication.acr, for: settings, in: self.clients.levels)
        else {
            throw SignInServiceError.malformed(
                "The session is not enough for the client.", "its way of signing in, or its level",
                setting: "--sign-in-method")
        }
        try self.pages.checkPage(of: request, client, settings, status: 400)
        try self.checkKey(of: app, proof)
        try await self.sessions.checkTerms(ofAccount: app.account, at: client, status: 400)
        try await self.clients.keys.require(client.settings.idTokenAlgorithm, of: .signInService)
        if let proof { try await self.endpoint.proofs.take(proof) }
        return try await self.opened(app, for: client, settings, secret: digest, proof, request)
    }

    /// Checks that a token which is bound to a key comes with a proof of the key.
    private func checkKey(of app: SignInServiceSession, _ proof: DPoPProof?) throws {
        guard case .object(let members)? = app.claims["cnf"] else { return }
        guard let proof, TokenBinding(confirmation: members) == .key(proof.thumbprint) else {
            throw SignInServiceError(
                OAuthError(
                    .invalidDPoPProof, "The subject_token is bound to a key: a proof of it is needed.",
                    detail: proof == nil ? "no proof" : "another key"))
        }
    }

    private func opened(
        _ app: SignInServiceSession, for client: ClientRecord, _ settings: SignInServiceSettings, secret: [UInt8],
        _ proof: DPoPProof?, _ request: SignInServiceRequest
    ) async throws -> SignInServiceAnswer {
        let now = self.clients.time.now()
        if let shortage = self.signIns.spend(request.source, at: now) {
            return SignInServiceAnswer(shortage)
        }
        let (origin, authentication) = (app.standing.grant, app.standing.authentication)
        let binding = settings.answers == .api ? proof.map { TokenBinding.key($0.thumbprint) } : nil
        let grant = GrantRecord(
            id: self.clients.random.grantIdentifier(at: now), client: client.id,
            subject: self.clients.keys.subject(ofAccount: app.account, of: client),
            authentication: authentication.id, session: origin.session, isLasting: true, scope: Scope.offlineAccess,
            keyThumbprint: binding?.text, deviceSecret: secret, origin: origin.id, expiresAt: origin.expiresAt)
        // The other client can take fewer people than the app. The lock was read with the app's session.
        let standing = StandingGrant(grant: grant, authentication: authentication, isAccountLocked: false)
        let facts = try await self.standing.facts(of: standing, at: client)
        let admitted = try SignInServiceSessions.admit(standing, facts, status: 400)
        let token = try RefreshToken(grant: grant.id, keys: self.clients.keys.signing, random: self.clients.random)
        let family = self.sessions.family(
            token, for: client, settings, boundTo: binding, until: origin.expiresAt, at: now)
        do {
            try await self.store.pass(
                PassedSession(
                    origin: origin.id, deviceSecret: secret, grant: grant, redirectURI: client.redirectURIs[0]),
                beginning: family, code: nil,
                audit: AuditEvent(
                    .sessionPassedOn, at: now, accountID: app.account, actor: client.id, detail: origin.id,
                    address: request.address))
        } catch let error as StoreError where error.code == .notFound {
            throw SignInServiceError.malformed("The session has ended.", error.reason)
        }
        let tokens = try await self.sessions.tokens(
            of: admitted, for: client, settings, refreshToken: token, parent: nil, sessionEndsAt: family.headEndsAt,
            boundTo: binding, at: now)
        return tokens.answer(by: settings)
    }
}

extension AuditEvent.Kind {
    /// A session of the app sign-in service was passed on; the actor is the client that got a session, the detail the
    /// original session.
    static let sessionPassedOn = Self(rawValue: "session-passed-on")
}
