import Ceremony
import Records
import Settings
import _Primitives

/// One step of a session: the entire state at the moment, and the changes.
struct IdentityTurn {
    /// The session's row.
    var ceremony: CeremonyRecord
    /// The activation that asks.
    var activation: ActivationRecord
    /// The progress of the session.
    var progress: IdentityProgress
    /// The changes beside the rows.
    var change = IdentityChange()
    /// The activation's keys.
    let credentials: [CredentialRecord]
    /// The token that the phone showed; `nil` if the token does not belong to the session.
    let token: DispatchTokenRecord?
    /// The time of the step.
    let now: Timestamp
    /// The progress before the step. The comparison treats texts by Unicode's equivalence: no step changes a text only
    /// into an equivalent text.
    private let before: IdentityProgress
    private let environment: CeremonyEnvironment
    private let isAccountLocked: Bool

    init(_ scene: IdentityScene, at now: Timestamp, in environment: CeremonyEnvironment) throws {
        self.ceremony = scene.ceremony
        self.activation = scene.activation
        self.credentials = scene.credentials
        self.token = scene.token
        self.progress = try scene.ceremony.identityProgress(
            token: scene.token,
            isActive: !scene.isAccountLocked && scene.activation.inactivity(at: now)?.code != .activationDisabled,
            limits: environment.configuration.limits)
        self.before = self.progress
        self.now = now
        self.environment = environment
        self.isAccountLocked = scene.isAccountLocked
    }

    private var limits: Limits { self.environment.configuration.limits }

    /// `true` if the session is bound to this activation.
    var isBound: Bool { self.ceremony.deviceID?.hasSameBytes(as: self.activation.device.id) ?? false }

    /// `true` if the activation may act.
    var isActive: Bool { self.activation.isActive && !self.isAccountLocked }

    /// The problem that tells an inactive activation why it may do nothing; `nil` for an active activation.
    var inactivity: IdentityProblem? {
        self.isAccountLocked ? IdentityProblem(.activationDisabled) : self.activation.inactivity(at: self.now)
    }

    /// Refuses an activation that the session is not bound to. Ends the session if its activation is inactive or locked
    /// out.
    ///
    /// - Parameter request: The request that may have reserved an attempt. An activation looks disabled until its last
    ///   attempt is settled. A repetition of the same request then continues where it was. Another request is refused
    ///   and ends nothing, because the attempt may be right.
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

    /// Refuses a request during a lockout of the activation, and ends the session.
    ///
    /// A session whose factors were refused does not end: it waits for the end of the lockout, and itself refuses
    /// requests that come too early. No session ends during the judgement of an attempt, because the attempt may be
    /// right.
    mutating func requireRested() throws {
        if case .lockedTemporarily(let until) = self.progress.session.state, self.now < until { return }
        let reserved = self.activation.lockout.reservation?.request
        guard self.progress.session.state.ending == nil, let rest = self.activation.rest(at: self.now),
            // The question to the PIN service in this session is the session's own attempt.
            reserved == nil || reserved != self.progress.evaluation
        else { return }
        guard !self.activation.isJudged(at: self.now) else { throw IdentityProblem(rest) }
        try self.end(.rest(rest), telling: IdentityProblem(rest))
    }

    /// `true` if the question to the PIN service in this session is an attempt that may be right.
    var isJudged: Bool {
        guard let evaluation = self.progress.evaluation else { return false }
        return self.activation.lockout.reservation?.request == evaluation && self.activation.isJudged(at: self.now)
    }

    /// `true` if the last possible attempt was never settled and can no longer be settled. Such an attempt was not
    /// right.
    private var isForsaken: Bool {
        let lockout = self.activation.lockout
        return lockout.isPermanent && lockout.reservation != nil && !self.activation.isJudged(at: self.now)
    }

    /// Lets the session judge an event. Throws `IdentityProblem` if the event did not happen, and ``EndedSession`` if
    /// the event has ended the session.
    @discardableResult
    mutating func take(_ event: IdentityEvent) throws -> Set<IdentityEffect> {
        switch self.progress.session.handle(event, at: self.now, limits: self.limits) {
        case .proceed(let effects): return effects
        case .refuse(let refusal): throw IdentityProblem(refusal)
        case .end(let refusal, let effects): throw EndedSession(problem: IdentityProblem(refusal), effects: effects)
        // The store repeats an answer before anything is judged.
        case .answerAgain: throw IdentityProblem(.replayRefused)
        }
    }

    /// Ends the session by an event that the phone did not cause, and tells the phone.
    private mutating func end(_ event: IdentityEvent, telling problem: IdentityProblem) throws {
        // A session whose code was not fetched already has its result in the history.
        let isNoted = self.progress.session.state == .codeIssued
        let effects: Set<IdentityEffect>
        do { effects = try self.take(event) } catch let ended as EndedSession { effects = ended.effects }
        throw EndedSession(problem: problem, effects: effects, isNoted: isNoted)
    }

    /// Refuses a request for the factors if the session does not wait for factors.
    mutating func requireFactorsWanted() throws {
        guard self.now < self.progress.session.deadline, self.progress.session.state.ending == nil else {
            // The session reports the trouble, whatever the factors are.
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

    /// Counts an attempt as failed before the verification, and returns the lockout that applies if the attempt is
    /// wrong. During a lockout nothing is counted, and the running lockout is returned.
    ///
    /// A repetition of the same request counts once. A PIN that the PIN service has already been asked about in this
    /// session is the same attempt, and is not counted again.
    mutating func reserve(_ request: [UInt8]) -> Lockout.Reserved {
        var lockout = Lockout(self.activation.lockout)
        if let evaluation = self.progress.evaluation { lockout.pass(from: evaluation, to: request) }
        let reserved = lockout.reserve(request: request, at: self.now, limits: self.limits)
        self.activation.lockout = lockout.record
        return reserved
    }

    /// Records the result of the reserved attempt; `false`, without a change, unless this attempt is reserved.
    mutating func settle(_ request: [UInt8], isRight: Bool) -> Bool {
        var lockout = Lockout(self.activation.lockout)
        guard lockout.settle(request: request, isRight: isRight) else { return false }
        self.activation.lockout = lockout.record
        return true
    }

    /// Takes back an attempt without a result; `false`, without a change, unless this attempt is reserved.
    mutating func withdraw(_ request: [UInt8]) -> Bool {
        var lockout = Lockout(self.activation.lockout)
        guard lockout.withdraw(request: request) else { return false }
        self.activation.lockout = lockout.record
        return true
    }

    /// The deadlines of the session.
    var deadlines: SessionDeadlines {
        SessionDeadlines(
            nextRequestUntil: self.progress.session.deadline, lastRequestBefore: self.progress.session.hardEnd)
    }

    /// Returns the history's entry for a session with a result; `nil` for a session that no phone had claimed.
    func outcome(_ outcome: IdentityHistoryRecord.Outcome) -> IdentityOutcomeChange? {
        self.ceremony.outcome(outcome, self.progress, at: self.now, limits: self.limits)
    }

    /// Notes an end in the trail and in the account's history.
    mutating func note(_ ended: EndedSession) {
        if !ended.isNoted { self.change.ceremony.identityOutcome = self.outcome(.failed) }
        self.change.ceremony.audit.append(
            AuditEvent(
                .identityFailed, at: self.now, accountID: self.ceremony.accountID, ceremonyID: self.ceremony.id,
                detail: ended.problem.code.rawValue))
        if ended.effects.contains(.disableActivation) { self.disableActivation() }
    }

    /// Ends the activation's other sessions, keys and sign-ins.
    mutating func disableActivation() {
        // A reserved attempt would still announce this end.
        self.activation.lockout.reservation = nil
        self.change.endOfOtherSessions = self.environment.endOfSessions(at: self.now)
        // An activation that is disabled because of its PIN must not sign elsewhere either.
        self.change.withdrawnCredentials = self.credentials.map(\.id)
        self.change.ceremony.audit.append(
            AuditEvent(
                .activationDisabled, at: self.now, accountID: self.ceremony.accountID,
                ceremonyID: self.ceremony.id, detail: self.activation.device.id))
    }

    /// Writes the rows back.
    func write(to scene: inout IdentityScene) throws {
        scene.ceremony = self.ceremony
        if self.progress != self.before {
            try scene.ceremony.keep(self.progress, at: self.now, limits: self.limits)
        }
        scene.activation = self.activation
    }
}

/// The end of a session because of a request. The end is written, and the phone is told the reason.
struct EndedSession: Error {
    let problem: IdentityProblem
    let effects: Set<IdentityEffect>
    /// `true` if the history already has the session's result.
    var isNoted = false
}

/// A refusal of a request that has nevertheless changed something.
struct KeptRefusal: Error {
    let problem: IdentityProblem
}
