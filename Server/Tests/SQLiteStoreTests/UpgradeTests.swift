import Foundation
import GRDB
import Records
import SQLStore
import SQLiteStore
import Sealing
import Testing
import _Primitives

/// A database that an earlier version wrote, with three people, their devices and keys, and an audit trail: its schema was
/// the eleventh, and its keys were sealed without the account that they belong to.
@Suite("An upgrade: what an earlier version wrote is read, and stays")
struct UpgradeTests {
    private static let file = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Tests/Databases/schema-11.sqlite").standardizedFileURL
    /// The key of that database, which holds nobody's data: people, devices and keys were made for it.
    private static let keyText = "eW7rUmJBEA0gf6P3GQX6qUl5kC0Nyp3EP_jyYxlikF8"
    private static let now = Timestamp(seconds: 1_800_000_000)

    private static func key() throws -> KeyEncryptionKey {
        try KeyEncryptionKey(try #require(Base64URL.decode(Self.keyText)))
    }

    private final class Folder {
        let path = FileManager.default.temporaryDirectory.path + "/countersign-" + UUID().uuidString

        init() throws {
            try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: UpgradeTests.file.path, toPath: self.database)
        }

        deinit { try? FileManager.default.removeItem(atPath: self.path) }

        var database: String { self.path + "/countersign.sqlite" }

        func open() throws -> SQLStore {
            try SQLStore(folder: self.path, key: UpgradeTests.key())
        }
    }

    /// Everything that is sealed is opened here.
    private func check(_ store: SQLStore) async throws {
        let accounts = try await store.accounts(after: nil, limit: 10)
        #expect(accounts.count == 3 && accounts.allSatisfy { $0.reference.text.hasPrefix("bench-") && $0.email == nil })
        for account in accounts {
            let devices = try await store.devices(accountID: account.id)
            #expect(devices.count == 1 && devices.allSatisfy { $0.isActive && !$0.name.isEmpty })
            let keys = try await store.credentials(accountID: account.id)
            #expect(keys.count == 1)
            // A point of P-256, uncompressed, in the key format that is stored with it.
            #expect(keys.allSatisfy { $0.publicKey.count == 65 && $0.publicKey.first == 4 && $0.keyFormat == 256 })
            #expect(keys.allSatisfy { $0.pictureDisplays.isEmpty && $0.counter > 0 })
            let found = try await store.verificationMaterial(
                ceremonyID: "none", keys: keys.map { (aaid: $0.aaid, keyID: $0.keyID) })
            #expect(found.credentials.compactMap { $0?.credential.publicKey } == keys.map(\.publicKey))
            #expect(try await store.notices(accountID: account.id, limit: 10).count == 1)
        }
        guard case .intact(let entries) = try await store.verifyAudit() else {
            Issue.record("the trail is broken")
            return
        }
        #expect(entries >= 358)
        let keys = try await store.providerKeys()
        #expect(keys.signingKeys.count == 1 && "\(keys.signingKeys)".contains("ES256"))
        #expect(try await store.inventedAccounts() == nil)
    }

    @Test func peopleKeysAndTrailAreRead() async throws {
        let folder = try Folder()
        let store = try folder.open()
        try await self.check(store)
        await store.close()
        // The second start finds nothing left to do.
        let again = try folder.open()
        try await self.check(again)
        await again.close()
    }

    @Test("The key of an earlier version is followed by another, also where both come at once: all of it is read")
    func anotherKeyFollows() async throws {
        let folder = try Folder()
        let (first, second) = (try UpgradeTests.key(), KeyEncryptionKey())
        let sealing = Sealing(first)
        #expect(throws: StoreError(.wrongKey, "")) { try SQLStore(folder: folder.path, key: second) }
        let store = try SQLStore(folder: folder.path, keys: KeyRing(second, former: [first]))
        try await self.check(store)
        let purpose = SealingPurpose("any")
        #expect(store.sealing.code("name", purpose: purpose) == sealing.code("name", purpose: purpose))
        let resealed = try await store.reseal(
            audit: { AuditEvent(.init(rawValue: "test"), at: Self.now) }, told: { _ in })
        #expect(resealed.unreadable == 0 && resealed.resealed > 12)
        await store.close()
        #expect(throws: StoreError(.wrongKey, "")) { try folder.open() }
        let raw = try DatabaseQueue(path: folder.database)
        let left = try await raw.read { db in
            try Int.fetchOne(
                db,
                sql: """
                    SELECT (SELECT count(*) FROM account WHERE substr(username, 1, 1) = X'01')
                        + (SELECT count(*) FROM credential WHERE substr(public_key, 1, 1) = X'01')
                        + (SELECT count(*) FROM oauth_key WHERE substr(sealed, 1, 1) = X'01')
                    """)
        }
        #expect(left == 0)
        try raw.close()
        let again = try SQLStore(folder: folder.path, key: second)
        try await self.check(again)
        #expect(again.sealing.code("name", purpose: purpose) == sealing.code("name", purpose: purpose))
        await again.close()
    }

    @Test("A user name that was kept as it was written has its one spelling; one that was spoilt stops no start")
    func namesAreComposed() async throws {
        let folder = try Folder()
        let sealing = Sealing(try UpgradeTests.key())
        let raw = try DatabaseQueue(path: folder.database)
        let ids = try await raw.write { db in
            let ids = try String.fetchAll(db, sql: "SELECT id FROM account ORDER BY number")
            try db.execute(
                sql: "UPDATE account SET username = ?, username_code = ? WHERE id = ?",
                arguments: [
                    Data(try sealing.seal("zoe\u{308}", purpose: SealingPurpose("user name"), row: ids[0])),
                    Data(sealing.code("zo\u{EB}", purpose: SealingPurpose("user name code"))), ids[0],
                ])
            try db.execute(sql: "UPDATE account SET username = X'07' WHERE id = ?", arguments: [ids[1]])
            return ids
        }
        try raw.close()
        let store = try folder.open()
        let account = try #require(try await store.account(username: "zoe\u{308}"))
        #expect(account.id == ids[0] && account.reference.text.utf8.elementsEqual("zo\u{EB}".utf8))
        await #expect(throws: StoreError(.corrupt, "")) { try await store.account(id: ids[1]) }
        #expect(try await store.account(id: ids[2]) != nil)
        await store.close()
    }

    @Test("Names that collide answer to their exact bytes after the upgrade; all others answer in every spelling")
    func namesThatCollide() async throws {
        let folder = try Folder()
        let sealing = Sealing(try UpgradeTests.key())
        let raw = try DatabaseQueue(path: folder.database)
        let ids = try await raw.write { db in
            let ids = try String.fetchAll(db, sql: "SELECT id FROM account ORDER BY number")
            for (id, name) in zip(ids, ["Pat", "pat", "Sam"]) {
                try db.execute(
                    sql: "UPDATE account SET username = ?, username_code = ? WHERE id = ?",
                    arguments: [
                        Data(try sealing.seal(name, purpose: SealingPurpose("user name"), row: id)),
                        Data(sealing.code(name, purpose: SealingPurpose("user name code"))), id,
                    ])
            }
            return ids
        }
        try raw.close()
        let store = try folder.open()
        for (name, id) in [
            ("Pat", ids[0]), ("pat", ids[1]), ("PAT", nil), ("Sam", ids[2]), ("sam", ids[2]), ("SAM", ids[2]),
        ] {
            let found = try await store.account(username: AccountName(stored: name))
            #expect(found?.id == id, "\(name)")
            #expect(try await store.keepAsk(for: AccountName(stored: name), at: Timestamp(seconds: 1), most: 99))
        }
        let asks = try await store.takeAsks(at: Timestamp(seconds: 2), lease: Timestamp(seconds: 3), limit: 99)
        #expect(asks.map(\.accountID) == [ids[0], ids[1], nil, ids[2], ids[2], ids[2]])
        // No account gets a further spelling: "Pat" would then mean two accounts.
        for name in ["PAT", "pat", "Pat"] {
            await #expect(throws: StoreError.self, "\(name)") {
                try await store.createAccount(
                    AccountRecord(
                        id: "new", username: AccountName(stored: name), displayName: nil, isLocked: false,
                        createdAt: Timestamp(seconds: 1)),
                    audit: AuditEvent(.init(rawValue: "account-created"), at: Timestamp(seconds: 1)))
            }
        }
        let renamed = AuditEvent(.accountRenamed, at: Timestamp(seconds: 1))
        await #expect(throws: StoreError.self) {
            try await store.setAccountNames(
                id: ids[2], audit: [renamed], username: AccountName(stored: "PAT"), displayName: nil)
        }
        for (id, name) in [(ids[0], "Patrick"), (ids[1], "Paul")] {
            #expect(
                try await store.setAccountNames(
                    id: id, audit: [renamed], username: AccountName(stored: name), displayName: nil))
        }
        #expect(
            try await store.setAccountNames(
                id: ids[2], audit: [renamed], username: AccountName(stored: "PAT"), displayName: nil))
        #expect(try await store.account(username: AccountName(stored: "pat"))?.id == ids[2])
        await store.close()
    }

    @Test func aBackupOfItIsRestored() async throws {
        let (folder, other) = (try Folder(), try Folder())
        let store = try folder.open()
        let backup = folder.path + "/backup"
        _ = try DatabaseBackup(folder: folder.path, key: UpgradeTests.key())
            .write(to: backup, issuer: nil, at: Self.now)
        await store.close()
        // Over a database of the earlier version, which is compared with.
        let report = try DatabaseRestore(folder: other.path, key: UpgradeTests.key())
            .restore(backup, revocations: .kept, mayReplace: true, at: Self.now)
        guard case .compared = report.comparison else {
            Issue.record("\(report.comparison)")
            return
        }
        let restored = try other.open()
        try await self.check(restored)
        await restored.close()
    }
}
