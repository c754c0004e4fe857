import PersonalInformation
import Records
import Settings
import Testing
import _Primitives

/// The rules of personal values, addresses and the outcomes of sessions.
struct PersonalValueRulesTests {
    private static let now = Timestamp(seconds: 1_800_000_000)

    private static func value(_ id: String) -> PersonalValueRecord {
        PersonalValueRecord(
            id: id, attribute: .email, alias: "private", value: "ada@bank.example", source: .person, createdAt: Self.now
        )
    }

    @Test("A bound leaves room for one row less", arguments: IdentityBound.allCases)
    func bound(_ bound: IdentityBound) {
        #expect(throws: Never.self) { try bound.requireRoom(2, most: 3) }
        let code: StoreError.Code = bound == .suppliedValues ? .outdated : .conflict
        let reason =
            switch bound {
            case .openInvites: "there are 4 open invitations"
            case .invitesOfAddress: "an address was sent 4 invitations"
            case .organisations: "there are 4 organisations"
            case .offers: "there are 3 offers already"
            case .values, .suppliedValues: "there are 4 values of an attribute"
            case .sealingKeys: "there are 4 keys to seal to"
            }
        #expect(throws: StoreError(code, "")) { try bound.requireRoom(3, most: 3) }
        let error = #expect(throws: StoreError(code, "")) { try bound.requireRoom(4, most: 3) }
        #expect(error?.reason == reason)
        #expect(throws: Never.self) { try bound.requireRoom(.max, most: nil) }
    }

    @Test(
        "A confirmed address becomes a value, if no value equals it and there is room",
        arguments: [
            ([], 1, .value(alias: "email")), ([], 0, .noValue(.withoutValue)),
            (["bob@bank.example"], 2, .value(alias: "email 2")), (["bob@bank.example"], 1, .noValue(.withoutValue)),
            (["ADA@bank.example"], 1, .noValue(.complete)), (["b", "ada@bank.EXAMPLE"], 9, .noValue(.complete)),
        ] as [([String], Int, EmailValues.Confirmation)])
    func confirmation(with values: [String], most: Int, is expected: EmailValues.Confirmation) {
        let compared = EmailValues(values.map { (id: $0, value: $0) }, address: "Ada@bank.example")
        #expect(compared.confirmation(most: most) == expected)
    }

    @Test("Values equal an address in all cases of letters")
    func equalValues() {
        let values = [("1", "ada@bank.example"), ("2", "bob@bank.example"), ("3", "ADA@BANK.example")]
        let compared = EmailValues(values.map { (id: $0, value: $1) }, address: "Ada@bank.example")
        #expect(compared.equal == ["1", "3"])
        #expect(compared.withdrawn(isConfirmed: false) == ["1", "3"])
        #expect(compared.withdrawn(isConfirmed: true) == [])
    }

    @Test("An address that was not added is a conflict")
    func addedAddress() {
        #expect(AdditionalEmail.refusal.code == .conflict)
    }

    @Test("The first value of an attribute is primary", arguments: [(0, true), (1, false), (9, false)])
    func primary(after count: Int, isPrimary: Bool) {
        #expect(PersonalValueRecord.isPrimary(afterOthers: count) == isPrimary)
    }

    @Test(
        "An operator's change writes what it names, in its order",
        arguments: [
            (PersonalValueChange(), []), (PersonalValueChange(alias: "work"), [.alias("work")]),
            (PersonalValueChange(becomesPrimary: true), [.primary]),
            (PersonalValueChange(isVerified: false), [.verified(false)]),
            (
                PersonalValueChange(alias: "work", becomesPrimary: true, isVerified: true),
                [.alias("work"), .primary, .verified(true)]
            ),
        ] as [(PersonalValueChange, [PersonalValueWrite])])
    func change(_ change: PersonalValueChange, writes: [PersonalValueWrite]) {
        #expect(change.writes == writes)
    }

    // MARK: The outcome of a session

    private static func outcome(
        service: String? = "bank", supplied: [PersonalValueRecord] = [],
        selection: [PersonalAttribute: String]? = nil, history: IdentityHistoryRecord? = nil
    ) -> IdentityOutcomeChange {
        IdentityOutcomeChange(
            accountID: "ada", service: service, at: Self.now, supplied: supplied, selection: selection,
            history: history, limits: Limits())
    }

    @Test("An outcome writes supplied values before the selection that names them")
    func outcomeWrites() {
        let history = IdentityHistoryRecord(
            purpose: "login", service: "bank", role: nil, outcome: .finished, at: Self.now)
        #expect(Self.outcome().writes == [])
        #expect(
            Self.outcome(supplied: [Self.value("1")], selection: [.email: "1"], history: history).writes == [
                .supplied(
                    Self.value("1"),
                    AuditEvent(.personalValueAdded, at: Self.now, accountID: "ada", detail: "email 1")),
                .selection([.email: "1"]), .history(history),
            ])
    }

    @Test("Nothing but history can be for an account that is gone")
    func goneAccount() {
        #expect(throws: Never.self) { try Self.outcome().requireNothingForAccount() }
        #expect(throws: StoreError(.notFound, "")) {
            try Self.outcome(supplied: [Self.value("1")]).requireNothingForAccount()
        }
        #expect(throws: StoreError(.notFound, "")) { try Self.outcome(selection: [:]).requireNothingForAccount() }
        #expect(throws: Never.self) { try Self.outcome(selection: [:]).writes(forExisting: true) }
        #expect(throws: StoreError(.notFound, "")) { try Self.outcome(selection: [:]).writes(forExisting: false) }
    }

    @Test(
        "An outcome without values and without a selection writes its history, and nothing for an account that is gone")
    func historyOfGoneAccount() throws {
        let history = IdentityHistoryRecord(
            purpose: "login", service: "bank", role: nil, outcome: .finished, at: Self.now)
        #expect(try Self.outcome(history: history).writes(forExisting: true) == [.history(history)])
        #expect(try Self.outcome(history: history).writes(forExisting: false) == [])
    }

    @Test("A selection is for a service that exists")
    func service() throws {
        #expect(try Self.outcome().serviceOfSelection() == "bank")
        #expect(throws: StoreError(.notFound, "")) { try Self.outcome(service: nil).serviceOfSelection() }
        #expect(throws: Never.self) { try Self.outcome().requireService(exists: true) }
        #expect(throws: StoreError(.notFound, "")) { try Self.outcome().requireService(exists: false) }
    }

    @Test("A value that the service has to have exists", arguments: [true, false], [true, false])
    func chosen(isRequired: Bool, exists: Bool) {
        var outcome = Self.outcome()
        outcome.required = isRequired ? [.email] : [.phoneNumber]
        let result = Result { () throws(StoreError) in try outcome.requireChosen(.email, exists: exists) }
        switch result {
        case .success: #expect(exists || !isRequired)
        case .failure(let error): #expect(!exists && isRequired && error.code == .outdated)
        }
    }

    @Test(
        "Supplied values have room beside the present values, attribute by attribute",
        arguments: [(0, 2, true), (0, 3, false), (1, 1, true), (1, 2, false), (2, 1, false), (9, 0, true)])
    func roomForSupplied(present: Int, supplied: Int, hasRoom: Bool) {
        var outcome = Self.outcome(supplied: (0..<supplied).map { Self.value("\($0)") })
        outcome.valuesPerAttribute = 2
        var isRefused = false
        do {
            try outcome.requireRoom { $0 == .email ? present : 0 }
        } catch {
            isRefused = error as? StoreError == StoreError(.outdated, "")
        }
        #expect(isRefused == !hasRoom)
    }

    @Test(
        "A value that the service has to have is supplied in the same step, or is the account's value of the attribute",
        arguments: [
            ("1", nil, true), ("2", nil, false), ("2", "email", true), ("2", "nickname", false),
        ] as [(String, String?, Bool)])
    func requiredChoice(id: String, attribute: String?, isChosen: Bool) {
        var outcome = Self.outcome(supplied: [Self.value("1")], selection: [.email: id])
        outcome.required = [.email]
        #expect(Self.refusal(of: outcome, attribute: attribute) == (isChosen ? nil : .outdated))
        outcome.required = []
        #expect(Self.refusal(of: outcome, attribute: nil) == nil)
    }

    @Test("A selection needs its service, and an outcome without a selection needs none")
    func serviceOfSelection() {
        #expect(Self.refusal(of: Self.outcome(selection: [:]), isServiceThere: false) == .notFound)
        #expect(Self.refusal(of: Self.outcome(service: nil, selection: [:])) == .notFound)
        #expect(Self.refusal(of: Self.outcome(selection: [:])) == nil)
        #expect(Self.refusal(of: Self.outcome(service: nil), isServiceThere: false) == nil)
    }

    private static func refusal(
        of outcome: IdentityOutcomeChange, isServiceThere: Bool = true, attribute: String? = nil
    ) -> StoreError.Code? {
        do {
            try outcome.requireSelection(service: { _ in isServiceThere }, value: { _ in attribute })
            return nil
        } catch {
            return (error as? StoreError)?.code
        }
    }
}
