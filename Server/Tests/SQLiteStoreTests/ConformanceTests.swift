import SQLiteStore
import Store
import StoreConformance
import Testing

@Suite("SQLite store: the rules of every store")
struct ConformanceTests {
    @Test("accounts, devices, keys, trail and notices", arguments: AccountConformance.checks)
    func keepsTheRule(check: ConformanceCheck<any AccountStore & CeremonyStore & AuditStore & NoticeStore>)
        async throws
    {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("ceremonies", arguments: CeremonyConformance.checks)
    func keepsTheRuleOfCeremonies(
        check: ConformanceCheck<any AccountStore & CeremonyStore & AuditStore & NoticeStore>
    ) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("what goes with keys, devices and accounts", arguments: DeregistrationConformance.checks)
    func keepsTheRuleOfDeregistration(check: ConformanceCheck<DeregistrationConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("what invented accounts look like", arguments: InventedAccountConformance.checks)
    func keepsTheRuleOfInventedAccounts(check: ConformanceCheck<any InventedAccountConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("administrators", arguments: AdministrationConformance.checks)
    func keepsTheRuleOfAdministration(check: ConformanceCheck<any AdministrationStore>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }
}
