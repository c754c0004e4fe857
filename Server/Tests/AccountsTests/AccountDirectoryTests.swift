import Accounts
import Foundation
import FreshStores
import Records
import SQLStore
import Sealing
import Settings
import Synchronization
import Testing
import _Primitives

@Suite("Accounts and administrators, as operators manage them")
struct AccountDirectoryTests {
    /// A store of its own, with a clock to move.
    private final class Fixture: Sendable {
        let folder = FileManager.default.temporaryDirectory.path + "/countersign-" + UUID().uuidString
        let database: SQLStore
        let directory: AccountDirectory
        let clock = Clock()

        init() throws {
            self.database = try FreshStore.open(in: self.folder, key: KeyEncryptionKey())
            self.directory = AccountDirectory(
                store: self.database, time: self.clock.source, endOfSessions: { _ in { _ in nil } })
        }

        deinit { try? FileManager.default.removeItem(atPath: self.folder) }
    }

    private final class Clock: Sendable {
        private let moment = Mutex(Timestamp(seconds: 1_800_000_000))

        var source: TimeSource { TimeSource { self.moment.withLock { $0 } } }
        func advance(_ span: Duration) { self.moment.withLock { $0 = $0 + span } }
    }

    @Test(arguments: [
        "", " ", "a b", "a\u{202E}b", "a\nb", "id:alice", String(repeating: "x", count: 129),
    ])
    func aNameThatCannotBeShownIsRefused(name: String) async throws {
        let fixture = try Fixture()
        await #expect(throws: AccountError(.invalidRequest)) {
            try await fixture.directory.create(username: name, displayName: nil, by: "operator")
        }
        if name != "id:alice", !name.contains(" ") || name.hasPrefix(" ") || name.hasSuffix(" ") {
            await #expect(throws: AccountError(.invalidRequest)) {
                try await fixture.directory.create(username: "fine", displayName: name, by: "operator")
            }
        }
    }

    @Test func everyChangeIsInTheTrailUnderTheOperatorsName() async throws {
        let fixture = try Fixture()
        let account = try await fixture.directory.create(username: "alice", displayName: "Alice A", by: "operator")
        await #expect(throws: AccountError(.conflict)) {
            try await fixture.directory.create(username: "alice", displayName: nil, by: "operator")
        }
        #expect(try await fixture.directory.setLocked(true, username: "alice", by: "operator").isLocked)
        #expect(try await fixture.directory.setLocked(false, username: "alice", by: "operator").isLocked == false)
        #expect(try await fixture.directory.accounts().map(\.id) == [account.id])
        #expect(try await fixture.directory.account(id: account.id) == account)
        try await fixture.directory.delete(username: "alice", by: "operator")
        for body in [
            { try await fixture.directory.delete(username: "alice", by: "operator") },
            { _ = try await fixture.directory.account(username: "alice") },
            { _ = try await fixture.directory.setLocked(true, username: "alice", by: "operator") },
            { _ = try await fixture.directory.devices(username: "alice") },
        ] as [@Sendable () async throws -> Void] {
            await #expect(throws: AccountError(.notFound)) { try await body() }
        }
        let trail = try await fixture.database.auditEntries(after: 0, limit: 99).map(\.event)
        #expect(
            trail.map(\.kind.rawValue) == [
                "account-created", "account-locked", "account-unlocked", "account-deleted",
            ])
        #expect(trail.allSatisfy { $0.actor == "operator" && $0.accountID == account.id })
    }

    @Test("Wrong secrets use a source's budget up; past it a wrong one is told so, and the right one is taken")
    func wrongSecretsUseABudgetUp() async throws {
        let fixture = try Fixture()
        var limits = Limits()
        limits.guessBurst = 2
        let administrators = Administrators(store: fixture.database, time: fixture.clock.source, limits: limits)
        let secret = try #require(try await administrators.makeLinkIfNone())
        for _ in 0..<2 {
            await #expect(throws: AccountError(.notFound)) {
                try await administrators.redeem(secret: "guess", source: "a")
            }
        }
        for wrong in ["guess", secret + "x"] {
            await #expect(throws: AccountError(.tooManyRequests)) {
                try await administrators.redeem(secret: wrong, source: "a")
            }
        }
        _ = try await administrators.redeem(secret: secret, source: "a")
        // It was past the budget and gives nothing back to it; and it works once.
        await #expect(throws: AccountError(.tooManyRequests)) {
            try await administrators.redeem(secret: secret, source: "a")
        }
        await #expect(throws: AccountError(.notFound)) { try await administrators.redeem(secret: secret, source: "b") }
    }

    @Test func theFirstAdministratorComesByALinkThatWorksOnce() async throws {
        let fixture = try Fixture()
        let administrators = Administrators(store: fixture.database, time: fixture.clock.source)
        let replaced = try #require(try await administrators.makeLinkIfNone())
        let secret = try #require(try await administrators.makeLinkIfNone())
        await #expect(throws: AccountError(.notFound)) {
            try await administrators.redeem(secret: replaced, source: "a")
        }
        let token = try await administrators.redeem(secret: secret, source: "a")
        await #expect(throws: AccountError(.notFound)) { try await administrators.redeem(secret: secret, source: "a") }
        #expect(try await administrators.administrator(token: token) != nil)
        #expect(try await administrators.administrator(token: secret) == nil)
        #expect(try await administrators.makeLinkIfNone() == nil)
        fixture.clock.advance(.seconds(366 * 24 * 60 * 60))
        #expect(try await administrators.administrator(token: token) == nil)
        #expect(try await administrators.makeLinkIfNone() != nil, "nobody is locked out for good")
    }

    @Test func anOldLinkDoesNotWork() async throws {
        let fixture = try Fixture()
        let administrators = Administrators(store: fixture.database, time: fixture.clock.source)
        let secret = try #require(try await administrators.makeLinkIfNone())
        fixture.clock.advance(.seconds(15 * 60))
        await #expect(throws: AccountError(.notFound)) { try await administrators.redeem(secret: secret, source: "a") }
    }
}
