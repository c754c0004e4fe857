/// How an authenticator verifies its user: USER_VERIFY_* (§4.3).
public struct UserVerification: OptionSet, Hashable, Sendable {
    /// The registry's 32 bits.
    public let rawValue: UInt32
    /// Any bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Somebody is there.
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
    /// Nobody: a silent authenticator.
    public static let none = Self(rawValue: 0x200)
    /// All flagged methods together.
    public static let all = Self(rawValue: 0x400)
    /// A PIN or a password that is entered elsewhere than in the authenticator.
    public static let passcodeExternal = Self(rawValue: 0x800)
    /// A pattern that is drawn elsewhere than in the authenticator.
    public static let patternExternal = Self(rawValue: 0x1000)

    /// Whether the user is not verified at all.
    public var isSilent: Bool { self.contains(.none) }

    /// The rule of match criteria (§2.2): equal, or neither has ``all`` and they share a method.
    public func matches(_ other: Self) -> Bool {
        self == other || !self.contains(.all) && !other.contains(.all) && !self.isDisjoint(with: other)
    }
}

/// Where an authenticator keeps its keys: KEY_PROTECTION_* (§4.4).
public struct KeyProtection: OptionSet, Hashable, Sendable {
    /// The registry's 16 bits.
    public let rawValue: UInt16
    /// Any bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Software.
    public static let software = Self(rawValue: 0x01)
    /// Hardware.
    public static let hardware = Self(rawValue: 0x02)
    /// A trusted execution environment.
    public static let tee = Self(rawValue: 0x04)
    /// A secure element.
    public static let secureElement = Self(rawValue: 0x08)
    /// Wrapped keys are kept elsewhere.
    public static let remoteHandle = Self(rawValue: 0x10)
}

/// Where an authenticator compares what the user gives: MATCHER_PROTECTION_* (§4.4).
public struct MatcherProtection: OptionSet, Hashable, Sendable {
    /// The registry's 16 bits.
    public let rawValue: UInt16
    /// Any bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Software.
    public static let software = Self(rawValue: 0x01)
    /// A trusted execution environment.
    public static let tee = Self(rawValue: 0x02)
    /// The sensor's or the secure element's own chip.
    public static let onChip = Self(rawValue: 0x04)
}

/// How an authenticator is attached at the moment: ATTACHMENT_HINT_* (§4.4).
public struct AttachmentHint: OptionSet, Hashable, Sendable {
    /// The registry's 32 bits.
    public let rawValue: UInt32
    /// Any bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Built into the device.
    public static let `internal` = Self(rawValue: 0x001)
    /// Apart from the device.
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
    /// Ready to be used.
    public static let ready = Self(rawValue: 0x080)
    /// By WiFi Direct.
    public static let wifiDirect = Self(rawValue: 0x100)
}

/// What shows a transaction: TRANSACTION_CONFIRMATION_DISPLAY_* (§4.4). Empty: nothing can.
public struct TransactionConfirmationDisplay: OptionSet, Hashable, Sendable {
    /// The registry's 16 bits.
    public let rawValue: UInt16
    /// Any bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Some display; set whenever there is one.
    public static let any = Self(rawValue: 0x01)
    /// Privileged software draws it.
    public static let privilegedSoftware = Self(rawValue: 0x02)
    /// A trusted execution environment draws it.
    public static let tee = Self(rawValue: 0x04)
    /// Hardware of its own.
    public static let hardware = Self(rawValue: 0x08)
    /// On another device.
    public static let remote = Self(rawValue: 0x10)
}
