import JOSE
public import _Primitives

/// The public keys by which a device speaks for itself.
public struct DeviceIdentityRecord: Sendable, Equatable {
    /// A signing key or an encryption key.
    public struct Key: Sendable, Equatable {
        /// The key's name: its thumbprint by RFC 7638.
        public var name: String
        /// The key: an uncompressed point on P-256, 65 bytes. Sealed at rest.
        public var point: [UInt8]

        /// Names a key.
        public init(name: String, point: [UInt8]) {
            self.name = name
            self.point = point
        }

        /// Reads a kept point, and names the key. Throws ``StoreError/Code/corrupt`` for bytes that are no uncompressed
        /// point on P-256.
        package init(kept point: [UInt8]) throws(StoreError) {
            guard point.count == 65, point[0] == 4,
                let key = try? JWK(.p256(x: Array(point[1..<33]), y: Array(point[33...]), d: nil))
            else { throw StoreError(.corrupt, "a device's key") }
            self.init(name: key.thumbprint, point: point)
        }
    }

    /// The key that the device signs with.
    public var signing: Key
    /// The key to which messages for the device alone are sealed.
    public var encryption: Key

    /// Makes the pair of keys.
    public init(signing: Key, encryption: Key) {
        self.signing = signing
        self.encryption = encryption
    }
}

/// The device that a proof names by its key.
public struct ProvingDevice: Sendable, Equatable {
    /// The device.
    public var deviceID: String
    /// The account that owns, or owned, the device.
    public var account: AccountRecord
    /// The key that verifies the device's proofs: an uncompressed point on P-256, 65 bytes.
    public var signingKey: [UInt8]
    /// The key to which messages for the device are sealed: an uncompressed point on P-256, 65 bytes.
    public var encryptionKey: [UInt8]
    /// `true` if the device was removed, or its activation is disabled. The store knows the key of a removed device for a
    /// while longer, so that the device can be told once more of its removal.
    public var isGone: Bool
    /// The time of an earlier proof (``DispatchTargetRecord/seenAt``).
    public var seenAt: Timestamp?
    /// The limits of the device, and the report that the device is lost. The default for a device that was removed.
    public var standing: DeviceStanding

    /// Describes a device.
    public init(
        deviceID: String, account: AccountRecord, signingKey: [UInt8], encryptionKey: [UInt8], isGone: Bool,
        seenAt: Timestamp? = nil, standing: DeviceStanding = DeviceStanding()
    ) {
        self.standing = standing
        self.seenAt = seenAt
        self.deviceID = deviceID
        self.account = account
        self.signingKey = signingKey
        self.encryptionKey = encryptionKey
        self.isGone = isGone
    }
}

/// The identity keys of a device that is already registered. A registered key of the device has signed the statement.
public struct DeviceIdentityAddition: Sendable, Equatable {
    /// The device.
    public var deviceID: String
    /// The account of the device.
    public var accountID: String
    /// The device's keys.
    public var identity: DeviceIdentityRecord
    /// The audit event for a device without earlier identity keys, when the keys are taken.
    public var audit: AuditEvent
    /// The event and the notice for keys that replace earlier keys. `nil` if the keys may not replace earlier keys,
    /// because the presence of the device's person was not verified.
    public var replacement: Replacement?

    /// The audit event and the notice for a replacement of keys.
    public struct Replacement: Sendable, Equatable {
        /// The audit event.
        public var audit: AuditEvent
        /// The notice for the person's devices. Its subject is the device's name, which the store adds.
        public var notice: NoticeRecord

        /// Makes a replacement from its event and notice.
        public init(audit: AuditEvent, notice: NoticeRecord) {
            self.audit = audit
            self.notice = notice
        }
    }

    /// Describes the keys of a device.
    public init(
        deviceID: String, accountID: String, identity: DeviceIdentityRecord, audit: AuditEvent,
        replacement: Replacement? = nil
    ) {
        self.deviceID = deviceID
        self.accountID = accountID
        self.identity = identity
        self.audit = audit
        self.replacement = replacement
    }
}

/// The keys by which devices speak for themselves. The keys arrive with ``DeviceRegistration/identity`` and
/// ``CeremonyChange/identityAddition``.
public protocol DeviceIdentityStore: Sendable {
    /// Returns the device of a signing key, by the key's name. If several registrations of one phone have the key, the
    /// result is the newest registration that may authenticate, or else the newest disabled one, or else the
    /// registration removed last. `nil` if only pending registrations have the key, or none. The account can be locked.
    func device(ofKey name: String) async throws -> ProvingDevice?

    /// Returns `true` if the registration has the signing key of that name, also if the registration is pending or
    /// recently removed. A registration that is reported as lost has no key here.
    func isKey(_ name: String, ofDevice id: String) async throws -> Bool
}
