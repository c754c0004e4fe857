import Ceremony
import Crypto
import JOSE
import Records
import Settings
import UAF
import UAFRelyingParty
import _Primitives

/// The envelope of every request of a phone: the device's proof is checked before anything is read, and the server
/// signs every answer.
///
/// A caller without a proof receives only a refusal; nothing is counted for any activation, and nothing is written.
struct IdentityEnvelope: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any IdentityStore
    let keys: ManagerKeys
    let budgets: Budgets

    /// A signed answer, with the code of the refusal that the answer is and that a step has kept.
    private typealias Made = (body: [UInt8], refusal: IdentityProblem.Code?)

    /// Answers a request that must be proved by the key of an activation.
    func reply(to call: IdentityCall, _ make: (ProvenCall) async throws -> [UInt8]) async throws -> IdentityReply {
        try await self.signed(call) { request, now in
            guard let claim = ProofClaim(call) else { throw IdentityProblem(.notProven) }
            guard let activation = try await self.store.activation(id: claim.claimant) else {
                return (try await self.lastAnswer(to: call, claim, at: now), nil)
            }
            let proven = try self.proven(call, request, claim, of: activation, at: now)
            return (try await make(proven), proven.keptRefusal.code)
        }
    }

    /// Answers as ``reply(to:_:)`` does, for a request about the terms of a session for the activation's account. The
    /// terms are read together with the key that proves the request.
    func reply(
        to call: IdentityCall, about session: String, _ make: (ProvenCall, IdentityTerms) async throws -> [UInt8]
    ) async throws -> IdentityReply {
        try await self.signed(call) { request, now in
            guard let claim = ProofClaim(call),
                let terms = try await self.store.terms(session: session, activation: claim.claimant)
            else { throw IdentityProblem(.notProven) }
            let proven = try self.proven(call, request, claim, of: terms.activation, at: now)
            return (try await make(proven, terms), proven.keptRefusal.code)
        }
    }

    /// Answers a request that has its own way of proof. An `IdentityProblem` from `make` is signed as the answer; a
    /// message that cannot be read is `invalidRequest`.
    ///
    /// A source has a budget of requests without proof.
    func answer(
        _ call: IdentityCall, _ make: (_ request: String, _ now: Timestamp) async throws -> [UInt8]
    ) async throws -> IdentityReply {
        try await self.signed(call) { request, now in (try await make(request, now), nil) }
    }

    private func signed(
        _ call: IdentityCall, _ make: (_ request: String, _ now: Timestamp) async throws -> Made
    ) async throws -> IdentityReply {
        let now = self.time.now()
        let request = ManagerResponse.name(ofRequest: call.proof.map { Array($0.utf8) } ?? call.body)
        // The budget is spent before the judgement, and given back if the request was proved.
        let shortage = call.source.flatMap { self.budgets.guesses.spend($0, at: now) }
        var problem: IdentityProblem
        do {
            let made = try await make(request, now)
            if let source = call.source, shortage == nil { self.budgets.guesses.refund(source) }
            return IdentityReply(body: made.body, status: .answered, refusal: made.refusal?.rawValue)
        } catch let refusal as IdentityProblem {
            problem = refusal
        } catch let error as IdentityMessageError {
            problem = IdentityProblem(error.code == .unsupported ? .protocolVersionUnsupported : .invalidRequest)
        }
        let isUnproven = [.notProven, .activationUnknown].contains(problem.code)
        if isUnproven, let shortage {
            problem = IdentityProblem(.tooManyRequests, retryAfter: shortage.retryAfterSeconds)
        } else if !isUnproven, let source = call.source, shortage == nil {
            self.budgets.guesses.refund(source)
        }
        let status: IdentityReply.Status =
            switch problem.code {
            case .tooManyRequests: .tooMany(retryAfter: problem.retryAfter ?? 1)
            case .notProven: .notProven
            default: .answered
            }
        return IdentityReply(
            body: try self.keys.sign(.refusal(problem), to: request, at: now), status: status,
            refusal: problem.code.rawValue)
    }

    // MARK: Proofs

    private func proven(
        _ call: IdentityCall, _ request: String, _ claim: ProofClaim, of activation: ActivationRecord, at now: Timestamp
    ) throws(IdentityProblem) -> ProvenCall {
        guard let key = VerificationKey(keptPoint: activation.signingKey) else { throw IdentityProblem(.notProven) }
        let proven = try self.proven(call, request, claim, of: activation, by: key, at: now)
        try self.count(proven.activation.device.id, at: now)
        return proven
    }

    /// Returns the answer to the request that ended its own activation: the request deleted the account, and comes
    /// again because its answer was lost. All other answers for the account's activations are gone by then.
    ///
    /// The key for a verification is gone too, and not needed. An answer is kept under the SHA-256 of the whole proof,
    /// once the proof was verified. So the same letters were verified before, and only their claims about the request
    /// remain to be compared. Throws `IdentityProblem` `notProven` for everything else.
    private func lastAnswer(to call: IdentityCall, _ claim: ProofClaim, at now: Timestamp) async throws -> [UInt8] {
        guard let name = claim.unverifiedName, case .again(let answer)? = try await self.store.answer(to: name),
            claim.names(call, at: self.configuration.issuer)
        else { throw IdentityProblem(.notProven) }
        try self.count(name.caller, at: now)
        return answer
    }

    /// Counts a proven request of an activation. Throws `IdentityProblem` `tooManyRequests`.
    ///
    /// The count comes after the proof, so that no other caller can use up an activation's budget. The proof must be
    /// current: an old, recorded proof costs its signature and counts for nothing. The count comes before any other
    /// work.
    func count(_ activation: String, at now: Timestamp) throws(IdentityProblem) {
        guard let shortage = self.budgets.provenRequests.spend(activation, at: now) else { return }
        throw IdentityProblem(.tooManyRequests, retryAfter: shortage.retryAfterSeconds)
    }

    /// `true` if an app is missing in the list of facets. The operator is told the app's name, once in
    /// ``Limits/pauseOfReports`` for each activation.
    func isRefused(_ facet: FacetID?, of activation: String, at now: Timestamp) -> Bool {
        guard let facet, !self.relyingParty.trusts(facet, for: self.configuration.identityAppID) else { return false }
        if self.budgets.facetNotes.spend(activation, at: now) == nil {
            self.configuration.facetRefused(
                DisplayText.line(facet.text, maximumLength: Limits.Fixed.refusedFacetCharacters))
        }
        return true
    }

    /// Verifies the proof of a request. Throws `IdentityProblem`: `notProven`, and `clockSkew` if only the time is
    /// wrong. Only the holder of the key learns of the time.
    func proven(
        _ call: IdentityCall, _ request: String, _ claim: ProofClaim, of activation: ActivationRecord,
        by key: VerificationKey, at now: Timestamp
    ) throws(IdentityProblem) -> ProvenCall {
        let verified = try claim.verified(of: call, by: key, at: self.configuration.issuer, now: now)
        return ProvenCall(
            activation: activation,
            name: RequestName(
                caller: activation.device.id, request: verified.identifier,
                hash: Array(SHA256.hash(data: Array(claim.proof.utf8)))),
            // The answer outlives the proof by a moment, so that the proof's name never becomes free while the proof is
            // valid.
            request: request, keptUntil: verified.repeatableUntil + DeviceProof.skew, at: now, body: call.body)
    }
}
