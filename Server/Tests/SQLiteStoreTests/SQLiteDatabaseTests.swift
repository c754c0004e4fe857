import Foundation
import GRDB
import JOSE
import Records
import SQLStore
import SQLiteStore
import Sealing
import Settings
import StoreConformance
import Testing
import UAF
import _Primitives

@Suite("SQLite store: one file, one process, one key")
struct SQLiteDatabaseTests {
    private let now = Timestamp(seconds: 1_800_000_000)

    /// A foreign connection that can hold the write lock across calls.
    private var openTransactions: Configuration {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        return configuration
    }

    private func account(_ name: String, id: String? = nil) -> AccountRecord {
        AccountRecord(
            id: id ?? "id-\(name)", username: AccountName(stored: name), displayName: "Display \(name)",
            email: AccountEmail(address: "secretmail@post.example", isVerified: false), createdAt: self.now)
    }

    private func event(_ kind: String = "test") -> AuditEvent {
        AuditEvent(AuditEvent.Kind(rawValue: kind), at: self.now)
    }

    @Test("The trail stands in the order of time: who was judged first may be written last, and a clock set back shows")
    func trailInOrderOfTime() async throws {
        let store = try TemporaryStore()
        let disorder = Limits.Fixed.auditDisorder
        for offset in [.seconds(100), .seconds(100) - disorder, .seconds(99) - disorder, .seconds(101)] as [Duration] {
            try await store.database.appendAudit(AuditEvent(.init(rawValue: "test"), at: self.now + offset))
        }
        let times = try await store.database.auditEntries(after: 0, limit: 9).map { $0.event.at - self.now }
        #expect(times == [.seconds(100), .seconds(100), .seconds(99) - disorder, .seconds(101)])
        #expect(try await store.database.verifyAudit() == .intact(entries: 4))
        await store.database.close()
    }

    @Test("Keys are also looked up for a name that no account has, so that the time of the answer tells nothing")
    func keysOfUnknownName() async throws {
        let store = try TemporaryStore()
        #expect(try await store.database.keys(username: "nobody").active == nil)
        try await DatabaseQueue(path: store.file).write { try $0.execute(sql: "DROP TABLE credential") }
        await #expect(throws: (any Error).self) { try await store.database.keys(username: "nobody") }
        await store.database.close()
    }

    @Test func whatWasAcknowledgedIsThereAfterReopening() async throws {
        let store = try TemporaryStore()
        try await store.database.createAccount(self.account("alice"), audit: self.event())
        await store.database.close()
        let again = try SQLStore(folder: store.folder, key: store.key)
        #expect(try await again.account(username: "alice") == self.account("alice"))
        #expect(try await again.verifyAudit() == .intact(entries: 1))
        await again.close()
    }

    /// A column that a later migration made anew stands behind the others: nothing may go by where it stands.
    @Test func columnsAreFoundByTheirNames() async throws {
        let store = try TemporaryStore()
        await store.database.close()
        let raw = try DatabaseQueue(path: store.file)
        try await raw.write { db in
            for (table, column) in [
                ("oauth_client", "may_deregister INTEGER NOT NULL DEFAULT 0"), ("oauth_request", "state TEXT"),
                ("oauth_authentication", "browser BLOB"), ("oauth_grant", "scope TEXT NOT NULL DEFAULT ''"),
                ("oauth_code", "nonce TEXT"),
                ("oauth_key", "retired_at INTEGER"),
                ("account", "display_name BLOB"), ("ceremony", "client_id TEXT"),
            ] {
                try db.execute(sql: "ALTER TABLE \(table) DROP COLUMN \(column.prefix { $0 != " " })")
                try db.execute(sql: "ALTER TABLE \(table) ADD COLUMN \(column)")
            }
        }
        try raw.close()
        let database = try SQLStore(folder: store.folder, key: store.key)
        let end = self.now + .seconds(60)
        try await database.createAccount(self.account("alice"), audit: self.event())
        #expect(try await database.account(username: "alice") == self.account("alice"))
        let client = ClientRecord(
            id: "client", name: "Bank", redirectURIs: ["https://bank.example/a"],
            postLogoutRedirectURIs: ["https://bank.example/b"], secretDigest: [1], createdAt: self.now,
            settings: ClientSettings(mayDeregister: true), formerSecret: FormerSecret(digest: [2], endsAt: end))
        try await database.addClient(client, limit: 9, audit: self.event())
        #expect(try await database.client("client") == client)
        #expect(try await database.clients() == [client])
        let request = AuthorizationRequestRecord(
            id: "request", browserDigest: [3], client: "client", redirectURI: "https://bank.example/a",
            scope: "openid", state: "state", nonce: "nonce", codeChallenge: [4], expectedSubject: "subject",
            wishes: "login_hint=alice", expiresAt: end)
        try await database.addRequest(request)
        #expect(try await database.request("request") == request)
        let signIn = SampleSignIn(
            "1", secret: [5], account: "id-alice", at: self.now, browser: "Browser", address: "192.0.2.1")
        try await signIn.keep(in: database)
        #expect(try await database.session(cookieDigest: [5]) == signIn.session)
        #expect(
            try await database.takeCode(digest: [5], at: self.now, replay: self.event()) { _, _ in true }
                == signIn.taken)
        #expect(
            try await database.takeCode(digest: [5], at: self.now, replay: self.event()) { _, _ in true } == .replayed)
        let ceremony = CeremonyRecord(
            id: "ceremony", kind: .transaction, clientID: "client", reference: "reference", browserDigest: [8],
            accountID: "id-alice", createdAt: self.now, expiresAt: end, detail: CeremonyDetail(service: "Bank"))
        try await database.createCeremony(ceremony, tokens: [], audit: nil)
        #expect(try await database.ceremony(.id("ceremony")) == ceremony)
        let keys = ProviderKeys(
            subjectSecret: SecretBytes([9]),
            signingKeys: [
                SigningKeyRecord(
                    id: "key", algorithm: .es256, privateKey: SecretBytes([10]), createdAt: self.now, retiredAt: nil)
            ])
        let kept = try await database.providerKeys(orFirst: keys)
        #expect(kept.signingKeys.map(\.id) == ["key"] && kept.signingKeys[0].retiredAt == nil)
        await database.close()
    }

    /// The sweep comes every few seconds, and deregistrations that were carried out are kept for a month. Here their rows
    /// cannot be read any more: a sweep that looked at one of them would fail.
    @Test func theSweepDoesNotWalkOverWhatIsKept() async throws {
        let store = try TemporaryStore()
        for number in 0..<300 {
            var ceremony = CeremonyRecord(
                id: "\(number)", kind: .deregistration, createdAt: self.now, expiresAt: self.now,
                detail: CeremonyDetail())
            ceremony.phase = .ended
            ceremony.outcome = .succeeded
            try await store.database.createCeremony(ceremony, tokens: [], audit: nil)
        }
        await store.database.close()
        let raw = try DatabaseQueue(path: store.file)
        let pages = try await raw.read { db in
            try Int.fetchAll(db, sql: "SELECT pageno FROM dbstat WHERE name = 'ceremony' AND pagetype = 'leaf'")
        }
        try raw.close()
        #expect(!pages.isEmpty)
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: store.file))
        for page in pages {
            try file.seek(toOffset: UInt64((page - 1) * 4096))
            try file.write(contentsOf: Data(repeating: 0xEE, count: 4096))
        }
        try file.close()
        let spoilt = try SQLStore(folder: store.folder, key: store.key)
        await #expect(throws: StoreError(.corrupt, "")) { try await spoilt.ceremony(.id("7")) }
        let deleted = try await spoilt.deleteStale(
            endedBefore: self.now + .seconds(99), deregisteredBefore: self.now, now: self.now, limit: 500)
        #expect(deleted == 0)
        await #expect(throws: StoreError(.corrupt, ""), "when their time has come they are looked at") {
            try await spoilt.deleteStale(
                endedBefore: self.now + .seconds(99), deregisteredBefore: self.now + .seconds(1), now: self.now,
                limit: 500)
        }
        await spoilt.close()
    }

    /// So that a server starts whose disk is full: the database's file is not touched, and nothing needs more room. The log's
    /// header is written over in place with the same bytes at each start (decision 87).
    @Test func aStartAndAStopWriteNothingThatHasNotChanged() async throws {
        struct File: Equatable {
            let number: Int?
            /// `nil` for the log.
            let changedAt: Date?
            let bytes: Data
        }
        let store = try TemporaryStore()
        try await store.database.createAccount(self.account("alice"), audit: self.event())
        await store.database.close()
        func files() throws -> [String: File] {
            var files: [String: File] = [:]
            for name in try FileManager.default.contentsOfDirectory(atPath: store.folder) where !name.hasSuffix("-shm")
            {
                let path = store.folder + "/" + name
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                let changedAt = attributes[.modificationDate] as? Date
                files[name] = File(
                    number: attributes[.systemFileNumber] as? Int, changedAt: name.hasSuffix("-wal") ? nil : changedAt,
                    bytes: try Data(contentsOf: URL(fileURLWithPath: path)))
            }
            return files
        }
        let before = try files()
        #expect(before["countersign.sqlite"]?.changedAt != nil)
        #expect(before["countersign.sqlite-wal"]?.bytes.count == 32, "the log stays, with its header alone")
        let again = try SQLStore(folder: store.folder, key: store.key)
        #expect(try await again.account(username: "alice") != nil)
        #expect(try files() == before)
        await again.close()
        #expect(try files() == before)
    }

    /// Whoever copies the one file, or puts another one in its place, is not given steps of the log.
    @Test func aStoppedStoreIsWholeInItsOneFile() async throws {
        let store = try TemporaryStore()
        try await store.database.createAccount(self.account("alice"), audit: self.event())
        await store.database.close()
        let folder = store.folder + "-copy"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: store.file, toPath: folder + "/countersign.sqlite")
        let copy = try SQLStore(folder: folder, key: store.key)
        #expect(try await copy.account(username: "alice") == self.account("alice"))
        await copy.close()
    }

    @Test func aSecondProcessDoesNotGetTheFolder() async throws {
        let store = try TemporaryStore()
        #expect(throws: StoreError(.locked, "")) { try SQLStore(folder: store.folder, key: store.key) }
        await store.database.close()
        try await SQLStore(folder: store.folder, key: store.key).close()
    }

    @Test func anotherKeyIsRecognised() async throws {
        let store = try TemporaryStore()
        await store.database.close()
        #expect(throws: StoreError(.wrongKey, "")) {
            try SQLStore(folder: store.folder, key: KeyEncryptionKey())
        }
    }

    @Test func aNewerSchemaIsRefused() async throws {
        let store = try TemporaryStore()
        await store.database.close()
        let raw = try DatabaseQueue(path: store.file)
        try await raw.write { try $0.execute(sql: "PRAGMA user_version = 999") }
        try raw.close()
        #expect(throws: StoreError(.newerSchema, "")) { try SQLStore(folder: store.folder, key: store.key) }
    }

    @Test func aFileThatIsNoDatabaseIsCorrupt() async throws {
        let store = try TemporaryStore()
        await store.database.close()
        try Data(repeating: 0x41, count: 8192).write(to: URL(fileURLWithPath: store.file))
        #expect(throws: StoreError(.corrupt, "")) { try SQLStore(folder: store.folder, key: store.key) }
    }

    @Test func nobodyElseCanReadTheFiles() async throws {
        let store = try TemporaryStore()
        try await store.database.createAccount(self.account("alice"), audit: self.event())
        for (name, mode) in [("", 0o700), ("/countersign.sqlite", 0o600), ("/countersign.sqlite-wal", 0o600)] {
            let attributes = try FileManager.default.attributesOfItem(atPath: store.folder + name)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == mode, "\(name)")
        }
    }

    @Test func aStolenDatabaseShowsNoNameKeyOrToken() async throws {
        let store = try TemporaryStore()
        let publicKey = Array("PUBLIC-KEY-BYTES-PUBLIC-KEY-BYTES".utf8)
        let token = "TOKEN-TOKEN-TOKEN-TOKEN-TOKEN-TOKEN"
        try await store.database.createAccount(
            self.account("verysecretname", id: "account-in-clear"), audit: self.event())
        var change = CeremonyChange()
        change.registration = DeviceRegistration(
            device: DeviceRecord(
                id: "d", accountID: "account-in-clear", name: "secretdevice", isActive: true, createdAt: self.now),
            credentials: [
                CredentialRecord(
                    id: "k", deviceID: "d", accountID: "account-in-clear", aaid: "C516#0001",
                    keyID: [UInt8](repeating: 1, count: 32), publicKey: publicKey, keyFormat: 256, algorithm: 1,
                    counter: 0, registrationCounter: 0, authenticatorVersion: 1, isActive: true, createdAt: self.now)
            ])
        change.notices = [
            NoticeRecord(id: "n", accountID: "x", kind: .signedIn, at: self.now, subject: "secretbank")
        ]
        _ = try await store.database.answer(
            AnsweredChallenge(digest: [1], expiresAt: self.now), change: change, at: self.now)
        try await store.database.createCeremony(
            CeremonyRecord(
                id: "c", kind: .transaction, createdAt: self.now, expiresAt: self.now,
                detail: CeremonyDetail(
                    service: "secretservice", address: "192.0.2.77", content: Array("secrettransfer".utf8))),
            tokens: [
                DispatchTokenRecord(
                    digest: Sealing.digest(ofSecret: token), channel: .qrCode, expiresAt: self.now)
            ], audit: self.event())
        var files = Data()
        for name in ["", "-wal", "-shm"] {
            files += try Data(contentsOf: URL(fileURLWithPath: store.file + name))
        }
        // The account's identifier, which is in clear, shows that the search would find something.
        #expect(files.range(of: Data("account-in-clear".utf8)) != nil)
        for secret in [
            "verysecretname", "Display", "secretmail", "secretdevice", "secretbank", "secretservice", "192.0.2.77",
            "secrettransfer",
            token, "PUBLIC-KEY", Base64URL.encode(Array("secrettransfer".utf8)),
        ] {
            #expect(files.range(of: Data(secret.utf8)) == nil, "\(secret)")
        }
    }

    @Test func aSealedValueMovedToAnotherRowDoesNotOpen() async throws {
        let store = try TemporaryStore()
        try await store.database.createAccount(self.account("alice"), audit: self.event())
        try await store.database.createAccount(self.account("mallory"), audit: self.event())
        await store.database.close()
        let raw = try DatabaseQueue(path: store.file)
        try await raw.write {
            try $0.execute(
                sql: """
                    UPDATE account SET username = (SELECT username FROM account WHERE id = 'id-alice')
                    WHERE id = 'id-mallory'
                    """)
        }
        try raw.close()
        let again = try SQLStore(folder: store.folder, key: store.key)
        await #expect(throws: StoreError(.corrupt, "")) { try await again.account(id: "id-mallory") }
        await again.close()
    }

    @Test(
        "A ceremony of an unknown kind, phase, outcome or channel is corrupt",
        arguments: ["kind", "phase", "outcome", "channel"])
    func unknownNumber(column: String) async throws {
        let store = try TemporaryStore()
        try await store.database.createCeremony(
            CeremonyRecord(
                id: "ceremony", kind: .authentication, createdAt: self.now, expiresAt: self.now,
                detail: CeremonyDetail()), tokens: [], audit: nil)
        #expect(try await store.database.ceremony(.id("ceremony")) != nil)
        await store.database.close()
        let raw = try DatabaseQueue(path: store.file)
        try await raw.write { try $0.execute(sql: "UPDATE ceremony SET \(column) = 9") }
        try raw.close()
        let again = try SQLStore(folder: store.folder, key: store.key)
        await #expect(throws: StoreError(.corrupt, "")) { try await again.ceremony(.id("ceremony")) }
        await again.close()
    }

    @Test("A message whose content does not open is taken without content, and the other messages as they are")
    func unreadableMessage() async throws {
        let store = try TemporaryStore()
        try await store.database.createAccount(self.account("alice"), audit: self.event())
        for id in ["one", "two"] {
            try await store.database.createCeremony(
                CeremonyRecord(
                    id: id, kind: .authentication, accountID: "id-alice", createdAt: self.now, expiresAt: self.now,
                    detail: CeremonyDetail()), tokens: [],
                message: DeviceMessageRecord(dispatcher: "courier", target: "phone", content: [1]), audit: nil)
        }
        await store.database.close()
        let raw = try DatabaseQueue(path: store.file)
        try await raw.write { try $0.execute(sql: "UPDATE message SET content = X'00' WHERE matter = 'one'") }
        try raw.close()
        let again = try SQLStore(folder: store.folder, key: store.key)
        let taken = try await again.takeMessages(
            to: .device, at: self.now, lease: self.now + .seconds(1), shares: OutboxShares(most: 9, share: 9))
        #expect(taken.map(\.content) == [nil, [1]])
        await again.close()
    }

    @Test(
        "A key that was given another account, device or name in the file opens no more",
        arguments: [
            "account_id = 'id-mallory'", "device_id = 'device-mallory'", "key_id = X'07'", "aaid = 'C516#0009'",
        ])
    func aMovedKeyDoesNotOpen(change: String) async throws {
        let store = try TemporaryStore()
        for name in ["alice", "mallory"] {
            try await store.database.createAccount(self.account(name), audit: self.event())
            let keys = [
                CredentialRecord(
                    id: "key-\(name)", deviceID: "device-\(name)", accountID: "id-\(name)", aaid: "C516#0001",
                    keyID: Array(name.utf8), publicKey: [1, 2, 3], keyFormat: 0x100, algorithm: 1, counter: 1,
                    registrationCounter: 1, authenticatorVersion: 1, isActive: true, createdAt: self.now)
            ]
            var registration = CeremonyChange()
            registration.registration = DeviceRegistration(
                device: DeviceRecord(
                    id: "device-\(name)", accountID: "id-\(name)", name: "Phone", isActive: true, createdAt: self.now),
                credentials: keys)
            _ = try await store.database.answer(
                AnsweredChallenge(digest: Array(name.utf8), expiresAt: self.now), change: registration, at: self.now)
        }
        #expect(try await store.database.credentials(accountID: "id-alice").map(\.publicKey) == [[1, 2, 3]])
        await store.database.close()
        let raw = try DatabaseQueue(path: store.file)
        try await raw.write { try $0.execute(sql: "UPDATE credential SET \(change) WHERE id = 'key-alice'") }
        try raw.close()
        let again = try SQLStore(folder: store.folder, key: store.key)
        await #expect(throws: StoreError(.corrupt, "")) {
            for account in ["id-alice", "id-mallory"] { _ = try await again.credentials(accountID: account) }
        }
        await again.close()
    }

    @Test(arguments: [
        "UPDATE audit SET detail = 'forged' WHERE number = 2", "DELETE FROM audit WHERE number = 2",
        "UPDATE audit SET number = 9 WHERE number = 3", "UPDATE audit SET at = at + 1 WHERE number = 3",
        "UPDATE audit SET address = NULL WHERE number = 2", "UPDATE audit SET address = X'00' WHERE number = 2",
    ])
    func aForgedTrailIsSeen(sql: String) async throws {
        let store = try TemporaryStore()
        for kind in ["one", "two", "three"] {
            var event = self.event(kind)
            event.address = "192.0.2.1"
            try await store.database.appendAudit(event)
        }
        #expect(
            try await store.database.auditEntries(after: 0, limit: 9).map(\.event.address) == [
                "192.0.2.1", "192.0.2.1", "192.0.2.1",
            ])
        await store.database.close()
        #expect(try Data(contentsOf: URL(filePath: store.file)).range(of: Data("192.0.2.1".utf8)) == nil)
        let raw = try DatabaseQueue(path: store.file)
        try await raw.write { try $0.execute(sql: sql) }
        try raw.close()
        let again = try SQLStore(folder: store.folder, key: store.key)
        guard case .broken(let number) = try await again.verifyAudit() else {
            Issue.record("the forgery was not seen")
            return
        }
        #expect(number == 2 || number == 3)
        await again.close()
    }

    @Test func aStoreThatCannotWriteSaysSoAndLosesNothing() async throws {
        var limits = Limits()
        limits.busyTimeout = .milliseconds(20)
        let store = try TemporaryStore(limits: limits)
        try await store.database.createAccount(self.account("before"), audit: self.event())
        try await store.database.assertWritable()

        let raw = try DatabaseQueue(path: store.file, configuration: self.openTransactions)
        try await raw.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        await #expect(throws: StoreError(.unavailable, "")) {
            try await store.database.createAccount(self.account("during"), audit: self.event())
        }
        await #expect(throws: StoreError(.unavailable, "")) { try await store.database.assertWritable() }
        #expect(try await store.database.account(username: "before") != nil, "reading goes on")
        try await raw.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        try raw.close()

        try await store.database.assertWritable()
        #expect(try await store.database.account(username: "during") == nil)
        try await store.database.createAccount(self.account("after"), audit: self.event())
        #expect(try await store.database.accounts(after: nil, limit: 9).map(\.username) == ["before", "after"])
    }

    @Test func whatWasAcknowledgedSurvivesTheProcess() async throws {
        let store = try TemporaryStore()
        let event = self.event()
        let accounts = (0..<200).map { self.account("name-\($0)") }
        let crashed = store.folder + "-crashed"
        defer { try? FileManager.default.removeItem(atPath: crashed) }
        let acknowledged = try await withThrowingTaskGroup(of: String.self) { group in
            for account in accounts {
                group.addTask {
                    try await store.database.createAccount(account, audit: event)
                    return account.reference.text
                }
            }
            var names: Set<String> = []
            for try await name in group { names.insert(name) }
            // The files as a kill would leave them: nothing is closed, and nothing moved from the log to the database.
            try FileManager.default.copyItem(atPath: store.folder, toPath: crashed)
            return names
        }
        let again = try SQLStore(folder: crashed, key: store.key)
        let found = Set(try await again.accounts(after: nil, limit: 999).map(\.reference.text))
        #expect(acknowledged.isSubset(of: found))
        #expect(try await again.verifyAudit() == .intact(entries: Int64(found.count)), "whole steps or nothing")
        await again.close()
    }

    @Test func aFullQueueIsToldAtOnce() async throws {
        var limits = Limits()
        limits.waitingSteps = 4
        limits.busyTimeout = .milliseconds(200)
        let store = try TemporaryStore(limits: limits)
        let raw = try DatabaseQueue(path: store.file, configuration: self.openTransactions)
        try await raw.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        let event = self.event()
        let failures = await withTaskGroup(of: StoreError?.self) { group in
            for _ in 0..<40 {
                group.addTask {
                    do { try await store.database.appendAudit(event) } catch { return error as? StoreError }
                    return nil
                }
            }
            return await group.reduce(into: [StoreError]()) { if let error = $1 { $0.append(error) } }
        }
        #expect(failures.count == 40)
        #expect(failures.contains { $0.reason == "too many steps wait" })
        try await raw.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        try raw.close()
        #expect(try await store.database.auditEntries(after: 0, limit: 99).isEmpty, "nothing refused was written")
    }

    @Test func aRefusedStepDoesNotTouchItsNeighbours() async throws {
        let store = try TemporaryStore()
        try await store.database.createAccount(self.account("taken"), audit: self.event())
        let (accounts, event) = ((0..<40).map { self.account($0 % 2 == 0 ? "taken" : "name-\($0)") }, self.event())
        let refused = await withTaskGroup(of: Int.self) { group in
            for account in accounts {
                group.addTask {
                    do { try await store.database.createAccount(account, audit: event) } catch { return 1 }
                    return 0
                }
            }
            return await group.reduce(0, +)
        }
        #expect(refused == 20)
        #expect(try await store.database.accounts(after: nil, limit: 99).count == 21)
        #expect(try await store.database.verifyAudit() == .intact(entries: 21))
    }

    @Test func aClosedStoreTakesNothing() async throws {
        let store = try TemporaryStore()
        await store.database.close()
        await #expect(throws: StoreError(.unavailable, "")) {
            try await store.database.createAccount(self.account("late"), audit: self.event())
        }
    }
}
