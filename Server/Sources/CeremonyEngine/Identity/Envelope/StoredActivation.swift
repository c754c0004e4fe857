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

    /// The rest after a failed attempt that an activation that may do something is in; `nil` where it is in none. While it
    /// rests, it begins nothing and goes on with nothing, but for the session that waits for the end of that rest.
    func rest(at now: Timestamp) -> LockoutInformation? {
        self.isActive ? Lockout(self.lockout).pending(at: now) : nil
    }

    /// Refuses an activation that may begin nothing now: it is disabled, or it rests.
    func requireReady(at now: Timestamp) throws(IdentityProblem) {
        if let inactivity = self.inactivity(at: now) { throw inactivity }
        if let rest = self.rest(at: now) { throw IdentityProblem(rest) }
    }

    /// The thumbprint of the key that its device signs for itself with, by which a proof of a code's PIN names it.
    var deviceThumbprint: String? {
        P256.Signing.PublicKey(keptPoint: self.signingKey).flatMap { JWK(point: Array($0.x963Representation)) }?
            .thumbprint
    }

    /// Whether an attempt of it is counted that may be right. One that was not settled before its proof is over never will
    /// be: the server was killed, and the phone cannot send it again.
    func isJudged(at now: Timestamp) -> Bool {
        guard self.device.isActive, let reservation = self.lockout.reservation else { return false }
        return now < reservation.at + DeviceProof.skew + DeviceProof.skew
    }
}

extension VerificationKey {
    /// The public key of a point of P-256 as an activation has it: whole, or compressed as it was before; `nil` where it is
    /// none. Of a compressed one the missing half has to be found with every request.
    init?(keptPoint point: [UInt8]) {
        guard let key = P256.Signing.PublicKey(keptPoint: point) else { return nil }
        self.init(key)
    }
}

extension P256.Signing.PublicKey {
    fileprivate init?(keptPoint point: [UInt8]) {
        let key =
            point.count == Self.compressedBytes
            ? try? Self(compressedRepresentation: point) : try? Self(x963Representation: point)
        guard let key else { return nil }
        self = key
    }

    private static var compressedBytes: Int { 33 }
}

extension JWK {
    /// The compressed point of a key on P-256; `nil` for every other.
    var compressedPoint: [UInt8]? { self.publicKey.map { Array($0.compressedRepresentation) } }

    /// The whole point of a key on P-256; `nil` for every other.
    var wholePoint: [UInt8]? { self.publicKey.map { Array($0.x963Representation) } }

    private var publicKey: P256.Signing.PublicKey? {
        guard case .p256(let x, let y, _) = self.material else { return nil }
        return try? P256.Signing.PublicKey(rawRepresentation: x + y)
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
    var factorType: AuthenticatorType? {
        (try? AAID(self.aaid)).flatMap { AuthenticatorTypeTable.product.type(of: $0) }
    }
}
