import Ceremony
import CeremonyEngine
import Crypto
import Foundation
import JOSE
import UAF
import _Primitives

/// The keys by which a phone speaks for itself, made of the message types alone: it can also tell them wrongly.
struct TestDevice {
    let signing: P256.Signing.PrivateKey
    let encryption: P256.Signing.PrivateKey

    init(signing: P256.Signing.PrivateKey = .init(), encryption: P256.Signing.PrivateKey = .init()) {
        self.signing = signing
        self.encryption = encryption
    }

    /// By what a server knows the key that signs.
    var name: String {
        get throws {
            let point = Array(self.signing.publicKey.x963Representation)
            return try JWK(.p256(x: Array(point[1..<33]), y: Array(point[33...]), d: nil)).thumbprint
        }
    }

    /// What it tells of itself, answering `finalChallenge`; signed over `signed` where that is given.
    func announcement(_ finalChallenge: String, signed: String? = nil) throws -> AssertionExtension {
        let (signingKey, encryptionKey) = (
            Array(self.signing.publicKey.x963Representation), Array(self.encryption.publicKey.x963Representation)
        )
        let bytes = DeviceKeyAnnouncement.signedBytes(
            signingKey: signingKey, encryptionKey: encryptionKey, finalChallenge: signed ?? finalChallenge)
        return DeviceKeyAnnouncement.assertionExtension(
            signingKey: signingKey, encryptionKey: encryptionKey,
            signature: Array(try self.signing.signature(for: Data(bytes)).rawRepresentation))
    }

    /// A request that it has proved.
    func call(
        method: String = "GET", path: String = "/account/v1/questions", body: [UInt8] = [],
        audience: String = "http://localhost:8080", keyID: String? = nil,
        signedBy signer: P256.Signing.PrivateKey? = nil, at now: Timestamp, source: String? = nil
    ) throws -> IdentityCall {
        let unsigned = try DeviceProof.unsigned(
            DeviceProof.Request(audience: audience, method: method, target: audience + path, body: body),
            keyID: try keyID ?? self.name, at: now, random: .system)
        let signature = try (signer ?? self.signing).signature(for: Data(unsigned.signingInput))
        return IdentityCall(
            method: method, path: path, body: body,
            proof: unsigned.compact(signature: Array(signature.rawRepresentation)), source: source)
    }
}
