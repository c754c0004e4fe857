import Records
package import UAF

/// The state machine of an authentication, for a waiting browser or for a back end.
///
/// A link is for the device that shows the link. If a browser of this server waits, an approval by link has no effect
/// before the browser has continued. A QR code without a link and a typed code may cross devices, and no phone accepts
/// them from a link.
package struct AuthenticationStateMachine: Equatable {
    private enum State: Equatable {
        /// Next: `claimed`, `ended`.
        case offered
        /// Next: `approvedOnDevice`, `ended`.
        case claimed
        /// Next: `ended`.
        case approvedOnDevice
        /// Next: none.
        case ended(CeremonyRecord.Outcome)
    }

    private var state: State
    /// `true` if the starting browser must continue the approval.
    private let needsContinuation: Bool

    package init(_ stage: CeremonyStage, channel: DispatchChannel?, isBoundToBrowser: Bool) {
        switch stage {
        case .created: self.state = .offered
        case .claimed: self.state = .claimed
        case .answering: self.state = .approvedOnDevice
        case .ended(let outcome): self.state = .ended(outcome)
        }
        self.needsContinuation = isBoundToBrowser && channel?.canBeSentOn == true
    }

    package var stage: CeremonyStage {
        switch self.state {
        case .offered: .created
        case .claimed: .claimed
        case .approvedOnDevice: .answering
        case .ended(let outcome): .ended(outcome)
        }
    }

    package mutating func handle(_ event: CeremonyEvent) -> CeremonyVerdict {
        switch (self.state, event) {
        case (.ended, .redeem): return .refuse(.alreadyRedeemed)
        case (.ended, _): return .refuse(.over)
        case (_, .expire): self.state = .ended(.expired)
        case (_, .cancel): self.state = .ended(.cancelled)
        case (_, .confirm): return .refuse(.notApplicable)

        case (.offered, .redeem): self.state = .claimed
        case (.offered, .continueInBrowser): return .refuse(.notAnswered)
        case (.offered, _): return .refuse(.notClaimed)

        case (.claimed, .accept): self.state = self.needsContinuation ? .approvedOnDevice : .ended(.succeeded)
        case (.claimed, .deny): self.state = .ended(.denied)
        case (.claimed, .fail): self.state = .ended(.failed)
        case (.claimed, .continueInBrowser): return .refuse(.notAnswered)

        case (.approvedOnDevice, .continueInBrowser(isStartingBrowser: true)): self.state = .ended(.succeeded)
        case (.approvedOnDevice, .continueInBrowser(isStartingBrowser: false)): return .refuse(.wrongBrowser)
        case (.approvedOnDevice, .accept), (.approvedOnDevice, .deny), (.approvedOnDevice, .fail):
            return .refuse(.alreadyAnswered)
        case (.claimed, .redeem), (.approvedOnDevice, .redeem): return .refuse(.alreadyRedeemed)
        }
        return .proceed
    }
}
