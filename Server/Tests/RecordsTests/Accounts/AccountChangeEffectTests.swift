import Records
import Testing
import _Primitives

@Suite("Decision 91: a decision about a change of an account")
struct AccountChangeEffectTests {
    private typealias State = AccountChangeRecord.State

    private static let moment = Timestamp(seconds: 1_000_000)

    private func change(_ state: AccountChangeRecord.State, of account: String = "person") -> AccountChangeRecord {
        AccountChangeRecord(
            id: "change", accountID: account, addition: .password, words: "Password", madeAt: Self.moment,
            state: state)
    }

    private func account(isLocked: Bool = false) -> AccountRecord {
        AccountRecord(id: "person", username: "person", displayName: nil, isLocked: isLocked, createdAt: Self.moment)
    }

    private func decision(_ state: AccountChangeRecord.State) -> AccountChangeDecision {
        AccountChangeDecision(
            change: "change", accountID: "person", state: state, unusableHash: "",
            audit: AuditEvent(.deregistered, at: Self.moment), mail: nil)
    }

    @Test(
        "A state follows one state alone",
        arguments: [(.made, nil), (.disowned, .made), (.reclaimed, .disowned)] as [(State, State?)])
    func predecessor(state: AccountChangeRecord.State, before: AccountChangeRecord.State?) {
        #expect(state.predecessor == before)
    }

    @Test("A change is disowned once, and reclaimed once after that", arguments: State.allCases, State.allCases)
    func effect(decided: AccountChangeRecord.State, before: AccountChangeRecord.State) {
        let change = self.change(before)
        let effect = self.decision(decided).effect(on: change, of: self.account())
        let expected: AccountChangeEffect =
            switch (decided, before) {
            case (.disowned, .made): .rest(change)
            case (.reclaimed, .disowned): .wake(change)
            default: .refused
            }
        #expect(effect == expected)
        #expect(self.decision(decided).admitted(change) == (expected == .refused ? nil : change))
    }

    @Test("Nobody decides about a missing change, about another account's change, or for a locked or missing account")
    func refused() {
        let decision = self.decision(.disowned)
        let change = self.change(.made)
        #expect(decision.admitted(nil) == nil)
        #expect(decision.effect(on: nil, of: self.account()) == .refused)
        let foreign = self.change(.made, of: "another")
        #expect(decision.admitted(foreign) == nil)
        #expect(decision.effect(on: foreign, of: self.account()) == .refused)
        #expect(decision.effect(on: change, of: nil) == .refused)
        #expect(decision.effect(on: change, of: self.account(isLocked: true)) == .refused)
        #expect(decision.effect(on: change, of: self.account()) == .rest(change))
    }

    @Test("A later change replaces the addition of an earlier change by its kind and its state")
    func replaced() {
        func isReplaced(_ addition: AccountAddition, by later: AccountAddition, _ state: State, after: Int64 = 1)
            -> Bool
        {
            func change(_ addition: AccountAddition, _ state: State, _ seconds: Int64) -> AccountChangeRecord {
                AccountChangeRecord(
                    id: "\(seconds)", accountID: "person", addition: addition, words: "",
                    madeAt: Self.moment + .seconds(seconds), state: state)
            }
            let resting = change(addition, .made, 0).resting(among: [change(later, state, after)])
            #expect(resting == addition || resting == .nothing)
            return resting != addition
        }
        let replacing: [(AccountAddition, AccountAddition)] = [
            (.password, .password), (.secondFactor, .secondFactor), (.recoveryCodes, .recoveryCodes),
            (.recoveryCodes, .secondFactor), (.email("a@b.example"), .email("A@b.example")),
            (.phone("+1"), .phone("+1")),
        ]
        for (addition, later) in replacing {
            #expect(isReplaced(addition, by: later, .reclaimed))
            #expect(isReplaced(addition, by: later, .made) == (addition == .recoveryCodes))
            #expect(!isReplaced(addition, by: later, .disowned))
            for moment: Int64 in [-1, 0] { #expect(!isReplaced(addition, by: later, .reclaimed, after: moment)) }
        }
        let others: [(AccountAddition, AccountAddition)] = [
            (.device, .device), (.provider("up"), .provider("up")), (.password, .secondFactor),
            (.secondFactor, .recoveryCodes), (.email("a@b.example"), .email("c@b.example")),
            (.phone("+1"), .phone("+2")), (.email("a"), .phone("a")),
        ]
        for (addition, later) in others { #expect(!isReplaced(addition, by: later, .reclaimed)) }
    }

    @Test("The latest of several later changes decides")
    func latest() {
        func codes(_ state: State, after seconds: Int64) -> AccountChangeRecord {
            AccountChangeRecord(
                id: "\(seconds)", accountID: "person", addition: .recoveryCodes, words: "",
                madeAt: Self.moment + .seconds(seconds), state: state)
        }
        let change = codes(.made, after: 0)
        #expect(change.resting(among: []) == .recoveryCodes)
        #expect(change.resting(among: [codes(.disowned, after: 2), codes(.made, after: 1)]) == .recoveryCodes)
        #expect(change.resting(among: [codes(.disowned, after: 1), codes(.made, after: 2)]) == .nothing)
    }

    @Test(
        "A stored addition is read as it was written",
        arguments: [
            (AccountAddition.device, "device"), (.provider("north bank"), "provider north bank"),
            (.email("a@example.org"), "email a@example.org"), (.phone("+48 1"), "phone +48 1"),
            (.password, "password"), (.secondFactor, "second-factor"), (.recoveryCodes, "recovery-codes"),
            (.nothing, "nothing"),
        ])
    func stored(addition: AccountAddition, text: String) throws {
        #expect(addition.stored == text)
        #expect(try AccountAddition(stored: text) == addition)
    }

    @Test("Other texts are no addition", arguments: ["", "email", "password now", "other", "provider"])
    func unreadable(text: String) {
        #expect(throws: StoreError(.corrupt, "")) { try AccountAddition(stored: text) }
    }

    @Test("Only an e-mail address has an address")
    func email() {
        #expect(AccountAddition.email("a@example.org").email == "a@example.org")
        #expect(AccountAddition.phone("+481").email == nil)
    }

    @Test("A stored state is one of the three words")
    func states() throws {
        for state in State.allCases { #expect(try State(stored: state.rawValue) == state) }
        #expect(throws: StoreError(.corrupt, "")) { try State(stored: "undone") }
    }
}
