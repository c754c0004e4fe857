import Crypto
import UAF

/// A public key with the algorithm that its signatures have.
struct SignatureVerification {
    private let key: P256.Signing.PublicKey
    private let algorithm: SignatureAlgorithm

    /// Throws ``UAFRefusal``: 1495 for an algorithm that this server does not work with, 1494 for a format that is not of
    /// the algorithm and for bytes that are no good key.
    init(publicKey: [UInt8], format: PublicKeyFormat, algorithm: SignatureAlgorithm) throws(UAFRefusal) {
        guard [.p256Raw, .p256DER].contains(algorithm) else {
            throw UAFRefusal(.unacceptableAlgorithm, .signatureAlgorithm, "\(algorithm)")
        }
        do { self.key = try P256Encoding.publicKey(publicKey, format: format) } catch {
            throw UAFRefusal(.unacceptableKey, .publicKey, error.description)
        }
        self.algorithm = algorithm
    }

    /// Whether `signature` over `bytes` is this key's. Malformed ones are not.
    func isValid(_ signature: [UInt8], over bytes: [UInt8]) -> Bool {
        guard let signature = try? P256Encoding.signature(signature, algorithm: self.algorithm) else { return false }
        return self.key.isValidSignature(signature, for: bytes)
    }
}
