public import Records
import Sealing
public import Settings
import UAF
public import _Primitives

/// The keys that an enrolment claims to replace, with the proof of being their devices (decision 18).
public struct ReplacementClaim: Sendable {
    private static let secretBytes = 32

    /// The secrets of earlier enrolments of the same phone, each for one device.
    public let secrets: [String]
    /// The keys to delete.
    public let keys: [CredentialSelection.Name]

    /// Reads `replaces` of an answer's context. Throws for anything that is not understood.
    public init(_ object: JSONObject, _ limits: Limits) throws {
        guard let secrets = try object.strings("secrets"), (1...limits.shownDeviceSecrets).contains(secrets.count),
            let keys = try object.array("keys"), (1...limits.replacedKeys).contains(keys.count)
        else { throw JSONError(.wrongType, "a replacement") }
        self.secrets = try secrets.map { try Self.secret($0) }
        self.keys = try keys.map { value in
            guard case .object(let key) = value else { throw JSONError(.wrongType, "a replaced key") }
            return CredentialSelection.Name(
                aaid: try AAID(try key.requiredString("aaid")).text,
                keyID: try KeyID(base64URL: try key.requiredString("keyID")).bytes)
        }
    }

    /// Returns the secret of an enrolment unchanged, and throws unless the text is 32 bytes in base64url.
    static func secret(_ text: String) throws -> String {
        guard Base64URL.decode(text)?.count == Self.secretBytes else {
            throw JSONError(.wrongType, "a device's secret")
        }
        return text
    }
}

/// Finds the keys that an enrolment may replace.
struct Replacements: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore

    /// Returns the code that is kept for the secret of an enrolment. The code is valid for this account alone, and
    /// useless to a reader of the database.
    func enrolmentSecretCode(_ secret: String, accountID: String) -> [UInt8] {
        self.sealing.code("\(accountID) \(secret)", purpose: .enrolmentSecret)
    }

    /// Returns the identifiers of the keys that an enrolment replaces once confirmed: the named keys on devices of the
    /// account whose secret the enrolment shows. The phone learns nothing of the result.
    func replacedCredentials(_ claim: ReplacementClaim?, accountID: String) async throws -> [String] {
        guard let claim else { return [] }
        let shown = claim.secrets.map { self.enrolmentSecretCode($0, accountID: accountID) }
        let proven = try await self.store.devices(accountID: accountID).filter { device in
            guard let kept = device.secretCode else { return false }
            // Every secret is compared, regardless of earlier results.
            return shown.reduce(false) { found, code in constantTimeEqual(code, kept) || found }
        }.map(\.id)
        guard !proven.isEmpty else { return [] }
        return try await self.store.credentials(accountID: accountID).filter { key in
            proven.contains(key.deviceID)
                && claim.keys.contains(CredentialSelection.Name(aaid: key.aaid, keyID: key.keyID))
        }.map(\.id)
    }
}
