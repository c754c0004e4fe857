import Crypto
import CryptoExtras
public import UAF

/// A public key with the algorithm that its signatures have: ECDSA on P-256 and RSA of 2048 bits (§4.1).
public struct SignatureVerification: Sendable {
    private enum Key {
        case p256(P256.Signing.PublicKey)
        case rsa(_RSA.Signing.PublicKey, _RSA.Signing.Padding)
    }

    private let key: Key
    private let algorithm: SignatureAlgorithm

    /// Throws ``UAFRefusal``: 1495 for an algorithm that this server does not work with, 1494 for a format that is not of
    /// the algorithm and for bytes that are no good key.
    public init(publicKey: [UInt8], format: PublicKeyFormat, algorithm: SignatureAlgorithm) throws(UAFRefusal) {
        guard Self.algorithms.contains(algorithm) else {
            throw UAFRefusal(.unacceptableAlgorithm, .signatureAlgorithm, "\(algorithm)")
        }
        do throws(UAFError) {
            switch algorithm {
            case .p256Raw, .p256DER: self.key = .p256(try P256Encoding.publicKey(publicKey, format: format))
            case .rsaPSSRaw, .rsaPSSDER: self.key = .rsa(try RSAEncoding.publicKey(publicKey, format: format), .PSS)
            default: self.key = .rsa(try RSAEncoding.publicKey(publicKey, format: format), .insecurePKCS1v1_5)
            }
        } catch { throw UAFRefusal(.unacceptableKey, .publicKey, error.description) }
        self.algorithm = algorithm
    }

    /// The key of an attestation certificate. Throws as the other initialiser.
    init(leafKey subjectPublicKeyInfo: [UInt8], _ algorithm: SignatureAlgorithm) throws(UAFRefusal) {
        let isRSA = ![.p256Raw, .p256DER].contains(algorithm)
        try self.init(
            publicKey: subjectPublicKeyInfo, format: isRSA ? .rsa2048DER : .eccX962DER, algorithm: algorithm)
    }

    /// The key as DER SubjectPublicKeyInfo, whichever format it came in.
    var subjectPublicKeyInfo: [UInt8] {
        switch self.key {
        case .p256(let key): Array(key.derRepresentation)
        case .rsa(let key, _): Array(key.derRepresentation)
        }
    }

    /// The algorithms that this server works with. secp256k1 (5 and 6) and SM2 (7) are not among them.
    public static let algorithms: Set<SignatureAlgorithm> = [
        .p256Raw, .p256DER, .rsaPSSRaw, .rsaPSSDER, .rsaPKCS1Raw, .rsaPKCS1DER,
    ]

    /// Whether `signature` over `bytes` is this key's. Malformed ones are not.
    public func isValid(_ signature: [UInt8], over bytes: [UInt8]) -> Bool {
        switch self.key {
        case .p256(let key):
            guard let signature = try? P256Encoding.signature(signature, algorithm: self.algorithm) else {
                return false
            }
            return key.isValidSignature(signature, for: bytes)
        case .rsa(let key, let padding):
            guard let signature = RSAEncoding.signature(signature, algorithm: self.algorithm) else { return false }
            return key.isValidSignature(signature, for: bytes, padding: padding)
        }
    }
}
