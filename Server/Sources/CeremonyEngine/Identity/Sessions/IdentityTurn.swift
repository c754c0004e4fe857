import Ceremony
import Store
import _Primitives

/// One step of a session: everything about it as it is at that moment, and what becomes of it.
struct IdentityTurn {
    /// The session's row.
    var ceremony: CeremonyRecord
    /// The activation that asks.
    var activation: StoredActivation
    /// How far the session is.
    var progress: IdentityProgress
    /// What becomes durable beside the rows.
    var change = IdentityChange()
    /// The activation's keys.
    let credentials: [CredentialRecord]
    /// The token that was shown, where it is one of the session's.
    let token: DispatchTokenRecord?
    /// When.
    let now: Timestamp
    /// How far the session was. It is compared as texts are: no step changes one only into another that Unicode holds for the
    /// same.
    private let before: IdentityProgress
    private let limits: Limits
    private let isAccountLocked: Bool

    init(_ scene: IdentityScene, at now: Timestamp, limits: Limits) throws {
        self.ceremony = scene.ceremony
        self.activation = scene.activation
        self.credentials = scene.credentials
        self.token = scene.token
        self.progress = try scene.ceremony.identityProgress(
            token: scene.token,
            isActive: !scene.isAccountLocked && scene.activation.inactivity(at: now)?.code != .activationDisabled,
            limits: limits)
        self.before = self.progress
        self.now = now
        self.limits = limits
        self.isAccountLocked = scene.isAccountLocked
    }

    /// Whether the session is this activation's.
    var isBound: Bool { self.ceremony.deviceID?.hasSameBytes(as: self.activation.device.id) ?? false }

    /// Whether the activation may do anything.
    var isActive: Bool { self.activation.isActive && !self.isAccountLocked }

    /// What the activation is told where it may do nothing; `nil` where it may.
    var inactivity: IdentityProblem? {
        self.isAccountLocked ? IdentityProblem(.activationDisabled) : self.activation.inactivity(at: self.now)
    }

    /// Refuses whoever the session is not bound to, and ends it where its activation may do nothing any more, or rests.
    ///
    /// - Parameter request: The request whose attempt may be reserved. Until it is settled, the last attempt that an activation
    ///   has looks as if it had disabled it: the same request that comes again goes on where it was, and another one is
    ///   refused and ends nothing, because the attempt may be right.
    mutating func requireBound(reservedBy request: [UInt8]? = nil) throws {
        guard self.isBound else { throw IdentityProblem(.notProven) }
        let reserved = self.activation.lockout.reservation?.request
        let isOwn = request.map { reserved == $0 || (reserved != nil && reserved == self.progress.evaluation) } ?? false
        let isJudged = self.activation.isJudged(at: self.now) && !self.isAccountLocked
        guard !(isOwn && isJudged), self.progress.session.state.ending == nil else { return }
        guard let inactivity = self.inactivity else { return try self.requireRested() }
        guard !isJudged else { throw inactivity }
        if self.isForsaken { self.disableActivation() }
        try self.end(.withdrawActivation, telling: IdentityProblem(.activationDisabled))
    }

    /// Refuses what comes while a lockout of the activation runs, and ends the session. Not the one whose factors were
    /// refused: that waits for the end of the rest, and says itself what comes too early. And none while an attempt is
    /// judged, which may be right.
    mutating func requireRested() throws {
        if case .lockedTemporarily(let until) = self.progress.session.state, self.now < until { return }
        let reserved = self.activation.lockout.reservation?.request
        guard self.progress.session.state.ending == nil, let rest = self.activation.rest(at: self.now),
            // What was asked of the PIN service in this session is its own attempt.
            reserved == nil || reserved != self.progress.evaluation
        else { return }
        guard !self.activation.isJudged(at: self.now) else { throw IdentityProblem(rest) }
        try self.end(.rest(rest), telling: IdentityProblem(rest))
    }

    /// Whether what was asked of the PIN service in this session is an attempt that may be right.
    var isJudged: Bool {
        guard let evaluation = self.progress.evaluation else { return false }
        return self.activation.lockout.reservation?.request == evaluation && self.activation.isJudged(at: self.now)
    }

    /// Whether the last attempt that there is was never settled, and nobody can settle it any more: it was none that was right.
    private var isForsaken: Bool {
        let lockout = self.activation.lockout
        return lockout.isPermanent && lockout.reservation != nil && !self.activation.isJudged(at: self.now)
    }

    /// Lets the session judge an event. Throws `IdentityProblem` where it did not happen, and ``EndedSession`` where the
    /// session has ended because of it.
    @discardableResult
    mutating func take(_ event: IdentityEvent) throws -> Set<IdentityEffect> {
        switch self.progress.session.handle(event, at: self.now, limits: self.limits) {
        case .proceed(let effects): return effects
        case .refuse(let refusal): throw IdentityProblem(refusal)
        case .end(let refusal, let effects): throw EndedSession(problem: IdentityProblem(refusal), effects: effects)
        // The store gives answers again before anything is judged.
        case .answerAgain: throw IdentityProblem(.replayRefused)
        }
    }

    /// Ends the session by an event that is not the phone's doing, and tells the phone.
    private mutating func end(_ event: IdentityEvent, telling problem: IdentityProblem) throws {
        // Of a session whose code was not fetched the history has what it came to.
        let isNoted = self.progress.session.state == .codeIssued
        let effects: Set<IdentityEffect>
        do { effects = try self.take(event) } catch let ended as EndedSession { effects = ended.effects }
        throw EndedSession(problem: problem, effects: effects, isNoted: isNoted)
    }

    /// Refuses what belongs to the factors where the session does not wait for them.
    mutating func requireFactorsWanted() throws {
        guard self.now < self.progress.session.deadline, self.progress.session.state.ending == nil else {
            // Whatever the factors are: the session says what is the matter.
            try self.take(.finish(.accepted))
            throw IdentityProblem(.sessionExpired)
        }
        switch self.progress.session.state {
        case .prepared: break
        case .lockedTemporarily(let until) where self.now >= until: break
        default:
            try self.take(.finish(.accepted))
            throw IdentityProblem(.outOfOrder)
        }
    }

    /// Counts an attempt before it is verified, or says which lockout runs. What has been asked of the PIN service in this
    /// session is the same attempt.
    mutating func reserve(_ request: [UInt8]) -> Lockout.Reserved {
        var lockout = Lockout(self.activation.lockout)
        if let evaluation = self.progress.evaluation { lockout.pass(from: evaluation, to: request) }
        let reserved = lockout.reserve(request: request, at: self.now, limits: self.limits)
        self.activation.lockout = lockout.record
        return reserved
    }

    /// Writes down what the reserved attempt turned out to be; `false` where another one is reserved.
    mutating func settle(_ request: [UInt8], isRight: Bool) -> Bool {
        var lockout = Lockout(self.activation.lockout)
        guard lockout.settle(request: request, isRight: isRight) else { return false }
        self.activation.lockout = lockout.record
        return true
    }

    /// Takes an attempt back of which nothing came; `false` where another one is reserved.
    mutating func withdraw(_ request: [UInt8]) -> Bool {
        var lockout = Lockout(self.activation.lockout)
        guard lockout.withdraw(request: request) else { return false }
        self.activation.lockout = lockout.record
        return true
    }

    /// Until when the session waits.
    var deadlines: SessionDeadlines {
        SessionDeadlines(
            nextRequestUntil: self.progress.session.deadline, lastRequestBefore: self.progress.session.hardEnd)
    }

    /// What the account's history has of a session that has come to something; `nil` for one that nobody had claimed.
    func outcome(_ outcome: IdentityHistoryRecord.Outcome) -> IdentityOutcomeChange? {
        self.ceremony.outcome(outcome, self.progress, at: self.now, limits: self.limits)
    }

    /// What an end leaves in the trail and with the account.
    mutating func note(_ ended: EndedSession) {
        if !ended.isNoted { self.change.ceremony.identityOutcome = self.outcome(.failed) }
        self.change.ceremony.audit.append(
            AuditEvent(
                .identityFailed, at: self.now, accountID: self.ceremony.accountID, ceremonyID: self.ceremony.id,
                detail: ended.problem.code.rawValue))
        if ended.effects.contains(.disableActivation) { self.disableActivation() }
    }

    /// Ends what else the activation has: its other sessions, its keys, and where it has signed in.
    mutating func disableActivation() {
        // An attempt that is reserved still says that this is to be done.
        self.activation.lockout.reservation = nil
        self.change.endOfOtherSessions = CeremonyRecord.ending(.failed, at: self.now, limits: self.limits)
        // What is disabled for the PIN's sake signs nowhere else either.
        self.change.withdrawnCredentials = self.credentials.map(\.id)
        self.change.ceremony.audit.append(
            AuditEvent(
                .activationDisabled, at: self.now, accountID: self.ceremony.accountID,
                ceremonyID: self.ceremony.id, detail: self.activation.device.id))
    }

    /// Puts the rows back.
    func write(to scene: inout IdentityScene) throws {
        scene.ceremony = self.ceremony
        if self.progress != self.before {
            try scene.ceremony.keep(self.progress, at: self.now, limits: self.limits)
        }
        scene.activation = self.activation
    }
}

/// A session that has ended because of a request: that is written, and the phone is told why.
struct EndedSession: Error {
    let problem: IdentityProblem
    let effects: Set<IdentityEffect>
    /// Whether the history has what came of it already.
    var isNoted = false
}

/// A refusal of a request that has changed something all the same.
struct KeptRefusal: Error {
    let problem: IdentityProblem
}
