import CountersignTestKit
import Crypto
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Decision 61: the keys by which a device speaks for itself")
struct IdentityKeysTests {
    /// A device with keys in its storage, and one with keys in a chip.
    private static func devices() throws -> [Device] {
        [try Device(), try Device(keys: VerifyingKeys(keyStore: .tpm))]
    }

    @Test("They sign and agree, asking nobody, also when they were read again")
    func use() async throws {
        for device in try Self.devices() {
            let made = try device.module.makeIdentity()
            guard case .object(let stored) = try JSON(parsing: JSON.object(made.json).serialized) else {
                Issue.record("what is stored is no object")
                return
            }
            let keys = try DeviceIdentityKeys(json: stored)
            #expect(keys == made && keys.signingKey != keys.openingKey)
            let again = try device.reopened().module
            let message = Array("message".utf8)
            let signature = try await again.sign(message, by: keys)
            #expect(
                try P256.Signing.PublicKey(x963Representation: keys.signingKey).isValidSignature(
                    P256.Signing.ECDSASignature(rawRepresentation: signature), for: message))
            let other = P256.KeyAgreement.PrivateKey()
            let expected = try other.sharedSecretFromKeyAgreement(
                with: P256.KeyAgreement.PublicKey(x963Representation: keys.openingKey))
            let agreed = try again.agree(with: Array(other.publicKey.x963Representation), by: keys)
            #expect(agreed == SecretBytes(expected.withUnsafeBytes { Array($0) }))
            #expect(throws: DeviceKeyError.closed) {
                try again.agree(with: [4] + [UInt8](repeating: 1, count: 64), by: keys)
            }
            #expect(throws: DeviceKeyError.closed) { try again.agree(with: [], by: keys) }
        }
    }

    @Test("No two are the same, and they are no authenticator's")
    func apart() async throws {
        for device in try Self.devices() {
            let (first, second) = (try device.module.makeIdentity(), try device.module.makeIdentity())
            #expect(Set([first.signingKey, first.openingKey, second.signingKey, second.openingKey]).count == 4)
            #expect(await device.module.registrations(appID: Device.facet).isEmpty)
            #expect(await device.module.registrations(appID: "").isEmpty)
        }
    }

    @Test("They open to their own app and installation alone, and not on a device without their place")
    func strangers() async throws {
        for device in try Self.devices() {
            let keys = try device.module.makeIdentity()
            let stranger = try Device(
                storage: InMemoryStorage(device.storage.snapshot), keys: device.keys, facet: "linux:program:other")
            await #expect(throws: DeviceKeyError.closed) { _ = try await stranger.module.sign([1], by: keys) }
            let installation = try Device(keys: device.keys)
            await #expect(throws: DeviceKeyError.closed) { _ = try await installation.module.sign([1], by: keys) }
        }
        let keys = try Device(keys: VerifyingKeys(keyStore: .tpm)).module.makeIdentity()
        await #expect(throws: DeviceKeyError.gone) { _ = try await Device().module.sign([1], by: keys) }
    }

    @Test("Deleted ones are gone from the device, and half a pair is never left")
    func deleted() async throws {
        let chip = VerifyingKeys(keyStore: .tpm)
        let device = try Device(keys: chip)
        let keys = try device.module.makeIdentity()
        #expect(chip.count == 2)
        try device.module.deleteIdentity(keys)
        #expect(chip.count == 0)
        await #expect(throws: DeviceKeyError.gone) { _ = try await device.module.sign([1], by: keys) }
        chip.refuseKeys(true, after: 1)
        #expect(throws: DeviceKeyError.noRoom) { try device.module.makeIdentity() }
        #expect(chip.count == 0)
    }

    @Test("What is no record of such keys is a corrupt one", arguments: ["{}", #"{"keyStore":9,"id":"AA"}"#])
    func corrupt(text: String) throws {
        guard case .object(let object) = try JSON(parsing: Array(text.utf8)) else {
            Issue.record("no object: \(text)")
            return
        }
        #expect(throws: (any Error).self) { try DeviceIdentityKeys(json: object) }
    }
}
