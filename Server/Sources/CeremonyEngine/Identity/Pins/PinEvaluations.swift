import Ceremony
import Crypto
import Store
import _Primitives

/// Where phones ask what the PIN service makes of a PIN (`pin/2`, decision 69).
///
/// Whoever has an evaluation can try one PIN, so asking is an attempt: it is counted in a step of its own before the service
/// is asked, and only factors that are right take it back. There is one question for each document that is signed; the same
/// question again, because its answer was lost, is the same attempt.
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
            let blinded = try EvaluationRequest(parsing: proven.body).blinded
            let asked: IdentitySteps.Stepped<Question> = try await self.steps.step(session, proven) { turn in
                .goesOn(try self.count(blinded, &turn))
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
        /// The name of the attempt; `nil` for a question about a new PIN, which is none.
        let attempt: [UInt8]?
    }

    private func count(_ blinded: [UInt8], _ turn: inout IdentityTurn) throws -> Question {
        let name = Self.name(of: blinded, turn.progress.document)
        if case .granted = turn.progress.session.state, turn.progress.session.purpose == .changePin {
            return try self.countNew(name, &turn)
        }
        try turn.requireBound(reservedBy: name)
        try turn.requireFactorsWanted()
        // Two questions with one document would be two tries for one attempt, or for the price of waiting.
        guard turn.progress.evaluation == nil || turn.progress.evaluation == name else {
            throw IdentityProblem(.outOfOrder)
        }
        if case .pending(let lockout) = turn.reserve(name) { throw IdentityProblem(lockout) }
        turn.progress.evaluation = name
        return Question(attempt: name)
    }

    /// Bounds the questions about a PIN that is to take the place of one that was right.
    private func countNew(_ name: [UInt8], _ turn: inout IdentityTurn) throws -> Question {
        try turn.requireBound()
        guard turn.now < turn.progress.session.deadline else { throw IdentityProblem(.grantExpired) }
        if turn.progress.evaluation != name {
            guard turn.progress.newPinEvaluations < self.limits.pinsPerGrant else { throw IdentityProblem(.outOfOrder) }
            turn.progress.newPinEvaluations += 1
            turn.progress.evaluation = name
        }
        return Question(attempt: nil)
    }

    /// What the attempt is called, which is no secret: the same for the same question with the same document.
    private static func name(of blinded: [UInt8], _ document: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: Array("pin evaluation".utf8) + [0] + Array(SHA256.hash(data: document)) + blinded)
        return Array(hash.finalize())
    }

    /// Says why there is no evaluation. Where it is certain that the service has not evaluated, the attempt is taken back.
    private func refuse(_ failure: PinServiceFailure, _ question: Question, _ session: String, _ call: ProvenCall)
        async throws -> [UInt8]
    {
        let problem = IdentityProblem(failure)
        guard failure != .unknown, let attempt = question.attempt else { throw problem }
        return try await self.steps.answer(session, call) { turn in
            // What came after this question has judged the attempt already.
            guard turn.progress.evaluation == attempt, turn.withdraw(attempt) else { throw problem }
            turn.progress.evaluation = nil
            throw KeptRefusal(problem: problem)
        }
    }

    // MARK: Activations

    /// `POST /identity/activations/{id}/pin-evaluation`: of the first PIN, once the code's was proven. There is no key yet that
    /// anybody could try PINs against, so it is no attempt.
    public func ofActivation(_ id: String, _ call: IdentityCall) async throws -> IdentityReply {
        try await self.envelope.answer(call) { request, now in
            let service = try self.requireService()
            let message = try EvaluationRequest(parsing: call.body)
            guard let claim = message.claim else { throw IdentityProblem(.notProven) }
            let offer = try await self.openings.offer(id, claim: claim)
            try offer.checkUsable(at: now)
            guard offer.tokenDigest != nil, let until = offer.tokenUntil else { throw IdentityProblem(.outOfOrder) }
            guard now < until else { throw IdentityProblem(.activationDataExpired) }
            do throws(PinServiceFailure) {
                return try self.answer(
                    try await service.evaluate(message.blinded, of: offer.id), to: request, at: now)
            } catch {
                throw IdentityProblem(error)
            }
        }
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
