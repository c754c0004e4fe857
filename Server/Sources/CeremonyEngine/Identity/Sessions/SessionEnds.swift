import Ceremony
import Store
import _Primitives

/// Where a phone gives a session up, asks for more time, and fetches the code of one that signs its own app in.
public struct SessionEnds: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any IdentityStore
    let envelope: IdentityEnvelope
    let steps: IdentitySteps
    let services: (any InAppServices)?

    /// `POST …/abort`.
    public func abort(_ session: String, _ call: IdentityCall) async throws -> IdentityReply {
        try await self.envelope.reply(to: call) { proven in
            try await self.steps.answer(session, proven) { turn in
                try turn.take(.abort(isEntitled: turn.isBound))
                turn.change.ceremony.identityOutcome = turn.outcome(.aborted)
                turn.change.ceremony.audit.append(
                    AuditEvent(
                        .identityAborted, at: turn.now, accountID: turn.ceremony.accountID, ceremonyID: session,
                        detail: turn.activation.device.id))
                return NothingMore()
            }
        }
    }

    /// `POST …/prolong`.
    public func prolong(_ session: String, _ call: IdentityCall) async throws -> IdentityReply {
        try await self.envelope.reply(to: call) { proven in
            try await self.steps.answer(session, proven) { turn in
                // It ends nothing: until the last attempt that there is was settled, the activation looks disabled.
                if turn.isBound, turn.progress.session.state.ending == nil, let inactivity = turn.inactivity {
                    throw inactivity
                }
                if turn.isBound { try turn.requireRested() }
                try turn.take(.prolong(isEntitled: turn.isBound))
                return turn.deadlines
            }
        }
    }

    /// `POST …/code`: the authorization code, once.
    public func code(_ session: String, _ call: IdentityCall) async throws -> IdentityReply {
        try await self.envelope.reply(to: call) { proven in
            // What was answered before is given again without another code.
            switch try await self.store.answer(to: proven.name) {
            case .again(let answer)?: return answer
            case .replayed?: throw IdentityProblem(.replayRefused)
            case .missing?, .decided?, nil: break
            }
            let login = try await self.login(session, proven)
            guard let services = self.services else { throw IdentityProblem(.serverError) }
            guard let code = try await services.code(for: login) else {
                throw IdentityProblem(.activationDisabled)
            }
            return try await self.steps.answer(session, proven) { turn in
                try turn.requireBound()
                try turn.take(.takeCode(isEntitled: true))
                return CodeResponse(code: code, state: login.wish.state, issuer: self.configuration.issuer)
            }
        }
    }

    /// What a code is to be made of, for the activation that has signed.
    private func login(_ session: String, _ call: ProvenCall) async throws -> InAppLogin {
        guard let ceremony = try await self.store.ceremony(.id(session)), ceremony.kind == .identity else {
            throw IdentityProblem(.sessionUnknown)
        }
        guard ceremony.deviceID?.hasSameBytes(as: call.activation.device.id) ?? false,
            let accountID = ceremony.accountID
        else { throw IdentityProblem(.notProven) }
        var progress = try ceremony.identityProgress(token: nil, limits: self.limits)
        // The same question as in the step, on a copy: no code is made for a session that is not there.
        switch progress.session.handle(.takeCode(isEntitled: true), at: call.at, limits: self.limits) {
        case .proceed: break
        case .refuse(let refusal), .end(let refusal, _): throw IdentityProblem(refusal)
        case .answerAgain: throw IdentityProblem(.replayRefused)
        }
        guard let wish = progress.inApp, let client = ceremony.detail.client else {
            throw IdentityProblem(.outOfOrder)
        }
        return InAppLogin(
            client: client, wish: wish, accountID: accountID, deviceID: call.activation.device.id,
            authenticatedAt: ceremony.changedAt, methods: ceremony.methods, assurance: ceremony.assurance,
            role: try ceremony.roleAtService())
    }
}
