import Store

/// The outer life of an identity session: what a page, its browser and the clock do with it. What a phone does is
/// ``IdentitySession``'s, which this follows.
package struct IdentityLifeCycle: Equatable {
    private enum State: Equatable {
        /// Next: `claimed` by the session, `ended`.
        case offered
        /// Next: `answering` and `ended` by the session, `ended`.
        case claimed
        /// A browser is to continue, or a code or a grant waits. Next: `ended`.
        case answering
        /// Next: none.
        case ended(CeremonyRecord.Outcome)
    }

    private var state: State

    package init(_ stage: CeremonyStage) {
        switch stage {
        case .created: self.state = .offered
        case .claimed: self.state = .claimed
        case .answering: self.state = .answering
        case .ended(let outcome): self.state = .ended(outcome)
        }
    }

    package var stage: CeremonyStage {
        switch self.state {
        case .offered: .created
        case .claimed: .claimed
        case .answering: .answering
        case .ended(let outcome): .ended(outcome)
        }
    }

    package mutating func handle(_ event: CeremonyEvent) -> CeremonyVerdict {
        switch (self.state, event) {
        case (.ended, .redeem): return .refuse(.alreadyRedeemed)
        case (.ended, _): return .refuse(.over)
        case (_, .expire): self.state = .ended(.expired)
        case (_, .cancel): self.state = .ended(.cancelled)
        case (_, .fail): self.state = .ended(.failed)
        case (.answering, .continueInBrowser(isStartingBrowser: true)): self.state = .ended(.succeeded)
        case (.answering, .continueInBrowser(isStartingBrowser: false)):
            self.state = .ended(.failed)
            return .end(.wrongBrowser)
        case (_, .continueInBrowser): return .refuse(.notAnswered)
        // A phone claims, answers and gives up by the session's own requests, never as in an operation.
        case (_, .redeem), (_, .accept), (_, .deny), (_, .confirm): return .refuse(.notApplicable)
        }
        return .proceed
    }
}
