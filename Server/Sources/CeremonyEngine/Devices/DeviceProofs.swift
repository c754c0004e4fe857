import Ceremony
import Crypto
import JOSE
public import Store
public import _Primitives

/// Why a device's proof does not count.
public enum DeviceProofRefusal: Error, Equatable {
    /// Nothing is proved, or nobody knows the device.
    case notProven
    /// All is right but the time: the server's is `now`. Only the key's holder is told.
    case clockSkew(now: Timestamp)
    /// The proof has counted before.
    case replayRefused
    /// The caller's network has proved nothing too often, or the device has proved too much; seconds until it may come
    /// again.
    case tooManyRequests(retryAfter: Int)
}

/// What devices say for themselves at the operations' face: each request proved by the key that the device's registration,
/// or an authentication of it, has told.
public struct DeviceProofs: CeremonyPart {
    /// A device that has proved a request, and was there to do so.
    public struct Prover: Sendable {
        /// Which one.
        public let device: AuthenticatedDevice
        /// Its account, which may be locked.
        public let account: AccountRecord
        /// Whether the device was taken away: then it may be told that, and nothing else.
        public let isGone: Bool
    }

    let environment: CeremonyEnvironment
    let store: any DeviceIdentityStore & ReplayStore
    let budgets: Budgets

    /// Whose request it is. Cost: one query, and one row that is written.
    ///
    /// A source has a budget of requests that prove nothing, a device one of those that it proves. Throws
    /// ``DeviceProofRefusal`` and the store's errors.
    public func prover(of call: IdentityCall) async throws -> Prover {
        let now = self.time.now()
        // Counted before it is judged, and given back where it was proved.
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
        // Before the row that each writes, and once it is proven: nobody else uses a device's budget up.
        if let shortage = self.budgets.provenRequests.spend(found.deviceID, at: now) {
            throw DeviceProofRefusal.tooManyRequests(retryAfter: shortage.retryAfterSeconds)
        }
        var hash = SHA256()
        // By the key, which several registrations of one phone have.
        hash.update(data: Array("device key \(key.thumbprint) \(verified.identifier)".utf8))
        // A moment longer than the proof is good, so that its name is never free again while it is.
        let end = verified.repeatableUntil + DeviceProof.skew
        guard try await self.store.takeOnce(digest: Array(hash.finalize()), until: end) else {
            throw DeviceProofRefusal.replayRefused
        }
        return Prover(
            device: AuthenticatedDevice(accountID: found.account.id, deviceID: found.deviceID), account: found.account,
            isGone: found.isGone)
    }

    /// Verifies a proof of the address, or of the same with a slash at its end: the two are one here.
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
