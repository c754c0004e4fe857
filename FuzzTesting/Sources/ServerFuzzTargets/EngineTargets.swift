import Ceremony
import CeremonyEngine
import Store
import _Primitives

/// What the ceremony engine reads of a request's JSON, beyond the messages of the standard.
enum EngineTargets {
    private static func object(_ bytes: [UInt8]) -> JSONObject? {
        guard case .object(let object)? = try? JSON(parsing: bytes) else { return nil }
        return object
    }

    /// The fields of a payment, as a back end dispatches them. What a phone is asked to sign it recognises as the same.
    static func paymentFields(_ bytes: [UInt8]) -> Bool {
        let most = Limits().transactionCharacters
        guard let object = self.object(bytes), let payment = try? Payment(json: object, maximumLength: most) else {
            return true
        }
        return (try? Payment(recognizing: payment.text, maximumLength: most)) == payment
    }

    /// The document that says what invented accounts look like.
    static func keyDistribution(_ bytes: [UInt8]) -> Bool {
        guard let object = self.object(bytes), let distribution = try? KeyDistribution(json: object) else {
            return true
        }
        return (try? KeyDistribution(json: distribution.json)) == distribution
            && distribution.devices.reduce(0, +) == KeyDistribution.total
            && distribution.sets.reduce(0) { $0 + $1.weight } == KeyDistribution.total
    }

    /// What an enrolment says that it takes the place of.
    static func replacementClaim(_ bytes: [UInt8]) -> Bool {
        let limits = Limits()
        guard let object = self.object(bytes), let claim = try? ReplacementClaim(object, limits) else { return true }
        return (1...limits.shownDeviceSecrets).contains(claim.secrets.count)
            && (1...limits.replacedKeys).contains(claim.keys.count)
            && claim.secrets.allSatisfy { Base64URL.decode($0)?.count == 32 }
    }
}
