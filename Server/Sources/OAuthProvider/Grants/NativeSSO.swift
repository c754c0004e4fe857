import JOSE
import OAuth
import Records
import Sealing
import Settings
import _Primitives

/// Signs in one app of a device by another. The second app shows the ID token and the device secret of the first, and
/// gets tokens of the same session (OpenID Connect Native SSO for Mobile Apps 1.0, section 4).
package struct NativeSSO: TokenGrant {
    /// The values of `actor_token_type`: the value of the draft, and the value of the drafts before it.
    package static let actorKinds = [
        "urn:openid:params:token-type:device-secret", "urn:x-oath:params:oauth:token-type:device-secret",
    ]
    private static let idToken = "urn:ietf:params:oauth:token-type:id_token"
    private static let accessToken = "urn:ietf:params:oauth:token-type:access_token"

    let store: any DeviceSecretStore
    let tokens: Tokens
    let authorizations: Authorizations
    let firstTokens: FirstTokens
    /// The budgets of sign-ins from one app to another of the same person, and of wrong secrets from one source.
    let budgets: NativeSignInBudgets

    /// Returns the second app's tokens.
    ///
    /// Cost: three queries, one more if the ID token belongs to another app than the secret, and one for a third
    /// party's consent; two store steps, two hashes, four HMACs, one verification, an ES256 signature and one of the
    /// client's algorithm; with a refresh token one store step more.
    func tokens(for request: TokenRequest) async throws -> TokenResponse {
        let (client, parameters) = (request.client, request.parameters)
        let secret = try parameters.required("actor_token")
        guard try parameters.required("subject_token_type").hasSameBytes(as: Self.idToken) else {
            throw OAuthError(
                .invalidRequest, "With a device secret the subject_token is an ID token (\(Self.idToken)).")
        }
        guard (parameters["requested_token_type"] ?? Self.accessToken).hasSameBytes(as: Self.accessToken) else {
            throw OAuthError(.invalidRequest, "The only requested_token_type is \(Self.accessToken).")
        }
        try self.checkAudience(of: request)
        let idToken = try parameters.required("subject_token")
        guard let group = client.settings.tokens.group else {
            throw Self.notOfGroup("the operator can give the client --sso-group")
        }
        let protection = try await self.tokens.idTokenProtection(of: client)
        let now = self.tokens.time.now()
        let (held, first) = try await self.counted(request, at: now) {
            try await self.held(secret, showing: idToken, at: now)
        }
        guard held.secret.group.hasSameBytes(as: group) else { throw Self.notOfGroup("another --sso-group") }
        guard client.settings.signInMethods.containsBytes(of: held.session.authentication.method) else {
            throw Self.refusal("the person signed in by a way that this client does not take")
        }
        let authentication = held.session.authentication
        guard try await self.tokens.standing.takes(held.session.account, in: authentication.role, at: client.id)
        else {
            throw Self.refusal("a service of identities takes people alone who have come to it as what they are there")
        }
        guard !held.secret.isBound || request.binding != nil else {
            throw OAuthError(
                .invalidDPoPProof, "What the first app has is bound to a key: what this app gets has to be, too.",
                detail: "the request has no proof of a key")
        }
        let scope = try self.scope(of: request, within: held.secret.scope, of: first)
        try self.authorizations.details.refuse(in: parameters)
        try await self.tokens.standing.requireTerms(ofAccount: held.session.account)
        let consent = try await self.authorizations.consent(
            to: scope, for: client, account: held.session.account)
        let grant = self.grant(of: held, for: client, scope: scope, consent: consent, at: now)
        do {
            try await self.store.addGrant(
                grant, byDeviceSecret: held.secret.digest, redirectURI: client.redirectURIs.first ?? "", usedAt: now,
                audit: AuditEvent(
                    .signedInByDeviceSecret, at: now, accountID: held.session.account, actor: client.id))
        } catch let error as StoreError where error.code == .notFound {
            throw Self.refusal("the secret, its session, the consent or the app has ended meanwhile")
        }
        var response = try await self.firstTokens.response(
            of: StandingGrant(grant: grant, authentication: held.session.authentication, isAccountLocked: false),
            for: request, audience: nil, details: nil, protection: protection, deviceSecret: secret, at: now)
        response.issuedTokenType = Self.accessToken
        return response
    }

    /// Looks for the shown secret, within budgets. An attempt is first counted for its source. A right attempt is given
    /// back and counted for the person, and succeeds even past the source's budget.
    ///
    /// Throws `Shortage` in place of a refusal if the source has had too many refusals, and if the person's apps have
    /// signed in too often.
    private func counted(
        _ request: TokenRequest, at now: Timestamp, _ held: () async throws -> (HeldDeviceSecret, first: ClientRecord)
    ) async throws -> (HeldDeviceSecret, first: ClientRecord) {
        let shortage = self.budgets.guesses.spend(request.source, at: now)
        let found: (HeldDeviceSecret, first: ClientRecord)
        do { found = try await held() } catch let error as OAuthError {
            if let shortage { throw shortage }
            throw error
        }
        if shortage == nil { self.budgets.guesses.refund(request.source) }
        if let spent = self.budgets.people.spend(found.0.session.account, at: now) { throw spent }
        return found
    }

    /// Returns the secret with its session, and the app that got the secret. The secret, the ID token and the session
    /// must belong together, and must not have ended.
    private func held(_ secret: String, showing idToken: String, at now: Timestamp) async throws -> (
        HeldDeviceSecret, first: ClientRecord
    ) {
        let store = self.store
        guard let held = try await store.deviceSecret(digest: Sealing.digest(ofSecret: secret)) else {
            throw Self.refusal("unknown device secret")
        }
        let session = held.session
        guard now < session.expiresAt, now < session.usedAt + self.tokens.limits.oauth.sessionIdleLifetime else {
            throw Self.refusal("its session has ended")
        }
        let claims: JWTClaims
        do {
            claims = try await self.tokens.keys.verified(idToken, type: TokenType.idToken, at: now).claims
        } catch let error as JOSEError {
            throw Self.refusal("the ID token: \(error)")
        }
        // The ID token may have expired. The ID token only proves its issue, and names its secret.
        guard claims.issuer?.hasSameBytes(as: self.tokens.issuer) ?? false, claims.audience.count == 1 else {
            throw Self.refusal("the ID token's iss or aud")
        }
        let shown = claims.audience[0]
        guard case .string(let hash)? = claims.members["ds_hash"],
            constantTimeEqual(Array(hash.utf8), Array(Tokens.deviceSecretHash(secret).utf8))
        else { throw Self.refusal("ds_hash") }
        let subject = try await self.tokens.clients.subject(ofAccount: session.account, ofClient: shown)
        guard case .string(let sid)? = claims.members["sid"],
            sid.hasSameBytes(as: self.tokens.keys.signing.pairwise("sid", client: shown, of: session.id)),
            claims.subject?.hasSameBytes(as: subject) ?? false
        else { throw Self.refusal("sid or sub") }
        guard try await self.tokens.standing.person(ofAccount: session.account) != nil else {
            throw Self.refusal("the account is locked")
        }
        // Both apps are checked, as the ID token of a second app also goes with the secret of the first.
        guard let first = try await self.tokens.clients.servedClient(held.secret.client),
            Self.isOfGroup(first, of: held.secret),
            try await Self.isOfGroup(self.tokens.client(shown, asking: first), of: held.secret)
        else { throw Self.notOfGroup("the app that signed in is of it no more") }
        guard first.settings.party == .first || held.secret.consent != nil else {
            throw Self.refusal("the app that signed in is a third party's since, and nobody has agreed to it")
        }
        return (held, first)
    }

    private static func isOfGroup(_ app: ClientRecord?, of secret: DeviceSecretRecord) -> Bool {
        app?.settings.tokens.group?.hasSameBytes(as: secret.group) ?? false
    }

    /// Checks that `audience` is this server, in its only valid form.
    private func checkAudience(of request: TokenRequest) throws {
        let named = request.parameters.values("audience")
        guard !named.isEmpty else { throw OAuthError(.invalidRequest, "The parameter audience is missing.") }
        guard named.count == 1, named[0].hasSameBytes(as: self.tokens.issuer),
            request.parameters[ResourceIndicator.parameter] == nil
        else { throw OAuthError(.invalidTarget, "With a device secret the audience is the issuer, and nothing else.") }
    }

    /// Returns the requested scope, within the person's agreement at the sign-in of the first app. A wider scope would
    /// need a question to the person.
    ///
    /// Both apps must still have the scope. An app that may not renew tokens is not refused for requesting
    /// `offline_access`: the scope is left out, as after a sign-in of the app itself.
    private func scope(of request: TokenRequest, within granted: String, of first: ClientRecord) throws -> Scope {
        let client = request.client
        let asked = try Scope(request.parameters["scope"] ?? Scope.openID)
        guard asked.contains(Scope.openID) else { throw OAuthError(.invalidScope, "The scope openid is needed.") }
        guard try asked.isPart(of: Clients.scope(granted, settings: first.settings)) else {
            throw OAuthError(
                .invalidScope, "The person would have to agree to that scope: sign in by the browser.",
                detail: "the first app was not granted it, or the operator has taken it from that app since")
        }
        guard asked.isPart(of: asked.limited(to: Clients.scopes + client.settings.tokens.scopes)) else {
            throw OAuthError(
                .invalidScope, "The app may not have that scope.", detail: "the operator can give it --scope")
        }
        return try Clients.scope(asked.description, settings: client.settings)
    }

    /// Returns the same message for all cases: a client with a token or secret of another learns nothing about it.
    private static func refusal(_ detail: String) -> OAuthError {
        OAuthError(.invalidGrant, "The ID token and the device secret are not valid together.", detail: detail)
    }

    private static func notOfGroup(_ detail: String) -> OAuthError {
        OAuthError(.unauthorizedClient, "The app is not of those that sign in by each other.", detail: detail)
    }

    /// Returns a grant of a running session for another app of the device, from the device secret.
    private func grant(
        of held: HeldDeviceSecret, for client: ClientRecord, scope: Scope, consent: String?, at now: Timestamp
    ) -> GrantRecord {
        let session = held.session
        return GrantRecord(
            id: self.tokens.clients.random.grantIdentifier(at: now), client: client.id,
            subject: self.tokens.keys.subject(ofAccount: session.account, of: client),
            authentication: session.authentication.id, session: session.id,
            isLasting: scope.contains(Scope.offlineAccess), scope: scope.description, consent: consent,
            deviceSecret: held.secret.digest, origin: held.secret.id,
            expiresAt: now + self.tokens.limits.authorizationCodeLifetime + self.tokens.limits.accessTokenLifetime)
    }
}

/// The secrets with which the apps of a device sign in by each other.
struct DeviceSecrets: Sendable {
    let store: any DeviceSecretStore
    let random: RandomSource

    /// Returns the device secret for an app whose sign-in requested one; `nil` if the sign-in requested none, or the
    /// app can have none. The app keeps the secret that it shows, if the secret belongs to the same session and group.
    /// Otherwise a new secret replaces the app's secret of this session.
    ///
    /// A sign-in with a key does not take over a secret that was given without a key: a thief of the secret would need
    /// no key.
    ///
    /// Cost: one store step; one query if the app shows a secret.
    ///
    /// - Parameter isBound: `true` if the app has shown a key, so that tokens of other apps by the secret have to be
    ///   bound to a key, too.
    func secret(
        for standing: StandingGrant, of client: ClientRecord, showing shown: String?, isBound: Bool, at now: Timestamp
    ) async throws -> String? {
        let grant = standing.grant
        guard let session = grant.session, let group = client.settings.tokens.group,
            try Scope(grant.scope).contains(Scope.deviceSSO)
        else { return nil }
        if let shown, let held = try await self.store.deviceSecret(digest: Sealing.digest(ofSecret: shown)),
            held.session.id.hasSameBytes(as: session), held.secret.group.hasSameBytes(as: group),
            held.secret.isBound || !isBound
        {
            guard try await self.store.setDeviceSecret(digest: held.secret.digest, ofGrant: grant.id) else {
                throw Self.noGrantOfDeviceSecret
            }
            return shown
        }
        let secret = self.random.token(byteCount: 32)
        let isKept = try await self.store.addDeviceSecret(
            DeviceSecretRecord(
                digest: Sealing.digest(ofSecret: secret), id: self.random.identifier(), session: session,
                client: client.id, group: group, scope: grant.scope, isBound: isBound, consent: grant.consent,
                givenAt: now), ofGrant: grant.id)
        guard isKept else { throw Self.noGrantOfDeviceSecret }
        return secret
    }

    private static let noGrantOfDeviceSecret = OAuthError(
        .invalidGrant, "The code is not valid.", detail: "the grant or its session has ended")
}

extension AuditEvent.Kind {
    /// An app got tokens by the device secret of another app; the actor is the app.
    static let signedInByDeviceSecret = Self(rawValue: "signed-in-by-device-secret")
}

/// The budgets of sign-ins with the tokens of another app on the same device.
struct NativeSignInBudgets: Sendable {
    /// The sign-ins of each person. Each showing of a right secret costs a signature and a grant.
    let people: Budget
    /// The wrong secrets of each source.
    let guesses: Budget

    init(_ limits: Limits) {
        self.people = Budget(limits.nativeSignIns)
        self.guesses = Budget(limits.guesses)
    }
}
