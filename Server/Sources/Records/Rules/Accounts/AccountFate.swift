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
        /// The account's authentications: its sessions, with all grants, and its unfinished sign-ins.
        case authentications
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

    /// The rows about the account that end with the fate, in the order of their end.
    package var ends: [Trace] {
        let traces: [Trace] = [.ceremonies, .notices, .subjects, .consents, .acceptedInvitation]
        return switch self {
        case .unlocked: []
        case .locked: [.authentications]
        case .deleted: [.authentications] + traces + [.provisionalInvitation]
        case .withdrawn: [.authentications] + traces
        }
    }
}
