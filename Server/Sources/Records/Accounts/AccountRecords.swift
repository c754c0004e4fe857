public import _Primitives

/// A person's first e-mail address. The address comes from an operator, from the person's invitation, or from another
/// provider.
public struct AccountEmail: Sendable, Equatable {
    /// The address. Sealed at rest.
    public var address: String
    /// `true` if the address is known to be the person's: an operator or a trusted provider vouches for the address, or
    /// the person has confirmed it by a mailed link.
    public var isVerified: Bool

    /// Makes an e-mail address.
    public init(address: String, isVerified: Bool) {
        self.address = address
        self.isVerified = isVerified
    }
}

/// An account: a person whom the server knows.
public struct AccountRecord: Sendable, Equatable {
    /// Random, 16 bytes as base64url.
    public var id: String
    /// The name by which operators and apps call the person; unique. A person who came from another provider may have
    /// no name.
    public var username: AccountName?
    /// The name that pages show.
    public var displayName: String?
    /// The person's e-mail address. The address identifies no person: two accounts may have the same address.
    public var email: AccountEmail?
    /// The person's telephone number.
    public var phone: AccountPhone?
    /// The person's postal address.
    public var address: PostalAddress?
    /// Further facts about the person for services.
    public var profile: PersonProfile?
    /// The language of the letters to the person, by the tag of a language that the server has; `nil` if unknown. Each
    /// sign-in on the server's pages that tells a language sets the language.
    public var language: String?
    /// `true` if the account is locked. A locked account authenticates no person.
    public var isLocked: Bool
    /// The moment when the account was added.
    public var createdAt: Timestamp
    /// The moment of the last change to a value that services are told of the person. Before the first change, the
    /// moment when the account was added.
    public var updatedAt: Timestamp

    /// Makes the record of an account.
    public init(
        id: String, username: AccountName?, displayName: String?, email: AccountEmail? = nil,
        phone: AccountPhone? = nil, address: PostalAddress? = nil, profile: PersonProfile? = nil,
        language: String? = nil, isLocked: Bool = false, createdAt: Timestamp, updatedAt: Timestamp? = nil
    ) {
        self.profile = profile
        self.language = language
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
    /// The prefix with which an operator refers to an account by its identifier.
    public static let referencePrefix = "id:"

    /// The text by which operators refer to the account: its user name, or its identifier after `id:` for an account
    /// without a user name.
    public var reference: AccountName {
        self.username ?? AccountName(stored: Self.referencePrefix + self.id)
    }
}

/// A device registration: the keys made by one phone for one account, in a single registration or, in the app, in
/// several.
public struct DeviceRecord: Sendable, Equatable {
    /// Random, 16 bytes as base64url.
    public var id: String
    /// The account of the device.
    public var accountID: String
    /// The phone's own name for itself.
    public var name: String
    /// `true` if the device's keys may authenticate; not before the enrolment is confirmed.
    public var isActive: Bool
    /// The moment of the registration.
    public var createdAt: Timestamp
    /// The HMAC of the secret for later proofs that the phone is this device. `nil` for a device from before these
    /// secrets, or of another maker's client.
    public var secretCode: [UInt8]?
    /// The limits of a device that another device approved, and the report that the device is lost.
    public var standing: DeviceStanding

    /// Makes the record of a device.
    public init(
        id: String, accountID: String, name: String, isActive: Bool, createdAt: Timestamp, secretCode: [UInt8]? = nil,
        standing: DeviceStanding = DeviceStanding()
    ) {
        self.standing = standing
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
    /// The device that made the key.
    public var deviceID: String
    /// The account of the key.
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
    /// The last accepted signature counter; 0 if the authenticator does not count.
    public var counter: UInt32
    /// The registration counter at enrolment.
    public var registrationCounter: UInt32
    /// The authenticator's version at enrolment.
    public var authenticatorVersion: UInt16
    /// The kept part of the key's attestation certificates; empty without certificates. Sealed at rest.
    public var attestation: [UInt8]
    /// The pictures shown by the authenticator, by its own statement, as a JSON array; empty for none. Sealed at rest.
    public var pictureDisplays: [UInt8]
    /// `true` if the key may authenticate, as its device may.
    public var isActive: Bool
    /// The moment of the registration.
    public var createdAt: Timestamp
    /// The moment when a signature of the key was last accepted.
    public var lastUsedAt: Timestamp?

    /// Makes the record of a key.
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

/// A key with the state of its account.
public struct StoredCredential: Sendable, Equatable {
    /// The key.
    public var credential: CredentialRecord
    /// `true` if the key's account is locked.
    public var isAccountLocked: Bool

    /// Joins a key with its account's state.
    public init(credential: CredentialRecord, isAccountLocked: Bool) {
        self.credential = credential
        self.isAccountLocked = isAccountLocked
    }
}

/// The names of an account's keys, for a challenge.
public struct ActiveKeys: Sendable, Equatable {
    /// The name of a key, and the device that holds it.
    public struct Key: Sendable, Equatable {
        /// The model's AAID.
        public var aaid: String
        /// The key's KeyID.
        public var keyID: [UInt8]
        /// The device registration that made the key.
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
    /// `true` if the account is locked.
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
