package import Store
package import _Primitives

/// What can happen to a ceremony, of whichever kind.
package enum CeremonyEvent: Hashable, Sendable {
    /// A phone redeems a token.
    case redeem(CeremonyRecord.Channel)
    /// The phone's answer was verified.
    case accept
    /// The person said no.
    case deny
    /// The phone gave up, or its answer was refused.
    case fail
    /// A browser opens the continuation of an approval.
    case continueInBrowser(isStartingBrowser: Bool)
    /// An operator gives the number that the phone showed.
    case confirm(isRightNumber: Bool)
    /// The time is over.
    case expire
    /// Whoever started it gives up.
    case cancel
}

/// What a machine answers to an event.
package enum CeremonyVerdict: Hashable, Sendable {
    /// It went on.
    case proceed
    /// It did not happen; nothing changed.
    case refuse(CeremonyRefusal)
    /// It did not happen, and the ceremony has ended because of it.
    case end(CeremonyRefusal)
}

/// Why an event does not fit a state.
package enum CeremonyRefusal: Hashable, Sendable {
    /// A token of this ceremony has been redeemed.
    case alreadyRedeemed
    /// Nobody has redeemed a token yet.
    case notClaimed
    /// The answer has come already.
    case alreadyAnswered
    /// The phone has not answered yet.
    case notAnswered
    /// The ceremony has ended.
    case over
    /// This kind of ceremony does not know the event.
    case notApplicable
    case wrongBrowser
    case wrongNumber
}

/// A kind's own states, reduced to the outer life cycle that every kind shares.
package enum CeremonyStage: Hashable, Sendable {
    case created
    case claimed
    case answering
    case ended(CeremonyRecord.Outcome)

    package init(_ record: CeremonyRecord) {
        switch record.phase {
        case .created: self = .created
        case .claimed: self = .claimed
        case .answering: self = .answering
        case .ended: self = .ended(record.outcome ?? .failed)
        }
    }
}

extension CeremonyRecord {
    /// Lets the machine of the record's kind judge an event, and takes over what it decides.
    ///
    /// An event after the phase's time is refused as one after the end, whether or not the end has been written yet.
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
        case .deregistration:
            var machine = DeregistrationStateMachine(CeremonyStage(self))
            verdict = machine.handle(event)
            stage = machine.stage
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

/// How long the phases of a kind last.
package struct PhaseLifetime: Sendable {
    package let claimed: Duration
    package let answering: Duration
    package let whole: Duration

    package init(_ kind: CeremonyRecord.Kind, _ limits: Limits) {
        self.claimed = limits.claimedLifetime
        self.answering = kind == .registration ? limits.confirmationLifetime : limits.continuationLifetime
        self.whole = limits.ceremonyLifetime + limits.claimedLifetime
    }
}
