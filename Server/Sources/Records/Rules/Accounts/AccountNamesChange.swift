package import _Primitives

/// A part of an account's row that changes with the account's names.
package enum AccountNamesChange: Sendable, Equatable {
    /// The user name.
    case username(AccountName?)
    /// The display name.
    case displayName(String?)
    /// The moment of the last change.
    case updatedAt(Timestamp)

    /// Returns the parts that change if an account gets these names, in the order of their writing.
    ///
    /// An unchanged name is not among them, and is not sealed anew. A restore treats a changed sealed value without an
    /// audit entry as the act of somebody else.
    package static func changes(
        of account: AccountRecord, to username: AccountName?, displayName: String?, audit: [AuditEvent]
    ) -> [Self] {
        var changes: [Self] = []
        if account.username != username { changes.append(.username(username)) }
        if account.displayName.map(ExactText.init) != displayName.map(ExactText.init) {
            changes.append(.displayName(displayName))
        }
        if let moment = audit.last?.at { changes.append(.updatedAt(moment)) }
        return changes
    }
}
