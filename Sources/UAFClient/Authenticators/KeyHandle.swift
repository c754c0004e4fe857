import Crypto
import UAF
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// RawKeyHandle = KHAccessToken ‖ private key ‖ size of the user name ‖ user name, wrapped with AES-GCM
/// (UAF Authenticator Commands 1.1 §5.1). The wrapping is bound to the key's name.
struct KeyHandle {
    var accessToken: [UInt8]
    var privateKey: P256.Signing.PrivateKey
    var username: String

    func wrapped(under key: SymmetricKey, name: KeyName, random: RandomSource) throws -> [UInt8] {
        let username = Array(self.username.utf8)
        let raw = SecretBytes(
            self.accessToken + Array(self.privateKey.rawRepresentation) + [UInt8(username.count >> 8)]
                + [UInt8(username.count & 0xFF)] + username)
        return try raw.withBytes { bytes in
            let box = try AES.GCM.seal(
                bytes, using: key, nonce: AES.GCM.Nonce(data: random.bytes(12)), authenticating: Self.binding(name))
            return Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
        }
    }

    /// `nil` for every reason alike: another key, another name, damage.
    init?(wrapped: [UInt8], under key: SymmetricKey, name: KeyName) {
        guard let box = try? AES.GCM.SealedBox(combined: wrapped),
            let data = try? AES.GCM.open(box, using: key, authenticating: Self.binding(name))
        else { return nil }
        let raw = Array(data)
        guard raw.count >= 66, let privateKey = try? P256.Signing.PrivateKey(rawRepresentation: raw[32..<64]),
            raw.count == 66 + (Int(raw[64]) << 8 | Int(raw[65])),
            let username = String(validating: raw[66...], as: UTF8.self)
        else { return nil }
        self.accessToken = Array(raw[..<32])
        self.privateKey = privateKey
        self.username = username
    }

    init(accessToken: [UInt8], privateKey: P256.Signing.PrivateKey, username: String) {
        self.accessToken = accessToken
        self.privateKey = privateKey
        self.username = username
    }

    private static func binding(_ name: KeyName) -> [UInt8] { Array(name.aaid.text.utf8) + name.keyID.bytes }
}
