import OAuth
import Store
import _Primitives

extension SignInService {
    /// The values of `grant_type` that there are.
    private static let codeGrant = OpenIDProvider.codeGrant
    private static let exchange = "urn:ietf:params:oauth:grant-type:token-exchange"
    private static let accessTokenKind = "urn:ietf:params:oauth:token-type:access_token"

    /// The token endpoint (`POST /v0/sign_in/token`): tokens for a code, a session of the web for an app's, and a service
    /// account's token.
    ///
    /// What a client shows is refused with 400, whatever is wrong with it.
    public func token(_ request: SignInServiceRequest) async throws -> SignInServiceAnswer {
        try await self.answer(request) { client in
            let type = try request.parameters.required("grant_type")
            if type.hasSameBytes(as: Self.codeGrant) { return try await self.tokens(forCode: request, &client) }
            if type.hasSameBytes(as: Self.exchange) { return try await self.openSession(request, &client) }
            if type.hasSameBytes(as: OwnGrant.serviceAssertion) {
                return try await self.serviceToken(request, &client)
            }
            throw SignInServiceError.malformed("The grant_type is not known.")
        }
    }

    // MARK: A code

    /// The code is spent whatever is wrong; shown twice with all that is right for it, it ends what it gave. What a client
    /// has to come again with (a nonce for its proof) is found out before.
    ///
    /// Cost: two queries, three store steps, one signature; of a client that signs with a key of its own one query, one
    /// signature and one store step more.
    private func tokens(
        forCode request: SignInServiceRequest, _ named: inout String?
    ) async throws -> SignInServiceAnswer {
        let parameters = request.parameters
        let secret = try parameters.required("code")
        let proof = try self.binding(of: request)
        let proven = try await self.provenClient(parameters)
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
        try await self.checkPerson(of: standing, settings, status: 400)
        try await self.provider.requireSigningKey(client.settings.idTokenAlgorithm, of: .signInService)
        if let proof { try await self.provider.take(proof) }
        let binding = settings.answers == .api ? proof.map { TokenBinding.key($0.thumbprint) } : nil
        var begun = try await self.begin(standing, for: client, settings, boundTo: binding, at: now)
        let deviceSecret = try await self.deviceSecret(for: standing.grant, settings)
        if let deviceSecret {
            begun.standing = begun.standing.with(deviceSecret: Sealing.digest(ofSecret: deviceSecret))
        }
        var tokens = try await self.tokens(
            of: begun.standing, for: client, settings, refreshToken: begun.token, parent: nil,
            sessionEndsAt: begun.sessionEndsAt, boundTo: binding, at: now)
        tokens.deviceSecret = deviceSecret
        return Self.answer(tokens, settings)
    }

    /// The client that a request's assertion proves, or why it proves none; `nil` where there is no assertion.
    private func provenClient(_ parameters: Parameters) async throws -> Result<ClientRecord, OAuthError>? {
        do {
            guard let credential = try PrivateKeyJWT(ClientRequest(header: nil, parameters: parameters)) else {
                return nil
            }
            return .success(try await self.provider.authenticate(credential))
        } catch let error as OAuthError {
            return .failure(error)
        }
    }

    /// What of a request is not right for a code; `nil` where all of it is.
    private static func mismatch(
        _ code: CodeRecord, _ standing: StandingGrant, _ parameters: Parameters, _ verifier: CodeVerifier?,
        _ proven: Result<ClientRecord, OAuthError>?
    ) -> String? {
        let proven = try? proven?.get()
        for id in [parameters["client_id"], proven?.id].compactMap(\.self) {
            guard id.hasSameBytes(as: standing.grant.client) else { return "another client's" }
        }
        guard let digest = code.challenge else {
            // A code without a challenge is worth something with its client's key alone, and one that has lost its
            // challenge on the way to another's sign-in is found out by the verifier.
            guard proven != nil else { return "no proof of its client's key" }
            return parameters["code_verifier"] == nil ? nil : "a verifier, where there was no challenge"
        }
        guard let verifier, CodeChallenge(digest: digest).matches(verifier) else { return "another verifier" }
        return nil
    }

    /// One sentence for all: whoever has a code that is not theirs learns nothing about it.
    private static func codeRefusal(_ detail: String) -> SignInServiceError {
        .malformed("The code is not valid.", detail)
    }

    /// Begins the session of a grant, with its first refresh token; of one that came of a web site's session only the
    /// access token, since that session is renewed by the web site.
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
            grant: standing.grant.id, keys: self.provider.keys, random: self.provider.random)
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

    /// The secret of the device, where the sign-in has asked for one: a new one at each.
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

    /// What a client is answered that has been given something.
    static func answer(_ tokens: SignInServiceTokens, _ settings: SignInServiceSettings) -> SignInServiceAnswer {
        switch settings.answers {
        case .cookie: SignInServiceAnswer(body: [:], cookies: .set(tokens))
        case .api, .serviceAccount:
            SignInServiceAnswer(body: settings.wrapsData ? ["data": .object(tokens.json)] : tokens.json)
        }
    }

    // MARK: A session of the web for an app's

    /// An app shows its access token and its device's secret, and names the client that gets a session: `client_id` is that
    /// one, as clients of this service have it.
    ///
    /// The new session has an end of its own and the absolute end of the app's, and opens no further ones.
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
        try await self.checkTerms(ofAccount: app.account, settings, status: 400)
        try await self.provider.requireSigningKey(client.settings.idTokenAlgorithm, of: .signInService)
        if let proof { try await self.provider.take(proof) }
        return try await self.opened(app, for: client, settings, secret: digest, proof, request)
    }

    /// What is bound to a key is exchanged with a proof of it.
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
        if let shortage = self.provider.signIns.spend(request.source, at: now) { return SignInServiceAnswer(shortage) }
        let (origin, authentication) = (app.standing.grant, app.standing.authentication)
        let binding = settings.answers == .api ? proof.map { TokenBinding.key($0.thumbprint) } : nil
        let grant = GrantRecord(
            id: self.provider.random.grantIdentifier(at: now), client: client.id,
            subject: self.provider.subject(ofAccount: app.account, of: client),
            authentication: authentication.id, session: origin.session, isLasting: true, scope: Scope.offlineAccess,
            keyThumbprint: binding?.text, deviceSecret: secret, origin: origin.id, expiresAt: origin.expiresAt)
        let token = try RefreshToken(grant: grant.id, keys: self.provider.keys, random: self.provider.random)
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
            of: StandingGrant(grant: grant, authentication: authentication), for: client, settings,
            refreshToken: token, parent: nil, sessionEndsAt: family.headEndsAt, boundTo: binding, at: now)
        return Self.answer(tokens, settings)
    }
}

extension StandingGrant {
    /// The same, with the secret that its device was given this moment.
    fileprivate func with(deviceSecret: [UInt8]) -> StandingGrant {
        var grant = self.grant
        grant.deviceSecret = deviceSecret
        return StandingGrant(grant: grant, authentication: self.authentication)
    }
}
