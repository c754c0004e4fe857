import Records
import SQLStore
import SQLiteStore
import StoreConformance
import Testing
import _Primitives

/// A store that keeps nothing and answers everybody alike.
private struct CarelessStore: AdministrationStore {
    /// Whether it says yes to everything, or no.
    let isGenerous: Bool

    func createAdministratorLink(digest: [UInt8], expiresAt: Timestamp, audit: AuditEvent) async throws -> Bool {
        self.isGenerous
    }

    func redeemAdministratorLink(
        digest: [UInt8], at now: Timestamp, administrator: AdministratorRecord, audit: AuditEvent
    ) async throws -> Bool { self.isGenerous }

    func administrator(tokenDigest: [UInt8], at now: Timestamp) async throws -> AdministratorRecord? {
        guard self.isGenerous else { return nil }
        return AdministratorRecord(id: "anybody", tokenDigest: tokenDigest, createdAt: now, expiresAt: now)
    }

    func administrators(at now: Timestamp, limit: Int) async throws -> [AdministratorRecord] { [] }

    func deleteAdministrator(id: String, audit: AuditEvent) async throws -> Bool { self.isGenerous }

    func replaceAdministrator(_ administrator: AdministratorRecord, at now: Timestamp, audit: AuditEvent) async throws
        -> Bool
    { self.isGenerous }
}

@Suite("The rules of every store are broken by stores that break them")
struct ConformanceFailureTests {
    @Test("a store that says yes, or no, to everything breaks each rule", arguments: AdministrationConformance.checks)
    func carelessStoresAreNoticed(check: ConformanceCheck<any AdministrationStore>) async throws {
        for isGenerous in [true, false] {
            await #expect(throws: ConformanceFailure.self, "generous: \(isGenerous)") {
                try await check.run(CarelessStore(isGenerous: isGenerous))
            }
        }
    }

    /// A store that can neither write nor read.
    private func closedStore() async throws -> TemporaryStore {
        let store = try TemporaryStore()
        await store.database.close()
        return store
    }

    @Test("no rule of accounts holds without a store", arguments: AccountConformance.checks)
    func accountsNeedAStore(
        check: ConformanceCheck<any AccountStore & CeremonyStore & AuditStore & NoticeStore>
    ) async throws {
        let store = try await self.closedStore()
        await #expect(throws: (any Error).self) { try await check.run(store.database) }
    }

    @Test("no rule of ceremonies holds without a store", arguments: CeremonyConformance.checks)
    func ceremoniesNeedAStore(
        check: ConformanceCheck<any AccountStore & CeremonyStore & AuditStore & NoticeStore>
    ) async throws {
        let store = try await self.closedStore()
        await #expect(throws: (any Error).self) { try await check.run(store.database) }
    }

    @Test("no rule of what goes with keys, devices and accounts holds", arguments: DeregistrationConformance.checks)
    func deregistrationsNeedAStore(check: ConformanceCheck<DeregistrationConformance.Subject>) async throws {
        let store = try await self.closedStore()
        await #expect(throws: (any Error).self) { try await check.run(store.database) }
    }

    @Test("no rule of invented accounts holds without a store", arguments: InventedAccountConformance.checks)
    func inventedAccountsNeedAStore(check: ConformanceCheck<any InventedAccountConformance.Subject>) async throws {
        let store = try await self.closedStore()
        await #expect(throws: (any Error).self) { try await check.run(store.database) }
    }

    @Test("no rule of the lists of browsers holds without a store", arguments: SessionListConformance.checks)
    func listsNeedAStore(check: ConformanceCheck<SessionListConformance.Subject>) async throws {
        let store = try await self.closedStore()
        await #expect(throws: (any Error).self) { try await check.run(store.database) }
    }

    @Test("no rule of the provider's stores holds without a store", arguments: OAuthConformance.checks)
    func providersNeedAStore(check: ConformanceCheck<OAuthConformance.Subject>) async throws {
        let store = try await self.closedStore()
        await #expect(throws: (any Error).self) { try await check.run(store.database) }
    }
}
