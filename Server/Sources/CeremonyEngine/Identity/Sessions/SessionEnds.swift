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
                try turn.abort()
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
            guard let services = self.services else { throw IdentityProblem(.serverError) }
            // The code is this request's before it is made: of others that come meanwhile none makes another one, which
            // would leave a session and a grant behind that nobody has.
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

    /// Takes the session's code for a request, and says what it is to be made of. A request that comes again without having
    /// had its answer, because the server was killed, goes on where it was.
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
    /// Gives the session up. Throws `IdentityProblem` where it has ended.
    ///
    /// - Parameter operator: Who does it in the place of the person; `nil` for the activation, which has to be the one that is
    ///   bound.
    mutating func abort(by operator: String? = nil) throws {
        // Of a session whose code was not fetched the history has what it came to.
        let isNoted = self.progress.session.state == .codeIssued
        try self.take(.abort(isEntitled: `operator` != nil || self.isBound))
        if !isNoted { self.change.ceremony.identityOutcome = self.outcome(.aborted) }
        self.change.ceremony.audit.append(
            AuditEvent(
                .identityAborted, at: self.now, accountID: self.ceremony.accountID, ceremonyID: self.ceremony.id,
                actor: `operator`, detail: self.activation.device.id))
    }
}
