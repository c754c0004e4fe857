import Records

/// The outer life cycle of an identity session: the events of its page, its browser and the clock. ``IdentitySession``
/// handles the events of a phone, and this machine follows. So the machine has no states beside the stages.
package struct IdentityStateMachine: Equatable {
    package private(set) var stage: CeremonyStage

    package init(_ stage: CeremonyStage) { self.stage = stage }

    package mutating func handle(_ event: CeremonyEvent) -> CeremonyVerdict {
        switch (self.stage, event) {
        case (.ended, .redeem): return .refuse(.alreadyRedeemed)
        case (.ended, _): return .refuse(.over)
        case (_, .expire): self.stage = .ended(.expired)
        case (_, .cancel): self.stage = .ended(.cancelled)
        case (_, .fail): self.stage = .ended(.failed)
        case (.answering, .continueInBrowser(isStartingBrowser: true)): self.stage = .ended(.succeeded)
        case (.answering, .continueInBrowser(isStartingBrowser: false)): return .refuse(.wrongBrowser)
        case (_, .continueInBrowser): return .refuse(.notAnswered)
        // A phone claims, answers and aborts with the session's own requests, never as in an operation.
        case (_, .redeem), (_, .accept), (_, .deny), (_, .confirm): return .refuse(.notApplicable)
        }
        return .proceed
    }
}
