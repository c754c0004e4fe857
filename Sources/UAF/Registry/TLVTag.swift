/// The tag of a TLV item (§3.1).
public struct TLVTag: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number; only values up to 0x3FFF are used.
    public let rawValue: UInt16
    /// Creates a tag from any number.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// `true` if a receiver that does not know the tag must refuse the whole message (bit 0x2000).
    public var isCritical: Bool { self.rawValue & 0x2000 != 0 }
    /// `true` if the value is a sequence of TLV items (bit 0x1000).
    public var isComposite: Bool { self.rawValue & 0x1000 != 0 }

    /// A registration assertion.
    public static let registrationAssertion = Self(rawValue: 0x3E01)
    /// An authentication assertion.
    public static let authenticationAssertion = Self(rawValue: 0x3E02)
    /// The key registration data, signed by a registration.
    public static let keyRegistrationData = Self(rawValue: 0x3E03)
    /// The data that an authentication signs.
    public static let signedData = Self(rawValue: 0x3E04)
    /// An X.509 certificate, DER.
    public static let attestationCertificate = Self(rawValue: 0x2E05)
    /// The bytes of a signature.
    public static let signature = Self(rawValue: 0x2E06)
    /// Basic full attestation.
    public static let attestationBasicFull = Self(rawValue: 0x3E07)
    /// Basic surrogate attestation.
    public static let attestationBasicSurrogate = Self(rawValue: 0x3E08)
    /// ECDAA attestation.
    public static let attestationECDAA = Self(rawValue: 0x3E09)
    /// The KeyID's bytes.
    public static let keyID = Self(rawValue: 0x2E09)
    /// SHA-256 of the final challenge parameters' text.
    public static let finalChallengeHash = Self(rawValue: 0x2E0A)
    /// The AAID's nine letters.
    public static let aaid = Self(rawValue: 0x2E0B)
    /// The public key in the announced format.
    public static let publicKey = Self(rawValue: 0x2E0C)
    /// Signature counter and, in a registration, registration counter.
    public static let counters = Self(rawValue: 0x2E0D)
    /// Version, mode and algorithms.
    public static let assertionInfo = Self(rawValue: 0x2E0E)
    /// The authenticator's random bytes.
    public static let authenticatorNonce = Self(rawValue: 0x2E0F)
    /// The hash of the confirmed content, or nothing.
    public static let transactionContentHash = Self(rawValue: 0x2E10)
    /// An extension that must be understood.
    public static let criticalExtension = Self(rawValue: 0x3E11)
    /// An extension that may be ignored. The tag itself has the critical bit, because every reader knows the tag.
    public static let `extension` = Self(rawValue: 0x3E12)
    /// An extension's id, UTF-8.
    public static let extensionID = Self(rawValue: 0x2E13)
    /// An extension's data.
    public static let extensionData = Self(rawValue: 0x2E14)
    /// The biometric record that was used, specific to the key; at most 32 bytes.
    public static let userVerificationIndex = Self(rawValue: 0x0104)
    /// The set of enrolled records, specific to the key; at most 32 bytes.
    public static let userVerificationState = Self(rawValue: 0x0106)

    public var description: String {
        let digits = String(self.rawValue, radix: 16, uppercase: true)
        return "0x" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
