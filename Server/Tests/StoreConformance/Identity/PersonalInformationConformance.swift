import PersonalInformation
import Records
import Settings
import _Primitives

/// The rules for every ``PersonalInformationStore`` and ``IdentityHistoryStore``, about the attribute values of
/// accounts.
public enum PersonalInformationConformance {
    /// The store protocols that the rules use.
    public typealias Subject = any IdentityStores

    private static let alice = "account-alice"

    private static func value(
        _ id: String, _ attribute: PersonalAttribute = .email, _ value: String? = nil, isPrimary: Bool = false
    ) -> PersonalValueRecord {
        PersonalValueRecord(
            id: id, attribute: attribute, alias: "alias of \(id)", value: value ?? "\(id)@post.example",
            isPrimary: isPrimary, isVerified: id.utf8.count == 1, source: .administrator, createdAt: .start)
    }

    private static func begin(_ store: Subject, attributes: [PersonalAttribute] = [.email, .givenName]) async throws {
        for name in ["alice", "bob"] {
            try await store.createAccount(sampleAccount(name), audit: sampleAudit())
        }
        for service in ["portal", "shop"] {
            try await addService(store, service, sampleProfile(attributes: attributes))
        }
    }

    @discardableResult
    private static func add(_ value: PersonalValueRecord, _ store: Subject, to account: String = Self.alice)
        async throws -> Bool
    {
        try await store.addPersonalValue(
            value, accountID: account, limit: 3, audit: event(.personalValueAdded, account))
    }

    private static func change(_ id: String, _ change: PersonalValueChange, _ store: Subject) async throws -> Bool {
        try await store.changePersonalValue(
            id, accountID: Self.alice, to: change, audit: event(.personalValueChanged, Self.alice))
    }

    private static func remove(_ id: String, _ store: Subject, of account: String = Self.alice) async throws -> Bool {
        try await store.removePersonalValue(id, accountID: account, audit: event(.personalValueRemoved, account))
    }

    private static func primaries(_ store: Subject) async throws -> [String] {
        try await store.personalValues(accountID: Self.alice).filter(\.isPrimary).map(\.id)
    }

    private static func outcome(
        _ service: String = "portal", supplied: [PersonalValueRecord] = [],
        selection: [PersonalAttribute: String]? = nil, history: IdentityHistoryRecord? = nil, account: String = alice
    ) -> IdentityOutcomeChange {
        var change = IdentityOutcomeChange(
            accountID: account, service: service, at: .start, supplied: supplied, selection: selection,
            history: history, limits: Limits())
        change.valuesPerAttribute = 3
        change.historyRows = 2
        return change
    }

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] = Self.values + Self.choices + Self.sessions

    private static let values: [ConformanceCheck<Subject>] = [
        ConformanceCheck("values come back as they were added, by attribute, the primary one first") { store in
            try await Self.begin(store)
            let (first, second) = (Self.value("a"), Self.value("second"))
            let name = Self.value("n", .givenName, "Zoë")
            for value in [first, second, name] { try expect(try await Self.add(value, store), "an account") }
            var (expectedFirst, expectedName) = (first, name)
            expectedFirst.isPrimary = true
            expectedName.isPrimary = true
            let values = try await store.personalValues(accountID: Self.alice)
            try expect(values == [expectedName, expectedFirst, second], "as they were added")
            try expect(try await store.personalValues(accountID: "account-bob").isEmpty, "nobody else's")
            try expect(try await Self.add(Self.value("x"), store, to: "nobody") == false, "no such account")
        },
        ConformanceCheck("aliases are told without values, of the attributes that are asked for") { store in
            try await Self.begin(store)
            for value in [Self.value("a"), Self.value("n", .givenName)] { try await Self.add(value, store) }
            let aliases = try await store.personalAliases(accountID: Self.alice, attributes: [.email, .nickname])
            try expect(
                aliases == [
                    PersonalAlias(id: "a", attribute: .email, text: "alias of a", isPrimary: true, isVerified: true)
                ], "one")
        },
        ConformanceCheck("of an attribute's values exactly one is primary, whatever is added, changed and removed") {
            store in
            try await Self.begin(store)
            try await Self.add(Self.value("a"), store)
            try await Self.add(Self.value("b", isPrimary: true), store)
            try await Self.add(Self.value("c"), store)
            try expect(try await Self.primaries(store) == ["a"], "the first that came")
            try expect(try await Self.change("c", PersonalValueChange(becomesPrimary: true), store), "another")
            try expect(try await Self.primaries(store) == ["c"], "that one")
            try expect(try await Self.remove("b", store), "one that is not")
            try expect(try await Self.primaries(store) == ["c"], "still that one")
            try expect(try await Self.remove("c", store), "that one")
            try expect(try await Self.primaries(store) == ["a"], "the oldest that is left")
            try expect(try await Self.remove("a", store), "the last")
            try expect(try await Self.primaries(store).isEmpty, "none is left")
        },
        ConformanceCheck("of each attribute that has values exactly one is primary, after any run of changes") {
            store in
            try await Self.begin(store)
            // The run uses a fixed random sequence (Knuth's constants), so that a failing run fails again.
            var state: UInt64 = 30
            func draw(_ count: Int) -> Int {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return Int((state >> 33) % UInt64(count))
            }
            let attributes: [PersonalAttribute] = [.email, .givenName, .address]
            for step in 0..<300 {
                let values = try await store.personalValues(accountID: Self.alice)
                let attribute = attributes[draw(attributes.count)]
                let chosen = values.isEmpty ? nil : values[draw(values.count)].id
                switch (draw(3), chosen) {
                case (1, let id?): _ = try await Self.change(id, PersonalValueChange(becomesPrimary: true), store)
                case (2, let id?): _ = try await Self.remove(id, store)
                default:
                    guard values.count(where: { $0.attribute == attribute }) < 3 else { continue }
                    try await Self.add(Self.value("v\(step)", attribute, isPrimary: draw(2) == 0), store)
                }
                let left = try await store.personalValues(accountID: Self.alice)
                for attribute in Set(left.map(\.attribute)) {
                    let primaries = left.count { $0.attribute == attribute && $0.isPrimary }
                    try expect(primaries == 1, "\(primaries) of \(attribute) after step \(step)")
                }
            }
        },
        ConformanceCheck("a value is called otherwise, and another word on whether it is true") { store in
            try await Self.begin(store)
            try await Self.add(Self.value("a"), store)
            try expect(
                try await Self.change("a", PersonalValueChange(alias: "Work", isVerified: false), store), "changed")
            let value = try await store.personalValues(accountID: Self.alice).first
            try expect(value?.alias == "Work" && value?.isVerified == false, "both")
            try expect(value?.value == "a@post.example" && value?.isPrimary == true, "and nothing else")
        },
        ConformanceCheck("nobody changes or removes what is another's, and nothing of it is in the trail") { store in
            try await Self.begin(store)
            try await Self.add(Self.value("b"), store, to: "account-bob")
            let before = try await store.auditEntries(after: 0, limit: 99).count
            try expect(try await Self.change("b", PersonalValueChange(alias: "x"), store) == false, "not alice's")
            try expect(try await Self.remove("b", store) == false, "not alice's")
            try expect(try await Self.remove("none", store) == false, "nobody's")
            try expect(
                try await store.personalValues([.email: "b"], accountID: Self.alice).isEmpty, "nor is it told")
            try expect(try await store.auditEntries(after: 0, limit: 99).count == before, "nothing happened")
            try expect(
                try await store.personalValues(accountID: "account-bob").first?.alias == "alias of b", "as it was")
        },
        ConformanceCheck("an attribute has no more values than the limit, however many come at once") { store in
            try await Self.begin(store)
            let count = try await winners(20) { index in
                do { return try await Self.add(Self.value("v\(index)"), store) } catch let error as StoreError {
                    guard error.code == .conflict else { throw error }
                    return false
                }
            }
            try expect(count == 3, "the limit")
            try expect(try await Self.primaries(store).count == 1, "one is primary")
            try expect(try await Self.add(Self.value("n", .nickname), store), "each attribute has its own")
        },
        ConformanceCheck("only what is asked for is opened") { store in
            try await Self.begin(store)
            for value in [Self.value("a"), Self.value("b"), Self.value("n", .givenName)] {
                try await Self.add(value, store)
            }
            let values = try await store.personalValues(
                [.email: "b", .nickname: "n", .gender: "none"], accountID: Self.alice)
            try expect(values == [.email: "b@post.example"], "one, and none of another attribute")
        },
    ]

    private static let choices: [ConformanceCheck<Subject>] = [
        ConformanceCheck("what was chosen for a service is remembered for it, and for no other") { store in
            try await Self.begin(store)
            for value in [Self.value("a"), Self.value("b")] { try await Self.add(value, store) }
            try await store.applyIdentityOutcome(Self.outcome(selection: [.email: "b"]))
            try expect(
                try await store.attributeSelection(accountID: Self.alice, service: "portal") == [.email: "b"], "kept")
            try expect(
                try await store.attributeSelection(accountID: Self.alice, service: "shop").isEmpty, "no other service")
            try expect(
                try await store.attributeSelection(accountID: "account-bob", service: "portal").isEmpty, "nobody else")
            try await store.applyIdentityOutcome(Self.outcome(selection: [.email: "a"]))
            try expect(
                try await store.attributeSelection(accountID: Self.alice, service: "portal") == [.email: "a"], "anew")
            try await store.applyIdentityOutcome(Self.outcome())
            try expect(
                try await store.attributeSelection(accountID: Self.alice, service: "portal") == [.email: "a"], "left")
        },
        ConformanceCheck("what was chosen for a service is forgotten, there alone and of that account alone") { store in
            try await Self.begin(store)
            for value in [Self.value("a"), Self.value("b")] { try await Self.add(value, store) }
            try await store.applyIdentityOutcome(Self.outcome(selection: [.email: "b"]))
            for (account, service) in [(Self.alice, "shop"), ("account-bob", "portal"), (Self.alice, "none")] {
                let isForgotten = try await store.removeAttributeSelection(
                    accountID: account, service: service, audit: sampleAudit("forgotten"))
                try expect(!isForgotten, "\(account) has chosen nothing for \(service)")
            }
            try expect(
                try await store.attributeSelection(accountID: Self.alice, service: "portal") == [.email: "b"], "left")
            let isForgotten = try await store.removeAttributeSelection(
                accountID: Self.alice, service: "portal", audit: sampleAudit("forgotten"))
            try expect(isForgotten, "it was there")
            try expect(try await store.attributeSelection(accountID: Self.alice, service: "portal").isEmpty, "gone")
            let kinds = try await store.auditEntries(after: 0, limit: 99).map(\.event.kind.rawValue)
            try expect(kinds.filter { $0 == "forgotten" }.count == 1, "one event, for what was done")
            try expect(
                try await store.personalAliases(accountID: Self.alice, attributes: [.email]).count == 2, "values")
            try await store.applyIdentityOutcome(Self.outcome(selection: [.email: "a"]))
            try expect(
                try await store.attributeSelection(accountID: Self.alice, service: "portal") == [.email: "a"], "again")
        },
        ConformanceCheck("what a session asks of an account is made of what each read says by itself") { store in
            try await Self.begin(store)
            for value in [Self.value("a"), Self.value("b"), Self.value("n", .nickname)] {
                try await Self.add(value, store)
            }
            try await store.applyIdentityOutcome(Self.outcome(selection: [.email: "b"]))
            func session(_ id: String, of client: String?) async throws {
                let session = CeremonyRecord(
                    id: id, kind: .identity, clientID: "client", createdAt: .start, expiresAt: .start + .seconds(60),
                    detail: CeremonyDetail(service: "Portal", client: client))
                try await store.createCeremony(session, tokens: [], audit: nil)
            }
            try await session("at-portal", of: "portal")
            try await session("nowhere", of: "none")
            try await session("own", of: nil)
            for (name, account) in [("phone", "alice"), ("other", "bob")] {
                try await activate(store, name, account: account)
                let terms = try await store.terms(session: "at-portal", activation: "device-\(name)")
                let (activation, standing, aliases, selection) = (
                    try await store.activation(id: "device-\(name)"),
                    try await store.standing(accountID: "account-\(account)", service: "portal"),
                    try await store.personalAliases(
                        accountID: "account-\(account)", attributes: [.email, .givenName]),
                    try await store.attributeSelection(accountID: "account-\(account)", service: "portal")
                )
                try expect(terms?.ceremony?.id == "at-portal" && terms?.activation == activation, "\(account)'s")
                try expect(terms?.standing == standing && standing != nil, "\(account) there")
                try expect(terms?.aliases == aliases && terms?.selection == selection, "\(account)'s values")
            }
            let alice = try await store.terms(session: "at-portal", activation: "device-phone")
            try expect(alice?.aliases.map(\.id) == ["a", "b"] && alice?.selection == [.email: "b"], "those that count")
            for other in ["nowhere", "own", "none"] {
                let terms = try await store.terms(session: other, activation: "device-phone")
                try expect(terms?.ceremony?.id == (other == "none" ? nil : other), "the session")
                try expect(terms?.standing == nil && terms?.aliases == [] && terms?.selection == [:], "no service")
            }
            try expect(try await store.terms(session: "own", activation: "none") == nil, "no such activation")
        },
        ConformanceCheck("what was supplied is had from then on, and can be chosen in the same step") { store in
            try await Self.begin(store)
            let value = Self.value("new", .givenName, "Zoë")
            try await store.applyIdentityOutcome(
                Self.outcome(supplied: [value], selection: [.givenName: "new"]))
            let chosen = try await store.attributeSelection(accountID: Self.alice, service: "portal")
            try expect(
                try await store.personalValues(chosen, accountID: Self.alice) == [.givenName: "Zoë"], "had and chosen")
            try expect(try await Self.primaries(store) == ["new"], "the first is primary")
        },
        ConformanceCheck("a value that goes takes the choice of it along, and of no other") { store in
            try await Self.begin(store)
            for value in [Self.value("a"), Self.value("b"), Self.value("n", .givenName)] {
                try await Self.add(value, store)
            }
            for service in ["portal", "shop"] {
                try await store.applyIdentityOutcome(Self.outcome(service, selection: [.email: "a", .givenName: "n"]))
            }
            _ = try await Self.remove("a", store)
            for service in ["portal", "shop"] {
                try expect(
                    try await store.attributeSelection(accountID: Self.alice, service: service) == [.givenName: "n"],
                    "asked again")
            }
        },
        ConformanceCheck("where a service asks for more, no choice counts; where it asks for less, all do") { store in
            try await Self.begin(store)
            try await Self.add(Self.value("a"), store)
            for service in ["portal", "shop"] {
                try await store.applyIdentityOutcome(Self.outcome(service, selection: [.email: "a"]))
            }
            _ = try await store.setServiceProfile(
                sampleProfile(attributes: [.email]), client: "portal", audit: sampleAudit())
            try expect(
                try await store.attributeSelection(accountID: Self.alice, service: "portal") == [.email: "a"], "less")
            _ = try await store.setServiceProfile(
                sampleProfile(attributes: [.email, .gender]), client: "portal", audit: sampleAudit())
            try expect(
                try await store.attributeSelection(accountID: Self.alice, service: "portal").isEmpty, "more")
            try expect(
                try await store.attributeSelection(accountID: Self.alice, service: "shop") == [.email: "a"], "another")
        },
        ConformanceCheck("what is another's, of another attribute or gone is not chosen") { store in
            try await Self.begin(store)
            try await Self.add(Self.value("b"), store, to: "account-bob")
            try await Self.add(Self.value("a"), store)
            try await store.applyIdentityOutcome(
                Self.outcome(selection: [.email: "b", .givenName: "a", .gender: "none"]))
            try expect(
                try await store.attributeSelection(accountID: Self.alice, service: "portal").isEmpty, "none of them")
        },
        ConformanceCheck("an outcome that cannot be whole leaves nothing") { store in
            try await Self.begin(store)
            let history = IdentityHistoryRecord(
                purpose: "userLogin", service: "portal", role: nil, outcome: .finished, at: .start)
            let many = (0..<4).map { Self.value("v\($0)") }
            try await expectError(StoreError(.outdated, "")) {
                try await store.applyIdentityOutcome(Self.outcome(supplied: many, history: history))
            }
            var required = Self.outcome(supplied: [many[0]], selection: [.email: "gone"], history: history)
            required.required = [.email]
            let change = required
            try await expectError(StoreError(.outdated, "")) { try await store.applyIdentityOutcome(change) }
            try await expectError(StoreError(.notFound, "")) {
                try await store.applyIdentityOutcome(
                    Self.outcome("none", supplied: [many[0]], selection: [:], history: history))
            }
            try await expectError(StoreError(.notFound, "")) {
                try await store.applyIdentityOutcome(Self.outcome(supplied: [many[0]], account: "nobody"))
            }
            try expect(try await store.personalValues(accountID: Self.alice).isEmpty, "no value")
            try expect(try await store.identityHistory(accountID: Self.alice, limit: 9).isEmpty, "no history")
        },
    ]

    private static let sessions: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a history has the newest sessions, the newest first, and no more than the limit") { store in
            try await Self.begin(store)
            let outcomes = IdentityHistoryRecord.Outcome.allCases
            let records = outcomes.enumerated().map { index, outcome in
                IdentityHistoryRecord(
                    purpose: "userLogin", service: "portal", role: index == 0 ? nil : "user", outcome: outcome,
                    at: .start + .seconds(index))
            }
            for record in records { try await store.applyIdentityOutcome(Self.outcome(history: record)) }
            try expect(
                try await store.identityHistory(accountID: Self.alice, limit: 9) == [records[2], records[1]],
                "two of three")
            try expect(try await store.identityHistory(accountID: Self.alice, limit: 1) == [records[2]], "the newest")
            try expect(try await store.identityHistory(accountID: "account-bob", limit: 9).isEmpty, "nobody else's")
            // Each account has separate numbers, whatever was deleted, and pages continue from a number.
            try await store.applyIdentityOutcome(Self.outcome(history: records[0], account: "account-bob"))
            func numbers(_ account: String = Self.alice, before number: Int64? = nil) async throws -> [Int64] {
                try await store.identityHistory(accountID: account, before: number, limit: 9).map(\.number)
            }
            try expect(try await numbers() == [3, 2], "its own count")
            try expect(try await numbers("account-bob") == [1], "another count")
            try expect(try await numbers(before: 3) == [2], "older ones")
            try expect(try await numbers(before: 2).isEmpty, "none is older")
            // A session of a deleted account has nothing to write, and still ends.
            try await store.applyIdentityOutcome(Self.outcome(history: records[0], account: "nobody"))
        },
        ConformanceCheck("a history is kept for its time, however much is in it, and says where its person was") {
            store in
            try await Self.begin(store)
            func note(_ second: Int, at service: String?, of account: String = Self.alice) async throws {
                var change = Self.outcome(
                    history: IdentityHistoryRecord(
                        purpose: "userLogin", service: service, role: nil, outcome: .finished,
                        at: .start + .seconds(second)), account: account)
                change.historyRows = 5
                try await store.applyIdentityOutcome(change)
            }
            try await note(0, at: "portal")
            try await note(1, at: "shop", of: "account-bob")
            for second in 2...4 { try await note(second, at: "shop") }
            try await note(5, at: nil)
            func seconds(_ account: String = Self.alice) async throws -> [Int64] {
                try await store.identityHistory(accountID: account, limit: 9).map {
                    ($0.at - Timestamp.start).components.seconds
                }
            }
            try expect(try await seconds() == [5, 4, 3, 2, 0], "all of them")
            try expect(
                try await store.visitedServices(accountID: Self.alice).sorted() == ["portal", "shop"], "each once")
            func delete(before second: Int, _ limit: Int) async throws -> Int {
                try await store.deleteStaleIdentities(
                    now: .start + .seconds(60), historyBefore: .start + .seconds(second), limit: limit)
            }
            try expect(try await delete(before: 0, 9) == 0, "none yet")
            try expect(try await delete(before: 3, 2) == 2, "the oldest")
            try expect(try await seconds("account-bob").isEmpty, "whosever they are")
            _ = try await delete(before: 3, 9)
            try expect(try await seconds() == [5, 4, 3], "what has time left")
            try expect(try await store.visitedServices(accountID: Self.alice) == ["shop"], "the first is forgotten")
            // The count continues from the last number.
            try await note(6, at: "portal")
            try expect(
                try await store.identityHistory(accountID: Self.alice, before: nil, limit: 1).map(\.number) == [6],
                "the next number")
        },
        ConformanceCheck("a history that has more than its limit comes to it with new entries, a few at a time") {
            store in
            try await Self.begin(store)
            func note(_ second: Int, of rows: Int) async throws -> Int {
                var change = Self.outcome(
                    history: IdentityHistoryRecord(
                        purpose: "userLogin", service: "portal", role: nil, outcome: .finished,
                        at: .start + .seconds(second)))
                change.historyRows = rows
                try await store.applyIdentityOutcome(change)
                return try await store.identityHistory(accountID: Self.alice, limit: 99).count
            }
            var count = 0
            for second in 1...30 { count = try await note(second, of: 30) }
            try expect(count == 30, "up to its limit")
            try expect(try await note(31, of: 2) > 20, "a few at a time")
            for second in 32...61 { count = try await note(second, of: 2) }
            try expect(count == 2, "its limit")
            let left = try await store.identityHistory(accountID: Self.alice, before: nil, limit: 9)
            try expect(left.map(\.number) == [61, 60], "the newest")
        },
        ConformanceCheck("an account that is deleted takes all of it along") { store in
            try await Self.begin(store)
            try await Self.add(Self.value("a"), store)
            let history = IdentityHistoryRecord(
                purpose: "userLogin", service: "portal", role: nil, outcome: .finished, at: .start)
            try await store.applyIdentityOutcome(Self.outcome(selection: [.email: "a"], history: history))
            _ = try await store.deleteAccount(id: Self.alice, audit: sampleAudit())
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            try expect(try await store.personalValues(accountID: Self.alice).isEmpty, "values")
            try expect(try await store.attributeSelection(accountID: Self.alice, service: "portal").isEmpty, "choices")
            try expect(try await store.identityHistory(accountID: Self.alice, limit: 9).isEmpty, "history")
        },
    ]
}
