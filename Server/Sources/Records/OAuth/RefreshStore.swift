public import Settings
public import _Primitives

/// A refresh token shown for the next token of its family (``RefreshFamily``), by digests of both.
public struct RefreshExchange: Sendable, Equatable {
    /// The token that may take the place of the shown token.
    public struct Successor: Sendable, Equatable {
        /// SHA-256 of the secret.
        public let digest: [UInt8]
        /// The random bytes by which the secret follows from the shown token's secret.
        public let step: [UInt8]

        /// Makes a token of these values.
        public init(digest: [UInt8], step: [UInt8]) {
            self.digest = digest
            self.step = step
        }
    }

    /// The family, by its grant.
    public let grant: String
    /// SHA-256 of the secret of the shown token.
    public let presented: [UInt8]
    /// The next token; `nil` for a client whose token stays the same (FAPI 2.0 Security Profile, section 5.3.2.1).
    public let successor: Successor?
    /// `true` if the sender of the token has proved to be the client that the token was given to. For a grant bound to
    /// a key (``GrantRecord/keyThumbprint``) the sender has proved that as well, because the key is judged. With the
    /// proof a parent is taken for as long as its child is unused; otherwise for ``parentLifetime`` after its first
    /// use.
    public let isBound: Bool
    /// The time for taking a parent from a sender without a proof.
    public let parentLifetime: Duration
    /// The time after the first use of the parent for refusing the grandparent without consequences.
    public let lateRequestTime: Duration
    /// The moment when the next token ends, if it stays unused.
    public let successorEndsAt: Timestamp
    /// The audit event of a token that was past; the store adds the account to the event.
    public let reuse: AuditEvent

    /// Makes an exchange of these values.
    public init(
        grant: String, presented: [UInt8], successor: Successor?, isBound: Bool, parentLifetime: Duration,
        lateRequestTime: Duration = Limits.Fixed.lateRefreshTime, successorEndsAt: Timestamp, reuse: AuditEvent
    ) {
        self.grant = grant
        self.presented = presented
        self.successor = successor
        self.isBound = isBound
        self.parentLifetime = parentLifetime
        self.lateRequestTime = lateRequestTime
        self.successorEndsAt = successorEndsAt
        self.reuse = reuse
    }
}

/// The beginning of a family. With a family a grant lasts.
public struct RefreshFamilyStart: Sendable, Equatable {
    /// The family, by its grant.
    public let grant: String
    /// SHA-256 of the first token's secret.
    public let head: [UInt8]
    /// The moment when the first token ends, if it is not used.
    public let headEndsAt: Timestamp
    /// The key that the grant is bound to from now on, by its thumbprint; `nil` if the grant is bound to the client
    /// alone.
    public let keyThumbprint: String?
    /// The moment until which the grant lasts.
    public let end: Timestamp
    /// The largest number of lasting grants of one person that a client can have. Past it the oldest grant ends. With 0
    /// no grant lasts, and no family begins.
    public let most: Int
    /// The audit event of each grant that ends for the new grant; the store adds the account and the ended grant to the
    /// event.
    public let displaced: AuditEvent

    /// Makes a beginning of these values.
    public init(
        grant: String, head: [UInt8], headEndsAt: Timestamp, keyThumbprint: String?, until end: Timestamp, most: Int,
        displaced: AuditEvent
    ) {
        self.grant = grant
        self.head = head
        self.headEndsAt = headEndsAt
        self.keyThumbprint = keyThumbprint
        self.end = end
        self.most = most
        self.displaced = displaced
    }
}

/// A grant that goes on by a refresh token.
public struct Renewal: Sendable, Equatable {
    /// The token that the client goes on with.
    public enum Token: Sendable, Equatable {
        /// The successor of the exchange, which is the head now.
        case successor
        /// The successor that the token had before. The successor follows from the token and these bytes.
        case successorBefore(step: [UInt8])
        /// The token that was shown.
        case presented
    }

    /// The grant, with its authentication.
    public let standing: StandingGrant
    /// The token that the client goes on with.
    public let token: Token
    /// The moment when that token ends, if it stays unused.
    public let endsAt: Timestamp

    /// Makes a renewal of these values.
    public init(_ standing: StandingGrant, by token: Token, until endsAt: Timestamp) {
        self.standing = standing
        self.token = token
        self.endsAt = endsAt
    }
}

/// The result of showing a refresh token.
public enum RefreshOutcome: Sendable, Equatable {
    /// The grant goes on.
    case renewed(Renewal)
    /// The token is refused, and nothing has changed: the request was late, or came twice.
    case late
    /// The token was past: the token counts as stolen. The grant is gone with all dependent rows and all grants made
    /// from it.
    case reused
    /// The family or its grant does not exist (any more), its time is over, or the client is switched off. Nothing has
    /// changed.
    case unknown
}

/// Keeps the families of refresh tokens.
public protocol RefreshStore: Sendable {
    /// Begins a family at `moment`: the grant is bound to the key, and lasts from then on. Returns `true` if the grant
    /// exists and its family, which may have begun before, is at this head.
    ///
    /// Must be a single step with the end of surplus grants: of any number of families that begin at once,
    /// ``RefreshFamilyStart/most`` of the person's at the client are left, the newest. Returns `false` and changes
    /// nothing if no grant may last, or if the grant came of a surplus grant, and so would end as well.
    func beginFamily(_ start: RefreshFamilyStart, at moment: Timestamp) async throws -> Bool

    /// Exchanges a refresh token by the verdict of its family (``RefreshFamily/verdict(on:isBound:at:)``), if `judge`
    /// does not throw.
    ///
    /// Must be a single step: of any number of calls with the head one makes the head the parent, and each of the
    /// others finds the parent. An error of `judge` is passed on, and nothing has changed. A verdict that changes
    /// nothing writes nothing.
    func refresh(
        _ exchange: RefreshExchange, at moment: Timestamp,
        judge: @escaping @Sendable (StandingGrant) throws -> Void
    ) async throws -> RefreshOutcome

    /// Returns the grant that stands at `moment`, with its authentication; `nil` if the grant is unknown, if the grant
    /// or a row that it depends on has ended, or if its client is switched off.
    ///
    /// - Parameter token: An access token of the grant by its `jti`. If the token was revoked, the result is `nil` too.
    func grant(_ id: String, token: String?, at moment: Timestamp) async throws -> StandingGrant?

    /// Ends a grant of a client with all dependent rows and all grants made from it, with the audit event. Returns
    /// `true` if the grant existed; otherwise no event is kept. A session without a browser ends if no grant and no
    /// device secret of the session is left.
    func deleteGrant(_ id: String, client: String, audit: AuditEvent) async throws -> Bool
}
