import Records

/// The state machine of a new device registration out of band. After the verified answer the registration is pending:
/// the requester must give the number from the phone's screen, and a single wrong number ends the registration.
package struct RegistrationStateMachine: Equatable {
    private enum State: Equatable {
        /// Next: `claimed`, `ended`.
        case offered
        /// Next: `awaitingConfirmation`, `ended`.
        case claimed
        /// Next: `ended`.
        case awaitingConfirmation
        /// Next: none.
        case ended(CeremonyRecord.Outcome)
    }

    private var state: State

    package init(_ stage: CeremonyStage) {
        switch stage {
        case .created: self.state = .offered
        case .claimed: self.state = .claimed
        case .answering: self.state = .awaitingConfirmation
        case .ended(let outcome): self.state = .ended(outcome)
        }
    }

    package var stage: CeremonyStage {
        switch self.state {
        case .offered: .created
        case .claimed: .claimed
        case .awaitingConfirmation: .answering
        case .ended(let outcome): .ended(outcome)
        }
    }

    package mutating func handle(_ event: CeremonyEvent) -> CeremonyVerdict {
        switch (self.state, event) {
        case (.ended, .redeem): return .refuse(.alreadyRedeemed)
        case (.ended, _): return .refuse(.over)
        case (_, .expire): self.state = .ended(.expired)
        case (_, .cancel): self.state = .ended(.cancelled)
        case (_, .continueInBrowser): return .refuse(.notApplicable)

        case (.offered, .redeem): self.state = .claimed
        case (.offered, .confirm): return .refuse(.notAnswered)
        case (.offered, .accept), (.offered, .deny), (.offered, .fail): return .refuse(.notClaimed)

        case (.claimed, .accept): self.state = .awaitingConfirmation
        case (.claimed, .deny): self.state = .ended(.denied)
        case (.claimed, .fail): self.state = .ended(.failed)
        case (.claimed, .confirm): return .refuse(.notAnswered)

        case (.awaitingConfirmation, .confirm(isRightNumber: true)): self.state = .ended(.succeeded)
        case (.awaitingConfirmation, .confirm(isRightNumber: false)):
            self.state = .ended(.failed)
            return .end(.wrongNumber)
        case (.awaitingConfirmation, .accept), (.awaitingConfirmation, .deny), (.awaitingConfirmation, .fail):
            return .refuse(.alreadyAnswered)
        case (.claimed, .redeem), (.awaitingConfirmation, .redeem): return .refuse(.alreadyRedeemed)
        }
        return .proceed
    }
}
