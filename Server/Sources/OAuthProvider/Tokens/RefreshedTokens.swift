import Records
import Settings
import _Primitives

/// The use of a refresh token, at both faces (decision 28).
extension OpenIDProvider {
    /// The result of a use of a refresh token.
    enum RefreshedToken {
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
    func use(
        _ token: RefreshToken, isRotated: Bool = true, isBound: Bool, until end: Timestamp, by client: ClientRecord,
        at now: Timestamp, judge: @escaping @Sendable (StandingGrant) throws -> Void = { _ in }
    ) async throws -> RefreshedToken {
        let step = self.random.bytes(Limits.Fixed.refreshStepBytes)
        let next = isRotated ? try token.successor(by: step, keys: self.keys) : nil
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
                case .successorBefore(let step): try token.successor(by: step, keys: self.keys)
                case .presented: token
                }
            return .renewed(renewal.standing, by: given, until: renewal.endsAt)
        case .late: return .refused("late, or a second time: a newer one is in use")
        case .reused: return .refused("past: its family has ended")
        case .unknown: return .refused("ended, or revoked")
        }
    }
}
