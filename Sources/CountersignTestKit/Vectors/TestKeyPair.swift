import Crypto
import CryptoExtras
public import UAF
public import _Primitives

/// The encoding of a public key. The registry has one number for both DER encodings of RSA (§4.2; §18, row 5).
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

/// A key pair for tests, for every algorithm that a UAF server must support except secp256k1, which the SDK has no
/// library for. Nothing of value may depend on a test key.
public struct TestKeyPair: Sendable {
    private enum Material: Sendable {
        case p256(P256.Signing.PrivateKey)
        case rsa(_RSA.Signing.PrivateKey)
    }
    private let material: Material

    /// Creates a P-256 key, the same key for the same bytes of `random`.
    public init(p256 random: RandomSource) throws {
        self.material = .p256(
            try P256.Signing.PrivateKey(rawRepresentation: Array(SHA256.hash(data: random.bytes(32)))))
    }

    /// Creates a key pair from a fixed RSA key. Generating an RSA key takes long and cannot be repeated.
    public init(rsa key: FixedRSAKey) throws {
        self.material = .rsa(try _RSA.Signing.PrivateKey(derRepresentation: key.derRepresentation))
    }

    /// `true` for an RSA key.
    public var isRSA: Bool {
        if case .rsa = self.material { true } else { false }
    }

    /// Returns the public key's bytes. Throws ``UAFError/Code/unsupportedAlgorithm`` for an encoding of the other kind
    /// of key.
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

    /// The SubjectPublicKeyInfo of the key, as in certificates.
    var subjectPublicKeyInfo: [UInt8] {
        get throws { try self.publicKey(self.isRSA ? .rsaSubjectPublicKeyInfo : .x962DER) }
    }

    /// Returns the bytes for TAG_SIGNATURE (§4.1).
    ///
    /// For an algorithm of the other kind of key, the result is this key's own raw signature, as from an authenticator
    /// that announces the wrong algorithm.
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
