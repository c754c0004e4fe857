import Ceremony
package import JOSE
import UAF
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// This device's identity towards the server of one account. The device signs its requests with a key of its own, and
/// only the device can open data that is sealed to its other key.
package struct DeviceIdentity: Sendable {
    private let module: AuthenticatorModule
    private let keys: DeviceIdentityKeys
    private let server: String
    private let clock: any DeviceClock
    private let random: RandomSource

    /// The key with which the server verifies proofs (`use` is `sig`), named by its thumbprint.
    package let signingKey: JWK
    /// The key to which the server seals data (`use` is `enc`, ECDH-ES), named by its thumbprint.
    package let encryptionKey: JWK

    /// Creates the device's identity towards the server of an account.
    init(_ keys: DeviceIdentityKeys, of account: AccountKey, _ module: AuthenticatorModule, _ platform: DevicePlatform)
        throws(JOSEError)
    {
        // A server's own name has no slash at its end.
        let address = account.server.absoluteString
        try self.init(
            keys,
            server: address.hasBytes(atEnd: "/") ? String(decoding: address.utf8.dropLast(), as: UTF8.self) : address,
            module, platform)
    }

    /// Creates the device's identity towards a server of the name.
    init(_ keys: DeviceIdentityKeys, server: String, _ module: AuthenticatorModule, _ platform: DevicePlatform)
        throws(JOSEError)
    {
        self.module = module
        self.keys = keys
        self.server = server
        self.clock = platform.clock
        self.random = platform.random
        self.signingKey = try Self.jwk(keys.signingKey, use: "sig", algorithm: "ES256")
        self.encryptionKey = try Self.jwk(keys.openingKey, use: "enc", algorithm: "ECDH-ES")
    }

    /// Creates the proof that a request comes from this device: the compact form, which is sent with the request once.
    ///
    /// - Parameters:
    ///   - keyID: The server's name of the device; by default the name of the device's key.
    ///   - clockOffset: The difference by which the server's clock is ahead of the device's clock.
    ///
    /// Throws `DeviceKeyError` and ``StorageError``.
    package func proof(
        method: String, target: String, body: [UInt8], keyID: String? = nil, clockOffset: Duration = .zero
    ) async throws -> String {
        let unsigned = try DeviceProof.unsigned(
            DeviceProof.Request(audience: self.server, method: method, target: target, body: body),
            keyID: keyID ?? self.signingKey.keyID ?? "", at: self.clock.now() + clockOffset, random: self.random)
        return unsigned.compact(signature: try await self.module.sign(unsigned.signingInput, by: self.keys))
    }

    /// Creates a person's denial of the request with the challenge: the compact form, signed by this device.
    ///
    /// Throws `DeviceKeyError` and ``StorageError``.
    func denial(_ statement: DenialStatement, of challenge: String) async throws -> String {
        let unsigned = try SignedDenial.unsigned(
            statement, audience: self.server, challenge: challenge, keyID: self.signingKey.keyID ?? "")
        return unsigned.compact(signature: try await self.module.sign(unsigned.signingInput, by: self.keys))
    }

    /// Opens data that was sealed to this device (compact JWE, ECDH-ES with A256GCM). Throws `JOSEError` and
    /// `DeviceKeyError`.
    package func open(_ sealed: String) throws -> [UInt8] {
        try JWE(opening: sealed, encryptions: [.a256GCM]) { _, point in try self.agree(with: point) }.plaintext
    }

    /// Returns the secret that ``encryptionKey`` agrees on with a point of P-256 (65 bytes). Throws `DeviceKeyError` and
    /// ``StorageError``.
    func agree(with point: [UInt8]) throws -> SecretBytes { try self.module.agree(with: point, by: self.keys) }

    private static func jwk(_ point: [UInt8], use: String, algorithm: String) throws(JOSEError) -> JWK {
        guard point.count == 65, point[0] == 4 else { throw JOSEError(.invalidKey, "no point") }
        var key = try JWK(
            .p256(x: Array(point[1..<33]), y: Array(point[33...]), d: nil), use: use, algorithm: algorithm)
        key.keyID = key.thumbprint
        return key
    }
}

/// The identities of this device towards the servers of its accounts.
struct DeviceIdentities: Sendable {
    let module: AuthenticatorModule
    let register: AccountRegister
    let platform: DevicePlatform

    /// Returns the device's identity towards an account's server; `nil` if the account does not exist. An account of an
    /// earlier version gets its keys now.
    ///
    /// Throws ``DeviceKeyError`` and ``StorageError``.
    func identity(of account: AccountKey) async throws -> DeviceIdentity? {
        guard let record = await self.register.record(of: account) else { return nil }
        if let kept = record.identity { return try DeviceIdentity(kept, of: account, self.module, self.platform) }
        let made = try self.module.makeIdentity()
        let kept: DeviceIdentityKeys?
        do {
            // Another task may have made the keys meanwhile, or removed the account.
            kept = try await self.register.keep(made, of: account)
        } catch {
            try? self.module.deleteIdentity(made)
            throw error
        }
        if kept != made { try self.module.deleteIdentity(made) }
        guard let kept else { return nil }
        return try DeviceIdentity(kept, of: account, self.module, self.platform)
    }

    /// Returns the account among `records` whose device has the encryption key of that name (RFC 7638), and the device's
    /// keys; `nil` if no account has the key.
    func account(ofKey keyID: String, among records: [StoredAccount]) -> (keys: DeviceIdentityKeys, key: AccountKey)? {
        for record in records {
            guard let keys = record.identity,
                let identity = try? DeviceIdentity(keys, of: record.key, self.module, self.platform),
                let name = identity.encryptionKey.keyID, name.hasSameBytes(as: keyID)
            else { continue }
            return (keys, record.key)
        }
        return nil
    }

    /// Returns the secret that a device key of an account agrees on with a point of P-256 (65 bytes).
    ///
    /// `keyID` is the name of the device's encryption key, its thumbprint. The name finds the account among `records`.
    /// Throws ``JOSEError`` `unknownKey` if no account has the key, and as ``DeviceIdentity/agree(with:)``.
    func agree(with point: [UInt8], byKey keyID: String, among records: [StoredAccount]) throws -> SecretBytes {
        guard let (keys, account) = self.account(ofKey: keyID, among: records) else {
            throw JOSEError(.unknownKey, "kid")
        }
        return try DeviceIdentity(keys, of: account, self.module, self.platform).agree(with: point)
    }

    /// Records the server's answer to a message that announced a device. If the server has stored the device's keys,
    /// the device authenticates itself at the server from now on.
    func note(_ response: ServerResponse, tellingOf device: DeviceIdentityKeys?, of account: AccountKey) async {
        guard let device, let identity = try? DeviceIdentity(device, of: account, self.module, self.platform),
            let name = identity.signingKey.keyID, response.deviceKey?.hasSameBytes(as: name) ?? false
        else { return }
        // If the record cannot be stored, the next answer announces the device once more.
        try? await self.register.note(isKnown: true, device, of: account)
    }

    /// Returns this device's identity keys if the account's server does not know them; creates them for an account of
    /// an earlier version. `nil` if nothing has to be announced, or if the device has no room for the keys.
    func untoldIdentity(of account: AccountKey) async -> DeviceIdentityKeys? {
        guard let record = await self.register.record(of: account), !record.isIdentityKnown else { return nil }
        _ = try? await self.identity(of: account)
        return await self.register.record(of: account)?.identity
    }

    /// Forgets keys of a device that will never sign again. New keys are made and announced with the next
    /// authentication.
    func forget(_ lost: DeviceIdentityKeys, of account: AccountKey) async {
        // If the change cannot be stored, the next request ends here again.
        guard (try? await self.register.forget(lost, of: account)) != nil else { return }
        try? self.module.deleteIdentity(lost)
    }

    /// Deletes the device keys that were made for a registration, unless the account uses them.
    func forgetUnlessKept(_ device: DeviceIdentityKeys, of account: AccountKey) async {
        guard await self.register.record(of: account)?.identity != device else { return }
        try? self.module.deleteIdentity(device)
    }
}

extension DeviceKeyError {
    /// `true` if the key will never sign again.
    var isForGood: Bool { self == .gone || self == .closed }
}
