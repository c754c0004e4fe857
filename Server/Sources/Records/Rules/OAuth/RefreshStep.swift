package import _Primitives

/// The effect of a presented refresh token on the store: the rows to write, and the answer.
///
/// The family judges the token itself (``RefreshFamily/verdict(on:isBound:at:)``). A token that the family takes no more
/// counts as stolen, and ends the grant (RFC 9700, section 4.14.2).
package enum RefreshStep: Sendable, Equatable {
    /// Nothing is written.
    case answered(RefreshOutcome)
    /// The head was used. The whole family is written with its new head.
    case rotated(RefreshFamily, RefreshOutcome)
    /// The head stays the newest token, and may be unused for longer. The end of the head is written.
    case prolonged(RefreshFamily, RefreshOutcome)
    /// The token was reused. The grant ends with everything made from it, and the audit event is kept.
    case reused(AuditEvent)

    /// Judges a token that was presented at `moment`.
    ///
    /// - Parameters:
    ///   - held: The family with its grant, as the store has found both; `nil` if the store has found none.
    ///   - judge: Judges the grant before the token is judged. An error of `judge` is passed on.
    package init(
        _ exchange: RefreshExchange, of held: (family: RefreshFamily, standing: StandingGrant)?, at moment: Timestamp,
        judge: (StandingGrant) throws -> Void
    ) throws {
        guard let (family, standing) = held, moment < standing.grant.expiresAt else {
            self = .answered(.unknown)
            return
        }
        try judge(standing)
        // The sender has proved the key of a bound grant: the key was judged.
        let isBound = exchange.isBound || standing.grant.keyThumbprint != nil
        switch family.verdict(on: exchange, isBound: isBound, at: moment) {
        case .next(let next):
            self = .rotated(next, .renewed(Renewal(standing, by: .successor, until: next.headEndsAt)))
        case .same(let next):
            self = .prolonged(next, .renewed(Renewal(standing, by: .presented, until: next.headEndsAt)))
        case .again(let step):
            self = .answered(
                .renewed(Renewal(standing, by: .successorBefore(step: step), until: family.headEndsAt)))
        case .late: self = .answered(.late)
        case .past:
            var reuse = exchange.reuse
            reuse.accountID = standing.authentication.account
            self = .reused(reuse)
        }
    }

    /// The answer to a token that changes nothing; `nil` if rows have to be written.
    package var answerWithoutWriting: RefreshOutcome? {
        guard case .answered(let outcome) = self else { return nil }
        return outcome
    }
}

extension RefreshOutcome {
    /// Returns the digests of the tokens that the client has not presented yet, and for which the store has just
    /// written rows. A successor from an earlier exchange is not among these tokens: another process may have written
    /// its rows.
    package func handedOut(by exchange: RefreshExchange) -> [[UInt8]] {
        guard case .renewed(let renewal) = self else { return [] }
        switch renewal.token {
        case .successor: return [exchange.successor?.digest ?? exchange.presented]
        case .presented: return [exchange.presented]
        case .successorBefore: return []
        }
    }
}

extension RefreshFamilyStart {
    /// The grant of a beginning family, as the store has found the grant.
    package struct Grant: Sendable, Equatable {
        /// The authentication of the grant.
        package let authentication: String
        /// The client of the grant.
        package let client: String
        /// The subject by which the client knows the person.
        package let subject: String
        /// The device secret of the grant (``GrantRecord/deviceSecret``).
        package let deviceSecret: [UInt8]?
        /// The origin of the grant (``GrantRecord/origin``).
        package let origin: String?
        /// SHA-256 of the secret of the head of the grant's present family; `nil` if the grant has no family.
        package let head: [UInt8]?

        /// Makes a grant of these values.
        package init(
            authentication: String, client: String, subject: String, deviceSecret: [UInt8]?, origin: String?,
            head: [UInt8]?
        ) {
            self.authentication = authentication
            self.client = client
            self.subject = subject
            self.deviceSecret = deviceSecret
            self.origin = origin
            self.head = head
        }

        /// Makes a grant whose family is to begin with the grant.
        package init(_ grant: GrantRecord) {
            self.init(
                authentication: grant.authentication, client: grant.client, subject: grant.subject,
                deviceSecret: grant.deviceSecret, origin: grant.origin, head: nil)
        }
    }

    /// The effect of a beginning family.
    package enum Verdict: Sendable, Equatable {
        /// The grant has no family. The family begins.
        case begins(Grant)
        /// Nothing is written. The value is `true` if the grant's family has begun before and still has the same first
        /// token as its head, and `false` without a grant.
        case answered(isAtHead: Bool)
    }

    /// Judges the beginning of a family.
    ///
    /// - Parameter grant: The grant; `nil` if the store has found none.
    package func verdict(on grant: Grant?) -> Verdict {
        guard let grant else { return .answered(isAtHead: false) }
        guard let head = grant.head else { return .begins(grant) }
        return .answered(isAtHead: constantTimeEqual(head, self.head))
    }

    /// Returns the digests of the tokens that the client has not presented yet, and for which the store has rows now.
    ///
    /// - Parameter isAtHead: `true` if the family has the first token as its head.
    package func handedOut(isAtHead: Bool) -> [[UInt8]] { isAtHead ? [self.head] : [] }
}
