package import Records
package import UAF

/// An event of a ceremony, of any kind.
package enum CeremonyEvent: Hashable, Sendable {
    /// A phone redeems a token.
    case redeem(DispatchChannel)
    /// The phone's answer was verified.
    case accept
    /// The person refused.
    case deny
    /// The phone gave up, or its answer was refused.
    case fail
    /// A browser opens the continuation of an approval.
    case continueInBrowser(isStartingBrowser: Bool)
    /// An operator enters the number from the phone.
    case confirm(isRightNumber: Bool)
    /// The time is over.
    case expire
    /// The party that started the ceremony gives up.
    case cancel
}

/// A state machine's reply to an event.
package enum CeremonyVerdict: Hashable, Sendable {
    /// The event happened.
    case proceed
    /// The event did not happen, and nothing changed.
    case refuse(CeremonyRefusal)
    /// The event did not happen, and the ceremony has ended because of the event.
    case end(CeremonyRefusal)
}

/// The reason why an event does not fit a state.
package enum CeremonyRefusal: Hashable, Sendable {
    /// A token of this ceremony has been redeemed.
    case alreadyRedeemed
    /// No token of the ceremony has been redeemed yet.
    case notClaimed
    /// The answer has come already.
    case alreadyAnswered
    /// The phone has not answered yet.
    case notAnswered
    /// The ceremony has ended.
    case over
    /// This kind of ceremony does not know the event.
    case notApplicable
    /// The browser with the continuation did not start the ceremony. The starting browser can still continue.
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
