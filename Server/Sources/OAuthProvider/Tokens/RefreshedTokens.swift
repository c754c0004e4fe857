package import Records
import Settings
package import _Primitives

/// The refresh tokens of grants, at both faces (decision 28).
package final class Renewals: Sendable {
    let store: any RefreshStore
    let keys: Keys
    let standing: Standing
    let limits: Limits
    let random: RandomSource

    /// Creates the part over the store of families.
    init(store: any RefreshStore, keys: Keys, standing: Standing, limits: Limits, random: RandomSource) {
        self.store = store
        self.keys = keys
        self.standing = standing
        self.limits = limits
        self.random = random
    }

    /// Begins the family of a grant with its first refresh token. Only now does the grant last, as the code or answer
    /// of the grant may never have been used. Returns `true` if the grant exists, and its family is at this token.
    ///
    /// The tokens of a client that cannot authenticate are bound to the key that the client shows, or to its
    /// certificate. The tokens of other clients are bound to the client, so that clients can change their keys (RFC
    /// 9449, section 5).
    func begin(
        _ token: RefreshToken, of grant: GrantRecord, for client: ClientRecord, boundTo binding: TokenBinding?,
        at now: Timestamp
    ) async throws -> Bool {
        let limits = self.limits.oauth
        return try await self.store.beginFamily(
            RefreshFamilyStart(
                grant: grant.id, head: token.digest, headEndsAt: now + limits.refreshTokenLifetime,
                keyThumbprint: client.settings.isPublic ? binding?.text : nil, until: now + limits.lastingGrantLifetime,
                most: limits.lastingGrantsPerClient,
                displaced: AuditEvent(.grantDisplaced, at: now, actor: client.id)), at: now)
    }

    /// The result of a renewal of tokens.
    package enum RenewedGrant: Sendable {
        /// The grant goes on with this token, which ends at that moment if it is not used.
        case admitted(AdmittedGrant, by: RefreshToken, until: Timestamp)
        /// The token is not accepted. The reason is for the log.
        case refused(String)
    }

    /// Uses a refresh token for new tokens. The lock of the account, the consent and the key are judged within the
    /// step, with the facts that were read before the step: a refused request changes nothing.
    ///
    /// - Parameters:
    ///   - isRotated: As in ``use(_:isRotated:isBound:until:by:at:judge:)``, like the parameters without a description.
    ///   - binding: The key or certificate that the request has shown.
    ///   - known: The facts about the person, with the missing terms, if they were read before. Otherwise the role is
    ///     judged after the step, and the operator has no terms.
    ///   - refuse: Returns the error for a reason against the person.
    ///   - judge: Throws an error if the request is wrong in another way: before the person is judged.
    ///   - judgeLast: Does the same after the person was judged.
    ///
    /// Cost: as ``use(_:isRotated:isBound:until:by:at:judge:)``; without `known`, as ``Standing/facts(of:at:)``.
    package func renew(
        _ token: RefreshToken, isRotated: Bool = true, isBound: Bool, until end: Timestamp, by client: ClientRecord,
        showing binding: TokenBinding?, knowing known: StandingFacts?, at now: Timestamp,
        refuse: @escaping @Sendable (StandingRefusal) -> any Error,
        judge: @escaping @Sendable (StandingGrant) throws -> Void = { _ in },
        judgeLast: @escaping @Sendable (StandingGrant) throws -> Void = { _ in }
    ) async throws -> RenewedGrant {
        let used = try await self.use(
            token, isRotated: isRotated, isBound: isBound, until: end, by: client, at: now
        ) { standing in
            try judge(standing)
            var facts = known ?? StandingFacts()
            facts.isLocked = facts.isLocked || standing.isAccountLocked
            facts.isAgreed = standing.grant.isAgreed(for: client)
            facts.key = ShownKey(of: standing.grant.keyThumbprint, shown: binding?.text)
            if let refusal = facts.refusal { throw refuse(refusal) }
            try judgeLast(standing)
        }
        switch used {
        case .refused(let detail): return .refused(detail)
        case .renewed(let standing, let next, let end):
            var facts = known
            if facts == nil { facts = try await self.standing.facts(of: standing, at: client) }
            do {
                let admitted = try (facts ?? StandingFacts()).admit(standing, missing: facts?.missingTerms)
                return .admitted(admitted, by: next, until: end)
            } catch { throw refuse(error) }
        }
    }

    /// The result of a use of a refresh token.
    package enum RefreshedToken: Sendable {
        /// The grant goes on with this token, which ends at that moment if it is not used.
        case renewed(StandingGrant, by: RefreshToken, until: Timestamp)
        /// The token is not accepted. The reason is for the log.
        case refused(String)
    }

    /// Uses a refresh token.
    ///
    /// - Parameters:
    ///   - isRotated: `true` if the next token replaces this token.
    ///   - isBound: `true` if the client has authenticated, which binds its tokens to the client. Otherwise a used
    ///     token gives the same next token only for a limited time (``TokenSettings/usedRefreshTokenLifetime``).
    ///   - end: The end of the next token, if it is not used.
    ///   - client: The client.
    ///   - judge: Throws an error if the request is wrong. Then nothing changes.
    ///
    /// Cost: one store step, four HMACs, two hashes.
    package func use(
        _ token: RefreshToken, isRotated: Bool = true, isBound: Bool, until end: Timestamp, by client: ClientRecord,
        at now: Timestamp, judge: @escaping @Sendable (StandingGrant) throws -> Void = { _ in }
    ) async throws -> RefreshedToken {
        let step = self.random.bytes(Limits.Fixed.refreshStepBytes)
        let next = isRotated ? try token.successor(by: step, keys: self.keys.signing) : nil
        let exchange = RefreshExchange(
            grant: token.grant, presented: token.digest,
            successor: next.map { RefreshExchange.Successor(digest: $0.digest, step: step) }, isBound: isBound,
            parentLifetime: client.settings.tokens.usedRefreshTokenLifetime
                ?? self.limits.oauth.usedRefreshTokenLifetime, successorEndsAt: end,
            reuse: AuditEvent(.refreshTokenReused, at: now, actor: client.id, detail: token.grant))
        switch try await self.store.refresh(exchange, at: now, judge: judge) {
        case .renewed(let renewal):
            let given =
                switch renewal.token {
                case .successor: next ?? token
                case .successorBefore(let step): try token.successor(by: step, keys: self.keys.signing)
                case .presented: token
                }
            return .renewed(renewal.standing, by: given, until: renewal.endsAt)
        case .late: return .refused("late, or a second time: a newer one is in use")
        case .reused: return .refused("past: its family has ended")
        case .unknown: return .refused("ended, or revoked")
        }
    }
}

extension AuditEvent.Kind {
    /// A client showed an authorization code, a device code or an `auth_req_id` again after its use, and the tokens for
    /// it were revoked; the actor is the client.
    package static let codeReplayed = Self(rawValue: "code-replayed")
    /// A client showed a refresh token that had already been replaced, and the token's family ended; the actor is the
    /// client.
    static let refreshTokenReused = Self(rawValue: "refresh-token-reused")
    /// A grant ended: its client gave the grant up, never received its pushed tokens, or its refresh token was shown at
    /// the wrong face. The actor is the client, if it is known; the detail is the grant.
    package static let grantRevoked = Self(rawValue: "grant-revoked")
}
