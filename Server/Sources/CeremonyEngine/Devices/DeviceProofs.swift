import Ceremony
import Crypto
import JOSE
public import Records
import Settings
public import _Primitives

/// The reason why a device's proof does not count.
public enum DeviceProofRefusal: Error, Equatable {
    /// The request has no valid proof, or the device is unknown.
    case notProven
    /// The proof is right except for its time: the server's time is `now`. Only the holder of the key learns this.
    case clockSkew(now: Timestamp)
    /// The proof has counted before.
    case replayRefused
    /// The caller's network has sent too many requests without proof, or the device has proved too many. The value is
    /// the number of seconds until the next attempt.
    case tooManyRequests(retryAfter: Int)
}

/// Proofs of devices at the interface for operations. Each request is proved with a key that the device announced in
/// its registration or in an authentication.
public struct DeviceProofs: CeremonyPart {
    /// The device that has proved a request.
    public struct Prover: Sendable {
        /// The device and its account's identifier.
        public let device: AuthenticatedDevice
        /// The device's account, which may be locked.
        public let account: AccountRecord
        /// `true` if the device was removed, or its activation is disabled: a disowned change has added the device, or
        /// wrong factors have disabled it. The caller may then tell the device of the removal, and nothing else.
        public let isGone: Bool
        /// The limits of the device, and the report that the device is lost.
        public let standing: DeviceStanding
        /// The name of the key that proved the request: its thumbprint (RFC 7638).
        public let keyName: String
        /// The key to which messages for the device are sealed: an uncompressed point on P-256.
        let encryptionKey: [UInt8]

        /// Returns `true` if a text names the device: the device's identifier, or the name of the key that proved the
        /// request.
        public func isNamed(_ text: String) -> Bool {
            text.hasSameBytes(as: self.device.deviceID) || text.hasSameBytes(as: self.keyName)
        }
    }

    let environment: CeremonyEnvironment
    let store: any DeviceIdentityStore & DispatchTargetStore & ReplayStore
    let budgets: Budgets

    /// Returns the device that proved a request. Cost: one query, and one written row; once in
    /// ``Limits/Fixed/deviceSeenInterval`` also the time at which the device was seen.
    ///
    /// A source has a budget of requests without proof, a device has a budget of proved requests. Throws
    /// ``DeviceProofRefusal`` and the store's errors.
    public func prover(of call: IdentityCall) async throws -> Prover {
        let now = self.time.now()
        // The budget is spent before the judgement, and given back if the request was proved.
        let shortage = call.source.flatMap { self.budgets.guesses.spend($0, at: now) }
        do {
            let prover = try await self.verified(call, at: now)
            self.giveBack(call, shortage)
            return prover
        } catch DeviceProofRefusal.notProven {
            throw shortage.map { DeviceProofRefusal.tooManyRequests(retryAfter: $0.retryAfterSeconds) } ?? .notProven
        } catch {
            self.giveBack(call, shortage)
            throw error
        }
    }

    private func giveBack(_ call: IdentityCall, _ shortage: Shortage?) {
        if let source = call.source, shortage == nil { self.budgets.guesses.refund(source) }
    }

    private func verified(_ call: IdentityCall, at now: Timestamp) async throws -> Prover {
        guard let claim = ProofClaim(call), let found = try await self.store.device(ofKey: claim.claimant),
            let key = JWK(point: found.signingKey), let verifier = VerificationKey(keptPoint: found.signingKey)
        else { throw DeviceProofRefusal.notProven }
        let verified = try self.verified(claim, of: call, by: verifier, at: now)
        // The device's budget is checked before the row of each request, and after the proof: no other caller can use
        // up a device's budget.
        if let shortage = self.budgets.provenRequests.spend(found.deviceID, at: now) {
            throw DeviceProofRefusal.tooManyRequests(retryAfter: shortage.retryAfterSeconds)
        }
        var hash = SHA256()
        // Digested by the key, because several registrations of one phone share the key.
        hash.update(data: Array("device key \(key.thumbprint) \(verified.identifier)".utf8))
        // The row outlives the proof by a moment, so that the proof's name never becomes free while the proof is valid.
        let end = verified.repeatableUntil + DeviceProof.skew
        guard try await self.store.takeOnce(digest: Array(hash.finalize()), until: end) else {
            throw DeviceProofRefusal.replayRefused
        }
        if !found.isGone, found.seenAt.map({ $0 + Limits.Fixed.deviceSeenInterval <= now }) ?? true {
            try await self.store.noteSeen(deviceID: found.deviceID, at: now)
        }
        return Prover(
            device: AuthenticatedDevice(accountID: found.account.id, deviceID: found.deviceID), account: found.account,
            isGone: found.isGone, standing: found.standing, keyName: key.thumbprint, encryptionKey: found.encryptionKey)
    }

    /// Verifies a proof of the address, or of the same address with a slash at its end: the two are equal here.
    private func verified(_ claim: ProofClaim, of call: IdentityCall, by key: VerificationKey, at now: Timestamp)
        throws(DeviceProofRefusal) -> DeviceProof
    {
        var slashed = call
        slashed.path += "/"
        for call in [call, slashed] {
            do throws(IdentityProblem) {
                return try claim.verified(of: call, by: key, at: self.configuration.issuer, now: now)
            } catch {
                guard error.code == .notProven else { throw .clockSkew(now: now) }
            }
        }
        throw .notProven
    }
}
