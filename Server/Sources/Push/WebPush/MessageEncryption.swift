public import Crypto
import Foundation
import Settings
public import _Primitives

/// The encryption of a message by Web Push (RFC 8291, content coding `aes128gcm` of RFC 8188): one record.
public struct MessageEncryption: Sendable {
    /// The longest message in bytes: a record without its header, the tag and the delimiter.
    public static let longestMessage = Limits.Fixed.webPushRecordBytes - 86 - 16 - 1

    private let key: P256.KeyAgreement.PrivateKey
    private let salt: [UInt8]

    /// Makes the encryption of one message.
    ///
    /// - Parameters:
    ///   - key: The sender's key, for this message alone.
    ///   - salt: 16 bytes, for this message alone.
    public init(key: P256.KeyAgreement.PrivateKey, salt: [UInt8]) {
        self.key = key
        self.salt = salt
    }

    /// Makes the encryption of one message with a fresh key and salt.
    public init(random: RandomSource) {
        // Once in four thousand million times the bytes are not a scalar of the curve, and other bytes are drawn.
        while true {
            if let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: random.bytes(32)) {
                self.init(key: key, salt: random.bytes(16))
                return
            }
        }
    }

    /// Encrypts a message to a subscription, and returns the body of the request.
    ///
    /// Throws ``PushCallError`` for a message of more than ``longestMessage`` bytes, and for a subscription whose key no
    /// agreement is possible with.
    public func seal(_ message: [UInt8], to subscription: PushSubscription) throws -> [UInt8] {
        guard message.count <= Self.longestMessage else { throw PushCallError("the message is too long for Web Push") }
        let sender = Array(self.key.publicKey.x963Representation)
        guard let receiver = try? P256.KeyAgreement.PublicKey(x963Representation: subscription.key),
            let shared = try? self.key.sharedSecretFromKeyAgreement(with: receiver)
        else { throw PushCallError("no secret can be agreed on with the subscription's key") }
        // RFC 8291, section 3.4.
        let input = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: subscription.secret,
            sharedInfo: Array("WebPush: info".utf8) + [0] + subscription.key + sender, outputByteCount: 32)
        func derived(_ label: String, _ count: Int) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: input, salt: self.salt, info: Array("Content-Encoding: \(label)".utf8) + [0],
                outputByteCount: count)
        }
        let nonce = try AES.GCM.Nonce(data: derived("nonce", 12).withUnsafeBytes { Array($0) })
        // The delimiter 2 marks the last record (RFC 8188, section 2).
        let sealed = try AES.GCM.seal(message + [2], using: derived("aes128gcm", 16), nonce: nonce)
        let size = UInt32(Limits.Fixed.webPushRecordBytes)
        let header = self.salt + withUnsafeBytes(of: size.bigEndian) { Array($0) } + [UInt8(sender.count)] + sender
        return header + sealed.ciphertext + sealed.tag
    }
}
