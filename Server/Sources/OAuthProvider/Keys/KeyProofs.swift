package import OAuth
import Records
import Settings
import _Primitives

/// The request for which a proof of a key has to be made (RFC 9449, section 4.2).
package struct KeyProofPurpose: Sendable {
    /// The request's method.
    let method: String
    /// The address of the request, as the issuer names the address.
    let endpoint: String
    /// The access token of the request, at a resource.
    var accessToken: String?

    /// Creates the purpose of a request.
    package init(method: String, endpoint: String, accessToken: String? = nil) {
        self.method = method
        self.endpoint = endpoint
        self.accessToken = accessToken
    }
}

/// Proofs that the sender of a request holds a key (RFC 9449).
///
/// Every proof has to have a nonce of this provider, whatever its purpose. So a proof made in advance, on a device in
/// an attacker's hands for a minute, is worth nothing, and no client's clock decides about the lifetime (section 11.2).
package final class KeyProofs: Sendable {
    private let store: any ReplayStore
    private let keys: Keys
    private let limits: Limits
    private let time: TimeSource

    /// Creates the part over the store of proofs that count once.
    init(store: any ReplayStore, keys: Keys, limits: Limits, time: TimeSource) {
        self.store = store
        self.keys = keys
        self.limits = limits
        self.time = time
    }

    /// The header field with the present nonce, in every answer to a client that shows a proof, or has to show a proof
    /// (section 8).
    ///
    /// Cost: one HMAC.
    package var nonceField: (name: String, value: String) {
        ("DPoP-Nonce", self.keys.signing.keyProofNonce(ofSlot: self.slot(at: self.time.now())))
    }

    /// Returns the proof of a request. The proof does not count until it is taken (``take(_:)``).
    ///
    /// Throws `OAuthError` `invalid_dpop_proof`, and `use_dpop_nonce` if only the nonce is wrong. Cost: one signature,
    /// two HMACs.
    package func proof(_ fields: [String], _ purpose: KeyProofPurpose) throws -> DPoPProof {
        guard let target = TargetURI(purpose.endpoint) else {
            throw OAuthError(.serverError, detail: "the issuer is no address")
        }
        let now = self.time.now()
        let present = self.slot(at: now)
        return try DPoPProof(
            verifying: fields, method: purpose.method, target: target, accessToken: purpose.accessToken,
            within: ValidityWindow(
                now: now, skew: self.limits.oauth.keyProofClockSkew,
                longest: self.limits.oauth.keyProofLifetime + self.limits.oauth.keyProofClockSkew),
            nonceEnd: { nonce in
                let taken = [present, present - 1].first { slot in
                    constantTimeEqual(Array(nonce.utf8), Array(self.keys.signing.keyProofNonce(ofSlot: slot).utf8))
                }
                // A nonce is accepted in its own slot and in the next.
                return taken.map { self.slotStart($0 + 2) }
            })
    }

    /// Takes a proof, which counts once on all nodes. Throws `OAuthError` `invalid_dpop_proof` if the proof was taken
    /// before.
    ///
    /// Cost: one store step; for a repeated proof, a query instead.
    package func take(_ proof: DPoPProof) async throws {
        // A proof is accepted up to and including this moment, and the store forgets the proof one tick later.
        let end = proof.repeatableUntil + Limits.Fixed.clockTick
        guard try await self.store.takeOnce(digest: proof.replayDigest, until: end) else {
            throw OAuthError(
                .invalidDPoPProof, "The DPoP proof is missing or is not right for this request.",
                detail: "jti was shown before")
        }
    }

    /// Checks the time of a proof against the clock rules of fapi2, if the client's profile is fapi2. Such a client's
    /// clock may be ahead by at most a minute, in all of its signatures (FAPI 2.0 Security Profile, section 5.3.2.1).
    ///
    /// Throws `OAuthError` `invalid_dpop_proof`.
    func checkClock(of proof: DPoPProof, by client: ClientRecord) throws {
        let (now, limits) = (self.time.now(), self.limits.oauth)
        guard client.settings.profile.security == .fapi2 else { return }
        guard proof.issuedAt <= now + limits.clientClockSkew, now <= proof.issuedAt + limits.keyProofLifetime else {
            throw OAuthError(
                .invalidDPoPProof, "The DPoP proof is missing or is not right for this request.",
                detail: "iat, by the clock of a client of fapi2")
        }
    }

    private func slotStart(_ slot: Int64) -> Timestamp {
        Timestamp(milliseconds: slot * self.limits.oauth.keyProofNonceLifetime.milliseconds)
    }

    private func slot(at moment: Timestamp) -> Int64 {
        moment.milliseconds / self.limits.oauth.keyProofNonceLifetime.milliseconds
    }
}
