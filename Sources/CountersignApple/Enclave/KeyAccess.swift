import UAF
package import UAFClient

/// The conditions under which the Secure Enclave uses a key, for the key's life.
package struct KeyAccess: Hashable, Sendable {
    /// The state of the device in which the key can be used.
    package enum Protection: Hashable, Sendable {
        /// From the first unlock after a start on (`kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`).
        case afterFirstUnlock
        /// While the device is unlocked (`kSecAttrAccessibleWhenUnlockedThisDeviceOnly`).
        case whenUnlocked
        /// While the device is unlocked, and only as long as the device has a passcode
        /// (`kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly`).
        case whilePasscodeIsSet
    }

    package let protection: Protection
    /// The demand on the person, beside `privateKeyUsage`.
    package let demand: PersonDemand

    package init(_ protection: Protection, _ demand: PersonDemand) {
        self.protection = protection
        self.demand = demand
    }

    /// A key without a person, such as the key of a device or a key for agreements: also a push must be opened while
    /// the device lies locked on the table.
    package static let silent = Self(.afterFirstUnlock, .nobody)

    /// Returns the conditions of a lock; `nil` for a lock that the Secure Enclave does not have.
    ///
    /// The PIN or password of a lock is no condition of the Secure Enclave: the secret seals the handle of the key. A
    /// key that ends with the enrolled set never opens to the passcode, because whoever knows the passcode can enrol a
    /// finger.
    package init?(_ lock: KeyLock) {
        switch lock {
        case .none: self = .silent
        case .secret: self.init(.whenUnlocked, .nobody)
        case .system(.fingerprint, let isEnding, let allowsPasscode), .system(.face, let isEnding, let allowsPasscode):
            let demand: PersonDemand =
                isEnding ? .currentBiometry : allowsPasscode ? .anyBiometryOrPasscode : .anyBiometry
            self.init(.whilePasscodeIsSet, demand)
        case .system(.devicePasscode, _, _): self.init(.whilePasscodeIsSet, .passcode)
        case .system: return nil
        }
    }
}

/// The calls of the Secure Enclave that this target makes. `SystemEnclave` makes the calls on Apple's systems.
///
/// A key is in its blob, which this device's Secure Enclave alone can use. No chip has a list of its keys.
package protocol EnclaveChip: Sendable {
    /// Makes a key for signatures. Throws ``SystemRefusal``.
    func makeSigningKey(_ access: KeyAccess) throws -> EnclaveKey
    /// Makes a key for agreements without a person. Throws ``SystemRefusal``.
    func makeAgreementKey() throws -> EnclaveKey
    /// Signs a message (ECDSA with SHA-256), and returns the two numbers of the signature, 32 bytes each.
    ///
    /// The approval is the answer to the key's demand; `nil` for a key without a demand. Throws ``SystemRefusal``.
    func sign(_ message: [UInt8], by blob: [UInt8], approvedBy approval: (any PersonApproval)?) throws -> [UInt8]
    /// Returns the coordinate x of an agreement with an uncompressed point. Throws ``SystemRefusal``.
    func agree(with point: [UInt8], by blob: [UInt8]) throws -> [UInt8]
}

/// A new key of the Secure Enclave.
package struct EnclaveKey: Hashable, Sendable {
    /// The key, wrapped by the Secure Enclave for itself.
    package let blob: [UInt8]
    /// The public half: an uncompressed point on P-256 (SEC 1, 65 bytes).
    package let publicKey: [UInt8]

    package init(blob: [UInt8], publicKey: [UInt8]) {
        self.blob = blob
        self.publicKey = publicKey
    }
}
