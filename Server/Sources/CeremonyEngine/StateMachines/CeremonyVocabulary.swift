package import Store

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
    /// A browser opens the continuation that did not start the ceremony. The starting browser can still go on.
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
