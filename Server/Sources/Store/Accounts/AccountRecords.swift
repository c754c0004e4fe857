public import _Primitives

/// A person's e-mail address, as an operator entered it.
public struct AccountEmail: Sendable, Equatable {
    /// The address. Sealed at rest.
    public var address: String
    /// Whether the operator vouches that the address is the person's.
    public var isVerified: Bool

    /// An address, and whether somebody has seen to it.
    public init(address: String, isVerified: Bool) {
        self.address = address
        self.isVerified = isVerified
    }
}

/// A person whom the server knows.
public struct AccountRecord: Sendable, Equatable {
    /// Random, 16 bytes as base64url.
    public var id: String
    /// The name by which operators and apps call the person; unique. Somebody who came from another provider may have
    /// none.
    public var username: AccountName?
    /// The name that pages show.
    public var displayName: String?
    /// Where the person gets e-mail. It identifies nobody: two accounts may have the same.
    public var email: AccountEmail?
    /// By what number the person can be called.
    public var phone: AccountPhone?
    /// Where the person gets post.
    public var address: PostalAddress?
    /// What else services are told of the person.
    public var profile: PersonProfile?
    /// A locked account authenticates nobody.
    public var isLocked: Bool
    /// When the account was added.
    public var createdAt: Timestamp
    /// When something that services are told of the person last changed; until something has, when the account was added.
    public var updatedAt: Timestamp

    /// Describes an account.
    public init(
        id: String, username: AccountName?, displayName: String?, email: AccountEmail? = nil,
        phone: AccountPhone? = nil, address: PostalAddress? = nil, profile: PersonProfile? = nil,
        isLocked: Bool = false, createdAt: Timestamp, updatedAt: Timestamp? = nil
    ) {
        self.profile = profile
        self.updatedAt = updatedAt ?? createdAt
        self.phone = phone
        self.address = address
        self.id = id
        self.username = username
        self.displayName = displayName
        self.email = email
        self.isLocked = isLocked
        self.createdAt = createdAt
    }
}

extension AccountRecord {
    /// What stands before the identifier of an account where an operator means it by that.
    public static let referencePrefix = "id:"

    /// What operators call the account: its user name, or for one without its identifier after `id:`.
    public var reference: AccountName {
        self.username ?? AccountName(stored: Self.referencePrefix + self.id)
    }
}

/// A device registration: the keys that one phone made for one account, in one registration or, in its app, in several.
public struct DeviceRecord: Sendable, Equatable {
    /// Random, 16 bytes as base64url.
    public var id: String
    /// Whose device it is.
    public var accountID: String
    /// What the phone calls itself.
    public var name: String
    /// Whether its keys may authenticate; not before the enrolment is confirmed.
    public var isActive: Bool
    /// When it was registered.
    public var createdAt: Timestamp
    /// HMAC of the secret by which the phone proves later that it is this device; `nil` for a device from before there
    /// were any, or of another maker's client.
    public var secretCode: [UInt8]?

    /// Describes a device.
    public init(
        id: String, accountID: String, name: String, isActive: Bool, createdAt: Timestamp, secretCode: [UInt8]? = nil
    ) {
        self.secretCode = secretCode
        self.id = id
        self.accountID = accountID
        self.name = name
        self.isActive = isActive
        self.createdAt = createdAt
    }
}

/// One key of a device registration.
public struct CredentialRecord: Sendable, Equatable {
    /// Random, 16 bytes as base64url.
    public var id: String
    /// The device that made it.
    public var deviceID: String
    /// Whose key it is.
    public var accountID: String
    /// The authenticator's model, canonical letters. Unique together with ``keyID``, across all accounts.
    public var aaid: String
    /// The key's name within its model.
    public var keyID: [UInt8]
    /// The public key in the encoding that ``keyFormat`` names. Sealed at rest.
    public var publicKey: [UInt8]
    /// UAF registry number of the key's encoding.
    public var keyFormat: UInt16
    /// UAF registry number of the signature algorithm.
    public var algorithm: UInt16
    /// The last signature counter that was accepted; 0 where the authenticator counts none.
    public var counter: UInt32
    /// The registration counter at enrolment.
    public var registrationCounter: UInt32
    /// The authenticator's version at enrolment.
    public var authenticatorVersion: UInt16
    /// What is kept of the certificates that attested the key; empty where none did. Sealed at rest.
    public var attestation: [UInt8]
    /// The pictures that the authenticator said it shows, a JSON array; empty for none. Sealed at rest.
    public var pictureDisplays: [UInt8]
    /// As its device's.
    public var isActive: Bool
    /// When it was registered.
    public var createdAt: Timestamp
    /// When a signature of it was accepted last.
    public var lastUsedAt: Timestamp?

    /// Describes a key.
    public init(
        id: String, deviceID: String, accountID: String, aaid: String, keyID: [UInt8], publicKey: [UInt8],
        keyFormat: UInt16, algorithm: UInt16, counter: UInt32, registrationCounter: UInt32,
        authenticatorVersion: UInt16, attestation: [UInt8] = [], pictureDisplays: [UInt8] = [], isActive: Bool,
        createdAt: Timestamp, lastUsedAt: Timestamp? = nil
    ) {
        self.pictureDisplays = pictureDisplays
        self.id = id
        self.deviceID = deviceID
        self.accountID = accountID
        self.aaid = aaid
        self.keyID = keyID
        self.publicKey = publicKey
        self.keyFormat = keyFormat
        self.algorithm = algorithm
        self.counter = counter
        self.registrationCounter = registrationCounter
        self.authenticatorVersion = authenticatorVersion
        self.attestation = attestation
        self.isActive = isActive
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
    }
}

/// A key with the state of the account that it belongs to.
public struct StoredCredential: Sendable, Equatable {
    /// The key.
    public var credential: CredentialRecord
    /// Whether its account is locked.
    public var isAccountLocked: Bool

    /// Joins a key with its account's state.
    public init(credential: CredentialRecord, isAccountLocked: Bool) {
        self.credential = credential
        self.isAccountLocked = isAccountLocked
    }
}

/// What a challenge says of an account: by what its keys are called.
public struct ActiveKeys: Sendable, Equatable {
    /// The name of a key, and the device that holds it.
    public struct Key: Sendable, Equatable {
        /// The model's AAID.
        public var aaid: String
        /// The key's KeyID.
        public var keyID: [UInt8]
        /// The registration of a device that the key came with.
        public var deviceID: String

        /// Names a key.
        public init(aaid: String, keyID: [UInt8], deviceID: String) {
            self.aaid = aaid
            self.keyID = keyID
            self.deviceID = deviceID
        }
    }

    /// The account.
    public var accountID: String
    /// Whether the account is locked.
    public var isAccountLocked: Bool
    /// The keys that may authenticate, oldest first.
    public var keys: [Key]

    /// Names an account's keys.
    public init(accountID: String, isAccountLocked: Bool, keys: [Key]) {
        self.accountID = accountID
        self.isAccountLocked = isAccountLocked
        self.keys = keys
    }
}
