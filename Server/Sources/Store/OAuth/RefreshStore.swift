public import _Primitives

/// A refresh token that is shown for the next one of its family (``RefreshFamily``), by digests of both.
public struct RefreshExchange: Sendable, Equatable {
    /// The token that may take the place of the one that is shown.
    public struct Successor: Sendable, Equatable {
        /// SHA-256 of the secret.
        public let digest: [UInt8]
        /// The random bytes by which the secret follows from that of the token that is shown.
        public let step: [UInt8]

        /// A token of these values.
        public init(digest: [UInt8], step: [UInt8]) {
            self.digest = digest
            self.step = step
        }
    }

    /// The family, by its grant.
    public let grant: String
    /// SHA-256 of the secret of the token that is shown.
    public let presented: [UInt8]
    /// The next token; `nil` for a client whose token stays the same (FAPI 2.0 Security Profile, section 5.3.2.1).
    public let successor: Successor?
    /// Whether whoever shows the token has proved to be the one whom it was given to. Whoever shows the token of a grant that
    /// is bound to a key (``GrantRecord/keyThumbprint``) has proved that as well, since the key is judged. Then a parent is
    /// taken for as long as nobody uses its child; else for ``parentLifetime`` after its first use.
    public let isBound: Bool
    /// How long a parent is taken from somebody who proves nothing.
    public let parentLifetime: Duration
    /// How long after the first use of the parent the grandparent is refused without consequences.
    public let lateRequestTime: Duration
    /// When the next token ends, if nobody uses it.
    public let successorEndsAt: Timestamp
    /// The audit event of a token that was past; the store adds the account to it.
    public let reuse: AuditEvent

    /// An exchange of these values.
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

/// A family that begins: with it a grant lasts.
public struct RefreshFamilyStart: Sendable, Equatable {
    /// The family, by its grant.
    public let grant: String
    /// SHA-256 of what the first token keeps secret.
    public let head: [UInt8]
    /// When the first token ends, if it is not used.
    public let headEndsAt: Timestamp
    /// The key that the grant is bound to from now on, by its thumbprint; `nil` where it is bound to the client alone.
    public let keyThumbprint: String?
    /// Until when the grant lasts.
    public let end: Timestamp
    /// How many lasting grants of one person a client can have. Past it the oldest ends.
    public let most: Int
    /// The audit event of each grant that ends for it; the store adds the account and the grant to it.
    public let displaced: AuditEvent

    /// A beginning of these values.
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
        /// The successor that the token had before. It follows from the token and these bytes.
        case successorBefore(step: [UInt8])
        /// The token that was shown.
        case presented
    }

    /// The grant, with its authentication.
    public let standing: StandingGrant
    /// The token that the client goes on with.
    public let token: Token
    /// When that token ends, if nobody uses it.
    public let endsAt: Timestamp

    /// A renewal of these values.
    public init(_ standing: StandingGrant, by token: Token, until endsAt: Timestamp) {
        self.standing = standing
        self.token = token
        self.endsAt = endsAt
    }
}

/// What showing a refresh token came to.
public enum RefreshOutcome: Sendable, Equatable {
    /// The grant goes on.
    case renewed(Renewal)
    /// The token is refused, and nothing has changed: the request was late, or came twice.
    case late
    /// The token was past: somebody has what was another's. The grant is gone with all that hangs on it and that came of
    /// it.
    case reused
    /// There is no such family (any more).
    case unknown
}

/// Keeps the families of refresh tokens.
public protocol RefreshStore: Sendable {
    /// Begins a family at `moment`: the grant is bound to the key, and lasts from then on. Says whether the grant is there,
    /// and its family, which may have begun before, at this head.
    ///
    /// Must be one step with the end of those that are too many: of any number of families that begin at once,
    /// ``RefreshFamilyStart/most`` of the person's at the client are left, the newest.
    func beginFamily(_ start: RefreshFamilyStart, at moment: Timestamp) async throws -> Bool

    /// Exchanges a refresh token by the verdict of its family (``RefreshFamily/verdict(on:isBound:at:)``), where `judge` does
    /// not throw.
    ///
    /// Must be one step: of any number of calls with the head one makes it the parent, and each of the others finds it
    /// there. What `judge` throws is thrown, and nothing has changed. A verdict that changes nothing writes nothing.
    func refresh(
        _ exchange: RefreshExchange, at moment: Timestamp,
        judge: @escaping @Sendable (StandingGrant) throws -> Void
    ) async throws -> RefreshOutcome

    /// The grant that stands at `moment`, with its authentication; `nil` where it is unknown or ended, or what it hangs on
    /// is.
    ///
    /// - Parameter token: An access token of it by its `jti`: where that was taken back, there is no grant either.
    func grant(_ id: String, token: String?, at moment: Timestamp) async throws -> StandingGrant?

    /// Ends a grant of a client with all that hangs on it and that came of it, with the audit event. Says whether there was one; where there
    /// was none, there is no event. A session that no browser has ends with the last grant in it.
    func deleteGrant(_ id: String, client: String, audit: AuditEvent) async throws -> Bool
}
