import OAuth
public import Records
public import Settings
public import _Primitives

/// The access of services to people's accounts that outlasts the browser (`offline_access`). The person and an operator
/// can see and end such access here; otherwise only the service itself could end it.
public struct AccountGrants: Sendable {
    private let store: any GrantListStore
    private let time: TimeSource
    private let limits: Limits

    /// Creates the list of a store's grants.
    public init(store: any GrantListStore, limits: Limits = Limits(), time: TimeSource = .system) {
        self.store = store
        self.limits = limits
        self.time = time
    }

    /// Returns the lasting grants and device secrets of an account, the newest first, at most ``Limits/activityRows``.
    ///
    /// Cost: one query.
    public func lasting(ofAccount account: String) async throws -> [GrantListing] {
        try await self.store.lastingGrants(account: account, at: self.time.now(), limit: self.limits.activityRows)
    }

    /// Ends grants and device secrets of an account. Returns the number of ended records; another account's grant
    /// counts like a grant that never existed.
    ///
    /// Every token of an ended grant, and everything derived from the grant, is worth nothing at once, on every node.
    /// No app can sign in with an ended device secret; the grants that apps already have by the secret stay if only the
    /// secret is ended. Signed-in browsers stay signed in, and sign their person in to the service again at the
    /// service's request.
    ///
    /// - Parameter operator: The operator, for the audit trail; `nil` for the person's own phone.
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
    /// A person's grants to services were ended, by the person's phone or an operator; the detail says which.
    static let grantsEnded = Self(rawValue: "grants-ended")
    /// A lasting grant ended, as its client got one more grant of the person than it can have; the detail is the grant.
    package static let grantDisplaced = Self(rawValue: "grant-displaced")
}
