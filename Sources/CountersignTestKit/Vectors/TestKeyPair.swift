import Crypto
import CryptoExtras
public import UAF
public import _Primitives

/// How a public key is written. The registry has one number for both DER writings of RSA (§4.2; §18, row 5).
public enum KeyEncoding: String, CaseIterable, Sendable {
    /// `04 ‖ X ‖ Y`.
    case x962Raw = "x962-raw"
    /// SubjectPublicKeyInfo of P-256.
    case x962DER = "x962-der"
    /// Modulus ‖ exponent.
    case rsaRaw = "rsa-raw"
    /// RSAPublicKey of PKCS #1.
    case rsaPKCS1 = "rsa-pkcs1"
    /// SubjectPublicKeyInfo of RSA.
    case rsaSubjectPublicKeyInfo = "rsa-spki"

    /// The registry's number.
    public var format: PublicKeyFormat {
        switch self {
        case .x962Raw: .eccX962Raw
        case .x962DER: .eccX962DER
        case .rsaRaw: .rsa2048Raw
        case .rsaPKCS1, .rsaSubjectPublicKeyInfo: .rsa2048DER
        }
    }
}

/// A key pair for tests, of any algorithm that a UAF server must know except secp256k1, for which the
/// SDK has no library. Nothing of value may rest on it.
public struct TestKeyPair: Sendable {
    private enum Material: Sendable {
        case p256(P256.Signing.PrivateKey)
        case rsa(_RSA.Signing.PrivateKey)
    }
    private let material: Material

    /// A key on P-256, the same for the same bytes of `random`.
    public init(p256 random: RandomSource) throws {
        self.material = .p256(
            try P256.Signing.PrivateKey(rawRepresentation: Array(SHA256.hash(data: random.bytes(32)))))
    }

    /// A fixed RSA key: making one takes long, and cannot be repeated.
    public init(rsa key: FixedRSAKey) throws {
        self.material = .rsa(try _RSA.Signing.PrivateKey(derRepresentation: key.derRepresentation))
    }

    /// Whether it is an RSA key.
    public var isRSA: Bool {
        if case .rsa = self.material { true } else { false }
    }

    /// The public key's bytes. Throws ``UAFError/Code/unsupportedAlgorithm`` for an encoding of the other kind of key.
    public func publicKey(_ encoding: KeyEncoding) throws -> [UInt8] {
        switch (self.material, encoding) {
        case (.p256(let key), .x962Raw): return Array(key.publicKey.x963Representation)
        case (.p256(let key), .x962DER): return Array(key.publicKey.derRepresentation)
        case (.rsa(let key), .rsaPKCS1): return Array(key.publicKey.pkcs1DERRepresentation)
        case (.rsa(let key), .rsaSubjectPublicKeyInfo): return Array(key.publicKey.derRepresentation)
        case (.rsa(let key), .rsaRaw):
            let numbers = try key.publicKey.getKeyPrimitives()
            return Array(numbers.modulus) + Array(numbers.publicExponent)
        default: throw UAFError(.unsupportedAlgorithm, "\(encoding.rawValue)")
        }
    }

    /// SubjectPublicKeyInfo, as certificates hold it.
    var subjectPublicKeyInfo: [UInt8] {
        get throws { try self.publicKey(self.isRSA ? .rsaSubjectPublicKeyInfo : .x962DER) }
    }

    /// The bytes for TAG_SIGNATURE (§4.1). An algorithm of the other kind of key gives this key's own raw signature, which
    /// is what an authenticator that announces the wrong algorithm would send.
    public func sign(_ bytes: [UInt8], _ algorithm: SignatureAlgorithm) throws -> [UInt8] {
        switch self.material {
        case .p256(let key):
            let signature = try key.signature(for: bytes)
            return Array(algorithm == .p256DER ? signature.derRepresentation : signature.rawRepresentation)
        case .rsa(let key):
            let padding: _RSA.Signing.Padding =
                [.rsaPSSRaw, .rsaPSSDER].contains(algorithm) ? .PSS : .insecurePKCS1v1_5
            let signature = Array(try key.signature(for: SHA256.hash(data: bytes), padding: padding).rawRepresentation)
            return [.rsaPSSDER, .rsaPKCS1DER].contains(algorithm) ? DER.octetString(signature) : signature
        }
    }
}
