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

extension AccountChangeRecord {
    /// Returns the addition that rests if the change is disowned; `nothing` if a later change has replaced the addition.
    ///
    /// - Parameter changes: Changes of the same account.
    package func resting(among changes: [AccountChangeRecord]) -> AccountAddition {
        self.isReplaced(in: changes) ? .nothing : self.addition
    }

    /// Returns `true` if no addition of this change is left to rest, because a later change has put another in its
    /// place: later recovery codes, unless they are disowned, and a later password, second factor or equal value that
    /// the person has reclaimed. A later password or second factor that nobody has decided about rests with this
    /// change: this change's password or factor can have confirmed it.
    private func isReplaced(in changes: [AccountChangeRecord]) -> Bool {
        let latest = changes.filter { $0.madeAt > self.madeAt && $0.addition.replaces(self.addition) }
            .max { $0.madeAt < $1.madeAt }
        return switch latest?.state {
        case nil, .disowned: false
        case .made: self.addition == .recoveryCodes
        case .reclaimed: true
        }
    }
}

extension AccountAddition {
    /// Returns `true` if this addition takes the place of another that was made before.
    fileprivate func replaces(_ earlier: AccountAddition) -> Bool {
        switch (self, earlier) {
        case (.password, .password), (.secondFactor, .secondFactor), (.secondFactor, .recoveryCodes),
            (.recoveryCodes, .recoveryCodes):
            true
        case (.email(let text), .email(let former)):
            !RestingValue.email(former).identifiers(among: [(id: "", text: text)]).isEmpty
        case (.phone(let text), .phone(let former)):
            !RestingValue.phone(former).identifiers(among: [(id: "", text: text)]).isEmpty
        default: false
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
