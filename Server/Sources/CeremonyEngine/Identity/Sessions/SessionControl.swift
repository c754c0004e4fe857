import Ceremony
import Records
import _Primitives

/// The end of sessions: a phone gives up a session, asks for more time, or fetches the code of a session that signs its
/// own app in.
public struct SessionControl: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any IdentityStore
    let envelope: IdentityEnvelope
    let steps: IdentitySteps
    let services: (any InAppServices)?

    /// `POST …/abort`: gives up the session.
    public func abort(_ session: String, _ call: IdentityCall) async throws -> IdentityReply {
        try await self.envelope.reply(to: call) { proven in
            try await self.steps.answer(session, proven) { turn in
                try turn.abort()
                return NothingMore()
            }
        }
    }

    /// `POST …/prolong`: moves the session's next deadline, at most to its latest possible end, and returns both.
    public func prolong(_ session: String, _ call: IdentityCall) async throws -> IdentityReply {
        try await self.envelope.reply(to: call) { proven in
            try await self.steps.answer(session, proven) { turn in
                // The refusal ends nothing: the activation looks disabled until its last attempt is settled.
                if turn.isBound, turn.progress.session.state.ending == nil, let inactivity = turn.inactivity {
                    throw inactivity
                }
                if turn.isBound { try turn.requireRested() }
                try turn.take(.prolong(isEntitled: turn.isBound))
                return turn.deadlines
            }
        }
    }

    /// `POST …/code`: returns the authorization code, once.
    public func code(_ session: String, _ call: IdentityCall) async throws -> IdentityReply {
        try await self.envelope.reply(to: call) { proven in
            guard let services = self.services else { throw IdentityProblem(.serverError) }
            // The request takes the code before the code is made. So no simultaneous request makes another code, which
            // would leave a session and a grant without an owner.
            let taken = try await self.steps.step(session, proven) { turn in .goesOn(try self.take(&turn, proven)) }
            let login: InAppLogin
            switch taken {
            case .answered(let answer): return answer
            case .goesOn(let taken): login = taken
            }
            switch try await services.code(for: login) {
            case .code(let code):
                return try await self.steps.answer(session, proven) { _ in
                    CodeResponse(code: code, state: login.wish.state, issuer: self.configuration.issuer)
                }
            case .consentRequired: throw IdentityProblem(.consentRequired)
            case .refused: throw IdentityProblem(.activationDisabled)
            }
        }
    }

    /// Takes the session's code for a request, and returns the data for the code. A repeated request whose answer was
    /// lost, because the server was killed, continues where it was.
    private func take(_ turn: inout IdentityTurn, _ call: ProvenCall) throws -> InAppLogin {
        let moment: Timestamp
        if turn.isBound, let taking = turn.progress.taking, taking.request == call.name.hash {
            moment = taking.authenticatedAt
        } else {
            try turn.requireBound()
            try turn.take(.takeCode(isEntitled: true))
            moment = turn.ceremony.changedAt
            turn.progress.taking = IdentityProgress.Taking(request: call.name.hash, authenticatedAt: moment)
        }
        guard let wish = turn.progress.inApp, let client = turn.ceremony.detail.client,
            let accountID = turn.ceremony.accountID
        else { throw IdentityProblem(.outOfOrder) }
        return InAppLogin(
            client: client, wish: wish, accountID: accountID, deviceID: turn.activation.device.id,
            authenticatedAt: moment, methods: turn.ceremony.methods, assurance: turn.ceremony.assurance,
            role: turn.progress.role.map { RoleAtService(service: client, role: $0.id) })
    }
}

extension IdentityTurn {
    /// Gives up the session. Throws `IdentityProblem` if the session has ended.
    ///
    /// - Parameter operator: The name of the operator who acts for the person; `nil` for the activation, which must be
    ///   the bound activation.
    mutating func abort(by operator: String? = nil) throws {
        // A session whose code was not fetched already has its result in the history.
        let isNoted = self.progress.session.state == .codeIssued
        try self.take(.abort(isEntitled: `operator` != nil || self.isBound))
        if !isNoted { self.change.ceremony.identityOutcome = self.outcome(.aborted) }
        self.change.ceremony.audit.append(
            AuditEvent(
                .identityAborted, at: self.now, accountID: self.ceremony.accountID, ceremonyID: self.ceremony.id,
                actor: `operator`, detail: self.activation.device.id))
    }
}
