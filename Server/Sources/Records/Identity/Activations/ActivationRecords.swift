public import _Primitives

/// The recorded failed attempts of one activation, or of one offer. The engine has the rules (`Lockout`).
public struct LockoutRecord: Sendable, Equatable {
    /// The number of failed attempts in a row.
    public var failuresInARow: Int
    /// The moments of failed attempts in the window that counts, the oldest first.
    public var failures: [Timestamp]
    /// The moment until which no attempt is judged.
    public var lockedUntil: Timestamp?
    /// `true` if the activation is disabled: failed attempts have disabled it, or its person has disowned it
    /// (``AccountChangeStore``). Also `true` while its last attempt is being verified: a right attempt enables the
    /// activation again.
    public var isPermanent: Bool
    /// The attempt that is being verified, by the SHA-256 of its request, with the moment of its count; `nil` for none.
    public var reservation: Reservation?

    /// An attempt that counts as failed until it is known to be right.
    public struct Reservation: Sendable, Equatable {
        /// SHA-256 of the request.
        public var request: [UInt8]
        /// The moment when the attempt was counted.
        public var at: Timestamp

        /// Describes an attempt.
        public init(request: [UInt8], at: Timestamp) {
            self.request = request
            self.at = at
        }
    }

    /// Makes a record; by default without any attempt.
    public init(
        failuresInARow: Int = 0, failures: [Timestamp] = [], lockedUntil: Timestamp? = nil, isPermanent: Bool = false,
        reservation: Reservation? = nil
    ) {
        self.failuresInARow = failuresInARow
        self.failures = failures
        self.lockedUntil = lockedUntil
        self.isPermanent = isPermanent
        self.reservation = reservation
    }
}

/// A device registration with an identity: one personalised app. Its identifier is its device's.
public struct ActivationRecord: Sendable, Equatable {
    /// The device, with the person's name for it.
    public var device: DeviceRecord
    /// The key that the device signs for itself with: a P-256 point, whole (65 bytes), or compressed if an earlier
    /// version kept it. Sealed at rest.
    public var signingKey: [UInt8]
    /// The key that messages to the device are sealed to: a P-256 point, compressed. Sealed at rest.
    public var encryptionKey: [UInt8]
    /// The version of the PIN in force; `nil` for an activation without a PIN.
    public var pinVersion: UInt32?
    /// The activation's failed attempts.
    public var lockout: LockoutRecord
    /// The moment when the activation's factors were last accepted.
    public var lastUsedAt: Timestamp?

    /// `true` if the activation may authenticate: its device is active and not reported as lost, and the activation is
    /// not disabled.
    public var isActive: Bool { self.isKept && self.device.standing.mayAuthenticate }

    /// `true` if the activation may authenticate, or could if its device were not reported as lost.
    public var isKept: Bool { self.device.isActive && !self.lockout.isPermanent }

    /// Describes an activation.
    public init(
        device: DeviceRecord, signingKey: [UInt8], encryptionKey: [UInt8], pinVersion: UInt32?,
        lockout: LockoutRecord = LockoutRecord(), lastUsedAt: Timestamp? = nil
    ) {
        self.device = device
        self.signingKey = signingKey
        self.encryptionKey = encryptionKey
        self.pinVersion = pinVersion
        self.lockout = lockout
        self.lastUsedAt = lastUsedAt
    }
}

/// The offer to personalise an app: the record behind an activation's code until the code was used.
public struct OfferRecord: Sendable, Equatable {
    /// The state of an offer.
    public enum State: Int, Sendable, CaseIterable {
        /// The code can be used.
        case offered = 1
        /// The offer became an activation.
        case enrolled = 2
        /// The offer's account was merged into another account.
        case merged = 3
        /// An operator or the person revoked the offer, or its PIN was wrong too often.
        case revoked = 4
    }

    /// The offer's identifier, and later the activation's. The key of the PIN is bound to it. 16 bytes and more as
    /// base64url.
    public var id: String
    /// The account that the activation will belong to.
    public var accountID: String
    /// The state of the offer.
    public var state: State
    /// SHA-256 of the claim that the code's secret gives.
    public var claimDigest: [UInt8]
    /// The public key of the activation's PIN: a P-256 point, compressed. Sealed at rest, and erased once the offer was
    /// used.
    public var pinKey: [UInt8]
    /// The parameters by which the PIN became the key: a JSON object.
    public var pinParameters: String
    /// The name for the device. Sealed at rest.
    public var name: String?
    /// The invitation that the offer came with.
    public var inviteID: String?
    /// The code, for as long as a letter that carries it waits to be sent. Sealed at rest.
    public var letter: String?
    /// The challenge for the next proof of the PIN.
    public var challenge: String
    /// SHA-256 of the token that a proof has earned, with the thumbprint of the key that the proof has named. A digest
    /// from an earlier version, without a key, matches no token: the PIN is proven again.
    public var tokenDigest: [UInt8]?
    /// The moment when the token expires.
    public var tokenUntil: Timestamp?
    /// The offer's failed attempts.
    public var lockout: LockoutRecord
    /// The moment when the offer was made.
    public var createdAt: Timestamp
    /// The moment when the code expires.
    public var expiresAt: Timestamp

    /// Describes an offer.
    public init(
        id: String, accountID: String, claimDigest: [UInt8], pinKey: [UInt8], pinParameters: String, name: String?,
        inviteID: String? = nil, challenge: String, createdAt: Timestamp, expiresAt: Timestamp
    ) {
        self.id = id
        self.accountID = accountID
        self.state = .offered
        self.claimDigest = claimDigest
        self.pinKey = pinKey
        self.pinParameters = pinParameters
        self.name = name
        self.inviteID = inviteID
        self.challenge = challenge
        self.lockout = LockoutRecord()
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}
