public import _Primitives

/// A refresh token that is shown for the next one of its family, by digests of both.
///
/// Of a family, which is all refresh tokens of a grant, two are kept: the head, which nobody has used, and the parent that
/// it was given for. Whatever else was ever given is known by its seal to be of the family, and by this to be past.
///
/// ```
///     ancestors ──> parent ──> head            the parent is shown again:
///                     │                        its child was lost on the way
///                     └──────> head'           head is void, and an ancestor from now on
/// ```
public struct RefreshExchange: Sendable, Equatable {
    /// The family, by its grant.
    public let grant: String
    /// SHA-256 of what the token keeps secret.
    public let presented: [UInt8]
    /// SHA-256 of what the next token will keep secret.
    public let successor: [UInt8]
    /// Whether whoever shows it has proved to be the one whom it was given to, as has whoever shows the token of a grant
    /// that is bound to a key (``GrantRecord/keyThumbprint``), which is judged. Then a parent is taken for as long as its
    /// child is not used; else for ``parentLifetime`` after its first use.
    public let isBound: Bool
    /// How long a parent is taken of whom nothing is proved.
    public let parentLifetime: Duration
    /// When the next token ends, if it is not used.
    public let successorEndsAt: Timestamp
    /// The audit event of a token that was past; the store adds the account to it.
    public let reuse: AuditEvent

    /// An exchange of these values.
    public init(
        grant: String, presented: [UInt8], successor: [UInt8], isBound: Bool, parentLifetime: Duration,
        successorEndsAt: Timestamp, reuse: AuditEvent
    ) {
        self.grant = grant
        self.presented = presented
        self.successor = successor
        self.isBound = isBound
        self.parentLifetime = parentLifetime
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

/// What showing a refresh token came to.
public enum RefreshOutcome: Sendable, Equatable {
    /// The successor is the head now, and nothing but it and the presented token are taken.
    case renewed(StandingGrant)
    /// The token was past: somebody has what was another's. The grant is gone with all that hangs on it.
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

    /// Exchanges a refresh token for its successor, where `judge` does not throw.
    ///
    /// Must be one step: of any number of calls with the head one makes it the parent, and each of the others finds it
    /// there. What `judge` throws is thrown, and nothing has changed.
    func refresh(
        _ exchange: RefreshExchange, at moment: Timestamp,
        judge: @escaping @Sendable (StandingGrant) throws -> Void
    ) async throws -> RefreshOutcome

    /// The grant that stands at `moment`, with its authentication; `nil` where it is unknown or ended, or what it hangs on
    /// is.
    ///
    /// - Parameter token: An access token of it by its `jti`: where that was taken back, there is no grant either.
    func grant(_ id: String, token: String?, at moment: Timestamp) async throws -> StandingGrant?

    /// Deletes a grant of a client with all that hangs on it, with the audit event. Says whether there was one; where there
    /// was none, there is no event.
    func deleteGrant(_ id: String, client: String, audit: AuditEvent) async throws -> Bool
}
