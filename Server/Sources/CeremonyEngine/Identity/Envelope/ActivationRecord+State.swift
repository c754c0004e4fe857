import Ceremony
import Crypto
import JOSE
import Records
import UAF
import UAFRelyingParty
import _Primitives

extension ActivationRecord {
    /// Returns the problem that tells an inactive activation why it may do nothing; `nil` for an active activation.
    /// While its last attempt is judged, the activation counts as locked out for a time, because the attempt may be
    /// right.
    func inactivity(at now: Timestamp) -> IdentityProblem? {
        guard !self.isActive else { return nil }
        guard self.isJudged(at: now), let lockout = Lockout(self.lockout).pending(at: now) else {
            return IdentityProblem(.activationDisabled)
        }
        return IdentityProblem(lockout)
    }

    /// Returns the temporary lockout of an active activation after a failed attempt; `nil` without a lockout.
    ///
    /// During the lockout the activation begins and continues nothing, except the session that waits for the end of the
    /// lockout.
    func rest(at now: Timestamp) -> IdentityLockout? {
        self.isActive ? Lockout(self.lockout).pending(at: now) : nil
    }

    /// Refuses an activation that may begin nothing now, because the activation is disabled or locked out.
    func requireReady(at now: Timestamp) throws(IdentityProblem) {
        if let inactivity = self.inactivity(at: now) { throw inactivity }
        if let rest = self.rest(at: now) { throw IdentityProblem(rest) }
    }

    /// The thumbprint of the key with which the activation's device signs for itself. A proof of a code's PIN names the
    /// device by the thumbprint.
    var deviceThumbprint: String? {
        P256.Signing.PublicKey(keptPoint: self.signingKey).flatMap { JWK(point: Array($0.x963Representation)) }?
            .thumbprint
    }

    /// `true` if a counted attempt of the activation may still be right.
    ///
    /// An attempt that is not settled before the end of its proof will never be settled: the server was killed, and the
    /// phone cannot repeat the request.
    func isJudged(at now: Timestamp) -> Bool {
        guard self.device.isActive, let reservation = self.lockout.reservation else { return false }
        return now < reservation.at + DeviceProof.skew + DeviceProof.skew
    }
}

extension VerificationKey {
    /// Creates the public key of a point of P-256 in an activation's form: whole, or compressed as in older records;
    /// `nil` if the bytes are no point. For a compressed point the missing half must be computed with every request.
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
    /// The compressed point of a key on P-256; `nil` for every other key.
    var compressedPoint: [UInt8]? { self.publicKey.map { Array($0.compressedRepresentation) } }

    /// The whole point of a key on P-256; `nil` for every other key.
    var wholePoint: [UInt8]? { self.publicKey.map { Array($0.x963Representation) } }

    private var publicKey: P256.Signing.PublicKey? {
        guard case .p256(let x, let y, _) = self.material else { return nil }
        return try? P256.Signing.PublicKey(rawRepresentation: x + y)
    }
}

extension AccountStore {
    /// `true` if the account exists and no operator has locked the account.
    func isUnlocked(_ account: String) async throws -> Bool {
        try await self.account(id: account).map { !$0.isLocked } ?? false
    }

    /// Returns the keys of an activation.
    func credentials(of activation: ActivationRecord) async throws -> [CredentialRecord] {
        try await self.credentials(accountID: activation.device.accountID)
            .filter { $0.deviceID.hasSameBytes(as: activation.device.id) }
    }
}

extension Sequence<CredentialRecord> {
    /// The factor types of these keys.
    var factorTypes: Set<AuthenticatorType> { Set(self.compactMap(\.factorType)) }

    /// Returns the keys of a factor type.
    func keys(of type: AuthenticatorType) -> [CredentialRecord] { self.filter { $0.factorType == type } }
}

extension CredentialRecord {
    /// The factor type of the key; `nil` if the model is no factor.
    var factorType: AuthenticatorType? {
        (try? AAID(self.aaid)).flatMap { AuthenticatorTypeTable.product.type(of: $0) }
    }
}
