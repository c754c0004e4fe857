import Ceremony
import Store
public import _Primitives

/// An identity session as operators see it: nothing of its code, of what the person has confirmed or typed, and of factors.
public struct ListedIdentitySession: Sendable, Equatable {
    /// Its identifier.
    public let id: String
    /// What it is for.
    public let purpose: String
    /// How far it is, in the words of the state table: `started`, `prepared`, `done`.
    public let state: String
    /// Whether nothing more happens in it.
    public let isEnded: Bool
    /// The activation that takes part.
    public let activation: String
    /// The client that asks; `nil` for what the account does with itself.
    public let service: String?
    /// As what the person comes, by the role's identifier, once that is fixed.
    public let role: String?
    /// When it began.
    public let createdAt: Timestamp
    /// Until when the next step has to come.
    public let nextRequestUntil: Timestamp
    /// After which nothing prolongs it.
    public let lastRequestBefore: Timestamp
}

/// What came of giving a session up for somebody.
public enum IdentitySessionAbort: Sendable, Equatable {
    /// It is given up: now, or somebody had done so before.
    case aborted(ListedIdentitySession)
    /// It had come to another end before.
    case ended(ListedIdentitySession)
    /// The person's PIN is with the PIN service: the attempt is counted, and whoever took the session from it would leave the
    /// person one that failed.
    case judging
}

/// The sessions of accounts, for operators who look at them, and who give one up in its person's place.
public struct SessionListings: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any IdentityStore
    let hub: CeremonyHub

    /// The sessions of an account that go on, the newest first: a page of them. Cost: one query.
    public func running(accountID: String) async throws -> [ListedIdentitySession] {
        try await self.store.openIdentitySessions(
            accountID: accountID, at: self.time.now(), limit: self.limits.pageSize
        )
        .compactMap { try self.listed($0) }.filter { !$0.isEnded }
    }

    /// A session of an account, whatever became of it, for as long as it is kept after its end; `nil` where the account has none
    /// of that identifier. Cost: one query.
    public func session(_ id: String, accountID: String) async throws -> ListedIdentitySession? {
        guard let ceremony = try await self.store.ceremony(.id(id)), ceremony.kind == .identity,
            ceremony.accountID?.hasSameBytes(as: accountID) == true
        else { return nil }
        return try self.listed(ceremony)
    }

    /// Gives a session up as its phone does: what the person has typed is forgotten, its page is told, and the history has it.
    /// Whoever does so again changes nothing. `nil` where the account has no session of that identifier.
    ///
    /// Not while what was asked of the PIN service in it is judged: that is over when the phone has finished, or its proof is too
    /// old.
    ///
    /// - Parameter operator: The name for the audit trail.
    ///
    /// Cost: two queries, one store step.
    public func abort(_ id: String, accountID: String, by operator: String) async throws -> IdentitySessionAbort? {
        guard let before = try await self.session(id, accountID: accountID) else { return nil }
        let limits = self.limits
        let now = self.time.now()
        let step: IdentityStep<Bool> = try await self.store.step(
            session: id, activation: before.activation, tokenDigest: nil, request: nil
        ) { scene in
            var turn = try IdentityTurn(scene, at: now, limits: limits)
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
            // Its activation has gone meanwhile, which has ended it.
            return after.isEnded ? .ended(after) : nil
        }
        guard !isJudged else { return .judging }
        self.hub.wake(id)
        return after.state.hasSameBytes(as: IdentityState.aborted.name) ? .aborted(after) : .ended(after)
    }

    /// `nil` for a session that no activation takes part in.
    private func listed(_ ceremony: CeremonyRecord) throws -> ListedIdentitySession? {
        guard let activation = ceremony.deviceID else { return nil }
        let progress = try ceremony.identityProgress(token: nil, limits: self.limits)
        let session = progress.session
        // Its end is written some time after its time is over.
        let isOver = session.state.ending == nil && self.time.now() >= session.deadline
        let state = isOver ? IdentityState.expired : session.state
        return ListedIdentitySession(
            id: ceremony.id, purpose: session.purpose.rawValue, state: state.name, isEnded: state.ending != nil,
            activation: activation, service: ceremony.detail.client, role: progress.role?.id,
            createdAt: ceremony.createdAt, nextRequestUntil: session.deadline, lastRequestBefore: session.hardEnd)
    }
}

extension IdentityState {
    /// The state's name in the state table, without what belongs to it.
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
