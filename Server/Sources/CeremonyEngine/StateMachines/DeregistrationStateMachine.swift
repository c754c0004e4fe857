import Records

/// The state machine of a deregistration: a device deletes keys. The server's records go in the step that redeems the
/// token, so there is no answer.
package struct DeregistrationStateMachine: Equatable {
    private enum State: Equatable {
        /// Next: `ended`.
        case offered
        /// Next: none.
        case ended(CeremonyRecord.Outcome)
    }

    private var state: State

    package init(_ stage: CeremonyStage) {
        switch stage {
        case .created: self.state = .offered
        // A deregistration never has this stage.
        case .claimed, .answering: self.state = .ended(.failed)
        case .ended(let outcome): self.state = .ended(outcome)
        }
    }

    package var stage: CeremonyStage {
        switch self.state {
        case .offered: .created
        case .ended(let outcome): .ended(outcome)
        }
    }

    package mutating func handle(_ event: CeremonyEvent) -> CeremonyVerdict {
        switch (self.state, event) {
        case (.ended, .redeem): return .refuse(.alreadyRedeemed)
        case (.ended, _): return .refuse(.over)
        case (.offered, .redeem): self.state = .ended(.succeeded)
        case (.offered, .expire): self.state = .ended(.expired)
        case (.offered, .cancel): self.state = .ended(.cancelled)
        case (.offered, .accept), (.offered, .deny), (.offered, .fail): return .refuse(.notClaimed)
        case (.offered, .confirm), (.offered, .continueInBrowser): return .refuse(.notApplicable)
        }
        return .proceed
    }
}
