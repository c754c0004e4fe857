import OAuth
import Records
import Settings
import _Primitives

/// Issues tokens to a client whose person has answered on their phone (OpenID Connect CIBA Core 1.0, section 10.1).
///
/// The client asks until the person has answered, and succeeds once.
struct BackchannelAuthenticationGrant: TokenGrant {
    let store: any BackchannelStore
    /// The way to ask people who sit at no browser; `nil` if the provider has none.
    let backchannel: (any BackchannelMethod)?
    let tokens: Tokens
    let audiences: TokenAudiences
    let details: RequestedDetails
    let firstTokens: FirstTokens

    /// Returns the tokens for the person's answer.
    ///
    /// Cost: one store step, and the cost of looking for the answer; at the success two store steps and a query more,
    /// and as much as ``AuthorizationCodeGrant`` costs beside its own step.
    func tokens(for request: TokenRequest) async throws -> TokenResponse {
        let client = request.client
        guard client.settings.answers.mode != .push else {
            throw OAuthError(
                .unauthorizedClient, "This client is told what a person has answered, and does not ask.",
                detail: "the operator can change --backchannel-token-delivery-mode")
        }
        let secret = try request.parameters.required("auth_req_id")
        guard let method = self.backchannel else { throw Self.refusal("nobody is asked without a browser here") }
        let asked = try await self.audiences.asked(by: request.parameters, of: client)
        let protection = try await self.tokens.idTokenProtection(of: client)
        let now = self.tokens.time.now()
        let answer = try await self.store.backchannelAnswer(PollingQuestion(secret, by: client, at: now), at: now)
        switch answer {
        case .open(let open):
            let details = try self.details.granted(request.parameters, within: open.details, of: client)
            let standing = try await self.grant(open, of: client, by: method, at: now)
            return try await self.firstTokens.response(
                of: standing, for: request, audience: asked, details: details, protection: protection, at: now)
        case .tooSoon: throw PollingQuestion.tooSoon
        case .expired: throw Self.expired
        case .replayed: throw Self.refusal("used before: the grant is revoked")
        case .unknown: throw Self.refusal("unknown, another client's, or revoked")
        }
    }

    /// Stores and returns the grant of the person's yes, in a session that belongs to no browser.
    ///
    /// Throws `OAuthError`: `authorization_pending`; `access_denied`, also if the person may not sign in to the client
    /// or has to agree to the terms first; `expired_token`; `invalid_grant` if the request was answered meanwhile, or
    /// the account was locked.
    func grant(
        _ asked: BackchannelRequestRecord, of client: ClientRecord, by method: any BackchannelMethod, at now: Timestamp
    ) async throws -> StandingGrant {
        let denied = OAuthError(.accessDenied, "The person did not sign in.")
        let outcome: AuthenticationOutcome
        switch try await method.answer(request: asked.id, client: client.id) {
        case .waiting: throw OAuthError(.authorizationPending, "The person has not answered yet.")
        case .denied: throw denied
        case .over: throw Self.expired
        case .authenticated(let found): outcome = found
        }
        let refusal = try await self.tokens.standing.refusalWithoutPage(
            ofAccount: outcome.account, in: outcome.role, at: client.id)
        guard refusal == nil, let address = client.redirectURIs.first,
            try self.details.isAgreed(to: asked.details, by: outcome)
        else { throw denied }
        let session = SessionRecord(
            of: AuthenticationRecord(of: outcome, by: method.name, random: self.tokens.clients.random), cookie: nil,
            lifetime: self.tokens.limits.sessionLifetime, random: self.tokens.clients.random, at: now)
        let scope = try Scope(asked.scope)
        let grant = GrantRecord(
            id: self.tokens.clients.random.grantIdentifier(at: now), client: client.id,
            subject: self.tokens.keys.subject(ofAccount: outcome.account, of: client),
            authentication: session.authentication.id, session: session.id,
            isLasting: scope.contains(Scope.offlineAccess), scope: asked.scope, details: asked.details,
            expiresAt: now + self.tokens.limits.accessTokenLifetime)
        do {
            try await self.store.grant(
                BackchannelGrant(request: asked.id, session: session, grant: grant, redirectURI: address), at: now,
                audit: AuditEvent(.backchannelGranted, at: now, accountID: outcome.account, detail: client.id))
        } catch let error as StoreError where error.code == .notFound {
            throw Self.refusal("answered meanwhile; or the person's phone is gone, or the account was locked")
        }
        return StandingGrant(grant: grant, authentication: session.authentication, isAccountLocked: false)
    }

    private static let expired = OAuthError(.expiredToken, "The request has ended. Begin again.")

    /// Returns the same message for all cases: a client with the name of another's request learns nothing about the
    /// request.
    private static func refusal(_ detail: String) -> OAuthError {
        OAuthError(.invalidGrant, "The auth_req_id is not valid.", detail: detail)
    }
}
