import OAuth
import OAuthProvider
import Records
import Sealing
import Settings
import _Primitives

/// Gives clients of the app sign-in service the first tokens of a session for a code.
struct SignInServiceCodes: Sendable {
    let store: any AuthorizationStore & DeviceSecretStore & RefreshStore
    let sessions: SignInServiceSessions
    let pages: SignInServicePages

    private var endpoint: SignInServiceEndpoint { self.sessions.endpoint }
    private var clients: Clients { self.sessions.clients }

    /// Exchanges a code for tokens.
    ///
    /// An error spends the code, unless the error is found before the code is looked up: a missing code, or a wrong key
    /// proof. So a client that needs a nonce for its proof can repeat the request. If the right client shows the code
    /// twice, with everything that the code needs, the tokens of the code end.
    ///
    /// Cost: The call needs one query, three store steps and one signature. A client that signs with its own key adds
    /// a query, a signature and a store step.
    func tokens(
        forCode request: SignInServiceRequest, _ named: inout String?
    ) async throws -> SignInServiceAnswer {
        let parameters = request.parameters
        let secret = try parameters.required("code")
        let proof = try self.endpoint.proof(of: request)
        let proven: Result<ClientRecord, OAuthError>?
        do { proven = try await self.provenClient(request) } catch let shortage as Shortage {
            return SignInServiceAnswer(shortage)
        }
        let shortVerifier = parameters["code_verifier"].flatMap(CodeVerifier.init(shortHexadecimal:))
        let verifier = parameters["code_verifier"].flatMap { try? CodeVerifier($0) } ?? shortVerifier
        // The proof is used up first. An identical request that somebody sends again is then refused before it reaches
        // the code. Otherwise the second use of the code would end the session.
        if let proof { try await self.endpoint.proofs.take(proof) }
        let now = self.clients.time.now()
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
        guard let (client, settings) = try await self.endpoint.client(standing.grant.client) else {
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
        try self.endpoint.checkPlace(of: request, settings)
        try self.pages.checkPage(of: request, client, settings, status: 400)
        let facts = try await self.sessions.checkedPerson(of: standing, at: client, status: 400)
        try await self.clients.keys.require(client.settings.idTokenAlgorithm, of: .signInService)
        let binding = settings.answers == .api ? proof.map { TokenBinding.key($0.thumbprint) } : nil
        var begun = try await self.begin(standing, for: client, settings, boundTo: binding, at: now)
        let deviceSecret = try await self.deviceSecret(for: standing.grant, settings)
        if let deviceSecret {
            begun.standing = begun.standing.with(deviceSecret: Sealing.digest(ofSecret: deviceSecret))
        }
        var tokens = try await self.sessions.tokens(
            of: SignInServiceSessions.admit(begun.standing, facts, status: 400), for: client, settings,
            refreshToken: begun.token,
            parent: nil,
            sessionEndsAt: begun.sessionEndsAt, boundTo: binding, at: now)
        tokens.deviceSecret = deviceSecret
        return tokens.answer(by: settings)
    }

    /// Returns the client that a request's assertion proves, or the reason of a failed proof; `nil` for a request
    /// without an assertion. Throws `Shortage` for a stranger's client whose network has used up its budget.
    private func provenClient(
        _ request: SignInServiceRequest
    ) async throws -> Result<ClientRecord, OAuthError>? {
        do {
            let proven = try await self.clients.provenClient(of: request.parameters, from: request.source)
            return proven.map { .success($0) }
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
            grant: standing.grant.id, keys: self.clients.keys.signing, random: self.clients.random)
        let end = now + self.clients.limits.oauth.lastingGrantLifetime
        let family = self.sessions.family(token, for: client, settings, boundTo: binding, until: end, at: now)
        guard try await self.store.beginFamily(family, at: now),
            let begun = try await self.store.grant(standing.grant.id, token: nil, at: now)
        else { throw Self.codeRefusal("revoked meanwhile") }
        return (begun, token, family.headEndsAt)
    }

    /// Returns a new secret of the device; `nil` if the sign-in has requested none, or the app opens no sessions.
    private func deviceSecret(for grant: GrantRecord, _ settings: SignInServiceSettings) async throws -> String? {
        guard grant.origin == nil, settings.opensSessions, try Scope(grant.scope).contains(Scope.deviceSSO) else {
            return nil
        }
        let secret = self.clients.random.token(byteCount: 32)
        guard try await self.store.setDeviceSecret(digest: Sealing.digest(ofSecret: secret), ofGrant: grant.id) else {
            throw Self.codeRefusal("revoked meanwhile")
        }
        return secret
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
