public import Store

extension CeremonyEngine {
    /// What the devices of an account are told, newest first, at most ``Limits/activityRows``.
    ///
    /// Cost: one query.
    public func notices(accountID: String) async throws -> [NoticeRecord] {
        try await self.store.notices(accountID: accountID, limit: self.limits.activityRows)
    }
}

extension NoticeRecord.Kind {
    /// The kind as phones read it.
    public var name: String {
        switch self {
        case .signedIn: "signed-in"
        case .deviceAdded: "device-added"
        case .authenticatorAdded: "authenticator-added"
        case .authenticatorsRemoved: "authenticators-removed"
        }
    }
}
