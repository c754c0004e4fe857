import _Primitives

/// The effect of a decision about a change of an account.
package enum AccountChangeEffect: Sendable, Equatable {
    /// The decision is refused, and nothing changes.
    case refused
    /// The addition of the change rests from now on.
    case rest(AccountChangeRecord)
    /// The addition of the change rests no longer.
    case wake(AccountChangeRecord)
}

extension AccountChangeDecision {
    /// Returns the change if the decision may follow the change's latest decision; `nil` for every other change.
    ///
    /// A decision follows one state alone, and the change must be a change of the decision's account. So a reclaim does
    /// not undo a change that was never disowned, and nobody decides about the changes of somebody else.
    package func admitted(_ change: AccountChangeRecord?) -> AccountChangeRecord? {
        guard let change, change.accountID.hasSameBytes(as: self.accountID), change.state == self.state.predecessor
        else { return nil }
        return change
    }

    /// Returns the effect of the decision on a change of an account. A locked account takes no decision.
    package func effect(on change: AccountChangeRecord?, of account: AccountRecord?) -> AccountChangeEffect {
        guard let change = self.admitted(change), let account, !account.isLocked else { return .refused }
        return switch self.state {
        case .made: .refused
        case .disowned: .rest(change)
        case .reclaimed: .wake(change)
        }
    }
}

extension AccountChangeRecord.State {
    /// The only state that this state follows; `nil` for the first state.
    package var predecessor: Self? {
        switch self {
        case .made: nil
        case .disowned: .made
        case .reclaimed: .disowned
        }
    }
}
