import Ceremony
import Records
import Settings
public import _Primitives

/// An identity session as operators see the session: without the code, the person's confirmed or typed values, and the
/// factors.
public struct ListedIdentitySession: Sendable, Equatable {
    /// The identifier of the session.
    public let id: String
    /// The purpose of the session.
    public let purpose: String
    /// The state, in the words of the state table: `started`, `prepared`, `done`.
    public let state: String
    /// `true` if the session has ended.
    public let isEnded: Bool
    /// The identifier of the activation.
    public let activation: String
    /// The client that asks; `nil` for an action on the account itself.
    public let service: String?
    /// The identifier of the person's role, once the role is fixed.
    public let role: String?
    /// The time of the beginning.
    public let createdAt: Timestamp
    /// The time until which the next step must come.
    public let nextRequestUntil: Timestamp
    /// The latest possible end, which no request can extend.
    public let lastRequestBefore: Timestamp
}

/// The result of aborting a person's session.
public enum IdentitySessionAbort: Sendable, Equatable {
    /// The session is aborted, now or before.
    case aborted(ListedIdentitySession)
    /// The session had ended otherwise before.
    case ended(ListedIdentitySession)
    /// The person's PIN is with the PIN service, and the attempt is counted. An abort now would leave the person with a
    /// failed attempt.
    case judging
}

/// The sessions of accounts, for operators: a view of them, and a way to abort a session in the person's place.
public struct SessionListings: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any IdentityStore
    let hub: CeremonyHub

    /// Returns the running sessions that activations of an account have claimed or begun, the newest first, at most a
    /// page. Cost: one query.
    public func running(accountID: String) async throws -> [ListedIdentitySession] {
        try await self.store.openIdentitySessions(
            accountID: accountID, at: self.time.now(), limit: self.limits.pageSize
        )
        .compactMap { try self.listed($0) }.filter { !$0.isEnded }
    }

    /// Returns a session of an account in any state, as long as the session is kept after its end; `nil` if the account
    /// has no session of this identifier. Cost: one query.
    public func session(_ id: String, accountID: String) async throws -> ListedIdentitySession? {
        guard let ceremony = try await self.store.ceremony(.id(id)), ceremony.kind == .identity,
            ceremony.accountID?.hasSameBytes(as: accountID) == true
        else { return nil }
        return try self.listed(ceremony)
    }

    /// Aborts a session as its phone does: the typed values are erased, the session's page is told, and the history
    /// gets an entry. A repeated abort changes nothing. `nil` if the account has no session of this identifier, or the
    /// session was deleted meanwhile.
    ///
    /// A session stays while its question to the PIN service is judged. The judgement ends when the phone finishes, or
    /// when its proof is too old.
    ///
    /// - Parameter operator: The name for the audit trail.
    ///
    /// Cost: two queries, one store step.
    public func abort(_ id: String, accountID: String, by operator: String) async throws -> IdentitySessionAbort? {
        guard let before = try await self.session(id, accountID: accountID) else { return nil }
        let environment = self.environment
        let now = self.time.now()
        let step: IdentityStep<Bool> = try await self.store.step(
            session: id, activation: before.activation, tokenDigest: nil, request: nil
        ) { scene in
            var turn = try IdentityTurn(scene, at: now, in: environment)
            guard scene.ceremony.kind == .identity, turn.isBound, turn.progress.session.state.ending == nil,
                now < turn.progress.session.deadline
            else { return (IdentityChange(), false) }
            guard !turn.isJudged else { return (IdentityChange(), true) }
            try turn.abort(by: `operator`)
            try turn.write(to: &scene)
            return (turn.change, false)
        }
        guard let after = try await self.session(id, accountID: accountID) else { return nil }
        guard case .decided(let isJudged) = step else {
            // The activation has gone meanwhile, and with it the session has ended.
            return after.isEnded ? .ended(after) : nil
        }
        guard !isJudged else { return .judging }
        self.hub.wake(.ceremony(id))
        return after.state.hasSameBytes(as: IdentityState.aborted.name) ? .aborted(after) : .ended(after)
    }

    /// Returns the session for the list; `nil` for a session without an activation.
    private func listed(_ ceremony: CeremonyRecord) throws -> ListedIdentitySession? {
        guard let activation = ceremony.deviceID else { return nil }
        let progress = try ceremony.identityProgress(token: nil, limits: self.limits)
        let session = progress.session
        // The end is written some time after the session's deadline.
        let isOver = session.state.ending == nil && self.time.now() >= session.deadline
        let state = isOver ? IdentityState.expired : session.state
        return ListedIdentitySession(
            id: ceremony.id, purpose: session.purpose.rawValue, state: state.name, isEnded: state.ending != nil,
            activation: activation, service: ceremony.detail.client, role: progress.role?.id,
            createdAt: ceremony.createdAt, nextRequestUntil: session.deadline, lastRequestBefore: session.hardEnd)
    }
}

extension IdentityState {
    /// The state's name in the state table, without associated values.
    fileprivate var name: String {
        switch self {
        case .created: "created"
        case .started: "started"
        case .correcting: "correcting"
        case .prepared: "prepared"
        case .lockedTemporarily: "lockedTemporarily"
        case .authenticated: "authenticated"
        case .codeIssued: "codeIssued"
        case .granted: "granted"
        case .done: "done"
        case .aborted: "aborted"
        case .expired: "expired"
        case .superseded: "superseded"
        case .failed: "failed"
        }
    }
}
