package import Settings
import _Primitives

/// The counted messages to a person's devices, at the moment of a further message.
package struct PushCounts: Sendable, Equatable {
    /// The messages of the further message's requester within ``Limits/Fixed/pushPeriod``.
    package var requester: Int
    /// The messages of the further message's requester within ``Limits/Fixed/pushDay``.
    package var requesterDay: Int
    /// The messages of all requesters within ``Limits/Fixed/pushPeriod``.
    package var person: Int
    /// The messages of all requesters within ``Limits/Fixed/pushDay``.
    package var personDay: Int

    /// Joins the counts.
    package init(requester: Int, requesterDay: Int, person: Int, personDay: Int) {
        self.requester = requester
        self.requesterDay = requesterDay
        self.person = person
        self.personDay = personDay
    }

    /// Returns the first budget that leaves no further message; `nil` if all budgets leave a message.
    package func usedUp(_ bounds: Limits.Push) -> PushBudget? {
        PushBudget.allCases.first { budget in
            switch budget {
            case .requester: self.requester >= bounds.pushesPerRequester
            case .requesterDay: self.requesterDay >= bounds.pushesPerRequesterDay
            case .person: self.person >= bounds.pushesPerPerson
            case .personDay: self.personDay >= bounds.pushesPerPersonDay
            }
        }
    }
}

extension PushBudget {
    /// The time for which a message counts.
    package var period: Duration {
        switch self {
        case .requester, .person: Limits.Fixed.pushPeriod
        case .requesterDay, .personDay: Limits.Fixed.pushDay
        }
    }

    /// Returns the requester whose budget it is; an empty text for a budget of all requesters.
    package func owner(of push: PushCount) -> String {
        switch self {
        case .requester, .requesterDay: push.requester
        case .person, .personDay: ""
        }
    }

    /// Returns the event of the first message that the budget refuses.
    package func event(of push: PushCount) -> AuditEvent {
        AuditEvent(
            .pushBudgetUsedUp, at: push.at, accountID: push.accountID, ceremonyID: push.ceremonyID,
            actor: push.requester, detail: self.rawValue)
    }
}
