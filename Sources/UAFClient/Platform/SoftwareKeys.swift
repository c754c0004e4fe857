import Crypto
import UAF
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Keys without a chip.
///
/// Each key is in its handle, wrapped under a secret of this installation. A key of a PIN or a password is wrapped
/// under the typed secret too (UAF Authenticator Commands 1.1 §5.1, `Wrap.sym`). The person is verified before a key is
/// opened.
struct SoftwareKeys: DeviceKeys {
    /// The wrapping secret of this installation.
    let wrapSecret: SecretBytes
    let random: RandomSource

    var keyStore: AuthenticatorModel.KeyStore { .file }
    var verifiesWhileSigning: Bool { false }

    func make(_ name: DeviceKeyName, owner: String, lock: KeyLock) throws -> NewDeviceKey {
        let key = P256.Signing.PrivateKey()
        let handle = RawKeyHandle(accessToken: name.accessToken, privateKey: key, owner: owner)
        let secret: SecretBytes? = if case .secret(let secret) = lock { secret } else { nil }
        return NewDeviceKey(
            handle: try handle.wrapped(under: self.wrapKey(secret, name), name, self.random),
            publicKey: Array(key.publicKey.x963Representation))
    }

    func check(_ handle: [UInt8], of name: DeviceKeyName, unlocking: KeyUnlock) throws {
        _ = try self.open(handle, name, unlocking)
    }

    func sign(_ message: [UInt8], with handle: [UInt8], of name: DeviceKeyName, unlocking: KeyUnlock) async throws
        -> [UInt8]
    {
        Array(try self.open(handle, name, unlocking).privateKey.signature(for: message).rawRepresentation)
    }

    func relock(_ handle: [UInt8], of name: DeviceKeyName, from old: SecretBytes, to new: SecretBytes) throws -> [UInt8]
    {
        try self.open(handle, name, .secret(old)).wrapped(under: self.wrapKey(new, name), name, self.random)
    }

    /// The key is a scalar of P-256 like any other. Its name prevents that the key is ever asked to sign.
    func makeAgreementKey(_ name: DeviceKeyName) throws -> NewDeviceKey {
        try self.make(name, owner: "", lock: .none)
    }

    func agree(with point: [UInt8], by handle: [UInt8], of name: DeviceKeyName) throws -> SecretBytes {
        let scalar = try self.open(handle, name, .none).privateKey.rawRepresentation
        guard let other = try? P256.KeyAgreement.PublicKey(x963Representation: point),
            let secret = try? P256.KeyAgreement.PrivateKey(rawRepresentation: scalar)
                .sharedSecretFromKeyAgreement(with: other)
        else { throw DeviceKeyError.closed }
        return SecretBytes(secret.withUnsafeBytes { Array($0) })
    }

    /// The key was in its handle, so nothing remains to delete.
    func delete(_ handle: [UInt8], of name: DeviceKeyName) {}

    private func open(_ handle: [UInt8], _ name: DeviceKeyName, _ unlocking: KeyUnlock) throws -> RawKeyHandle {
        let secret: SecretBytes? = if case .secret(let secret) = unlocking { secret } else { nil }
        guard let raw = RawKeyHandle(wrapped: handle, under: self.wrapKey(secret, name), name) else {
            throw secret == nil ? DeviceKeyError.closed : DeviceKeyError.wrongSecret
        }
        guard constantTimeEqual(raw.accessToken, name.accessToken) else { throw DeviceKeyError.closed }
        return raw
    }

    /// Returns the wrapping key: from the installation's secret alone, or from this secret and a typed secret, so
    /// neither secret is enough.
    private func wrapKey(_ typed: SecretBytes?, _ name: DeviceKeyName) -> SymmetricKey {
        let info = typed == nil ? "countersign key handle/1" : "countersign key handle under a typed secret/1"
        let secrets = SecretBytes(
            (typed?.withBytes { Array($0) } ?? []) + self.wrapSecret.withBytes { Array($0) })
        return secrets.withBytes { bytes in
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: bytes), salt: name.id, info: Array(info.utf8), outputByteCount: 32)
        }
    }
}

/// RawKeyHandle = KHAccessToken ‖ private key ‖ size of the user name ‖ user name, wrapped with AES-GCM
/// (UAF Authenticator Commands 1.1 §5.1). The wrapping is bound to the key's name.
private struct RawKeyHandle {
    let accessToken: [UInt8]
    let privateKey: P256.Signing.PrivateKey
    let owner: String

    init(accessToken: [UInt8], privateKey: P256.Signing.PrivateKey, owner: String) {
        self.accessToken = accessToken
        self.privateKey = privateKey
        self.owner = owner
    }

    func wrapped(under key: SymmetricKey, _ name: DeviceKeyName, _ random: RandomSource) throws -> [UInt8] {
        let owner = Array(self.owner.utf8)
        let raw = SecretBytes(
            self.accessToken + Array(self.privateKey.rawRepresentation) + [UInt8(owner.count >> 8)]
                + [UInt8(owner.count & 0xFF)] + owner)
        return try raw.withBytes { bytes in
            let box = try AES.GCM.seal(
                bytes, using: key, nonce: AES.GCM.Nonce(data: random.bytes(12)), authenticating: name.binding)
            return Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
        }
    }

    /// Opens a handle; `nil` for every reason alike: another key, another name, damage.
    init?(wrapped: [UInt8], under key: SymmetricKey, _ name: DeviceKeyName) {
        guard let box = try? AES.GCM.SealedBox(combined: wrapped),
            let data = try? AES.GCM.open(box, using: key, authenticating: name.binding)
        else { return nil }
        let raw = Array(data)
        guard raw.count >= 66, let privateKey = try? P256.Signing.PrivateKey(rawRepresentation: raw[32..<64]),
            raw.count == 66 + (Int(raw[64]) << 8 | Int(raw[65])),
            let owner = String(validating: raw[66...], as: UTF8.self)
        else { return nil }
        self.init(accessToken: Array(raw[..<32]), privateKey: privateKey, owner: owner)
    }
}

extension DeviceKeyName {
    fileprivate var binding: [UInt8] { Array(self.kind.utf8) + self.id }
}
