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

/// This device, as it speaks for itself to the server of one account: what it says is signed with a key of its own, and
/// what is sealed to it, it alone opens.
package struct DeviceIdentity: Sendable {
    private let module: AuthenticatorModule
    private let keys: IdentityKeys
    private let server: String
    private let clock: any DeviceClock
    private let random: RandomSource

    /// What the server verifies proofs with (`use` is `sig`), named by its thumbprint.
    package let signingKey: JWK
    /// What the server seals to (`use` is `enc`, ECDH-ES), named by its thumbprint.
    package let encryptionKey: JWK

    init(_ keys: IdentityKeys, of account: AccountKey, _ core: ClientCore) throws(JOSEError) {
        // A server's own name has no slash at its end.
        let address = account.server.absoluteString
        try self.init(
            keys,
            server: address.hasBytes(atEnd: "/") ? String(decoding: address.utf8.dropLast(), as: UTF8.self) : address,
            core.module, core.platform)
    }

    /// The device towards a server of that name.
    init(_ keys: IdentityKeys, server: String, _ module: AuthenticatorModule, _ platform: DevicePlatform)
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

    /// Proves that a request is this device's: the compact form that goes with it, once.
    ///
    /// - Parameters:
    ///   - keyID: What the server knows the device by; by default the name of its key.
    ///   - clockOffset: How far the server's clock is ahead of the device's.
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

    /// Opens what was sealed to this device (compact JWE, ECDH-ES with A256GCM). Throws `JOSEError` and `DeviceKeyError`.
    package func open(_ sealed: String) throws -> [UInt8] {
        try JWE(opening: sealed, encryptions: [.a256GCM]) { try self.module.agree(with: $0, by: self.keys) }.plaintext
    }

    private static func jwk(_ point: [UInt8], use: String, algorithm: String) throws(JOSEError) -> JWK {
        guard point.count == 65, point[0] == 4 else { throw JOSEError(.invalidKey, "no point") }
        var key = try JWK(
            .p256(x: Array(point[1..<33]), y: Array(point[33...]), d: nil), use: use, algorithm: algorithm)
        key.keyID = key.thumbprint
        return key
    }
}

extension ClientCore {
    /// The device towards an account's server; `nil` where there is no such account. An account of before gets its keys
    /// now.
    ///
    /// Throws ``DeviceKeyError`` and ``StorageError``.
    func identity(of account: AccountKey) async throws -> DeviceIdentity? {
        guard let record = await self.register.record(of: account) else { return nil }
        if let kept = record.identity { return try DeviceIdentity(kept, of: account, self) }
        let made = try self.module.makeIdentity()
        let kept: IdentityKeys?
        do {
            // Somebody else may have made them meanwhile, or taken the account away.
            kept = try await self.register.keep(made, of: account)
        } catch {
            try? self.module.deleteIdentity(made)
            throw error
        }
        if kept != made { try self.module.deleteIdentity(made) }
        guard let kept else { return nil }
        return try DeviceIdentity(kept, of: account, self)
    }

    /// Takes note of the server's answer to a message that told of a device: from now on the device speaks for itself there,
    /// where the server has its keys.
    func note(_ response: ServerResponse, tellingOf device: IdentityKeys?, of account: AccountKey) async {
        guard let device, let identity = try? DeviceIdentity(device, of: account, self),
            let name = identity.signingKey.keyID, response.deviceKey?.hasSameBytes(as: name) ?? false
        else { return }
        // What is not written down is told once more with the next answer.
        try? await self.register.note(isKnown: true, device, of: account)
    }

    /// The keys by which this device speaks for itself, where the account's server does not know them; those of an account
    /// of before are made now. `nil` where there is nothing to tell, or no room for them.
    func untoldIdentity(of account: AccountKey) async -> IdentityKeys? {
        guard let record = await self.register.record(of: account), !record.isIdentityKnown else { return nil }
        _ = try? await self.identity(of: account)
        return await self.register.record(of: account)?.identity
    }

    /// Forgets keys of a device that will never sign again: others are made for the next authentication, and told with it.
    func forget(_ lost: IdentityKeys, of account: AccountKey) async {
        // Where that cannot be written down, the next request ends here again.
        guard (try? await self.register.forget(lost, of: account)) != nil else { return }
        try? self.module.deleteIdentity(lost)
    }

    /// Deletes the keys of a device that were made for a registration, unless the account has them.
    func forgetUnlessKept(_ device: IdentityKeys, of account: AccountKey) async {
        guard await self.register.record(of: account)?.identity != device else { return }
        try? self.module.deleteIdentity(device)
    }
}

extension DeviceKeyError {
    /// Whether the key will never sign again.
    var isForGood: Bool { self == .gone || self == .closed }
}
