import Records

/// The state machine of a transaction: a person agrees to a text or picture from a back end. The verified answer is the
/// end, and needs no further consent.
package struct TransactionStateMachine: Equatable {
    private enum State: Equatable {
        /// Next: `claimed`, `ended`.
        case offered
        /// Next: `ended`.
        case claimed
        /// Next: none.
        case ended(CeremonyRecord.Outcome)
    }

    private var state: State

    package init(_ stage: CeremonyStage) {
        switch stage {
        case .created: self.state = .offered
        case .claimed: self.state = .claimed
        // A transaction never has this stage. A row with this stage must not lead to a success.
        case .answering: self.state = .ended(.failed)
        case .ended(let outcome): self.state = .ended(outcome)
        }
    }

    package var stage: CeremonyStage {
        switch self.state {
        case .offered: .created
        case .claimed: .claimed
        case .ended(let outcome): .ended(outcome)
        }
    }

    package mutating func handle(_ event: CeremonyEvent) -> CeremonyVerdict {
        switch (self.state, event) {
        case (.ended, .redeem): return .refuse(.alreadyRedeemed)
        case (.ended, _): return .refuse(.over)
        case (_, .expire): self.state = .ended(.expired)
        case (_, .cancel): self.state = .ended(.cancelled)
        case (_, .confirm), (_, .continueInBrowser): return .refuse(.notApplicable)

        case (.offered, .redeem): self.state = .claimed
        case (.offered, .accept), (.offered, .deny), (.offered, .fail): return .refuse(.notClaimed)

        case (.claimed, .accept): self.state = .ended(.succeeded)
        case (.claimed, .deny): self.state = .ended(.denied)
        case (.claimed, .fail): self.state = .ended(.failed)
        case (.claimed, .redeem): return .refuse(.alreadyRedeemed)
        }
        return .proceed
    }
}
