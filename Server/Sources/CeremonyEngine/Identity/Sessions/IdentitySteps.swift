import Ceremony
import Records
import _Primitives

/// Takes steps of sessions. Each step is judged on the current rows, together with its answer.
struct IdentitySteps: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any IdentityStore
    let keys: ManagerKeys
    let hub: CeremonyHub

    /// The judgement of a step.
    enum Judged<Result: Sendable> {
        /// The step answers with this message. A repeated request gets the same answer.
        case answer(any IdentityMessage)
        /// The step has no answer yet.
        case goesOn(Result)
    }

    /// The result of a step.
    enum Stepped<Result: Sendable>: Sendable {
        /// The signed answer, given now or before.
        case answered([UInt8])
        /// The step has no answer yet.
        case goesOn(Result)
    }

    /// Takes a step that has an answer.
    func answer(
        _ session: String, _ call: ProvenCall, tokenDigest: [UInt8]? = nil,
        _ judge: @escaping @Sendable (inout IdentityTurn) throws -> any IdentityMessage
    ) async throws -> [UInt8] {
        let stepped: Stepped<Never> = try await self.step(session, call, tokenDigest: tokenDigest) { turn in
            .answer(try judge(&turn))
        }
        switch stepped {
        case .answered(let bytes): return bytes
        }
    }

    /// Takes a step. Throws `IdentityProblem` if the step has changed nothing.
    func step<Result: Sendable>(
        _ session: String, _ call: ProvenCall, tokenDigest: [UInt8]? = nil,
        _ judge: @escaping @Sendable (inout IdentityTurn) throws -> Judged<Result>
    ) async throws -> Stepped<Result> {
        let environment = self.environment
        let keys = self.keys
        let step: IdentityStep<Stepped<Result>> = try await self.store.step(
            session: session, activation: call.activation.device.id, tokenDigest: tokenDigest, request: call.name
        ) { scene in
            guard scene.ceremony.kind == .identity else { throw IdentityProblem(.sessionUnknown) }
            var turn = try IdentityTurn(scene, at: call.at, in: environment)
            let content: ManagerResponse.Content
            do {
                switch try judge(&turn) {
                case .answer(let message): content = .message(message.json)
                case .goesOn(let result):
                    try turn.write(to: &scene)
                    return (turn.change, .goesOn(result))
                }
            } catch let ended as EndedSession {
                turn.note(ended)
                content = .refusal(ended.problem)
            } catch let kept as KeptRefusal {
                content = .refusal(kept.problem)
            }
            call.keptRefusal.note(content)
            try turn.write(to: &scene)
            let answer = try keys.sign(content, to: call.request, at: call.at)
            turn.change.answer = call.answered(answer)
            return (turn.change, .answered(answer))
        }
        switch step {
        case .decided(let stepped):
            self.hub.wake(.ceremony(session))
            return stepped
        case .again(let answer): return .answered(answer)
        case .replayed: throw IdentityProblem(.replayRefused)
        case .missing: throw IdentityProblem(.sessionUnknown)
        }
    }
}
