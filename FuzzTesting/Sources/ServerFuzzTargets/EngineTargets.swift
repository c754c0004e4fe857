import Ceremony
import CeremonyEngine
import Records
import Settings
import _Primitives

/// The JSON that the ceremony engine reads from requests, beyond the messages of the standard.
enum EngineTargets {
    private static func object(_ bytes: [UInt8]) -> JSONObject? {
        guard case .object(let object)? = try? JSON(parsing: bytes) else { return nil }
        return object
    }

    /// Checks the fields of a payment, as dispatched by a back end: a phone recognises the text to sign as the same
    /// payment.
    static func paymentFields(_ bytes: [UInt8]) -> Bool {
        let most = Limits().transactionCharacters
        guard let object = self.object(bytes), let payment = try? Payment(json: object, maximumLength: most) else {
            return true
        }
        return (try? Payment(recognizing: payment.text, maximumLength: most)) == payment
    }

    /// Checks the document that describes invented accounts.
    static func keyDistribution(_ bytes: [UInt8]) -> Bool {
        guard let object = self.object(bytes), let distribution = try? KeyDistribution(json: object) else {
            return true
        }
        return (try? KeyDistribution(json: distribution.json)) == distribution
            && distribution.devices.reduce(0, +) == KeyDistribution.total
            && distribution.sets.reduce(0) { $0 + $1.weight } == KeyDistribution.total
    }

    /// Checks an enrolment's claim to replace keys.
    static func replacementClaim(_ bytes: [UInt8]) -> Bool {
        let limits = Limits()
        guard let object = self.object(bytes), let claim = try? ReplacementClaim(object, limits) else { return true }
        return (1...limits.shownDeviceSecrets).contains(claim.secrets.count)
            && (1...limits.replacedKeys).contains(claim.keys.count)
            && claim.secrets.allSatisfy { Base64URL.decode($0)?.count == 32 }
    }
}
