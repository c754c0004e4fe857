import Crypto
import _Primitives

/// The public keys by which a device speaks for itself, as it tells them to its server: an extension of what an authenticator
/// signs (§3.1), so that nobody between can put others in their place.
///
/// The device's own key has signed them, with the final challenge: whoever tells a key has it, and what was told once is
/// worth nothing in another message. A value of this type was verified, or nobody could have made it.
///
/// Who does not know the extension passes it over (§15): it is never critical.
public struct DeviceKeyAnnouncement: Hashable, Sendable {
    /// `id` of the extension. What is written in another form has another one.
    public static let id = "countersign.device-keys.1"

    private static let pointLength = 65
    private static let signatureLength = 64

    /// The key that signs what the device says: an uncompressed point on P-256, 65 bytes.
    public let signingKey: [UInt8]
    /// The key that what is for the device alone is sealed to: an uncompressed point on P-256, 65 bytes.
    public let encryptionKey: [UInt8]

    /// What the device's signing key has to sign (ECDSA on P-256 with SHA-256).
    ///
    /// - Parameters:
    ///   - signingKey: An uncompressed point on P-256, 65 bytes.
    ///   - encryptionKey: The same of the other key.
    ///   - finalChallenge: The text of the final challenge parameters that the assertion answers.
    public static func signedBytes(
        signingKey: [UInt8], encryptionKey: [UInt8], finalChallenge: String
    ) -> [UInt8] {
        Self.signedBytes(signingKey + encryptionKey, FinalChallengeParams.hash(ofEncoded: finalChallenge))
    }

    /// The extension, for the data that an authenticator signs. `signature` is the two numbers of the device's own, 32 bytes
    /// each.
    public static func assertionExtension(
        signingKey: [UInt8], encryptionKey: [UInt8], signature: [UInt8]
    ) -> AssertionExtension {
        AssertionExtension(id: Self.id, data: signingKey + encryptionKey + signature, isCritical: false)
    }

    /// The announcement among the extensions of the assertions of one message, where there is one.
    ///
    /// Throws ``UAFError``: `duplicateTag` for two, `invalidLength`, `invalidKey` for what is no point on P-256 and for one key
    /// in both places, and `invalidSignature`.
    public init?(among extensions: [AssertionExtension], finalChallengeHash: [UInt8]) throws(UAFError) {
        let found = extensions.filter { $0.id.hasSameBytes(as: Self.id) }
        guard let data = found.first?.data else { return nil }
        guard found.count == 1 else { throw UAFError(.duplicateTag, "keys of a device") }
        guard data.count == 2 * Self.pointLength + Self.signatureLength else {
            throw UAFError(.invalidLength, "keys of a device")
        }
        self.signingKey = Array(data[..<Self.pointLength])
        self.encryptionKey = Array(data[Self.pointLength..<2 * Self.pointLength])
        let key = try P256Encoding.publicKey(self.signingKey, format: .eccX962Raw)
        _ = try P256Encoding.publicKey(self.encryptionKey, format: .eccX962Raw)
        guard self.signingKey != self.encryptionKey else { throw UAFError(.invalidKey, "one key for both") }
        let signature = try P256Encoding.signature(data[(2 * Self.pointLength)...], algorithm: .p256Raw)
        guard
            key.isValidSignature(
                signature, for: Self.signedBytes(self.signingKey + self.encryptionKey, finalChallengeHash))
        else { throw UAFError(.invalidSignature, "keys of a device") }
    }

    private static func signedBytes(_ points: [UInt8], _ finalChallengeHash: [UInt8]) -> [UInt8] {
        Array(Self.id.utf8) + finalChallengeHash + points
    }
}
