import Ceremony
import Crypto
import JOSE
import _Primitives

/// The encrypted form of an out-of-band payload.
enum EncryptedPayloadTarget {
    private static let key = P256.KeyAgreement.PrivateKey()
    private static let publicKey: JWK? = {
        let point = Array(Self.key.publicKey.rawRepresentation)
        return try? JWK(.p256(x: Array(point.prefix(32)), y: Array(point.suffix(32)), d: nil))
    }()

    /// Returns `false` if the bytes open as a compact form, although nobody has encrypted them, or if the bytes as a
    /// decrypted content do not read as in the plain form.
    static func holds(_ bytes: [UInt8]) -> Bool {
        guard let publicKey else { return false }
        let text = String(decoding: bytes, as: UTF8.self)
        guard (try? Self.read(.string(text), "application/jose")) == nil else { return false }
        guard bytes.count <= 2048, let compact = try? JWE.seal(bytes, to: publicKey, algorithm: .ecdhES) else {
            return true
        }
        let content = try? JSON(parsing: bytes, limits: JSONLimits(bytes: 2048))
        let plain = content.flatMap { try? Self.read($0, "application/json") }
        return (try? Self.read(.string(compact), "application/jose")) == plain
    }

    private static func read(_ data: JSON, _ contentType: String) throws -> OutOfBandPayload {
        let frame: JSONObject = [
            "nma_data": data, "nma_data_content_type": .string(contentType), "nma_data_version": .string("1"),
        ]
        return try OutOfBandPayload(json: JSON.object(frame).text) { _, point in
            let other = try P256.KeyAgreement.PublicKey(x963Representation: point)
            return SecretBytes(try Self.key.sharedSecretFromKeyAgreement(with: other).withUnsafeBytes { Array($0) })
        }
    }
}
