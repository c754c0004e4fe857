public import _Primitives

/// The failed attempts of one activation as they are on record; the rules are the engine's (`Lockout`).
public struct LockoutRecord: Sendable, Equatable {
    /// Attempts that failed, one after the other.
    public var failuresInARow: Int
    /// When attempts failed, in the window that counts, the oldest first.
    public var failures: [Timestamp]
    /// Until when nothing is judged.
    public var lockedUntil: Timestamp?
    /// Whether the activation is disabled for good.
    public var isPermanent: Bool
    /// SHA-256 of the request whose attempt is being verified, and when it was counted.
    public var reservation: Reservation?

    /// An attempt that counts as failed until it is known to be right.
    public struct Reservation: Sendable, Equatable {
        /// SHA-256 of the request.
        public var request: [UInt8]
        /// When it was counted.
        public var at: Timestamp

        /// Describes an attempt.
        public init(request: [UInt8], at: Timestamp) {
            self.request = request
            self.at = at
        }
    }

    /// No attempt, or what a row has.
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

/// A device registration that has an identity: one personalised app. Its identifier is its device's.
public struct ActivationRecord: Sendable, Equatable {
    /// The device, with the name that the person gave it.
    public var device: DeviceRecord
    /// The key that the device signs for itself with: a P-256 point, whole (65 bytes), or compressed where it was kept before
    /// that. Sealed at rest.
    public var signingKey: [UInt8]
    /// The key that is sealed to: a P-256 point, compressed. Sealed at rest.
    public var encryptionKey: [UInt8]
    /// Which PIN is in force; `nil` for an activation without one.
    public var pinVersion: UInt32?
    /// Its failed attempts.
    public var lockout: LockoutRecord
    /// When its factors were accepted last.
    public var lastUsedAt: Timestamp?

    /// Whether it may authenticate: its device is active, and it is not disabled.
    public var isActive: Bool { self.device.isActive && !self.lockout.isPermanent }

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

/// The offer to personalise an app: what stands behind an activation's code until it was used.
public struct PendingActivationRecord: Sendable, Equatable {
    /// How far it is.
    public enum State: Int, Sendable, CaseIterable {
        /// The code can be used.
        case offered = 1
        /// It became an activation.
        case enrolled = 2
        /// Its account went into another one.
        case merged = 3
        /// An operator or the person took it back, or its PIN was wrong too often.
        case revoked = 4
    }

    /// What the key of its PIN is bound to, and what the activation will be called: 16 bytes and more as base64url.
    public var id: String
    /// Whose activation it will be.
    public var accountID: String
    /// How far it is.
    public var state: State
    /// SHA-256 of the claim that the code's secret gives.
    public var claimDigest: [UInt8]
    /// The public key of the activation's PIN: a P-256 point, compressed. Sealed at rest, and gone once it was used.
    public var pinKey: [UInt8]
    /// How the PIN became the key: a JSON object.
    public var pinParameters: String
    /// What the device is to be called. Sealed at rest.
    public var name: String?
    /// The invitation that it came with.
    public var inviteID: String?
    /// The code, for as long as a letter that carries it waits to be sent. Sealed at rest.
    public var letter: String?
    /// What the next proof of the PIN has to be made over.
    public var challenge: String
    /// SHA-256 of the token that a proof has earned, with the thumbprint of the key that the proof has named. What a version
    /// of before has written, without a key, is no token's: the PIN is proven again.
    public var tokenDigest: [UInt8]?
    /// Until when the token is good.
    public var tokenUntil: Timestamp?
    /// Its failed attempts.
    public var lockout: LockoutRecord
    /// When it was made.
    public var createdAt: Timestamp
    /// Until when the code can be used.
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
