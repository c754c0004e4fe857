package import Countersign

/// The calls of the Keychain that this target makes, with the numbers that the Keychain returns.
///
/// `SystemKeychain` makes the calls on Apple's systems; tests have a Keychain in memory. Every decision about a number
/// is above this protocol.
package protocol Keychain: Sendable {
    /// Returns the value of an item. The item opens for the approval of a person, if there is an approval; the Keychain
    /// shows no dialog.
    func value(of item: KeychainItem, approvedBy approval: (any PersonApproval)?) -> KeychainAnswer
    /// Replaces the value of an existing item.
    func update(_ value: [UInt8], of item: KeychainItem) -> KeychainStatus
    /// Adds an item that does not exist, with its protection.
    func add(_ value: [UInt8], as item: KeychainItem, _ protection: ItemProtection) -> KeychainStatus
    /// Removes an item.
    func remove(_ item: KeychainItem) -> KeychainStatus
}

/// An approval of a person, which opens items and keys without another question. The operating system judges the
/// approval; this program cannot make an approval.
package protocol PersonApproval: Sendable {}

/// The name of an item: a generic password.
package struct KeychainItem: Hashable, Sendable {
    /// The attribute `kSecAttrService`: one for each store of an app.
    package let service: String
    /// The attribute `kSecAttrAccount`: the name of the value.
    package let account: String

    package init(service: String, account: String) {
        self.service = service
        self.account = account
    }
}

/// The protection of an item. No item leaves the device, and no item is in a backup that another device can open.
package enum ItemProtection: Hashable, Sendable {
    /// Readable from the first unlock after a start on (`kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`), so that an
    /// app that is woken by a push can read its keys.
    case afterFirstUnlock
    /// Readable while the device is unlocked, and removed by the system together with the device's passcode
    /// (`kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly`).
    case whilePasscodeIsSet
    /// As ``whilePasscodeIsSet``, and only for a finger or a face.
    case biometrics(BiometricGuard)
}

/// The answer to a question for a value.
package enum KeychainAnswer: Hashable, Sendable {
    /// The value.
    case value([UInt8])
    /// The number of the reason for which there is no value.
    case refused(KeychainStatus)
}

/// A number of the Keychain (`OSStatus`, `SecBase.h`), and its meaning for this target.
package struct KeychainStatus: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// `errSecSuccess`.
    package static let success = Self(rawValue: 0)
    /// `errSecItemNotFound`.
    package static let itemNotFound = Self(rawValue: -25_300)
    /// `errSecDuplicateItem`.
    package static let duplicateItem = Self(rawValue: -25_299)
    /// `errSecInteractionNotAllowed`: the device was not unlocked since its start, or is locked.
    package static let interactionNotAllowed = Self(rawValue: -25_308)
    /// `errSecNotAvailable`: there is no Keychain yet, early in the start of the device.
    package static let notAvailable = Self(rawValue: -25_291)
    /// `errSecMissingEntitlement`: the app may not use the access group.
    package static let missingEntitlement = Self(rawValue: -34_018)
    /// `errSecDecode`: the item exists and does not open.
    package static let undecodable = Self(rawValue: -26_275)
    /// `errSecAuthFailed`: finger, face or passcode did not open the item.
    package static let authenticationFailed = Self(rawValue: -25_293)
    /// `errSecUserCanceled`.
    package static let userCancelled = Self(rawValue: -128)

    /// Returns the error for the caller of a storage. `action` is for the log.
    ///
    /// An unknown number is `unavailable`: nothing is lost, and the caller tries again.
    package func failure(_ action: String) -> StorageError {
        let reason = "the Keychain cannot \(action): \(self.rawValue)"
        return switch self {
        case .interactionNotAllowed, .notAvailable: StorageError(.locked, reason)
        case .missingEntitlement: StorageError(.unsupported, reason)
        case .undecodable: StorageError(.corrupt, reason)
        default: StorageError(.unavailable, reason)
        }
    }
}
