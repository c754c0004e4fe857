public import JOSE
public import _Primitives

// The encrypted form of a payload (`application/jose`). `nma_data` is a compact JWE (RFC 7516, section 7.1), and its
// plaintext is the object that `nma_data` is in the plain form.
//
// | Header | Value |
// |---|---|
// | `alg` | `ECDH-ES`: direct key agreement on P-256 (RFC 7518, section 4.6) |
// | `enc` | `A256GCM` |
// | `kid` | the thumbprint of the device's encryption key (RFC 7638) |
// | `epk` | the sender's point, for this payload alone |
//
// `zip` and `crit` are refused.

extension OutOfBandPayload {
    /// Returns the secret that the device's key with the name `keyID` agrees on with a point of P-256 (65 bytes,
    /// checked): the coordinate x, 32 bytes. Throws if the device does not have the key.
    public typealias KeyAgreement = (_ keyID: String, _ point: [UInt8]) throws -> SecretBytes

    static let plainType = "application/json"
    static let encryptedType = "application/jose"

    /// The longest header of an encrypted payload, in bytes. A header with the four members has about 300 bytes.
    private static let headerLength = 1024

    /// Returns the JSON text of the payload, encrypted to the encryption key of a device. Only this device reads the
    /// token. The text does not prove the sender: everybody who has the public key can encrypt.
    ///
    /// Each call returns another text. Throws `JOSEError` `invalidKey` for a key that is not a P-256 key for encryption,
    /// and ``OutOfBandPayloadError/Code/malformedPayload`` if the text would be longer than ``maximumLength`` bytes.
    public func encryptedJSON(to key: JWK, random: RandomSource = .system) throws -> String {
        var named = key
        named.keyID = key.thumbprint
        let compact = try JWE.seal(
            JSON.object(self.content).serialized, to: named, algorithm: .ecdhES, encryption: .a256GCM, random: random)
        let text = Self.text(.string(compact), of: Self.encryptedType)
        guard text.utf8.count <= Self.maximumLength else {
            throw OutOfBandPayloadError(.malformedPayload, "encrypted longer than \(Self.maximumLength) bytes")
        }
        return text
    }

    /// Returns the decrypted members of `nma_data`.
    ///
    /// Every failure before the end of the decryption is `decryptionError`. The sender gets no answer to a payload, so
    /// no sender learns which step failed.
    static func decryptedContent(of object: JSONObject, _ agree: KeyAgreement?) throws(OutOfBandPayloadError)
        -> JSONObject
    {
        guard let agree else {
            throw OutOfBandPayloadError(.decryptionError, "the payload is encrypted, and no keys are here")
        }
        let plaintext: [UInt8]
        do {
            plaintext = try JWE(
                opening: try object.requiredString("nma_data"), encryptions: [.a256GCM],
                limits: JOSELimits(compactLength: Self.maximumLength, headerLength: Self.headerLength)
            ) { header, point in
                guard let keyID = header.keyID else { throw JOSEError(.unknownKey, "no kid") }
                return try agree(keyID, point)
            }.plaintext
        } catch {
            // The reasons of these errors can name members of the payload's header. The codes hold nothing foreign.
            throw OutOfBandPayloadError(
                .decryptionError, (error as? JOSEError).map { "\($0.code)" } ?? "no compact JWE, or no agreement")
        }
        do {
            guard case .object(let content) = try JSON(parsing: plaintext, limits: Self.limits(beside: 3)) else {
                throw OutOfBandPayloadError(.malformedPayload, "the decrypted content is not an object")
            }
            return content
        } catch {
            throw OutOfBandPayloadError(reading: error)
        }
    }
}
