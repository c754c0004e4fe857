/// What a restore did, and what is not as it was before it.
public struct RestoreReport: Sendable, Equatable {
    /// Something that was otherwise in the database that was replaced than in the backup.
    public struct Change: Sendable, Equatable {
        /// What had happened since the backup.
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

            /// What a restore does about it.
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

        /// What a restore does about a difference.
        public enum Treatment: Sendable {
            /// It stays in force, unless revocations are undone: the backup would give back what was taken away or changed.
            case carriedOver
            /// It stays in force, whatever becomes of revocations.
            case kept
            /// It is gone with the database that is replaced.
            case lost
            /// It is not taken over, and never was the server's: no entry of the audit trail tells of it, or nothing that
            /// the server does makes such a change.
            case refused

            /// Whether the restored database has it, too.
            func isKept(revocationsAre areKept: Bool) -> Bool { self == .kept || self == .carriedOver && areKept }
        }

        /// What had happened.
        public var kind: Kind
        /// The identifier of what it happened to.
        public var id: String
        /// Its name for people: a user name, a device and its owner, a client's name.
        public var name: String
        /// Whether the restored database has it, too.
        public var isKept: Bool
    }

    /// What became of the database that was replaced.
    public enum Comparison: Sendable, Equatable {
        /// There was none.
        case nothingThere
        /// It could not be read, or is no continuation of the backup: what it held is lost unnamed.
        case notComparable(reason: String)
        /// Every difference is in ``RestoreReport/changes``. So many keys kept their later counters, and so many entries of
        /// the audit trail that are not in the backup were kept.
        case compared(counters: Int, auditEntries: Int)
    }

    /// How many of the past were voided.
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
    /// What of the past does not work any more.
    public var voided: Voided
    /// What became of the database that was replaced.
    public var comparison: Comparison
    /// What had happened since the backup, as far as it is known.
    public var changes: [Change]
    /// The entry at which the backup's audit trail is broken, if it is.
    public var auditBrokenAt: Int64?
    /// Where the replaced database lies.
    public var replacedFolder: String?
}
