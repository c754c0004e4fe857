package import Records
package import Settings
package import _Primitives

extension CeremonyRecord {
    /// Lets the state machine of the record's kind judge an event, and applies the decision.
    ///
    /// An event other than ``CeremonyEvent/expire`` after the end of the phase is refused like an event after the
    /// ceremony's end, even if the end is not yet written.
    package mutating func handle(_ event: CeremonyEvent, at now: Timestamp, lifetime: PhaseLifetime) -> CeremonyVerdict
    {
        if event != .expire, self.phase != .ended, now >= self.expiresAt { return .refuse(.over) }
        let stage: CeremonyStage
        let verdict: CeremonyVerdict
        switch self.kind {
        case .authentication:
            var machine = AuthenticationStateMachine(
                CeremonyStage(self), channel: self.channel, isBoundToBrowser: self.browserDigest != nil)
            verdict = machine.handle(event)
            stage = machine.stage
        case .transaction:
            var machine = TransactionStateMachine(CeremonyStage(self))
            verdict = machine.handle(event)
            stage = machine.stage
        case .registration:
            var machine = RegistrationStateMachine(CeremonyStage(self))
            verdict = machine.handle(event)
            stage = machine.stage
            // The number of a device that another device approves is of no use any more.
            if case .ended = stage { self.progress = nil }
        case .deregistration:
            var machine = DeregistrationStateMachine(CeremonyStage(self))
            verdict = machine.handle(event)
            stage = machine.stage
        case .identity:
            var machine = IdentityStateMachine(CeremonyStage(self))
            verdict = machine.handle(event)
            stage = machine.stage
            // Typed values that no account has yet are erased with the session.
            if case .ended(let outcome) = stage, outcome != .succeeded { self.progress = nil }
        }
        if case .refuse = verdict { return verdict }
        if case .redeem(let channel) = event { self.channel = channel }
        self.enter(stage, at: now, lifetime: lifetime)
        return verdict
    }

    private mutating func enter(_ stage: CeremonyStage, at now: Timestamp, lifetime: PhaseLifetime) {
        self.changedAt = now
        switch stage {
        case .created: self.phase = .created
        case .claimed:
            self.phase = .claimed
            self.expiresAt = min(now + lifetime.claimed, self.createdAt + lifetime.whole)
        case .answering:
            self.phase = .answering
            self.expiresAt = now + lifetime.answering
        case .ended(let outcome):
            self.phase = .ended
            self.outcome = outcome
        }
    }
}

extension CeremonyRecord {
    /// Lets the record's state machine judge an event, and throws a refusal. Does not throw if the event did not happen
    /// but has ended the ceremony, as after a wrong number: the caller looks at the record's outcome.
    mutating func take(_ event: CeremonyEvent, at now: Timestamp, limits: Limits) throws(RefusedEvent) {
        switch self.handle(event, at: now, lifetime: PhaseLifetime(of: self, limits)) {
        case .proceed, .end: return
        case .refuse(let refusal): throw RefusedEvent(refusal: refusal)
        }
    }

    /// Ends the ceremony of a change that was confirmed, or stopped, without a phone. No code was redeemed, and no
    /// state machine has a step for this case.
    mutating func endUnredeemed(_ outcome: Outcome, at moment: Timestamp) {
        self.phase = .ended
        self.outcome = outcome
        self.changedAt = moment
        self.progress = nil
    }
}

/// A state machine's refusal, thrown out of a step. The caller of the step translates the refusal for its own
/// interface.
struct RefusedEvent: Error {
    let refusal: CeremonyRefusal
}

/// The durations of the phases of a kind.
package struct PhaseLifetime: Sendable {
    package let claimed: Duration
    package let answering: Duration
    package let whole: Duration

    package init(_ kind: CeremonyRecord.Kind, _ limits: Limits) {
        self.init(kind, limits, whole: limits.ceremonyLifetime + limits.claimedLifetime)
    }

    /// Returns the durations for a ceremony. The page of a named person has a single end, whatever a phone does.
    init(of ceremony: CeremonyRecord, _ limits: Limits) {
        let usual = Self(ceremony.kind, limits)
        self.init(ceremony.kind, limits, whole: ceremony.isAskedByName ? limits.pushLifetime : usual.whole)
    }

    private init(_ kind: CeremonyRecord.Kind, _ limits: Limits, whole: Duration) {
        self.claimed = limits.claimedLifetime
        self.answering = kind == .registration ? limits.confirmationLifetime : limits.continuationLifetime
        self.whole = whole
    }
}
