import Ceremony
import Crypto
import JOSE
import Store
import UAF
import UAFRelyingParty
import _Primitives

/// An activation as it is on record.
typealias StoredActivation = Store.ActivationRecord

extension StoredActivation {
    /// What it is told where it may do nothing; `nil` where it may. While its last attempt is judged it rests: that may be
    /// right.
    func inactivity(at now: Timestamp) -> IdentityProblem? {
        guard !self.isActive else { return nil }
        guard self.isJudged(at: now), let lockout = Lockout(self.lockout).pending(at: now) else {
            return IdentityProblem(.activationDisabled)
        }
        return IdentityProblem(lockout)
    }

    /// Whether an attempt of it is counted that may be right. One that was not settled before its proof is over never will
    /// be: the server was killed, and the phone cannot send it again.
    func isJudged(at now: Timestamp) -> Bool {
        guard self.device.isActive, let reservation = self.lockout.reservation else { return false }
        return now < reservation.at + DeviceProof.skew + DeviceProof.skew
    }
}

extension JWK {
    /// The public key of a compressed point of P-256; `nil` where it is none.
    init?(compressedPoint point: [UInt8]) {
        guard let key = try? P256.Signing.PublicKey(compressedRepresentation: point) else { return nil }
        let coordinates = Array(key.rawRepresentation)
        let jwk = try? JWK(.p256(x: Array(coordinates[..<32]), y: Array(coordinates[32...]), d: nil))
        guard let jwk else { return nil }
        self = jwk
    }

    /// The compressed point of a key on P-256; `nil` for every other.
    var compressedPoint: [UInt8]? {
        guard case .p256(let x, let y, _) = self.material,
            let key = try? P256.Signing.PublicKey(rawRepresentation: x + y)
        else { return nil }
        return Array(key.compressedRepresentation)
    }
}

extension AccountStore {
    /// The keys of an activation.
    func credentials(of activation: StoredActivation) async throws -> [CredentialRecord] {
        try await self.credentials(accountID: activation.device.accountID)
            .filter { $0.deviceID.hasSameBytes(as: activation.device.id) }
    }
}

extension Sequence<CredentialRecord> {
    /// The types of factors that these keys are.
    var factorTypes: Set<AuthenticatorType> { Set(self.compactMap(\.factorType)) }

    /// Those of a type.
    func keys(of type: AuthenticatorType) -> [CredentialRecord] { self.filter { $0.factorType == type } }
}

extension CredentialRecord {
    /// What type of factor it is; `nil` for a model that is none.
    fileprivate var factorType: AuthenticatorType? {
        (try? AAID(self.aaid)).flatMap { AuthenticatorTypeTable.product.type(of: $0) }
    }
}
