/// A kind of difference between a backup and the database that a restore replaces: an event since the backup.
public enum BackupDifference: String, Sendable, CaseIterable {
    case accountDeleted = "account-deleted"
    case accountLocked = "account-locked"
    case deviceRevoked = "device-revoked"
    case deviceRested = "device-rested"
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
        case .accountDeleted, .accountLocked, .deviceRevoked, .deviceRested, .keyDeregistered,
            .activationDisabled, .clientDeleted, .clientChanged, .accountChanged, .passwordChanged,
            .inventedAccountsSet, .signingKeyAdded, .signingKeyRotated, .providerRemoved, .providerChanged,
            .identityUnlinked, .serviceRemoved, .serviceChanged, .organisationRemoved, .organisationChanged,
            .rolesChanged, .personalInformationChanged:
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
        package func isKept(revocationsAre areKept: Bool) -> Bool { self == .kept || self == .carriedOver && areKept }
    }
}

extension BackupDifference {
    /// The author of a change since the backup.
    package enum Author: Sendable {
        /// The server: an entry of the audit trail records the change.
        case server
        /// Somebody with write access to the database.
        case somebodyElse
    }

    /// A kind of thing that differs, which determines the thing's name for people.
    package enum Subject: Sendable {
        /// An account, with a sealed user name.
        case account
        /// A device, or something on a device: the sealed names of the device and of its owner.
        case device
        /// A thing with a readable name.
        case named
    }

    /// The kind of thing that differs.
    package var subject: Subject {
        switch self {
        case .accountDeleted, .accountLocked, .accountAdded, .accountUnlocked, .accountChanged,
            .accountChangedOutside, .passwordChanged, .rolesChanged, .personalInformationChanged:
            .account
        case .deviceRevoked, .deviceRested, .deviceAdded, .keyDeregistered, .keyAdded, .counterAdvanced,
            .activationDisabled:
            .device
        case .clientDeleted, .clientChanged, .clientAdded, .clientChangedOutside, .signingKeyAdded, .signingKeyRotated,
            .inventedAccountsSet, .inventedAccountsChangedOutside, .providerRemoved, .providerChanged, .providerAdded,
            .providerChangedOutside, .identityUnlinked, .identityLinked, .serviceRemoved, .serviceChanged,
            .serviceAdded, .serviceChangedOutside, .organisationRemoved, .organisationChanged, .organisationAdded,
            .organisationChangedOutside:
            .named
        }
    }
}
