import Ceremony
import Store
import _Primitives

/// Takes steps of sessions: each is judged on the rows as they are, with the answer that goes out.
struct IdentitySteps: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any IdentityStore
    let keys: ManagerKeys
    let hub: CeremonyHub

    /// What a step was judged to come to.
    enum Judged<Result: Sendable> {
        /// This is answered, and given again to whoever lost it.
        case answer(any IdentityMessage)
        /// Nothing is answered yet.
        case goesOn(Result)
    }

    /// What came of a step.
    enum Stepped<Result: Sendable>: Sendable {
        /// This is answered: now, or before.
        case answered([UInt8])
        /// Nothing is answered yet.
        case goesOn(Result)
    }

    /// Takes a step after which something is answered.
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

    /// Takes a step. Throws `IdentityProblem` where nothing has changed.
    func step<Result: Sendable>(
        _ session: String, _ call: ProvenCall, tokenDigest: [UInt8]? = nil,
        _ judge: @escaping @Sendable (inout IdentityTurn) throws -> Judged<Result>
    ) async throws -> Stepped<Result> {
        let limits = self.limits
        let keys = self.keys
        let step: IdentityStep<Stepped<Result>> = try await self.store.step(
            session: session, activation: call.activation.device.id, tokenDigest: tokenDigest, request: call.name
        ) { scene in
            guard scene.ceremony.kind == .identity else { throw IdentityProblem(.sessionUnknown) }
            var turn = try IdentityTurn(scene, at: call.at, limits: limits)
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
            try turn.write(to: &scene)
            let answer = try keys.sign(content, to: call.request, at: call.at)
            turn.change.answer = call.answered(answer)
            return (turn.change, .answered(answer))
        }
        switch step {
        case .decided(let stepped):
            self.hub.wake(session)
            return stepped
        case .again(let answer): return .answered(answer)
        case .replayed: throw IdentityProblem(.replayRefused)
        case .missing: throw IdentityProblem(.sessionUnknown)
        }
    }
}
