/// The algorithm and the encoding of a signature: ALG_SIGN_* of the registry (§4.1).
public struct SignatureAlgorithm: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The registry's number.
    public let rawValue: UInt16
    /// Creates an algorithm from any number. The policy and the metadata decide if an algorithm is acceptable.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// ECDSA on P-256 with SHA-256, R‖S of 64 bytes.
    public static let p256Raw = Self(rawValue: 0x0001)
    /// ECDSA on P-256 with SHA-256, DER SEQUENCE of two INTEGER.
    public static let p256DER = Self(rawValue: 0x0002)
    /// RSASSA-PSS with SHA-256, 256 bytes.
    public static let rsaPSSRaw = Self(rawValue: 0x0003)
    /// RSASSA-PSS with SHA-256, in a DER OCTET STRING.
    public static let rsaPSSDER = Self(rawValue: 0x0004)
    /// ECDSA on secp256k1 with SHA-256, R‖S of 64 bytes.
    public static let secp256k1Raw = Self(rawValue: 0x0005)
    /// ECDSA on secp256k1 with SHA-256, DER SEQUENCE of two INTEGER.
    public static let secp256k1DER = Self(rawValue: 0x0006)
    /// SM2 with SM3, which this product refuses.
    public static let sm2Raw = Self(rawValue: 0x0007)
    /// RSASSA-PKCS1-v1_5 with SHA-256, 256 bytes.
    public static let rsaPKCS1Raw = Self(rawValue: 0x0008)
    /// RSASSA-PKCS1-v1_5 with SHA-256, in a DER OCTET STRING.
    public static let rsaPKCS1DER = Self(rawValue: 0x0009)

    /// The kind of key that an algorithm needs.
    public enum KeyKind: Hashable, Sendable, CaseIterable {
        /// A point on P-256.
        case p256
        /// A point on secp256k1.
        case secp256k1
        /// RSA of 2048 bits.
        case rsa
    }

    /// The kind of key that the algorithm needs; `nil` for an algorithm that this product does not support.
    public var keyKind: KeyKind? {
        switch self {
        case .p256Raw, .p256DER: .p256
        case .secp256k1Raw, .secp256k1DER: .secp256k1
        case .rsaPSSRaw, .rsaPSSDER, .rsaPKCS1Raw, .rsaPKCS1DER: .rsa
        default: nil
        }
    }

    /// `true` if the algorithm's signatures are in DER, for the algorithms that this product supports.
    public var isDER: Bool { [.p256DER, .secp256k1DER, .rsaPSSDER, .rsaPKCS1DER].contains(self) }

    public var description: String { "ALG_SIGN \(self.rawValue)" }
}

/// The format of a public key: ALG_KEY_* of the registry (§4.2).
public struct PublicKeyFormat: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The registry's number.
    public let rawValue: UInt16
    /// Creates a format from any number.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// `04 ‖ X ‖ Y`, 65 bytes.
    public static let eccX962Raw = Self(rawValue: 0x0100)
    /// DER SubjectPublicKeyInfo with a named curve, 91 bytes for P-256 and 88 for secp256k1.
    public static let eccX962DER = Self(rawValue: 0x0101)
    /// Modulus of 256 bytes ‖ exponent.
    public static let rsa2048Raw = Self(rawValue: 0x0102)
    /// DER SEQUENCE of modulus and exponent.
    public static let rsa2048DER = Self(rawValue: 0x0103)

    public var description: String { "ALG_KEY \(self.rawValue)" }
}

/// The way in which an authenticator attests a new key (§13). The numbers are the numbers of the TLV tags.
public struct AttestationType: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The registry's number.
    public let rawValue: UInt16
    /// Creates a type from any number.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// 15879: signed by an attestation key with a certificate chain.
    public static let basicFull = Self(rawValue: 0x3E07)
    /// 15880: signed by the new key itself.
    public static let basicSurrogate = Self(rawValue: 0x3E08)
    /// 15881: direct anonymous attestation, which this product refuses.
    public static let ecdaa = Self(rawValue: 0x3E09)

    public var description: String { "ATTESTATION \(self.rawValue)" }
}

/// The encoding of an assertion (§4.5).
public struct AssertionScheme: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name on the wire.
    public let rawValue: String
    /// Creates a scheme from any name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The TLV encoding of UAF 1.0 and 1.1 (§3).
    public static let uafV1TLV = Self(rawValue: "UAFV1TLV")

    public var description: String { self.rawValue }
}

/// The operation of a message (§2.1). A transaction confirmation is an authentication with a transaction.
public struct Operation: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name on the wire.
    public let rawValue: String
    /// Creates an operation from any name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// `Reg`
    public static let registration = Self(rawValue: "Reg")
    /// `Auth`
    public static let authentication = Self(rawValue: "Auth")
    /// `Dereg`
    public static let deregistration = Self(rawValue: "Dereg")

    public var description: String { self.rawValue }
}

/// The person's action before the signature (§3.3).
public struct AuthenticationMode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The byte in TAG_ASSERTION_INFO.
    public let rawValue: UInt8
    /// Creates a mode from any byte. The verifier refuses an unknown mode.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// 1: the user was verified. A silent authenticator uses this mode too.
    public static let userVerified = Self(rawValue: 1)
    /// 2: the authenticator showed the transaction's content, and the user confirmed the content.
    public static let transactionConfirmed = Self(rawValue: 2)

    public var description: String { "mode \(self.rawValue)" }
}
