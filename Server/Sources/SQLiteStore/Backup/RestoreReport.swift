/// The result of a restore, and the differences from the replaced database.
public struct RestoreReport: Sendable, Equatable {
    /// A difference between the replaced database and the backup.
    public struct Change: Sendable, Equatable {
        /// The event that had happened since the backup.
        public enum Kind: String, Sendable, CaseIterable {
            case accountDeleted = "account-deleted"
            case accountLocked = "account-locked"
            case deviceRevoked = "device-revoked"
            case keyDeregistered = "key-deregistered"
            case counterAdvanced = "counter-advanced"
            case activationDisabled = "activation-disabled"
            case clientDeleted = "client-deleted"
            case clientChanged = "client-changed"
            case accountChanged = "account-changed"
            case passwordChanged = "password-changed"
            case inventedAccountsSet = "invented-accounts-set"
            case providerRemoved = "provider-removed"
            case providerChanged = "provider-changed"
            case identityUnlinked = "identity-unlinked"
            case serviceRemoved = "service-removed"
            case serviceChanged = "service-changed"
            case organisationRemoved = "organisation-removed"
            case organisationChanged = "organisation-changed"
            case rolesChanged = "roles-changed"
            case personalInformationChanged = "personal-information-changed"
            case signingKeyAdded = "signing-key-added"
            case signingKeyRotated = "signing-key-rotated"
            case accountAdded = "account-added"
            case accountUnlocked = "account-unlocked"
            case deviceAdded = "device-added"
            case keyAdded = "key-added"
            case clientAdded = "client-added"
            case providerAdded = "provider-added"
            case identityLinked = "identity-linked"
            case serviceAdded = "service-added"
            case organisationAdded = "organisation-added"
            case clientChangedOutside = "client-changed-outside"
            case accountChangedOutside = "account-changed-outside"
            case inventedAccountsChangedOutside = "invented-accounts-changed-outside"
            case providerChangedOutside = "provider-changed-outside"
            case serviceChangedOutside = "service-changed-outside"
            case organisationChangedOutside = "organisation-changed-outside"

            /// The restore's treatment of the difference.
            public var treatment: Treatment {
                switch self {
                case .accountDeleted, .accountLocked, .deviceRevoked, .keyDeregistered, .activationDisabled,
                    .clientDeleted, .clientChanged, .accountChanged, .passwordChanged, .inventedAccountsSet,
                    .signingKeyAdded, .signingKeyRotated, .providerRemoved, .providerChanged, .identityUnlinked,
                    .serviceRemoved, .serviceChanged, .organisationRemoved, .organisationChanged, .rolesChanged,
                    .personalInformationChanged:
                    .carriedOver
                case .counterAdvanced: .kept
                case .accountAdded, .accountUnlocked, .deviceAdded, .keyAdded, .clientAdded, .providerAdded,
                    .identityLinked, .serviceAdded, .organisationAdded:
                    .lost
                case .clientChangedOutside, .accountChangedOutside, .inventedAccountsChangedOutside,
                    .providerChangedOutside, .serviceChangedOutside, .organisationChangedOutside:
                    .refused
                }
            }
        }

        /// The kinds of treatment of a difference.
        public enum Treatment: Sendable {
            /// The change stays in force, unless revocations are undone: the backup would give back something that was
            /// taken away or changed.
            case carriedOver
            /// The change stays in force, whether or not revocations are undone.
            case kept
            /// The change is lost with the replaced database.
            case lost
            /// The change is not copied, and the server never made the change: no entry of the audit trail records the
            /// change, or no operation of the server makes such a change.
            case refused

            /// Returns `true` if the restored database has the change, too.
            func isKept(revocationsAre areKept: Bool) -> Bool { self == .kept || self == .carriedOver && areKept }
        }

        /// The event that had happened.
        public var kind: Kind
        /// The identifier of the affected item.
        public var id: String
        /// The item's name for people: a user name, a device and its owner, a client's name.
        public var name: String
        /// `true` if the restored database has the change, too.
        public var isKept: Bool
    }

    /// The result of the comparison with the replaced database.
    public enum Comparison: Sendable, Equatable {
        /// The folder had no database.
        case nothingThere
        /// The database could not be read, or does not continue the backup: nothing is taken over from it, and
        /// ``RestoreReport/changes`` is empty.
        case notComparable(reason: String)
        /// The databases were compared. ``RestoreReport/changes`` has every difference of the kinds in
        /// ``Change/Kind``. `counters` is the number of keys that kept the later signature counter of the replaced
        /// database. `auditEntries` is the number of entries that came from the replaced database's audit trail.
        case compared(counters: Int, auditEntries: Int)
    }

    /// The numbers of voided items.
    public struct Voided: Sendable, Equatable {
        public var ceremonies = 0
        public var authorizationRequests = 0
        public var codesAndTokens = 0
        public var sessions = 0
        public var administratorTokens = 0
        public var pendingDevices = 0
    }

    /// The backup.
    public var manifest: BackupManifest
    /// The items that do not work any more.
    public var voided: Voided
    /// The result of the comparison with the replaced database.
    public var comparison: Comparison
    /// The known events since the backup; empty if the databases were not compared.
    public var changes: [Change]
    /// The entry at which the backup's audit trail is broken; `nil` if the trail is intact.
    public var auditBrokenAt: Int64?
    /// The folder of the replaced database; `nil` if no database was replaced, and after a mere check.
    public var replacedFolder: String?
}
