import OAuth
public import Store
public import _Primitives

/// What services have of people that goes on when the browser is long gone (`offline_access`): for the person, and for an
/// operator, to see and to end. Nobody else but the service itself could.
public struct AccountGrants: Sendable {
    private let store: any GrantListStore
    private let time: TimeSource
    private let limits: Limits

    /// The grants of a store.
    public init(store: any GrantListStore, limits: Limits = Limits(), time: TimeSource = .system) {
        self.store = store
        self.limits = limits
        self.time = time
    }

    /// The lasting grants and device secrets of an account, the newest first, at most ``Limits/activityRows``.
    ///
    /// Cost: one query.
    public func lasting(ofAccount account: String) async throws -> [GrantListing] {
        try await self.store.lastingGrants(account: account, at: self.time.now(), limit: self.limits.activityRows)
    }

    /// Ends grants and device secrets of an account: every token of a grant is worth nothing at once, on every node, and so is
    /// everything that came of the grant; no app signs in by a secret any more. Says how many there were; another account's
    /// grant is no different from one that never was.
    ///
    /// The browsers that are signed in stay so, and sign their person in to the service again where it asks.
    ///
    /// - Parameter operator: Who does it, for the audit trail; `nil` for the person's own phone.
    ///
    /// Cost: one store step.
    public func end(_ selection: GrantSelection, ofAccount account: String, by operator: String? = nil) async throws
        -> Int
    {
        let detail =
            switch selection {
            case .grant(let id): "grant=\(id)"
            case .client(let id): "client=\(id)"
            case .all: "all"
            }
        let event = AuditEvent(
            .grantsEnded, at: self.time.now(), accountID: account, actor: `operator`, detail: detail)
        return try await self.store.endGrants(selection, account: account, audit: event)
    }
}

extension AuditEvent.Kind {
    /// What services had of a person was taken back, by the person's phone or an operator; the detail says which.
    static let grantsEnded = Self(rawValue: "grants-ended")
    /// A lasting grant ended, as its client got one more of the person than it can have; the detail is the grant.
    static let grantDisplaced = Self(rawValue: "grant-displaced")
}
