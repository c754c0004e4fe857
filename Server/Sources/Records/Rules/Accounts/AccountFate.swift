/// The fate of a whole account, and everything that ends with it.
package enum AccountFate: Sendable, CaseIterable {
    /// The account is locked.
    case locked
    /// The account is unlocked. Unlocking ends nothing, and brings nothing back.
    case unlocked
    /// The account is deleted.
    case deleted
    /// A provisional account is deleted because its invitation has expired, was revoked, or was accepted by another
    /// account. The invitation stays as a record.
    case withdrawn

    /// Rows about an account that do not go with the account's own row.
    package enum Trace: Sendable, CaseIterable {
        /// The account's ceremonies.
        case ceremonies
        /// The notices for the account's devices.
        case notices
        /// The names by which clients know the account.
        case subjects
        /// The account's consents to clients.
        case consents
        /// The invitation that the account has accepted. The invitation is personal data.
        case acceptedInvitation
        /// The invitation for which the account was made provisionally.
        case provisionalInvitation
    }

    /// Returns the fate of an account whose lock is set or taken away.
    package static func lock(_ isLocked: Bool) -> Self { isLocked ? .locked : .unlocked }

    /// Returns the fate of an account that is deleted with the invitation for which it was made, or without it.
    package static func deletion(keepsInvite: Bool) -> Self { keepsInvite ? .withdrawn : .deleted }

    /// `true` if the account's sessions end, with all grants from its authentications and its unfinished sign-ins.
    package var endsAuthentications: Bool {
        switch self {
        case .locked, .deleted, .withdrawn: true
        case .unlocked: false
        }
    }

    /// The rows about the account that are deleted.
    package var deletes: [Trace] {
        let traces: [Trace] = [.ceremonies, .notices, .subjects, .consents, .acceptedInvitation]
        return switch self {
        case .locked, .unlocked: []
        case .deleted: traces + [.provisionalInvitation]
        case .withdrawn: traces
        }
    }
}
