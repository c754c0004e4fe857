import Crypto
import _Primitives

/// The announcement of a device's own public keys to its server.
///
/// The announcement is an extension of the data that an authenticator signs (§3.1), so nobody on the way can replace
/// the keys. The device's own key also signs the announced keys together with the final challenge. The signature proves
/// that the sender has the key, and makes the announcement worthless in any other message. Every value of this type was
/// verified; no other way creates a value.
///
/// A receiver that does not know the extension ignores the extension (§15): the extension is never critical.
public struct DeviceKeyAnnouncement: Hashable, Sendable {
    /// The `id` of the extension. A change of the form needs another `id`.
    public static let id = "countersign.device-keys.1"

    private static let pointLength = 65
    private static let signatureLength = 64

    /// The key that signs the device's own messages: an uncompressed point on P-256, 65 bytes.
    public let signingKey: [UInt8]
    /// The key to which messages for the device alone are sealed: an uncompressed point on P-256, 65 bytes.
    public let encryptionKey: [UInt8]

    /// Returns the bytes that the device's signing key has to sign (ECDSA on P-256 with SHA-256).
    ///
    /// - Parameters:
    ///   - signingKey: An uncompressed point on P-256, 65 bytes.
    ///   - encryptionKey: The encryption key, in the same form.
    ///   - finalChallenge: The text of the final challenge parameters that the assertion answers.
    public static func signedBytes(
        signingKey: [UInt8], encryptionKey: [UInt8], finalChallenge: String
    ) -> [UInt8] {
        Self.signedBytes(signingKey + encryptionKey, FinalChallengeParams.hash(ofEncoded: finalChallenge))
    }

    /// Returns the extension for the data that an authenticator signs. `signature` has the two numbers of the device's
    /// own signature, 32 bytes each.
    public static func assertionExtension(
        signingKey: [UInt8], encryptionKey: [UInt8], signature: [UInt8]
    ) -> AssertionExtension {
        AssertionExtension(id: Self.id, data: signingKey + encryptionKey + signature, isCritical: false)
    }

    /// Finds and verifies the announcement among the extensions of a message's assertions; `nil` if the message has
    /// none.
    ///
    /// Throws ``UAFError``: `duplicateTag` for two announcements, `invalidLength`, `invalidKey` for bytes that are not
    /// a point on P-256 and for one key in both places, and `invalidSignature`.
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
