import _Primitives

/// The public keys by which a device speaks for itself.
public struct DeviceIdentity: Sendable, Equatable {
    /// One of the two.
    public struct Key: Sendable, Equatable {
        /// By what the key is known: the thumbprint that RFC 7638 makes of it.
        public var name: String
        /// The key: an uncompressed point on P-256, 65 bytes. Sealed at rest.
        public var point: [UInt8]

        /// Names a key.
        public init(name: String, point: [UInt8]) {
            self.name = name
            self.point = point
        }
    }

    /// What the device signs with.
    public var signing: Key
    /// What is for the device alone is sealed to.
    public var encryption: Key

    /// A pair.
    public init(signing: Key, encryption: Key) {
        self.signing = signing
        self.encryption = encryption
    }
}

/// A device as a proof of its names it.
public struct ProvingDevice: Sendable, Equatable {
    /// Which device.
    public var deviceID: String
    /// Whose it is, or was.
    public var account: AccountRecord
    /// The key that its proofs are verified with: an uncompressed point on P-256, 65 bytes.
    public var signingKey: [UInt8]
    /// Whether the device was taken away. Its key is known for a while longer, so that it is told once more that it is gone.
    public var isGone: Bool

    /// Describes a device.
    public init(deviceID: String, account: AccountRecord, signingKey: [UInt8], isGone: Bool) {
        self.deviceID = deviceID
        self.account = account
        self.signingKey = signingKey
        self.isGone = isGone
    }
}

/// What a device that is registered already says of its keys, in what a registered key of it has signed.
public struct DeviceIdentityAddition: Sendable, Equatable {
    /// Which device.
    public var deviceID: String
    /// Whose it is.
    public var accountID: String
    /// Its keys.
    public var identity: DeviceIdentity
    /// What the trail keeps where the device had none, and they are taken.
    public var audit: AuditEvent
    /// What becomes known where they take the place of others; `nil` where they may not: nobody has seen to it that the
    /// device's person was there.
    public var replacement: Replacement?

    /// What becomes known of keys that take the place of others.
    public struct Replacement: Sendable, Equatable {
        /// What the trail keeps.
        public var audit: AuditEvent
        /// What the person's devices are told. Its subject is the device's name, which the store adds.
        public var notice: NoticeRecord

        /// Describes what becomes known.
        public init(audit: AuditEvent, notice: NoticeRecord) {
            self.audit = audit
            self.notice = notice
        }
    }

    /// Describes the keys of a device.
    public init(
        deviceID: String, accountID: String, identity: DeviceIdentity, audit: AuditEvent,
        replacement: Replacement? = nil
    ) {
        self.deviceID = deviceID
        self.accountID = accountID
        self.identity = identity
        self.audit = audit
        self.replacement = replacement
    }
}

/// The keys by which devices speak for themselves. They come with ``DeviceRegistration/identity`` and
/// ``CeremonyChange/identityAddition``.
public protocol DeviceIdentityStore: Sendable {
    /// The device of a signing key, by the key's name: of several registrations of one phone that have it the newest that
    /// may authenticate, or one that was taken away not long ago. `nil` where nobody has such a key.
    func device(ofKey name: String) async throws -> ProvingDevice?

    /// Whether a registration has the signing key of that name.
    func isKey(_ name: String, ofDevice id: String) async throws -> Bool
}
