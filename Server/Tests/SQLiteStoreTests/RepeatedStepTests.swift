import Records
import SQLStore
import Sealing
import Settings
import StoreConformance
import Synchronization
import Testing
import _Primitives

/// A rule of every store, which a store of this file keeps while each of its steps runs twice.
struct RepeatedRule: Sendable, CustomTestStringConvertible {
    let testDescription: String
    fileprivate let limits: Limits
    fileprivate let run: @Sendable (SQLStore) async throws -> Void

    /// Makes the rules of checks. `subject` returns the store as the checks see the store.
    fileprivate static func rules<Subject: Sendable>(
        _ checks: [ConformanceCheck<Subject>], handedOutTokens: Int = Limits().handedOutTokens,
        _ subject: @escaping @Sendable (SQLStore) -> Subject
    ) -> [RepeatedRule] {
        var limits = Limits()
        limits.handedOutTokens = handedOutTokens
        return checks.map { [limits] check in
            RepeatedRule(testDescription: check.description, limits: limits) { try await check.run(subject($0)) }
        }
    }

    /// All rules.
    fileprivate static let all: [RepeatedRule] = Self.people + Self.identities + Self.provider + Self.tokens

    private static var people: [RepeatedRule] {
        var rules = Self.rules(AccountConformance.checks) { $0 }
        rules += Self.rules(CeremonyConformance.checks) { $0 }
        rules += Self.rules(DeregistrationConformance.checks) { $0 }
        rules += Self.rules(DeviceIdentityConformance.checks) { $0 }
        rules += Self.rules(AttestedAppConformance.checks) { $0 }
        rules += Self.rules(DispatchTargetConformance.checks) { $0 }
        rules += Self.rules(LostDeviceConformance.checks) { $0 }
        rules += Self.rules(InventedAccountConformance.checks) { $0 }
        rules += Self.rules(AdministrationConformance.checks) { $0 }
        rules += Self.rules(TermsConformance.checks) { $0 }
        rules += Self.rules(AccountChangeConformance.checks) { $0 }
        rules += Self.rules(MailConformance.checks) { $0 }
        rules += Self.rules(PasswordConformance.checks) { $0 }
        return rules
    }

    private static var identities: [RepeatedRule] {
        var rules = Self.rules(IdentitySessionConformance.checks) { $0 }
        rules += Self.rules(ActivationConformance.checks) { $0 }
        rules += Self.rules(IdentityKeyConformance.checks) { $0 }
        rules += Self.rules(ServiceConformance.checks) { $0 }
        rules += Self.rules(PersonalInformationConformance.checks) { $0 }
        rules += Self.rules(OrganisationConformance.checks) { $0 }
        rules += Self.rules(InviteConformance.checks) { $0 }
        return rules
    }

    private static var provider: [RepeatedRule] {
        var rules = Self.rules(OAuthConformance.checks) { $0 }
        rules += Self.rules(ConsentConformance.checks) { $0 }
        rules += Self.rules(SessionListConformance.checks) { $0 }
        rules += Self.rules(UpstreamConformance.checks) { $0 }
        rules += Self.rules(FinishedSignInConformance.checks) { $0 }
        rules += Self.rules(PushedRequestConformance.checks) { $0 }
        rules += Self.rules(BackchannelConformance.checks) { $0 }
        rules += Self.rules(DeviceCodeConformance.checks) { $0 }
        rules += Self.rules(DeviceSecretConformance.checks) { $0 }
        rules += Self.rules(SignInServiceConformance.checks) { $0 }
        rules += Self.rules(RegistrationConformance.checks) { $0 }
        rules += Self.rules(LogoutConformance.checks) { $0 }
        rules += Self.rules(ReceiptConformance.checks) { $0 }
        rules += Self.rules(OutboxConformance.checks) { $0 }
        rules += Self.rules(GrantListConformance.checks) { $0 }
        rules += Self.rules(RefreshConformance.checks) { $0 }
        return rules
    }

    /// A token that the process does not remember is looked at by a reader before the step.
    private static var tokens: [RepeatedRule] {
        var rules = Self.rules(CeremonyConformance.checks, handedOutTokens: 0) { $0 }
        rules += Self.rules(DeregistrationConformance.checks, handedOutTokens: 0) { $0 }
        rules += Self.rules(RefreshConformance.checks, handedOutTokens: 0) { $0 }
        return rules
    }
}

@Suite("SQLite store: each step can run twice, survives a machine that stops, and has a name and guards")
struct RepeatedStepTests {
    /// Opens a store, and returns the store with the database that repeats the store's steps. A store that is not durable
    /// answers before its steps are on the disk.
    private func open(
        limits: Limits = Limits(), isDurable: Bool = true
    ) throws -> (store: TemporaryStore, steps: RepeatingDatabase) {
        let (folder, key) = (TemporaryStore.freshFolder, KeyEncryptionKey())
        let files = DurableFiles(folder: folder, key: key)
        var repeating: RepeatingDatabase?
        let store = try TemporaryStore(
            in: folder, key: key, limits: limits, synchronize: { if isDurable { try files.synchronize($0) } }
        ) { database in
            let decorated = RepeatingDatabase(database, files: files)
            repeating = decorated
            return decorated
        }
        return (store, try #require(repeating))
    }

    @Test("a rule of every store is kept, and no step has a fault", arguments: RepeatedRule.all)
    func keepsTheRule(rule: RepeatedRule) async throws {
        let (store, steps) = try self.open(limits: rule.limits)
        try await rule.run(store.database)
        #expect(steps.faults.isEmpty, "\(steps.faults.joined(separator: "\n"))")
        withExtendedLifetime(store) {}
    }

    /// Does a step over a repeating database. Returns the faults.
    private func faults(
        of step: Step, _ body: @escaping @Sendable (SQLConnection, Sealing) throws -> Void
    ) async throws -> [String] {
        let (store, steps) = try self.open()
        _ = try? await steps.step(step) { [sealing = steps.sealing] db in try body(db, sealing) }
        withExtendedLifetime(store) {}
        return steps.faults
    }

    @Test("a step that writes the same rows twice has no fault, and its sealed values may differ")
    func faultless() async throws {
        let step = Step("test.faultless", guards: [.exclusive(.account, id: "a")], isolation: .readCommitted)
        let faults = try await self.faults(of: step) { db, sealing in
            let event = AuditEvent(AuditEvent.Kind(rawValue: "sample"), at: Timestamp(seconds: 1), address: "::1")
            try AuditRows(db).appendAudit(event, sealing)
            try db.run(
                "INSERT INTO notice (id, account_id, kind, at, subject) VALUES ('n', 'a', 1, 1, ?)",
                [try sealing.seal("subject", purpose: SealingPurpose("notice subject"), row: "n")])
        }
        #expect(faults.isEmpty, "\(faults)")
    }

    @Test("a step whose second run writes another value, sealed or not, is noticed")
    func otherValues() async throws {
        for isSealed in [true, false] {
            let runs = Mutex(0)
            let step = Step("test.other-values", guards: [], isolation: .readCommitted)
            let faults = try await self.faults(of: step) { db, sealing in
                let run = runs.withLock { runs in
                    runs += 1
                    return runs
                }
                let subject = try sealing.seal(
                    isSealed ? "subject \(run)" : "subject", purpose: SealingPurpose("notice subject"), row: "n")
                try db.run(
                    "INSERT INTO notice (id, account_id, kind, at, subject) VALUES ('n', 'a', 1, ?, ?)",
                    [isSealed ? 1 : run, subject])
            }
            #expect(faults.count == 1 && faults.first?.hasPrefix("test.other-values: ") == true, "\(faults)")
        }
    }

    @Test("a step that throws in one of two runs, or two errors, is noticed, and a step that throws one error is not")
    func errors() async throws {
        let refusal = StoreError(.conflict, "refused")
        let cases: [(name: StaticString, first: StoreError?, second: StoreError?, isFault: Bool)] = [
            ("test.same-error", refusal, refusal, false),
            ("test.other-error", refusal, StoreError(.conflict, "for another reason"), true),
            ("test.error-first", refusal, nil, true), ("test.error-second", nil, refusal, true),
        ]
        for (name, first, second, isFault) in cases {
            let left = Mutex([first, second])
            let step = Step(name, guards: [], isolation: .readCommitted)
            let faults = try await self.faults(of: step) { _, _ in
                if let error = left.withLock({ $0.removeFirst() }) { throw error }
            }
            #expect(faults.isEmpty == !isFault, "\(name): \(faults)")
        }
    }

    @Test("a step whose caller has the result before the step is on the disk is noticed")
    func lost() async throws {
        for (name, isDurable) in [("test.kept", true), ("test.lost", false)] as [(StaticString, Bool)] {
            let (store, steps) = try self.open(isDurable: isDurable)
            try await steps.step(Step(name, guards: [], isolation: .readCommitted)) { db in
                try db.run("UPDATE store_check SET probes = 7")
            }
            #expect(steps.faults.isEmpty == isDurable, "\(steps.faults)")
            #expect(steps.faults.allSatisfy { $0.contains("a machine that stops after the step") })
            withExtendedLifetime(store) {}
        }
    }

    @Test("a step that refuses after a write leaves nothing and is noticed, and the step beside it stays")
    func refused() async throws {
        let (store, steps) = try self.open()
        let step = Step("test.refused", guards: [], isolation: .readCommitted)
        let refusal = StoreError(.conflict, "refused")
        await #expect(throws: refusal) {
            try await steps.step(step) { db in
                try db.run("UPDATE store_check SET probes = 7")
                throw refusal
            }
        }
        try await store.database.assertWritable()
        let probes = try await steps.read { db in try db.number("SELECT probes FROM store_check") }
        #expect(probes == 1)
        #expect(
            steps.faults.count == 1 && steps.faults.first?.contains("refuses after a write") == true,
            "\(steps.faults)")
        withExtendedLifetime(store) {}
    }

    /// Writes a row, and then adds the row of another table that is there already.
    @Sendable private static func collide(_ db: SQLConnection) throws {
        try db.run("UPDATE store_check SET probes = 7")
        try db.run("INSERT INTO store_check (id, sealed, probes) SELECT id, sealed, probes FROM store_check")
    }

    @Test(
        "every error after a write is noticed, also of a constraint, but for a failure of the store itself",
        arguments: [
            (nil, true), (StoreError(.notFound, "refused"), true), (InviteRefusal.unknown, true),
            (StoreError(.unavailable, "as the test wants it"), false),
            (StoreError(.corrupt, "as the test wants it"), false),
            (SQLError(code: 13, message: "a full disk"), false), (SQLError(code: 11, message: "a damaged file"), false),
        ] as [((any Error)?, Bool)])
    func lateErrors(error: (any Error)?, isFault: Bool) async throws {
        let step = Step("test.late-error", guards: [], isolation: .readCommitted)
        let faults = try await self.faults(of: step) { db, _ in
            guard let error else { return try Self.collide(db) }
            try db.run("UPDATE store_check SET probes = 7")
            throw error
        }
        #expect(faults.contains { $0.contains("refuses after a write") } == isFault, "\(faults)")
        #expect(faults.count == (isFault ? 1 : 0), "\(faults)")
    }

    @Test("an error of the first write is no fault")
    func firstWrite() async throws {
        let step = Step("test.first-write", guards: [], isolation: .readCommitted)
        let faults = try await self.faults(of: step) { db, _ in
            try db.run("INSERT INTO store_check (id, sealed, probes) SELECT id, sealed, probes FROM store_check")
        }
        #expect(faults.isEmpty, "\(faults)")
    }

    @Test("a guard that names no column is noticed, and so is a name that is used for two kinds of steps")
    func guards() async throws {
        let wrong = Step(
            "test.wrong-guard", guards: [.shared(.account, where: "nobody = ?", ["a"])], isolation: .readCommitted)
        let faults = try await self.faults(of: wrong) { _, _ in }
        #expect(faults.count == 1 && faults.first?.contains("nobody") == true, "\(faults)")
        let kinds = [
            Step("test.kinds", guards: [.shared(.account, id: "a")], isolation: .readCommitted),
            Step("test.kinds", guards: [.shared(.account, id: "b")], isolation: .readCommitted),
            Step("test.kinds", guards: [], isolation: .serializable),
            Step("test.kinds", guards: [.shared(.device, id: "a")], isolation: .readCommitted),
            Step("test.kinds", guards: [.shared(.account, id: "a")], isolation: .serializable),
        ]
        for (place, step) in kinds.enumerated() {
            let faults = try await self.faults(of: step) { _, _ in }
            #expect(faults.isEmpty == (place < 3), "\(place): \(faults)")
        }
        for name: StaticString in ["test", "Test.name", "test.a.b", "test."] {
            let step = Step(name, guards: [], isolation: .readCommitted)
            let faults = try await self.faults(of: step) { _, _ in }
            #expect(faults.count == 1, "\(name): \(faults)")
        }
    }
}
