import Foundation
import GRDB
import Records
import SQLStore
import SQLiteStore
import Sealing
import Settings
import Testing
import _Primitives

@Suite(
    "An upgrade: the entries of histories that had a hundred of them are counted from then on (identity parity 109)")
struct HistoryUpgradeTests {
    private static let now = Timestamp(seconds: 1_800_000_000)

    /// Makes of a database what the version before places in histories has left, with entries of two accounts.
    private static func turnBack(_ path: String) async throws {
        let raw = try DatabaseQueue(path: path)
        try await raw.write { db in
            let schema = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
            try db.execute(
                sql: """
                    DROP INDEX identity_history_account;
                    ALTER TABLE identity_history DROP COLUMN place;
                    CREATE INDEX identity_history_account ON identity_history (account_id, number);
                    \(FormerSchema.undoing)
                    PRAGMA user_version = \(schema - FormerSchema.count - 1);
                    """)
            for (account, service) in [("alice", "bank"), ("bob", "bank"), ("alice", "shop")] {
                try db.execute(
                    sql: """
                        INSERT INTO identity_history (account_id, purpose, service, role, outcome, at)
                        VALUES (?, 'userLogin', ?, NULL, 'finished', ?)
                        """, arguments: [account, service, Self.now.milliseconds])
            }
        }
        try raw.close()
    }

    @Test("Each account's entries are numbered from one in their order, and go by their age; the count goes on")
    func histories() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/countersign-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let key = KeyEncryptionKey()
        let new = try SQLStore(folder: folder, key: key)
        for name in ["alice", "bob"] {
            try await new.createAccount(
                AccountRecord(id: name, username: AccountName(stored: name), displayName: nil, createdAt: Self.now),
                audit: AuditEvent(.init(rawValue: "account-created"), at: Self.now))
        }
        await new.close()
        try await Self.turnBack(folder + "/countersign.sqlite")

        let store = try SQLStore(folder: folder, key: key)
        func entries(_ account: String) async throws -> [String] {
            try await store.identityHistory(accountID: account, before: nil, limit: 9).map {
                "\($0.number) \($0.record.service ?? "")"
            }
        }
        #expect(try await entries("alice") == ["2 shop", "1 bank"])
        #expect(try await entries("bob") == ["1 bank"])
        try await store.applyIdentityOutcome(
            IdentityOutcomeChange(
                accountID: "alice", service: "bank", at: Self.now,
                history: IdentityHistoryRecord(
                    purpose: "userLogin", service: "bank", role: nil, outcome: .finished, at: Self.now),
                limits: Limits()))
        #expect(try await entries("alice") == ["3 bank", "2 shop", "1 bank"])
        for (seconds, count) in [(0, 0), (1, 4)] {
            let before = Self.now + .seconds(seconds)
            #expect(try await store.deleteStaleIdentities(now: Self.now, historyBefore: before, limit: 9) == count)
        }
        await store.close()
    }
}
