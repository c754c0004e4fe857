import Ceremony
import Crypto
import JOSE
import Records
import Settings
import _Primitives

/// Questions of phones to the PIN service about a PIN (`pin/2`, decision 69).
///
/// An evaluation lets its owner try one PIN, so a question is an attempt. The attempt is counted in its own step before
/// the service is asked. Only right factors take the attempt back, or a service that certainly has not evaluated. There
/// is one question for each document to sign.
/// The same question after a lost answer is the same attempt, and so is a repetition of the same request at any time.
public struct PinEvaluations: CeremonyPart {
    let environment: CeremonyEnvironment
    let envelope: IdentityEnvelope
    let steps: IdentitySteps
    let openings: ActivationOpenings
    let service: (any PinEvaluating)?

    // MARK: Sessions

    /// `POST /identity/sessions/{session}/pin-evaluation`: evaluates a PIN before the factors are signed, and a new PIN
    /// if the session has granted a new PIN.
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

    /// The result of counting a question.
    private struct Question: Sendable {
        /// The name of the attempt that this very request has reserved; `nil` if the request has reserved none.
        let reserved: [UInt8]?
    }

    private func count(_ blinded: [UInt8], _ call: ProvenCall, _ reasons: [String], _ turn: inout IdentityTurn) throws
        -> Question
    {
        let name = Self.name(of: blinded, turn.progress.document)
        try turn.requireBound(reservedBy: name)
        // Comes before any count, as with the factors.
        guard reasons.isEmpty else { throw IdentityProblem(.securityInsufficient, reasons: reasons) }
        if try turn.progress.asked.takeAgain(call) { return Question(reserved: nil) }
        if case .granted = turn.progress.session.state, turn.progress.session.purpose == .changePin {
            try self.countNew(name, &turn)
            try turn.progress.asked.add(call, question: name)
            return Question(reserved: nil)
        }
        try turn.requireFactorsWanted()
        // Two questions with one document would be two tries for a single attempt, or for the price of waiting.
        guard turn.progress.evaluation == nil || turn.progress.evaluation == name else {
            throw IdentityProblem(.pinAlreadyAsked)
        }
        let isFirst = turn.progress.evaluation == nil
        if case .pending(let lockout) = turn.reserve(name) { throw IdentityProblem(lockout) }
        turn.progress.evaluation = name
        try turn.progress.asked.add(call, question: name)
        return Question(reserved: isFirst ? name : nil)
    }

    /// Limits the number of questions about a new PIN that replaces a right PIN.
    private func countNew(_ name: [UInt8], _ turn: inout IdentityTurn) throws {
        guard turn.now < turn.progress.session.deadline else { throw IdentityProblem(.grantExpired) }
        guard turn.progress.evaluation != name else { return }
        guard turn.progress.newPinEvaluations < self.limits.pinsPerGrant else {
            throw IdentityProblem(.pinAlreadyAsked)
        }
        turn.progress.newPinEvaluations += 1
        turn.progress.evaluation = name
    }

    /// Returns the name of the attempt, which is no secret. The same question with the same document has the same name.
    private static func name(of blinded: [UInt8], _ document: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: Array("pin evaluation".utf8) + [0] + Array(SHA256.hash(data: document)) + blinded)
        return Array(hash.finalize())
    }

    /// Reports the reason for the missing evaluation.
    ///
    /// If the service has certainly not evaluated, the request that reserved the attempt takes the attempt back. A
    /// repeated question keeps the attempt: the other request may have been answered.
    private func refuse(_ failure: PinServiceFailure, _ question: Question, _ session: String, _ call: ProvenCall)
        async throws -> [UInt8]
    {
        let problem = IdentityProblem(failure)
        guard failure != .unknown, let attempt = question.reserved else { throw problem }
        return try await self.steps.answer(session, call) { turn in
            // A later question has already judged the attempt.
            guard turn.progress.evaluation == attempt, turn.progress.asked.remove(call, question: attempt),
                turn.withdraw(attempt)
            else { throw problem }
            turn.progress.evaluation = nil
            throw KeptRefusal(problem: problem)
        }
    }

    // MARK: Activations

    /// `POST /identity/activations/{id}/pin-evaluation`: evaluates the first PIN, for the device that has proved the
    /// code's PIN.
    ///
    /// No key exists yet for trying PINs, so the question is no attempt. But an activation has a limited number of
    /// evaluations in a day, and a person who has only seen the code must not be able to use them up.
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
            // A repetition is the same question, so the proof need not be kept.
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

    /// Binds a question to a proof of the code's PIN. A proof has few places for questions. Each question takes a
    /// place, and a repeated question already has its place.
    private func count(
        _ blinded: [UInt8], of offer: OfferRecord, provenBy digest: [UInt8], keptUntil: Timestamp
    ) async throws {
        let caller = GivenAnswer.offerPrefix + offer.id
        let hash = Array(SHA256.hash(data: blinded))
        for place in 0..<Limits.Evaluations.questionsPerProof {
            let name = RequestName(
                caller: caller, request: "pin-evaluation/\(Base64URL.encode(digest))/\(place)", hash: hash)
            let step = try await self.envelope.store.step(offer: offer.id, request: name) { offer in
                // Another proof in between has set another token.
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

    /// Returns the PIN service. Throws without a service, and reports the missing service to the operator: the phone's
    /// PIN was evaluated at its enrolment.
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
