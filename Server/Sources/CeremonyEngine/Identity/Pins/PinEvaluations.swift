import Ceremony
import Crypto
import JOSE
import Store
import _Primitives

/// Where phones ask what the PIN service makes of a PIN (`pin/2`, decision 69).
///
/// Whoever has an evaluation can try one PIN, so asking is an attempt: it is counted in a step of its own before the service
/// is asked, and only factors that are right take it back. There is one question for each document that is signed; the same
/// question again, because its answer was lost, is the same attempt, and so is the same request whenever it comes.
public struct PinEvaluations: CeremonyPart {
    let environment: CeremonyEnvironment
    let envelope: IdentityEnvelope
    let steps: IdentitySteps
    let openings: ActivationOpenings
    let service: (any PinEvaluating)?

    // MARK: Sessions

    /// `POST /identity/sessions/{session}/pin-evaluation`: before the factors are signed, and of a new PIN where one was
    /// permitted.
    public func ofSession(_ session: String, _ call: IdentityCall) async throws -> IdentityReply {
        try await self.envelope.reply(to: call) { proven in
            let service = try self.requireService()
            let request = try EvaluationRequest(parsing: proven.body)
            let blinded = request.blinded
            let reasons = self.configuration.identities.insufficiencies(of: request.security)
            let asked: IdentitySteps.Stepped<Question> = try await self.steps.step(session, proven) { turn in
                .goesOn(try self.count(blinded, proven, reasons, &turn))
            }
            let question: Question
            switch asked {
            case .answered(let answer): return answer
            case .goesOn(let counted): question = counted
            }
            do throws(PinServiceFailure) {
                let evaluated = try await service.evaluate(blinded, of: proven.activation.device.id)
                return try self.answer(evaluated, to: proven.request, at: proven.at)
            } catch {
                return try await self.refuse(error, question, session, proven)
            }
        }
    }

    /// What was counted.
    private struct Question: Sendable {
        /// The name of the attempt that this very request has reserved; `nil` where it has reserved none.
        let reserved: [UInt8]?
    }

    private func count(_ blinded: [UInt8], _ call: ProvenCall, _ reasons: [String], _ turn: inout IdentityTurn) throws
        -> Question
    {
        let name = Self.name(of: blinded, turn.progress.document)
        try turn.requireBound(reservedBy: name)
        // Before anything is counted, as with the factors.
        guard reasons.isEmpty else { throw IdentityProblem(.securityInsufficient, reasons: reasons) }
        if try turn.progress.asked.takeAgain(call) { return Question(reserved: nil) }
        if case .granted = turn.progress.session.state, turn.progress.session.purpose == .changePin {
            try self.countNew(name, &turn)
            try turn.progress.asked.add(call, question: name)
            return Question(reserved: nil)
        }
        try turn.requireFactorsWanted()
        // Two questions with one document would be two tries for one attempt, or for the price of waiting.
        guard turn.progress.evaluation == nil || turn.progress.evaluation == name else {
            throw IdentityProblem(.pinAlreadyAsked)
        }
        let isFirst = turn.progress.evaluation == nil
        if case .pending(let lockout) = turn.reserve(name) { throw IdentityProblem(lockout) }
        turn.progress.evaluation = name
        try turn.progress.asked.add(call, question: name)
        return Question(reserved: isFirst ? name : nil)
    }

    /// Bounds the questions about a PIN that is to take the place of one that was right.
    private func countNew(_ name: [UInt8], _ turn: inout IdentityTurn) throws {
        guard turn.now < turn.progress.session.deadline else { throw IdentityProblem(.grantExpired) }
        guard turn.progress.evaluation != name else { return }
        guard turn.progress.newPinEvaluations < self.limits.pinsPerGrant else {
            throw IdentityProblem(.pinAlreadyAsked)
        }
        turn.progress.newPinEvaluations += 1
        turn.progress.evaluation = name
    }

    /// What the attempt is called, which is no secret: the same for the same question with the same document.
    private static func name(of blinded: [UInt8], _ document: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: Array("pin evaluation".utf8) + [0] + Array(SHA256.hash(data: document)) + blinded)
        return Array(hash.finalize())
    }

    /// Says why there is no evaluation. Where it is certain that the service has not evaluated, the attempt is taken back by
    /// the request that has reserved it, unless the question came a second time: that one may have been answered.
    private func refuse(_ failure: PinServiceFailure, _ question: Question, _ session: String, _ call: ProvenCall)
        async throws -> [UInt8]
    {
        let problem = IdentityProblem(failure)
        guard failure != .unknown, let attempt = question.reserved else { throw problem }
        return try await self.steps.answer(session, call) { turn in
            // What came after this question has judged the attempt already.
            guard turn.progress.evaluation == attempt, turn.progress.asked.remove(call, question: attempt),
                turn.withdraw(attempt)
            else { throw problem }
            turn.progress.evaluation = nil
            throw KeptRefusal(problem: problem)
        }
    }

    // MARK: Activations

    /// `POST /identity/activations/{id}/pin-evaluation`: of the first PIN, for the device that has proven the code's. There is
    /// no key yet that anybody could try PINs against, so it is no attempt; but an activation has so many evaluations in a
    /// day, and somebody who has only seen its code must not be able to use them up.
    public func ofActivation(_ id: String, _ call: IdentityCall) async throws -> IdentityReply {
        try await self.envelope.answer(call) { request, now in
            let service = try self.requireService()
            let message = try EvaluationRequest(parsing: call.body)
            guard let opening = message.opening else { throw IdentityProblem(.notProven) }
            let offer = try await self.openings.offer(id, claim: opening.claim)
            try offer.checkOffered(at: now)
            guard let digest = offer.tokenDigest, let until = offer.tokenUntil else {
                throw IdentityProblem(.outOfOrder)
            }
            guard let claim = ProofClaim(call), claim.claimant.hasSameBytes(as: id),
                offer.hasEarned(opening.token, for: opening.signingKey.thumbprint),
                let key = opening.signingKey.wholePoint.flatMap({ VerificationKey(keptPoint: $0) })
            else { throw IdentityProblem(.notProven) }
            // The same question again is the same question, so that its proof need not be kept.
            _ = try claim.verified(of: call, by: key, at: self.configuration.issuer, now: now)
            guard now < until else { throw IdentityProblem(.activationDataExpired) }
            try self.openings.checkSecurity(message.security)
            try await self.count(message.blinded, of: offer, provenBy: digest, keptUntil: until)
            do throws(PinServiceFailure) {
                return try self.answer(
                    try await service.evaluate(message.blinded, of: offer.id), to: request, at: now)
            } catch {
                throw IdentityProblem(error)
            }
        }
    }

    /// Binds a question to a proof, which has few of them: each takes a place, and the same one has its place already.
    private func count(
        _ blinded: [UInt8], of offer: PendingActivationRecord, provenBy digest: [UInt8], keptUntil: Timestamp
    ) async throws {
        let caller = GivenAnswer.offerPrefix + offer.id
        let hash = Array(SHA256.hash(data: blinded))
        for place in 0..<Limits.Evaluations.questionsPerProof {
            let name = RequestName(
                caller: caller, request: "pin-evaluation/\(Base64URL.encode(digest))/\(place)", hash: hash)
            let step = try await self.envelope.store.step(offer: offer.id, request: name) { offer in
                // Another proof in between has another token.
                guard offer.state == .offered, let current = offer.tokenDigest, constantTimeEqual(current, digest)
                else {
                    throw IdentityProblem(.notProven)
                }
                var change = OfferChange()
                change.answer = GivenAnswer(
                    caller: name.caller, request: name.request, requestHash: hash, answer: [], keptUntil: keptUntil)
                return (change, ())
            }
            switch step {
            case .decided, .again: return
            case .replayed: continue
            case .missing: throw IdentityProblem(.activationUnknown)
            }
        }
        throw IdentityProblem(.pinAlreadyAsked)
    }

    // MARK: -

    /// The service. A phone asks for it whose PIN was evaluated at its enrolment: where there is none any more, that is the
    /// operator's to know.
    private func requireService() throws(IdentityProblem) -> any PinEvaluating {
        if let service { return service }
        self.configuration.pinServiceMissing()
        throw IdentityProblem(.serverError)
    }

    private func answer(_ evaluated: [UInt8], to request: String, at now: Timestamp) throws(PinServiceFailure)
        -> [UInt8]
    {
        let message = EvaluationResponse(evaluated: evaluated)
        do { return try self.envelope.keys.sign(.message(message.json), to: request, at: now) } catch {
            throw .unknown
        }
    }
}
