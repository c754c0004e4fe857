import UAF
package import _Primitives

/// A device's own keys for the server of one account: a signing key, and a key that opens messages sealed to the
/// device. The keys have no lock, and no other account has them.
package struct DeviceIdentityKeys: Hashable, Sendable, CustomReflectable {
    /// A stored key.
    fileprivate struct Kept: Hashable {
        let handle: [UInt8]
        let publicKey: [UInt8]
    }

    fileprivate let keyStore: AuthenticatorModel.KeyStore
    fileprivate let id: [UInt8]
    fileprivate let signing: Kept
    fileprivate let opening: Kept

    /// The public half of the signing key: an uncompressed point on P-256, 65 bytes.
    package var signingKey: [UInt8] { self.signing.publicKey }
    /// The public half of the key that opens sealed messages: an uncompressed point on P-256, 65 bytes.
    package var openingKey: [UInt8] { self.opening.publicKey }

    /// No children, because handles belong to the device.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The device that an answer announces, beside the answer itself.
package enum AnnouncedDevice: Sendable {
    /// No device.
    case nobody
    /// The device with these keys.
    case kept(DeviceIdentityKeys)
    /// A device with keys made for this answer. The receiver of the answer owns the keys.
    case new
}

extension DeviceIdentityKeys {
    /// Reads keys from the form of ``json``. Throws ``StorageError`` `corrupt`, and `JSONError`.
    package init(json object: JSONObject) throws {
        guard let keyStore = AuthenticatorModel.KeyStore(rawValue: try object.requiredInteger("keyStore")) else {
            throw StorageError(.corrupt, "a place of keys")
        }
        self.keyStore = keyStore
        self.id = try Self.bytes("id", of: object)
        self.signing = try Self.kept("signing", of: object)
        self.opening = try Self.kept("opening", of: object)
    }

    /// The stored form.
    package var json: JSONObject {
        [
            "keyStore": .integer(Int64(self.keyStore.rawValue)), "id": .string(Base64URL.encode(self.id)),
            "signing": .object(Self.json(self.signing)), "opening": .object(Self.json(self.opening)),
        ]
    }

    private static func kept(_ name: String, of object: JSONObject) throws -> Kept {
        guard let kept = try object.object(name) else { throw StorageError(.corrupt, "a key of a device") }
        return Kept(handle: try self.bytes("handle", of: kept), publicKey: try self.bytes("publicKey", of: kept))
    }

    private static func json(_ kept: Kept) -> JSONObject {
        [
            "handle": .string(Base64URL.encode(kept.handle)),
            "publicKey": .string(Base64URL.encode(kept.publicKey)),
        ]
    }

    private static func bytes(_ name: String, of object: JSONObject) throws -> [UInt8] {
        guard let bytes = Base64URL.decode(try object.requiredString(name)) else {
            throw StorageError(.corrupt, "a key of a device")
        }
        return bytes
    }
}

extension AuthenticatorModule {
    private static let signingKind = "identity-signing"
    private static let openingKind = "identity-opening"

    /// Creates the keys of a device for one account. The caller has to store the keys, and calls ``deleteIdentity(_:)``
    /// if it does not.
    ///
    /// Throws ``DeviceKeyError`` `noRoom` and ``StorageError``; no key remains then.
    package nonisolated func makeIdentity() throws -> DeviceIdentityKeys {
        let id = self.platform.random.bytes(32)
        let signing = try self.keys.make(self.name(Self.signingKind, id), owner: "", lock: .none)
        do {
            let opening = try self.keys.makeAgreementKey(self.name(Self.openingKind, id))
            return DeviceIdentityKeys(
                keyStore: self.keyStore, id: id,
                signing: DeviceIdentityKeys.Kept(handle: signing.handle, publicKey: signing.publicKey),
                opening: DeviceIdentityKeys.Kept(handle: opening.handle, publicKey: opening.publicKey))
        } catch {
            try? self.keys.delete(signing.handle, of: self.name(Self.signingKind, id))
            throw error
        }
    }

    /// Signs for the device (ES256: 64 bytes). Throws ``DeviceKeyError``, with `gone` also if the key store is gone,
    /// and ``StorageError``.
    package nonisolated func sign(_ message: [UInt8], by identity: DeviceIdentityKeys) async throws -> [UInt8] {
        try await self.keys(of: identity).sign(
            message, with: identity.signing.handle, of: self.name(Self.signingKind, identity.id), unlocking: .none)
    }

    /// Returns the secret that the device's key agrees on with a point of P-256 (65 bytes): the coordinate x, 32 bytes.
    /// Throws as ``sign(_:by:)``, and ``DeviceKeyError`` `closed` for bytes that are not such a point.
    package nonisolated func agree(with point: [UInt8], by identity: DeviceIdentityKeys) throws -> SecretBytes {
        try self.keys(of: identity).agree(
            with: point, by: identity.opening.handle, of: self.name(Self.openingKind, identity.id))
    }

    /// Returns the device's keys and the extension with which an authenticator announces the keys to the server.
    ///
    /// `nil` if no device is to be announced, and if the keys cannot be made or cannot sign. The person's answer does
    /// not wait for the keys.
    nonisolated func announcement(of device: AnnouncedDevice, answering finalChallenge: String) async
        -> (keys: DeviceIdentityKeys, signed: AssertionExtension)?
    {
        let keys: DeviceIdentityKeys
        switch device {
        case .nobody: return nil
        case .kept(let kept): keys = kept
        case .new:
            guard let made = try? self.makeIdentity() else { return nil }
            keys = made
        }
        let signed = DeviceKeyAnnouncement.signedBytes(
            signingKey: keys.signingKey, encryptionKey: keys.openingKey, finalChallenge: finalChallenge)
        guard let signature = try? await self.sign(signed, by: keys) else {
            self.forgetIfNew(keys, of: device)
            return nil
        }
        return (
            keys,
            DeviceKeyAnnouncement.assertionExtension(
                signingKey: keys.signingKey, encryptionKey: keys.openingKey, signature: signature)
        )
    }

    /// Deletes keys that were made for an answer which is not given.
    nonisolated func forgetIfNew(_ keys: DeviceIdentityKeys?, of device: AnnouncedDevice) {
        guard case .new = device, let keys else { return }
        try? self.deleteIdentity(keys)
    }

    /// Deletes the keys of a device for one account; does nothing if the key store is gone. Throws ``StorageError``.
    package nonisolated func deleteIdentity(_ identity: DeviceIdentityKeys) throws {
        guard let keys = try? self.keys(of: identity) else { return }
        try keys.delete(identity.signing.handle, of: self.name(Self.signingKind, identity.id))
        try keys.delete(identity.opening.handle, of: self.name(Self.openingKind, identity.id))
    }

    private nonisolated func keys(of identity: DeviceIdentityKeys) throws -> any DeviceKeys {
        guard let keys = self.keys(in: identity.keyStore) else { throw DeviceKeyError.gone }
        return keys
    }

    private nonisolated func name(_ kind: String, _ id: [UInt8]) -> DeviceKeyName {
        DeviceKeyName(kind: kind, id: id, accessToken: self.keyHandleAccessToken(appID: ""))
    }
}
