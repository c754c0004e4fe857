package import _Primitives

/// The effect of a shown authorization code on the store. A code is used once (RFC 6749, section 4.1.2).
package enum CodeStep: Sendable, Equatable {
    /// The code is unknown, or was taken before and is shown by a caller that is not right. Nothing is written.
    case unknown
    /// The code is taken. The moment is written.
    case taken(CodeRecord, StandingGrant)
    /// The code was taken before. The grant ends with everything made from it, and the audit event is kept. The code is
    /// deleted with the grant, so a further request finds no code, and adds nothing to the trail, which is kept for
    /// ever.
    case replayed(StandingGrant, AuditEvent)

    /// Judges a code.
    ///
    /// - Parameters:
    ///   - held: The code with its grant, as the store has found both, and `true` if the code was taken before; `nil`
    ///     if the store has found none.
    ///   - replay: The audit event of a code that was taken before; the account is added to the event.
    ///   - isRight: Returns `true` if the caller proves to be the client of the code. Only a code that was taken before
    ///     is asked about.
    package init(
        _ held: (code: CodeRecord, standing: StandingGrant, isTaken: Bool)?, replay: AuditEvent,
        isRight: (CodeRecord, StandingGrant) -> Bool
    ) {
        guard let (code, standing, isTaken) = held else {
            self = .unknown
            return
        }
        guard isTaken else {
            self = .taken(code, standing)
            return
        }
        guard isRight(code, standing) else {
            self = .unknown
            return
        }
        var replay = replay
        replay.accountID = standing.authentication.account
        self = .replayed(standing, replay)
    }

    /// `true` if rows have to be written.
    package var writes: Bool { self != .unknown }
}

extension StandingGrant {
    /// Makes the grant of an access token; `nil` if the grant or the token is worth nothing at `moment`.
    ///
    /// - Parameters:
    ///   - found: The grant, as the store has found it; `nil` if the grant is not valid any more.
    ///   - isRevoked: `true` if the token was revoked.
    package init?(_ found: StandingGrant?, isRevoked: Bool, at moment: Timestamp) {
        guard !isRevoked, let found, moment < found.grant.expiresAt else { return nil }
        self = found
    }
}
