import UAFRelyingParty
import _Primitives

/// Attestations and assertions of apps, judged with Apple's root and with data that no seed answers.
enum AppAttestationTarget {
    /// The base point of P-256 as a key, whose private half no seed has used.
    private static let point: [UInt8] = [
        0x04, 0x6B, 0x17, 0xD1, 0xF2, 0xE1, 0x2C, 0x42, 0x47, 0xF8, 0xBC, 0xE6, 0xE5, 0x63, 0xA4, 0x40, 0xF2, 0x77,
        0x03, 0x7D, 0x81, 0x2D, 0xEB, 0x33, 0xA0, 0xF4, 0xA1, 0x39, 0x45, 0xD8, 0x98, 0xC2, 0x96, 0x4F, 0xE3, 0x42,
        0xE2, 0xFE, 0x1A, 0x7F, 0x9B, 0x8E, 0xE7, 0xEB, 0x4A, 0x7C, 0x0F, 0x9E, 0x16, 0x2B, 0xCE, 0x33, 0x57, 0x6B,
        0x31, 0x5E, 0xCE, 0xCB, 0xB6, 0x40, 0x68, 0x37, 0xBF, 0x51, 0xF5,
    ]
    private static let clientDataHash = [UInt8](repeating: 1, count: 32)
    private static let app = try? AttestedApp(
        teamID: "ABCDE12345", bundleID: "com.example.bank", environment: .production)

    /// Checks that the parts of a read object are parts of the bytes, and that nothing is accepted.
    static func holds(_ bytes: [UInt8]) -> Bool {
        guard let app, let verifier = try? AppAttestationVerifier(apps: [app]),
            let key = try? AttestedAppKey(app: app, publicKey: self.point, counter: 0)
        else { return false }
        if let object = try? AppAttestationObject(encoded: bytes) {
            let parts = object.certificates + [object.receipt, object.authenticatorData]
            guard parts.reduce(0, { $0 + $1.count }) < bytes.count else { return false }
        }
        let attested = try? verifier.verify(
            attestation: bytes, keyID: self.clientDataHash, clientDataHash: self.clientDataHash,
            at: Timestamp(seconds: 1_800_000_000))
        let asserted = try? key.verify(assertion: bytes, clientDataHash: self.clientDataHash)
        return attested == nil && asserted == nil
    }
}
