import Crypto
import CryptoExtras
public import UAF
import _Primitives

/// A public key with the algorithm of its signatures: ECDSA on P-256 and secp256k1, and RSA of 2048 bits (§4.1).
public struct SignatureVerification: Sendable {
    private enum Key {
        case p256(P256.Signing.PublicKey)
        case secp256k1(Secp256k1Key)
        case rsa(_RSA.Signing.PublicKey, _RSA.Signing.Padding)
    }

    private let key: Key
    private let algorithm: SignatureAlgorithm

    /// Reads a key. Throws ``UAFRefusal``: 1495 for an algorithm that this server does not support, 1494 for a format
    /// of another algorithm and for invalid bytes.
    public init(publicKey: [UInt8], format: PublicKeyFormat, algorithm: SignatureAlgorithm) throws(UAFRefusal) {
        guard let kind = algorithm.keyKind else {
            throw UAFRefusal(
                .unacceptableAlgorithm, .signatureAlgorithm,
                algorithm == .sm2Raw
                    ? "\(algorithm), SM2 with SM3: no library of this server has it" : "\(algorithm)")
        }
        do throws(UAFError) {
            switch kind {
            case .p256: self.key = .p256(try P256Encoding.publicKey(publicKey, format: format))
            case .secp256k1: self.key = .secp256k1(try Secp256k1Key(publicKey, format: format))
            case .rsa:
                self.key = .rsa(
                    try RSAEncoding.publicKey(publicKey, format: format),
                    [.rsaPSSRaw, .rsaPSSDER].contains(algorithm) ? .PSS : .insecurePKCS1v1_5)
            }
        } catch { throw UAFRefusal(.unacceptableKey, .publicKey, error.description) }
        self.algorithm = algorithm
    }

    /// Reads the key of an attestation certificate. Throws as the other initialiser does.
    init(leafKey subjectPublicKeyInfo: [UInt8], _ algorithm: SignatureAlgorithm) throws(UAFRefusal) {
        try self.init(
            publicKey: subjectPublicKeyInfo, format: algorithm.keyKind == .rsa ? .rsa2048DER : .eccX962DER,
            algorithm: algorithm)
    }

    /// The key as DER SubjectPublicKeyInfo, whatever its original format was.
    var subjectPublicKeyInfo: [UInt8] {
        switch self.key {
        case .p256(let key): Array(key.derRepresentation)
        case .secp256k1(let key): key.subjectPublicKeyInfo
        case .rsa(let key, _): Array(key.derRepresentation)
        }
    }

    /// The algorithms that this server supports. SM2 (7) is not among them.
    public static let algorithms: Set<SignatureAlgorithm> = [
        .p256Raw, .p256DER, .rsaPSSRaw, .rsaPSSDER, .secp256k1Raw, .secp256k1DER, .rsaPKCS1Raw, .rsaPKCS1DER,
    ]

    /// Returns `true` if `signature` over `bytes` belongs to this key. Malformed signatures are invalid.
    public func isValid(_ signature: [UInt8], over bytes: [UInt8]) -> Bool {
        switch self.key {
        case .p256(let key):
            guard let signature = try? P256Encoding.signature(signature, algorithm: self.algorithm) else {
                return false
            }
            return key.isValidSignature(signature, for: bytes)
        case .secp256k1(let key): return key.isValid(signature, algorithm: self.algorithm, over: bytes)
        case .rsa(let key, let padding):
            guard let signature = RSAEncoding.signature(signature, algorithm: self.algorithm) else { return false }
            return key.isValidSignature(signature, for: bytes, padding: padding)
        }
    }
}
