import Ceremony
import Crypto
import JOSE
import Store
import UAF
import UAFRelyingParty
import _Primitives

/// What every request of a phone has around it: the device's proof before anything is read, and the server's signature on
/// whatever is answered.
///
/// Whoever proves nothing is told that, and nothing is counted for any activation or written.
struct IdentityEnvelope: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any IdentityStore
    let keys: ManagerKeys
    let budgets: Budgets

    /// Answers a request that has to be proved by the key of an activation.
    func reply(to call: IdentityCall, _ make: (ProvenCall) async throws -> [UInt8]) async throws -> IdentityReply {
        try await self.answer(call) { request, now in
            guard let claim = ProofClaim(call) else { throw IdentityProblem(.notProven) }
            guard let activation = try await self.store.activation(id: claim.claimant) else {
                return try await self.lastAnswer(to: call, claim, at: now)
            }
            return try await make(self.proven(call, request, claim, of: activation, at: now))
        }
    }

    /// As ``reply(to:_:)``, for a request about what a session asks of the activation's account. That is read together with
    /// the key that the request is proved by.
    func reply(
        to call: IdentityCall, about session: String, _ make: (ProvenCall, IdentityTerms) async throws -> [UInt8]
    ) async throws -> IdentityReply {
        try await self.answer(call) { request, now in
            guard let claim = ProofClaim(call),
                let terms = try await self.store.terms(session: session, activation: claim.claimant)
            else { throw IdentityProblem(.notProven) }
            return try await make(self.proven(call, request, claim, of: terms.activation, at: now), terms)
        }
    }

    /// Answers a request that proves what it has to in its own way. What `make` throws as `IdentityProblem` is signed as
    /// the answer; a message that cannot be read is `invalidRequest`.
    ///
    /// A source has a budget of requests that prove nothing.
    func answer(
        _ call: IdentityCall, _ make: (_ request: String, _ now: Timestamp) async throws -> [UInt8]
    ) async throws -> IdentityReply {
        let now = self.time.now()
        let request = ManagerResponse.name(ofRequest: call.proof.map { Array($0.utf8) } ?? call.body)
        // Counted before it is judged, and given back where it was proved.
        let shortage = call.source.flatMap { self.budgets.guesses.spend($0, at: now) }
        var problem: IdentityProblem
        do {
            let body = try await make(request, now)
            if let source = call.source, shortage == nil { self.budgets.guesses.refund(source) }
            return IdentityReply(body: body, status: .answered, refusal: nil)
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
        _ call: IdentityCall, _ request: String, _ claim: ProofClaim, of activation: StoredActivation, at now: Timestamp
    ) throws(IdentityProblem) -> ProvenCall {
        guard let key = VerificationKey(keptPoint: activation.signingKey) else { throw IdentityProblem(.notProven) }
        let proven = try self.proven(call, request, claim, of: activation, by: key, at: now)
        try self.count(proven.activation.device.id, at: now)
        return proven
    }

    /// The answer that a request was given by which its activation is gone: it has deleted the account, and comes again because
    /// its answer was lost. Nothing else that the account's activations were answered is left by then.
    ///
    /// There is no key any more to verify with, and none is needed: an answer is kept under the SHA-256 of the whole proof once
    /// that was verified, so that these very letters were, and only what they say of the request is still to be held against
    /// it. Throws `IdentityProblem` `notProven` for everything else.
    private func lastAnswer(to call: IdentityCall, _ claim: ProofClaim, at now: Timestamp) async throws -> [UInt8] {
        guard let name = claim.unverifiedName, case .again(let answer)? = try await self.store.answer(to: name),
            claim.names(call, at: self.configuration.issuer)
        else { throw IdentityProblem(.notProven) }
        try self.count(name.caller, at: now)
        return answer
    }

    /// Counts a proven request of an activation. Throws `IdentityProblem` `tooManyRequests`.
    ///
    /// Once it is proven, so that nobody else uses an activation's budget up, and by a proof whose time is not over: an old one
    /// that somebody has recorded costs its signature and counts for nothing. Before anything is done with it.
    func count(_ activation: String, at now: Timestamp) throws(IdentityProblem) {
        guard let shortage = self.budgets.provenRequests.spend(activation, at: now) else { return }
        throw IdentityProblem(.tooManyRequests, retryAfter: shortage.retryAfterSeconds)
    }

    /// Whether an app is not in the list of facets. The operator is told which it is, once in ``Limits/pauseOfReports`` for
    /// each activation.
    func isRefused(_ facet: FacetID?, of activation: String, at now: Timestamp) -> Bool {
        guard let facet, !self.relyingParty.trusts(facet, for: self.configuration.identityAppID) else { return false }
        if self.budgets.facetNotes.spend(activation, at: now) == nil {
            self.configuration.facetRefused(
                DisplayText.line(facet.text, maximumLength: Limits.Fixed.refusedFacetCharacters))
        }
        return true
    }

    /// Verifies the proof of a request. Throws `IdentityProblem`: `notProven`, and `clockSkew` where all is right but the
    /// time, which only the key's holder is told.
    func proven(
        _ call: IdentityCall, _ request: String, _ claim: ProofClaim, of activation: StoredActivation,
        by key: VerificationKey, at now: Timestamp
    ) throws(IdentityProblem) -> ProvenCall {
        let verified = try claim.verified(of: call, by: key, at: self.configuration.issuer, now: now)
        return ProvenCall(
            activation: activation,
            name: RequestName(
                caller: activation.device.id, request: verified.identifier,
                hash: Array(SHA256.hash(data: Array(claim.proof.utf8)))),
            // A moment longer than the proof is good, so that its name is never free again while it is.
            request: request, keptUntil: verified.repeatableUntil + DeviceProof.skew, at: now, body: call.body)
    }
}
