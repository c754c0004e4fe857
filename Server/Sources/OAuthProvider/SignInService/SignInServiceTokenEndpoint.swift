import OAuth
import Records
import Sealing
import Settings
import _Primitives

extension SignInService {
    /// The values of `grant_type` at this endpoint.
    private static let codeGrant = GrantType.authorizationCode.rawValue
    private static let exchange = "urn:ietf:params:oauth:grant-type:token-exchange"
    private static let accessTokenKind = "urn:ietf:params:oauth:token-type:access_token"

    /// Answers a request to the token endpoint (`POST /v0/sign_in/token`): tokens for a code, a session of the web for
    /// an app's session, or a service account's token.
    ///
    /// Every wrong code, token or proof is refused with 400.
    public func token(_ request: SignInServiceRequest) async throws -> SignInServiceAnswer {
        try await self.answer(request) { client in
            let type = try request.parameters.required("grant_type")
            if type.hasSameBytes(as: Self.codeGrant) { return try await self.tokens(forCode: request, &client) }
            if type.hasSameBytes(as: Self.exchange) { return try await self.openSession(request, &client) }
            if type.hasSameBytes(as: GrantType.serviceAssertion.rawValue) {
                return try await self.serviceToken(request, &client)
            }
            throw SignInServiceError.malformed("The grant_type is not known.")
        }
    }

    // MARK: A code

    /// Exchanges a code for tokens.
    ///
    /// An error spends the code, unless the error is found before the code is looked up: a missing code, or a wrong key
    /// proof. So a client that needs a nonce for its proof can repeat the request. If the right client shows the code
    /// twice, with everything that the code needs, the tokens of the code end.
    ///
    /// Cost: The call needs one query, three store steps and one signature. A client that signs with its own key adds
    /// a query, a signature and a store step.
    private func tokens(
        forCode request: SignInServiceRequest, _ named: inout String?
    ) async throws -> SignInServiceAnswer {
        let parameters = request.parameters
        let secret = try parameters.required("code")
        let proof = try self.binding(of: request)
        let proven: Result<ClientRecord, OAuthError>?
        do { proven = try await self.provenClient(request) } catch let shortage as Shortage {
            return SignInServiceAnswer(shortage)
        }
        let shortVerifier = parameters["code_verifier"].flatMap(CodeVerifier.init(shortHexadecimal:))
        let verifier = parameters["code_verifier"].flatMap { try? CodeVerifier($0) } ?? shortVerifier
        let now = self.provider.time.now()
        let taking = try await self.store.takeCode(
            digest: Sealing.digest(ofSecret: secret), at: now,
            replay: AuditEvent(.codeReplayed, at: now, actor: named)
        ) { code, standing in
            Self.mismatch(code, standing, parameters, verifier, proven) == nil
        }
        if case .failure(let error) = proven { throw error }
        guard verifier != nil || parameters["code_verifier"] == nil && (try? proven?.get()) != nil else {
            throw SignInServiceError.malformed("The code_verifier is missing or malformed.")
        }
        guard case .taken(let code, let standing) = taking else {
            throw Self.codeRefusal(taking == .replayed ? "used before: the session is ended" : "unknown, or revoked")
        }
        if let mismatch = Self.mismatch(code, standing, parameters, verifier, proven) {
            throw Self.codeRefusal(mismatch)
        }
        guard now < code.expiresAt else { throw Self.codeRefusal("expired") }
        guard let (client, settings) = try await self.client(standing.grant.client) else {
            throw Self.codeRefusal("a client of OpenID Connect's")
        }
        named = client.id
        guard client.settings.isPublic || proven != nil else {
            throw SignInServiceError.malformed(
                "The client did not authenticate.", "it is registered for client_assertion", setting: "--auth-method")
        }
        guard shortVerifier == nil || settings.takesShortVerifiers else {
            throw SignInServiceError.malformed(
                "The code_verifier is missing or malformed.", "it has 32 hexadecimal digits, and needs 43 characters",
                setting: "--sign-in-service shortVerifiers=true")
        }
        try self.checkPlace(of: request, settings)
        try self.checkPage(of: request, client, settings, status: 400)
        let facts = try await self.checkedPerson(of: standing, at: client, status: 400)
        try await self.provider.keys.require(client.settings.idTokenAlgorithm, of: .signInService)
        if let proof { try await self.provider.proofs.take(proof) }
        let binding = settings.answers == .api ? proof.map { TokenBinding.key($0.thumbprint) } : nil
        var begun = try await self.begin(standing, for: client, settings, boundTo: binding, at: now)
        let deviceSecret = try await self.deviceSecret(for: standing.grant, settings)
        if let deviceSecret {
            begun.standing = begun.standing.with(deviceSecret: Sealing.digest(ofSecret: deviceSecret))
        }
        var tokens = try await self.tokens(
            of: Self.admit(begun.standing, facts, status: 400), for: client, settings, refreshToken: begun.token,
            parent: nil,
            sessionEndsAt: begun.sessionEndsAt, boundTo: binding, at: now)
        tokens.deviceSecret = deviceSecret
        return Self.answer(tokens, settings)
    }

    /// Returns the client that a request's assertion proves, or the reason of a failed proof; `nil` for a request
    /// without an assertion. Throws `Shortage` for a stranger's client whose network has used up its budget.
    private func provenClient(
        _ request: SignInServiceRequest
    ) async throws -> Result<ClientRecord, OAuthError>? {
        do {
            let shown = ClientRequest(header: nil, parameters: request.parameters)
            guard let credential = try PrivateKeyJWT(shown) else { return nil }
            return .success(try await self.provider.clients.authenticate(credential, from: request.source))
        } catch let error as OAuthError {
            return .failure(error)
        }
    }

    /// Returns the error of a request for a code; `nil` if everything fits.
    private static func mismatch(
        _ code: CodeRecord, _ standing: StandingGrant, _ parameters: Parameters, _ verifier: CodeVerifier?,
        _ proven: Result<ClientRecord, OAuthError>?
    ) -> String? {
        let proven = try? proven?.get()
        for id in [parameters["client_id"], proven?.id].compactMap(\.self) {
            guard id.hasSameBytes(as: standing.grant.client) else { return "another client's" }
        }
        guard let digest = code.challenge else {
            // A code without a challenge needs a proof of its client's key. If an attacker removed the challenge of
            // another person's sign-in, the verifier in the request reveals the attack.
            guard proven != nil else { return "no proof of its client's key" }
            return parameters["code_verifier"] == nil ? nil : "a verifier, where there was no challenge"
        }
        guard let verifier, CodeChallenge(digest: digest).matches(verifier) else { return "another verifier" }
        return nil
    }

    /// Returns the same message for all cases: a client with another's code learns nothing about the code.
    private static func codeRefusal(_ detail: String) -> SignInServiceError {
        .malformed("The code is not valid.", detail)
    }

    /// Begins the session of a grant, with its first refresh token. A session that came from a web site's session gets
    /// no refresh token, since the web site renews the original session.
    private func begin(
        _ standing: StandingGrant, for client: ClientRecord, _ settings: SignInServiceSettings,
        boundTo binding: TokenBinding?, at now: Timestamp
    ) async throws -> (standing: StandingGrant, token: RefreshToken?, sessionEndsAt: Timestamp) {
        if let origin = standing.grant.origin {
            guard let parent = try await self.store.grant(origin, token: nil, at: now), now < parent.grant.expiresAt
            else { throw Self.codeRefusal("the session that it came of has ended") }
            return (standing, nil, standing.grant.expiresAt)
        }
        let token = try RefreshToken(
            grant: standing.grant.id, keys: self.provider.keys.signing, random: self.provider.random)
        let end = now + self.provider.limits.oauth.lastingGrantLifetime
        let family = self.family(token, for: client, settings, boundTo: binding, until: end, at: now)
        guard try await self.store.beginFamily(family, at: now),
            let begun = try await self.store.grant(standing.grant.id, token: nil, at: now)
        else { throw Self.codeRefusal("revoked meanwhile") }
        return (begun, token, family.headEndsAt)
    }

    func family(
        _ token: RefreshToken, for client: ClientRecord, _ settings: SignInServiceSettings,
        boundTo binding: TokenBinding?, until end: Timestamp, at now: Timestamp
    ) -> RefreshFamilyStart {
        RefreshFamilyStart(
            grant: token.grant, head: token.digest, headEndsAt: min(now + settings.refreshTokenLifetime, end),
            keyThumbprint: binding?.text, until: end, most: self.provider.limits.oauth.lastingGrantsPerClient,
            displaced: AuditEvent(.grantDisplaced, at: now, actor: client.id))
    }

    /// Returns a new secret of the device; `nil` if the sign-in has requested none, or the app opens no sessions.
    private func deviceSecret(for grant: GrantRecord, _ settings: SignInServiceSettings) async throws -> String? {
        guard grant.origin == nil, settings.opensSessions, try Scope(grant.scope).contains(Scope.deviceSSO) else {
            return nil
        }
        let secret = self.provider.random.token(byteCount: 32)
        guard try await self.store.setDeviceSecret(digest: Sealing.digest(ofSecret: secret), ofGrant: grant.id) else {
            throw Self.codeRefusal("revoked meanwhile")
        }
        return secret
    }

    /// Returns the answer with a client's tokens.
    static func answer(_ tokens: SignInServiceTokens, _ settings: SignInServiceSettings) -> SignInServiceAnswer {
        switch settings.answers {
        case .cookie: SignInServiceAnswer(body: [:], cookies: .set(tokens))
        case .api, .serviceAccount:
            SignInServiceAnswer(body: settings.wrapsData ? ["data": .object(tokens.json)] : tokens.json)
        }
    }

    // MARK: A session of the web for an app's

    /// Opens a web session from an app's session. The app shows its access token and its device's secret, and
    /// `client_id` names the client that gets the session, as clients of this service expect.
    ///
    /// The new session has an end of its own and the absolute end of the app's session, and opens no further sessions.
    ///
    /// Cost: one verification, two queries, one store step, one signature.
    private func openSession(
        _ request: SignInServiceRequest, _ named: inout String?
    ) async throws -> SignInServiceAnswer {
        let parameters = request.parameters
        let text = try parameters.required("subject_token")
        let kind = try parameters.required("subject_token_type")
        let secret = try parameters.required("actor_token")
        let actorKind = try parameters.required("actor_token_type")
        let target = try parameters.required("client_id")
        let proof = try self.binding(of: request)
        let app: SignInServiceSession
        do { app = try await self.session(of: text, expired: 400) } catch let error as SignInServiceError {
            throw SignInServiceError.malformed(error.message, error.detail)
        }
        named = app.client.id
        try self.checkPlace(of: request, app.settings)
        guard kind.hasSameBytes(as: Self.accessTokenKind) else {
            throw SignInServiceError.malformed("The subject_token_type is not valid.")
        }
        let digest = Sealing.digest(ofSecret: secret)
        let grant = app.standing.grant
        guard let kept = grant.deviceSecret, constantTimeEqual(kept, digest),
            case .string(let claimed)? = app.claims[SignInServiceClaim.deviceSecretHash],
            constantTimeEqual(Array(claimed.utf8), Array(Self.hexadecimal(digest).utf8)), grant.origin == nil
        else {
            throw SignInServiceError.malformed(
                "The tokens are not valid together.", "another device's secret, or a session that was opened by one")
        }
        guard NativeSSO.actorKinds.containsBytes(of: actorKind) else {
            throw SignInServiceError.malformed("The actor_token_type is not valid.")
        }
        guard let (client, settings) = try await self.client(target) else {
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
            Self.isEnough(authentication.acr, for: settings, in: self.provider.configuration.levels)
        else {
            throw SignInServiceError.malformed(
                "The session is not enough for the client.", "its way of signing in, or its level",
                setting: "--sign-in-method")
        }
        try self.checkPage(of: request, client, settings, status: 400)
        try self.checkKey(of: app, proof)
        try await self.checkTerms(ofAccount: app.account, at: client, status: 400)
        try await self.provider.keys.require(client.settings.idTokenAlgorithm, of: .signInService)
        if let proof { try await self.provider.proofs.take(proof) }
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
        let now = self.provider.time.now()
        if let shortage = self.provider.authorizations.signIns.spend(request.source, at: now) {
            return SignInServiceAnswer(shortage)
        }
        let (origin, authentication) = (app.standing.grant, app.standing.authentication)
        let binding = settings.answers == .api ? proof.map { TokenBinding.key($0.thumbprint) } : nil
        let grant = GrantRecord(
            id: self.provider.random.grantIdentifier(at: now), client: client.id,
            subject: self.provider.keys.subject(ofAccount: app.account, of: client),
            authentication: authentication.id, session: origin.session, isLasting: true, scope: Scope.offlineAccess,
            keyThumbprint: binding?.text, deviceSecret: secret, origin: origin.id, expiresAt: origin.expiresAt)
        // The other client can take fewer people than the app. The lock was read with the app's session.
        let standing = StandingGrant(grant: grant, authentication: authentication, isAccountLocked: false)
        let facts = try await self.provider.standing.facts(of: standing, at: client)
        let admitted = try Self.admit(standing, facts, status: 400)
        let token = try RefreshToken(grant: grant.id, keys: self.provider.keys.signing, random: self.provider.random)
        let family = self.family(token, for: client, settings, boundTo: binding, until: origin.expiresAt, at: now)
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
        let tokens = try await self.tokens(
            of: admitted, for: client, settings, refreshToken: token, parent: nil, sessionEndsAt: family.headEndsAt,
            boundTo: binding, at: now)
        return Self.answer(tokens, settings)
    }
}

extension StandingGrant {
    /// Returns the same grant, with the new secret of its device.
    fileprivate func with(deviceSecret: [UInt8]) -> StandingGrant {
        var grant = self.grant
        grant.deviceSecret = deviceSecret
        return StandingGrant(
            grant: grant, authentication: self.authentication, isAccountLocked: self.isAccountLocked)
    }
}
