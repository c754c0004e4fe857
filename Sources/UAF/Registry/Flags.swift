/// The methods with which an authenticator verifies its user: USER_VERIFY_* (§4.3).
public struct UserVerification: OptionSet, Hashable, Sendable {
    /// The registry's 32 bits.
    public let rawValue: UInt32
    /// Creates a set from any bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The presence of a person.
    public static let presence = Self(rawValue: 0x001)
    /// A fingerprint.
    public static let fingerprint = Self(rawValue: 0x002)
    /// A PIN or a password.
    public static let passcode = Self(rawValue: 0x004)
    /// A voice.
    public static let voiceprint = Self(rawValue: 0x008)
    /// A face.
    public static let faceprint = Self(rawValue: 0x010)
    /// A place.
    public static let location = Self(rawValue: 0x020)
    /// An eye.
    public static let eyeprint = Self(rawValue: 0x040)
    /// A drawn pattern.
    public static let pattern = Self(rawValue: 0x080)
    /// A hand.
    public static let handprint = Self(rawValue: 0x100)
    /// No verification: a silent authenticator.
    public static let none = Self(rawValue: 0x200)
    /// All flagged methods together.
    public static let all = Self(rawValue: 0x400)
    /// A PIN or a password that is entered outside the authenticator.
    public static let passcodeExternal = Self(rawValue: 0x800)
    /// A pattern that is drawn outside the authenticator.
    public static let patternExternal = Self(rawValue: 0x1000)

    /// `true` if the set has ``none``: the user is not verified, or not in every way.
    public var isSilent: Bool { self.contains(.none) }

    /// Returns the result of the rule for match criteria (§2.2): `true` if both sets are equal, or if neither has
    /// ``all`` and both share a method.
    public func matches(_ other: Self) -> Bool {
        self == other || !self.contains(.all) && !other.contains(.all) && !self.isDisjoint(with: other)
    }
}

/// The places in which an authenticator stores its keys: KEY_PROTECTION_* (§4.4).
public struct KeyProtection: OptionSet, Hashable, Sendable {
    /// The registry's 16 bits.
    public let rawValue: UInt16
    /// Creates a set from any bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Software.
    public static let software = Self(rawValue: 0x01)
    /// Hardware.
    public static let hardware = Self(rawValue: 0x02)
    /// A trusted execution environment.
    public static let tee = Self(rawValue: 0x04)
    /// A secure element.
    public static let secureElement = Self(rawValue: 0x08)
    /// Another place, which keeps the wrapped keys.
    public static let remoteHandle = Self(rawValue: 0x10)
}

/// The places in which an authenticator compares the user's input: MATCHER_PROTECTION_* (§4.4).
public struct MatcherProtection: OptionSet, Hashable, Sendable {
    /// The registry's 16 bits.
    public let rawValue: UInt16
    /// Creates a set from any bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Software.
    public static let software = Self(rawValue: 0x01)
    /// A trusted execution environment.
    public static let tee = Self(rawValue: 0x02)
    /// The chip of the sensor or of the secure element.
    public static let onChip = Self(rawValue: 0x04)
}

/// The present attachment of an authenticator: ATTACHMENT_HINT_* (§4.4).
public struct AttachmentHint: OptionSet, Hashable, Sendable {
    /// The registry's 32 bits.
    public let rawValue: UInt32
    /// Creates a set from any bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Built into the device.
    public static let `internal` = Self(rawValue: 0x001)
    /// Separate from the device.
    public static let external = Self(rawValue: 0x002)
    /// By wire.
    public static let wired = Self(rawValue: 0x004)
    /// By radio.
    public static let wireless = Self(rawValue: 0x008)
    /// By near-field communication.
    public static let nfc = Self(rawValue: 0x010)
    /// By Bluetooth.
    public static let bluetooth = Self(rawValue: 0x020)
    /// By a network.
    public static let network = Self(rawValue: 0x040)
    /// Ready for use.
    public static let ready = Self(rawValue: 0x080)
    /// By WiFi Direct.
    public static let wifiDirect = Self(rawValue: 0x100)
}

/// The display for a transaction: TRANSACTION_CONFIRMATION_DISPLAY_* (§4.4). An empty set means that no display exists.
public struct TransactionConfirmationDisplay: OptionSet, Hashable, Sendable {
    /// The registry's 16 bits.
    public let rawValue: UInt16
    /// Creates a set from any bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Some display; set for every authenticator with a display.
    public static let any = Self(rawValue: 0x01)
    /// Privileged software draws it.
    public static let privilegedSoftware = Self(rawValue: 0x02)
    /// A trusted execution environment draws it.
    public static let tee = Self(rawValue: 0x04)
    /// A separate hardware display.
    public static let hardware = Self(rawValue: 0x08)
    /// On another device.
    public static let remote = Self(rawValue: 0x10)
}
