import Foundation
import GRDB
import JOSE
import Records
import SQLStore
import SQLiteStore
import Sealing
import StoreConformance
import Synchronization
import Testing
import UAF
import _Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite("Backup and restore (decision 21): one file, the past voided, revocations kept or named")
struct BackupTests {
    // MARK: A backup

    @Test func aBackupOfARunningStoreHoldsWhatWasAcknowledged() async throws {
        let place = try await BackupPlace()
        try await place.enrol("alice")
        let manifest = try place.backUp()
        try await place.enrol("bob")
        let counts = manifest.counts
        let numbers: [Int64] = [counts.accounts, counts.devices, counts.keys, counts.clients, counts.auditEntries]
        #expect(numbers == [Int64]([1, 1, 1, 0, 2]))
        #expect(manifest.issuer == "https://id.example" && manifest.createdAt == BackupPlace.now)
        let attributes = try FileManager.default.attributesOfItem(atPath: place.backup)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.folder).sorted() == ["backup", "data"])
        await place.store.close()

        let other = place.folder + "/other"
        let report = try place.restore(into: other)
        #expect(report.comparison == .nothingThere && report.changes.isEmpty && report.replacedFolder == nil)
        #expect(report.manifest == manifest && report.auditBrokenAt == nil)
        let restored = try SQLStore(folder: other, key: place.key)
        #expect(try await restored.accounts(after: nil, limit: 9).map(\.username) == ["alice"])
        #expect(try await restored.credentials(accountID: "alice").map(\.counter) == [5])
        #expect(try await restored.verifyAudit() == .intact(entries: 3))
        let last = try #require(try await restored.auditEntries(after: 2, limit: 9).first)
        #expect(last.event.kind.rawValue == "restored")
        #expect(last.event.detail == "\(BackupPlace.now) not-compared")
        await restored.close()
    }

    @Test func neitherKeyNorDeletedRowsAreInABackup() async throws {
        let place = try await BackupPlace()
        try await place.enrol("alice")
        try await place.enrol("mallory")
        _ = try await place.store.deleteAccount(id: "mallory", audit: BackupPlace.event("account-deleted"))
        _ = try place.backUp()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: place.backup))
        #expect(bytes.range(of: Data("device-alice".utf8)) != nil, "the search would find something")
        #expect(bytes.range(of: Data("device-mallory".utf8)) == nil)
        #expect(bytes.range(of: Data(place.keyBytes)) == nil)
        #expect(bytes.range(of: Data(Base64URL.encode(place.keyBytes).utf8)) == nil)
        await place.store.close()
    }

    @Test func aBackupTakesNoFilesPlaceAndNeedsTheRightKey() async throws {
        let place = try await BackupPlace()
        try Data("mine".utf8).write(to: URL(fileURLWithPath: place.backup))
        #expect(throws: StoreError(.conflict, "")) { try place.backUp() }
        #expect(try Data(contentsOf: URL(fileURLWithPath: place.backup)) == Data("mine".utf8))
        try FileManager.default.removeItem(atPath: place.backup)
        #expect(throws: StoreError(.wrongKey, "")) {
            try DatabaseBackup(folder: place.data, key: KeyEncryptionKey())
                .write(to: place.backup, issuer: nil, at: BackupPlace.now)
        }
        #expect(throws: StoreError(.notFound, "")) {
            try DatabaseBackup(folder: place.folder + "/none", key: place.key)
                .write(to: place.backup, issuer: nil, at: BackupPlace.now)
        }
        #expect(throws: StoreError(.unavailable, "")) {
            try DatabaseBackup(folder: place.data, key: place.key)
                .write(to: place.folder + "/none/backup", issuer: nil, at: BackupPlace.now)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.folder) == ["data"], "nothing is left over")
        await place.store.close()
    }

    @Test func whatAKilledBackupOrCheckHasLeftGoesWithTheNextOne() async throws {
        let place = try await BackupPlace()
        let abandoned = ["backup.dead.partial", "backup.dead.partial-journal", "countersign-dead.check"]
        let others = ["backup.partial", "other.dead.partial", "countersign-dead.txt"]
        for name in abandoned + others {
            try Data("rest".utf8).write(to: URL(fileURLWithPath: place.folder + "/" + name))
        }
        // One that is being written: its writer holds it.
        let busy = place.folder + "/backup.busy.partial"
        let descriptor = open(busy, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        _ = try place.backUp()
        _ = try place.check()
        let left = try FileManager.default.contentsOfDirectory(atPath: place.folder)
        #expect(left.sorted() == (["backup", "backup.busy.partial", "data"] + others).sorted())
        await place.store.close()
    }

    // MARK: Beside a server that runs

    /// A connection that holds the write lock all the time, as a busy server's does most of it.
    @Test func aCheckNeitherWaitsForTheServersWriterNorKeepsIt() async throws {
        let place = try await BackupPlace()
        try await place.enrol("alice")
        _ = try place.backUp()
        try await place.store.appendAudit(BackupPlace.event("later"))
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let writer = try DatabaseQueue(path: place.data + "/countersign.sqlite", configuration: configuration)
        try await writer.writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN IMMEDIATE; UPDATE store_check SET probes = probes + 1")
        }
        #expect(try place.check().comparison == .compared(counters: 0, auditEntries: 1))
        try await writer.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        try writer.close()
        // And one that writes in a loop, and never waits.
        var impatient = Configuration()
        impatient.busyMode = .immediateError
        let loop = try DatabaseQueue(path: place.data + "/countersign.sqlite", configuration: impatient)
        let end = End()
        let steps = try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask {
                var steps = 0
                while !end.hasCome.load(ordering: .relaxed) || steps == 0 {
                    try await loop.write { try $0.execute(sql: "UPDATE store_check SET probes = probes + 1") }
                    steps += 1
                }
                return steps
            }
            for _ in 0..<5 { #expect(try place.check().comparison == .compared(counters: 0, auditEntries: 1)) }
            end.hasCome.store(true, ordering: .relaxed)
            return try await group.reduce(0, +)
        }
        #expect(steps > 0)
        try loop.close()
        await place.store.close()
    }

    // MARK: What is refused, before anything changes

    @Test func aBackupThatWasChangedOrCutOffIsRefused() async throws {
        let place = try await BackupPlace()
        try await place.enrol("alice")
        _ = try place.backUp()
        await place.store.close()
        let whole = try Data(contentsOf: URL(fileURLWithPath: place.backup))
        let before = try Data(contentsOf: URL(fileURLWithPath: place.data + "/countersign.sqlite"))
        // In the database, the manifest, its code, its length and the mark.
        let manifest = try #require(whole.range(of: Data("{\"format\"".utf8))?.lowerBound)
        for place in [20, 5000, manifest + 30, whole.count - 40, whole.count - 12, whole.count - 1] {
            #expect(place < whole.count)
        }
        var spoilt: [Data] = [20, 5000, manifest + 30, whole.count - 40, whole.count - 12, whole.count - 1].map {
            var bytes = whole
            bytes[$0] ^= 1
            return bytes
        }
        spoilt += [whole.dropLast(), whole.prefix(manifest), whole.prefix(10), Data(), whole + Data([0])]
        // Nothing can stand between what the manifest describes and the manifest.
        spoilt.append(whole.prefix(manifest) + Data([0]) + whole.dropFirst(manifest))
        for bytes in spoilt {
            try bytes.write(to: URL(fileURLWithPath: place.backup))
            #expect(throws: StoreError(.corrupt, "")) { try place.restore(into: place.data) }
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: place.data + "/countersign.sqlite")) == before)
        #expect(!FileManager.default.fileExists(atPath: place.data + "/restored"))
        try whole.write(to: URL(fileURLWithPath: place.backup))
        #expect(throws: StoreError(.wrongKey, "")) {
            try DatabaseRestore(folder: place.data, key: KeyEncryptionKey())
                .restore(place.backup, revocations: .kept, mayReplace: true, at: BackupPlace.now)
        }
        #expect(throws: StoreError(.notFound, "")) {
            try DatabaseRestore(folder: place.data, key: place.key)
                .restore(place.folder + "/none", revocations: .kept, mayReplace: true, at: BackupPlace.now)
        }
        try place.restore(into: place.data)
    }

    @Test func aBackupOfANewerVersionIsRefused() async throws {
        let place = try await BackupPlace()
        _ = try place.backUp()
        await place.store.close()
        let whole = try Data(contentsOf: URL(fileURLWithPath: place.backup))
        let start = try #require(whole.range(of: Data("{\"format\"".utf8))?.lowerBound)
        // Behind the manifest: its code, its length, the mark.
        let text = String(decoding: whole[start..<(whole.count - 48)], as: UTF8.self)
        let newer = text.replacing(#/"schema":\d+/#, with: "\"schema\":999")
        #expect(newer != text)
        var backup = whole.prefix(start) + Data(newer.utf8)
        backup.append(contentsOf: Sealing(place.key).code(newer, purpose: SealingPurpose("backup manifest")))
        withUnsafeBytes(of: UInt64(newer.utf8.count).bigEndian) { backup.append(contentsOf: $0) }
        try (backup + whole.suffix(8)).write(to: URL(fileURLWithPath: place.backup))
        #expect(throws: StoreError(.newerSchema, "")) { try place.check() }
        #expect(throws: StoreError(.newerSchema, "")) { try place.restore(into: place.data) }
        #expect(try place.names == place.namesOfAStoppedServer)
    }

    @Test func whereTheTrailOfABackupIsBrokenIsTold() async throws {
        let place = try await BackupPlace()
        try await place.enrol("alice")
        await place.store.close()
        try await place.changing { try $0.execute(sql: "UPDATE audit SET detail = 'forged' WHERE number = 2") }
        _ = try place.backUp()
        #expect(try place.check().auditBrokenAt == 2)
        #expect(try place.restore(into: place.data).auditBrokenAt == 2)
    }

    @Test func nothingIsRestoredUnderARunningServerOrOverADatabaseUnasked() async throws {
        let place = try await BackupPlace()
        _ = try place.backUp()
        #expect(throws: StoreError(.locked, "")) { try place.restore(into: place.data) }
        #expect(try place.check().comparison == .compared(counters: 0, auditEntries: 0), "a check needs no stop")
        await place.store.close()
        #expect(throws: StoreError(.conflict, "")) {
            try DatabaseRestore(folder: place.data, key: place.key)
                .restore(place.backup, revocations: .kept, mayReplace: false, at: BackupPlace.now)
        }
        #expect(try place.names == place.namesOfAStoppedServer)
    }

    // MARK: The past

    @Test func ceremoniesCodesSessionsAndTokensOfThePastAreVoid() async throws {
        let place = try await BackupPlace()
        try await place.enrol("alice")
        try await place.enrol("pending", isActive: false)
        try await place.begin()
        await place.store.close()
        let past = [
            "ceremony", "dispatch_token", "oauth_backchannel_request", "oauth_device_code", "oauth_pushed_request",
            "oauth_request", "oauth_code", "oauth_grant", "oauth_session",
            "oauth_session_authentication", "oauth_authentication", "oauth_refresh",
            "oauth_device_secret", "oauth_revoked_token",
            "administrator", "administrator_link", "answered_challenge", "password_attempt", "password_sign_in",
            "password_attempt_day", "known_browser", "known_network", "mailed_link",
            "message WHERE channel <> 'client'", "reset_ask", "invite", "finished_sign_in", "upstream_trip",
            "upstream_arrival", "identity_answer", "identity_sealing_key", "pending_activation",
        ]
        // A link that nobody has opened, which the store itself makes only while there is no administrator.
        let before = try await place.changing { db in
            try db.execute(sql: "INSERT INTO administrator_link VALUES (1, x'06', 9000000000000)")
            return try past.filter { try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)") != 0 }
        }
        #expect(before == past)
        _ = try place.backUp()
        let report = try place.restore(into: place.data)
        let left = try await place.changing { db in
            try past.filter { try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)") != 0 }
        }
        #expect(left.isEmpty)
        let voided = report.voided
        let numbers: [Int] = [
            voided.ceremonies, voided.authorizationRequests, voided.codesAndTokens, voided.sessions,
            voided.administratorTokens, voided.pendingDevices,
        ]
        // Of the requests one waits for its person, and one for its browser.
        #expect(numbers == [1, 2, 1, 1, 1, 1])
        let restored = try SQLStore(folder: place.data, key: place.key)
        #expect(try await restored.ceremony(.id("ceremony")) == nil)
        #expect(try await restored.request("request-2") == nil)
        #expect(try await restored.session(cookieDigest: BackupPlace.digest(3)) == nil)
        #expect(try await restored.grant("grant-1", token: nil, at: BackupPlace.now)?.authentication.account == nil)
        #expect(try await restored.administrator(tokenDigest: BackupPlace.digest(5), at: BackupPlace.now) == nil)
        #expect(try await restored.devices(accountID: "pending").isEmpty)
        #expect(try await restored.device(ofKey: "signing-pending") == nil)
        #expect(try await restored.device(ofKey: "signing-alice")?.isGone == false)
        #expect(try await restored.devices(accountID: "alice").count == 1)
        // What others carry in sealed form was sealed in another epoch.
        #expect(place.epoch == "" && !restored.sealing.epoch.isEmpty)
        let purpose = SealingPurpose("sample")
        let passing = try place.store.sealing.sealPassing([1], purpose: purpose, label: "label")
        #expect(restored.sealing.openPassing(passing, purpose: purpose, label: "label") == nil)
        #expect(restored.sealing.code("name", purpose: purpose) == place.store.sealing.code("name", purpose: purpose))
        let row = try place.store.sealing.seal("text", purpose: purpose, row: "1")
        #expect(try restored.sealing.openText(row, purpose: purpose, row: "1") == "text")
        await restored.close()
    }

    @Test("A backup from before another key came is restored with its key, and refused without it")
    func aBackupNeedsTheKeyOfItsTime() async throws {
        let place = try await BackupPlace()
        try await place.enrol("alice")
        _ = try place.backUp()
        await place.store.close()
        let newest = KeyEncryptionKey()
        let both = KeyRing(newest, former: [place.key])
        let store = try SQLStore(folder: place.data, keys: both)
        _ = try await store.reseal(audit: { BackupPlace.event("resealed") }, told: { _ in })
        await store.close()
        let error = #expect(throws: StoreError.self) {
            try DatabaseRestore(folder: place.data, key: newest)
                .restore(place.backup, revocations: .kept, mayReplace: true, at: BackupPlace.now)
        }
        #expect(error?.code == .wrongKey && error?.reason.contains(place.key.identifier) == true)
        let report = try DatabaseRestore(folder: place.data, keys: both)
            .restore(place.backup, revocations: .kept, mayReplace: true, at: BackupPlace.now)
        // What was sealed anew is the same as before, and nobody has changed it.
        #expect(report.comparison == .compared(counters: 0, auditEntries: 1) && report.changes.isEmpty)
        #expect(throws: StoreError(.missingKey, "")) { try SQLStore(folder: place.data, key: newest) }
        let restored = try SQLStore(folder: place.data, keys: both)
        #expect(try await restored.account(username: "alice")?.id == "alice")
        _ = try await restored.reseal(audit: { BackupPlace.event("resealed") }, told: { _ in })
        await restored.close()
        let again = try SQLStore(folder: place.data, key: newest)
        #expect(try await again.credentials(accountID: "alice").count == 1)
        await again.close()
    }

    @Test("What is taken over from the replaced database is told apart, whatever key either lies under")
    func differencesAreFoundUnderAnotherKey() async throws {
        let place = try await BackupPlace()
        try await place.live()
        let newest = KeyEncryptionKey()
        let both = KeyRing(newest, former: [place.key])
        let store = try SQLStore(folder: place.data, keys: both)
        _ = try await store.reseal(audit: { BackupPlace.event("resealed") }, told: { _ in })
        await store.close()
        let report = try DatabaseRestore(folder: place.data, keys: both)
            .restore(place.backup, revocations: .kept, mayReplace: true, at: BackupPlace.now)
        #expect(
            report.changes.map { "\($0.kind.rawValue) \($0.id) \($0.name)" }.sorted()
                == BackupPlace.differences.sorted())
        let restored = try SQLStore(folder: place.data, keys: both)
        #expect(try await restored.sealingKeys() == [newest.identifier, place.key.identifier])
        #expect(try await restored.account(username: "mailed")?.email?.address != nil)
        await restored.close()
    }

    @Test("Nothing of what a server keeps stays under a former key, whatever column it is in")
    func everythingIsSealedAnew() async throws {
        let place = try await BackupPlace()
        try await place.enrol("alice")
        try await place.begin()
        try await place.live()
        try await place.raw { db in
            for statement in BackupColumns.rows { try db.execute(sql: statement) }
            for (purpose, row) in [
                (SealingPurpose("identity consent"), "identity_consent VALUES (1, 'alice', 'session', ?, 1)"),
                (SealingPurpose("receipt of a transaction"), "receipt VALUES (1, 'alice', 'session', 'bank', ?, 1)"),
            ] {
                let sealed = try place.store.sealing.seal("what was agreed to", purpose: purpose, row: "session alice")
                try db.execute(sql: "INSERT INTO \(row)", arguments: [Data(sealed)])
            }
            // A value in one row at least of each column; what is there already is left.
            for (name, purpose) in BackupColumns.sealed {
                let (table, column) = (name.split(separator: ".")[0], name.split(separator: ".")[1])
                let key = try String.fetchAll(
                    db, sql: "SELECT name FROM pragma_table_info(?)", arguments: [String(table)]
                ).first { ["id", "account_id", "request", "place"].contains($0) && !(table == "device" && $0 != "id") }
                let isThere = try Bool.fetchOne(
                    db,
                    sql: "SELECT EXISTS (SELECT 1 FROM \(table) WHERE length(\(column)) > 40)")
                guard isThere != true else { continue }
                let keyName = try ["audit": "number", "message": "matter"][table] ?? #require(key, "\(name)")
                let query = "SELECT CAST(\(keyName) AS TEXT) FROM \(table) WHERE \(keyName) IS NOT NULL LIMIT 1"
                let row = try #require(try String.fetchOne(db, sql: query), "\(name)")
                let sealed = try place.store.sealing.seal(
                    "a value that is long enough", purpose: SealingPurpose(purpose), row: row)
                try db.execute(
                    sql: "UPDATE \(table) SET \(column) = ? WHERE CAST(\(keyName) AS TEXT) = ?",
                    arguments: [Data(sealed), row])
            }
        }
        let newest = KeyEncryptionKey()
        let store = try SQLStore(folder: place.data, keys: KeyRing(newest, former: [place.key]))
        let resealed = try await store.reseal(audit: { BackupPlace.event("resealed") }, told: { _ in })
        #expect(resealed.unreadable == 0)
        await store.close()
        // A value names its key in its second byte and those after it, by the beginning of the key's identifier.
        func header(_ key: KeyEncryptionKey) throws -> [UInt8] {
            [2] + Array(try #require(Base64URL.decode(key.identifier)).prefix(8))
        }
        let (former, present) = (try header(place.key), try header(newest))
        let (columns, left, found) = try await place.raw { db in
            let columns = try Row.fetchAll(
                db,
                sql: """
                    SELECT item.name AS item, field.name AS field
                    FROM sqlite_schema AS item, pragma_table_info(item.name) AS field
                    WHERE item.type = 'table' AND field.type = 'BLOB'
                    """
            ).map { row -> (table: String, column: String) in (row["item"], row["field"]) }
            func count(_ header: [UInt8]) throws -> [String: Int] {
                try columns.reduce(into: [:]) { counts, place in
                    let count = try Int.fetchOne(
                        db, sql: "SELECT count(*) FROM \(place.table) WHERE substr(\(place.column), 1, 9) = ?",
                        arguments: [Data(header)])
                    if let count, count > 0 { counts["\(place.table).\(place.column)"] = count }
                }
            }
            return (columns.map { "\($0.table).\($0.column)" }, try count(former), try count(present))
        }
        let own = ["sealing_root.sealed", "store_check.sealed"]
        #expect(columns.sorted() == (Array(BackupColumns.sealed.keys) + BackupColumns.unsealed + own).sorted())
        #expect(left.isEmpty, "\(left)")
        #expect(found.keys.sorted() == (Array(BackupColumns.sealed.keys) + own).sorted())
        #expect(found.values.reduce(0, +) == resealed.resealed + own.count)
    }

    /// A table that a later change adds must be decided on: is it of the past that is voided, or does it stay?
    @Test func ofEveryTableItIsDecidedWhetherItIsVoided() async throws {
        let place = try await BackupPlace()
        await place.store.close()
        let raw = try DatabaseQueue(path: place.data + "/countersign.sqlite")
        let tables = try await raw.read {
            try String.fetchAll($0, sql: "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        }
        let voided = [
            "administrator", "administrator_link", "answered_challenge", "ceremony", "deregistered_key",
            "dispatch_token", "dropped_mail", "finished_sign_in", "identity_answer", "identity_sealing_key", "invite",
            "known_browser", "known_network", "mailed_link", "oauth_authentication", "oauth_backchannel_request",
            "oauth_code", "oauth_consent", "oauth_device_code", "oauth_device_secret", "oauth_grant",
            "oauth_initial_token", "oauth_pushed_request", "oauth_refresh", "oauth_request", "oauth_revoked_token",
            "oauth_session", "oauth_session_authentication", "oauth_session_service", "password_attempt",
            "password_attempt_day", "password_sign_in", "pending_activation", "replaced_credential", "reset_ask",
            "upstream_arrival", "upstream_trip",
        ]
        let kept = [
            "account", "account_change", "account_email", "activation", "agreement", "asking_rest", "attested_app",
            "attribute_selection", "audit", "credential", "device", "device_identity", "identity_consent",
            "identity_history", "identity_root", "invented_accounts", "message", "notice", "number_attempt",
            "oauth_client", "oauth_key", "oauth_secret", "oauth_shown", "oauth_subject", "organisation",
            "organisation_member", "password", "personal_value", "push", "receipt", "receipt_key", "recovery_code",
            "rested_account_email", "rested_activation", "rested_password", "rested_personal_value",
            "rested_recovery_code", "rested_totp", "rested_upstream_link", "sealing_key", "sealing_root", "service",
            "service_roles", "store_check", "totp", "upstream_link", "upstream_provider", "used_push_budget",
        ]
        #expect(tables == (voided + kept).sorted())
    }

    // MARK: What was revoked since

    @Test func whatWasRevokedSinceTheBackupStaysRevokedAndIsNamed() async throws {
        let place = try await BackupPlace()
        try await place.live()
        let report = try place.restore(into: place.data)
        #expect(report.comparison == .compared(counters: 1, auditEntries: 34))
        #expect(
            report.changes.map { "\($0.kind.rawValue) \($0.id) \($0.name)" }.sorted()
                == BackupPlace.differences.sorted())
        #expect(report.changes.allSatisfy { $0.isKept == [.carriedOver, .kept].contains($0.kind.treatment) })
        let kinds = BackupDifference.allCases.filter { $0.treatment != .refused }
        #expect(Set(report.changes.map(\.kind)) == Set(kinds))

        let restored = try SQLStore(folder: place.data, key: place.key)
        #expect(try await restored.account(username: "deleted") == nil)
        #expect(try await restored.account(username: "locked")?.isLocked == true)
        #expect(try await restored.account(username: "unlocked")?.isLocked == true)
        #expect(try await restored.account(username: "added") == nil)
        #expect(try await restored.devices(accountID: "revoked").isEmpty)
        #expect(try await restored.device(ofKey: "signing-revoked") == nil)
        #expect(try await restored.credentials(accountID: "deregistered").isEmpty)
        #expect(try await restored.credentials(accountID: "used").map(\.counter) == [77])
        #expect(try await restored.upstreamProviders().map(\.title) == ["Other"])
        #expect(try await restored.upstreamProvider("kept")?.newcomers == .created)
        #expect(try await restored.links(ofAccount: "used").map(\.id) == ["link-first"])
        try await BackupActivations(store: restored).expectAttempts(isDisabled: true)
        #expect(try await restored.client("gone") == nil)
        try await BackupIdentities(store: restored).expectKept()
        #expect(try await restored.account(username: "renamed")?.id == "used")
        #expect(try await restored.account(username: "renamed")?.displayName == "Renamed")
        let former = FormerSecret(digest: BackupPlace.digest(9), endsAt: BackupPlace.now)
        #expect(try await restored.client("changed")?.secretDigest == BackupPlace.digest(7))
        #expect(try await restored.client("changed")?.formerSecret == former)
        let settings = try await restored.client("changed")?.settings
        #expect(settings == ClientSettings(idTokenAlgorithm: .edDSA, mayDeregister: false))
        #expect(try await restored.providerKeys().signingKeys.map(\.id) == ["second", "other", "first"])
        #expect(try await restored.account(username: "mailed")?.email?.isVerified == false)
        #expect(try await restored.inventedAccounts() == "{}")
        #expect(try await restored.verifyAudit() == .intact(entries: report.manifest.counts.auditEntries + 35))
        #expect(
            try await restored.auditEntries(after: 0, limit: 999).last?.event.detail?.hasSuffix(" revocations-kept")
                == true)
        await restored.close()
    }

    @Test func revocationsAreUndoneWhereThatIsMeantAndAreNamedAllTheSame() async throws {
        let place = try await BackupPlace()
        try await place.live()
        let foreseen = try place.check(.undone)
        let report = try place.restore(into: place.data, .undone)
        #expect(report.changes == foreseen.changes && report.comparison == foreseen.comparison)
        #expect(
            report.changes.map { "\($0.kind.rawValue) \($0.id) \($0.name)" }.sorted()
                == BackupPlace.differences.sorted())
        #expect(report.changes.filter(\.isKept).map(\.kind) == [.counterAdvanced], "a counter is no revocation")
        let restored = try SQLStore(folder: place.data, key: place.key)
        #expect(try await restored.account(username: "deleted") != nil)
        #expect(try await restored.account(username: "locked")?.isLocked == false)
        #expect(try await restored.devices(accountID: "revoked").count == 1)
        #expect(try await restored.credentials(accountID: "deregistered").count == 1)
        #expect(try await restored.credentials(accountID: "used").map(\.counter) == [77], "a counter never goes back")
        try await BackupActivations(store: restored).expectAttempts(isDisabled: false)
        #expect(try await restored.client("gone") != nil)
        try await BackupIdentities(store: restored).expectUndone()
        #expect(try await restored.client("changed")?.settings == ClientSettings(mayDeregister: true))
        #expect(try await restored.providerKeys().signingKeys.map(\.id) == ["first"])
        #expect(try await restored.account(username: "mailed")?.email?.isVerified == true)
        #expect(try await restored.inventedAccounts() == nil)
        guard case .intact = try await restored.verifyAudit() else {
            Issue.record("the trail is broken")
            return
        }
        await restored.close()
    }

    /// Somebody who can write the database gives a client a secret and an address of their own, and vouches for an e-mail
    /// address: the restore that follows is to get rid of them.
    @Test(arguments: [DatabaseRestore.Revocations.kept, .undone])
    func whatTheServerHasNotChangedIsNamedAndNotTakenOver(revocations: DatabaseRestore.Revocations) async throws {
        let place = try await BackupPlace()
        try await place.enrol("alice")
        let email = AccountEmail(address: "alice@post.example", isVerified: false)
        _ = try await place.store.setAccountEmail(email, id: "alice", audit: BackupPlace.emailChanged("alice"))
        for id in ["bank", "shop", "shopping"] {
            try await place.store.addClient(
                BackupPlace.client(id), limit: 9, audit: BackupPlace.event("client-added"))
        }
        let before = try await place.store.clients()
        try await place.store.addProvider(
            BackupPlace.provider("kept"), limit: 9, audit: BackupPlace.event("provider-added"))
        _ = try place.backUp()
        // What the server does change of one of them lets nothing else of it through, nor of one whose name is longer.
        _ = try await place.store.changeClient("shop") { client in
            client.settings.codeBinding = .nonce
            return [AuditEvent(.clientPKCEChanged, at: BackupPlace.now, detail: "shop nonce")]
        }
        await place.store.close()
        let raw = try DatabaseQueue(path: place.data + "/countersign.sqlite")
        try await raw.write { db in
            try db.execute(
                sql: """
                    UPDATE oauth_client SET secret_digest = zeroblob(32), may_deregister = 1, name = 'Thief',
                    redirect_uris = '["https://thief.example/in"]';
                    UPDATE oauth_client SET code_binding = 'nonce' WHERE id = 'shopping';
                    UPDATE account SET email_verified = 1;
                    UPDATE upstream_provider SET issuer = 'https://thief.example', newcomers = 'created';
                    INSERT INTO invented_accounts VALUES (1, '{}');
                    """)
        }
        try raw.close()
        let report = try place.restore(into: place.data, revocations)
        let (kept, undone) = (revocations == .kept, revocations == .undone)
        #expect(
            report.changes.map { "\($0.kind.rawValue) \($0.id) \($0.name) \($0.isKept)" }.sorted() == [
                "account-changed-outside alice alice false", "client-changed shop Shop \(kept)",
                "client-changed-outside bank Bank false", "client-changed-outside shop Shop false",
                "client-changed-outside shopping Shopping false",
                "invented-accounts-changed-outside invented-accounts invented-accounts false",
                "provider-changed-outside kept Kept false",
            ])
        let restored = try SQLStore(folder: place.data, key: place.key)
        #expect(try await restored.upstreamProvider("kept") == BackupPlace.provider("kept"))
        var expected = before
        if !undone, let index = expected.firstIndex(where: { $0.id == "shop" }) {
            expected[index].settings.codeBinding = .nonce
        }
        #expect(try await restored.clients() == expected)
        #expect(try await restored.account(username: "alice")?.email == email)
        #expect(try await restored.inventedAccounts() == nil)
        await restored.close()
    }

    /// What clients have shown once is shown a second time by nobody, whatever becomes of the revocations.
    @Test(arguments: [DatabaseRestore.Revocations.kept, .undone])
    func whatWasShownSinceTheBackupIsNotTakenAgain(revocations: DatabaseRestore.Revocations) async throws {
        let place = try await BackupPlace()
        let end = BackupPlace.now + .seconds(60)
        #expect(try await place.store.takeOnce(digest: BackupPlace.digest(1), until: end))
        _ = try place.backUp()
        #expect(try await place.store.takeOnce(digest: BackupPlace.digest(2), until: end))
        await place.store.close()
        try place.restore(into: place.data, revocations)
        let restored = try SQLStore(folder: place.data, key: place.key)
        #expect(try await !restored.takeOnce(digest: BackupPlace.digest(1), until: end))
        #expect(try await !restored.takeOnce(digest: BackupPlace.digest(2), until: end))
        #expect(try await restored.takeOnce(digest: BackupPlace.digest(3), until: end))
        await restored.close()
    }

    /// A client that has lost its secret to another way to authenticate does not get it back by a restore.
    @Test func howAClientProvesItselfIsCarriedOver() async throws {
        let place = try await BackupPlace()
        for id in ["bank", "shop"] {
            try await place.store.addClient(
                BackupPlace.client(id), limit: 9, audit: BackupPlace.event("client-added"))
        }
        _ = try place.backUp()
        let signing = ClientSettings(
            grantTypes: ["a", "b"], authenticationMethod: "private_key_jwt", keySet: "{}",
            tokens: TokenSettings(scopes: ["read"], audiences: ["urn:api"]))
        _ = try await place.store.changeClient("bank") { client in
            client.settings = signing
            client.secretDigest = nil
            return [
                AuditEvent(.clientGrantsChanged, at: BackupPlace.now, detail: "bank a b"),
                AuditEvent(.clientAuthenticationChanged, at: BackupPlace.now, detail: "bank private_key_jwt"),
                AuditEvent(.clientTokensChanged, at: BackupPlace.now, detail: "bank"),
            ]
        }
        // The same by somebody who can write the database.
        _ = try await place.store.changeClient("shop") { client in
            client.settings = signing
            client.secretDigest = nil
            return []
        }
        await place.store.close()
        let report = try place.restore(into: place.data)
        #expect(
            report.changes.map { "\($0.kind.rawValue) \($0.id)" } == [
                "client-changed bank", "client-changed-outside shop",
            ])
        let restored = try SQLStore(folder: place.data, key: place.key)
        let bank = try await restored.client("bank")
        #expect(bank?.settings == signing && bank?.secretDigest == nil)
        #expect(try await restored.client("shop") == BackupPlace.client("shop"))
        await restored.close()
    }

    /// A password that was given up, and a recovery code that was spent, are not good again; what somebody else has
    /// written is named.
    @Test func passwordsThatWereChangedSinceTheBackupStayChanged() async throws {
        let place = try await BackupPlace()
        func password(_ account: String, _ hash: String) -> PasswordRecord {
            PasswordRecord(accountID: account, hash: hash, setAt: BackupPlace.now)
        }
        func event(_ kind: AuditEvent.Kind, _ account: String) -> AuditEvent {
            AuditEvent(kind, at: BackupPlace.now, accountID: account)
        }
        for name in ["changed", "removed", "spent", "outside", "same"] {
            try await place.enrol(name)
            _ = try await place.store.setPassword(
                PasswordChange(to: password(name, "first"), endsSessions: false, audit: event(.passwordSet, name)))
            let totp = TOTPRecord(
                accountID: name, secret: SecretBytes(BackupPlace.digest(1)), algorithm: "SHA1", digits: 6,
                periodSeconds: 30, setAt: BackupPlace.now)
            _ = try await place.store.setSecondFactor(
                totp, recoveryCodes: [BackupPlace.digest(1), BackupPlace.digest(2)],
                audit: event(.secondFactorSet, name))
        }
        _ = try place.backUp()
        _ = try await place.store.setPassword(
            PasswordChange(
                to: password("changed", "second"), endsSessions: true, audit: event(.passwordChanged, "changed")))
        _ = try await place.store.removePassword(accountID: "removed", audit: event(.passwordRemoved, "removed"))
        _ = try await place.store.setRecoveryCodes(
            [BackupPlace.digest(2)], accountID: "spent", audit: event(.recoveryCodeSpent, "spent"))
        _ = try await place.store.setPassword(
            PasswordChange(to: password("outside", "second"), endsSessions: false, audit: BackupPlace.event("other")))
        await place.store.close()
        let report = try place.restore(into: place.data)
        #expect(
            report.changes.map { "\($0.kind.rawValue) \($0.id)" } == [
                "password-changed changed", "password-changed removed", "password-changed spent",
                "account-changed-outside outside",
            ])
        let restored = try SQLStore(folder: place.data, key: place.key)
        func kept(_ name: String) async throws -> PasswordAccount? { try await restored.passwordAccount(id: name) }
        #expect(try await kept("changed")?.password?.hash == "second")
        #expect(try await kept("removed").map { $0.password == nil && $0.recoveryCodes == 2 } == true)
        #expect(try await kept("spent").map { $0.password?.hash == "first" && $0.recoveryCodes == 1 } == true)
        #expect(try await kept("outside")?.password?.hash == "first")
        #expect(try await kept("same")?.recoveryCodes == 2)
        await restored.close()
    }

    @Test func anAnswerToADeregistrationIsGivenAgainAfterARestore() async throws {
        let place = try await BackupPlace()
        for name in ["early", "late"] { try await place.enrol(name) }
        try await place.deregister("early", token: 1)
        _ = try place.backUp()
        try await place.deregister("late", token: 2)
        await place.store.close()
        let kept = try await place.deregistered(afterRestoring: .kept)
        #expect(kept == ["early": ["C516#0001"], "late": ["C516#0001"]])
        // Where the keys have come back nobody is told that they are gone.
        #expect(try await place.deregistered(afterRestoring: .undone) == ["early": ["C516#0001"]])
    }

    /// Root restores, and the server that is started next is another user's.
    @Test(.enabled(if: geteuid() == 0))
    func whatRootMakesIsTheFoldersOwners() async throws {
        let place = try await BackupPlace()
        _ = try place.backUp()
        await place.store.close()
        let other = place.folder + "/other"
        try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
        try FileManager.default.setAttributes(
            [.ownerAccountID: 65_533, .groupOwnerAccountID: 65_532], ofItemAtPath: other)
        for _ in 0..<2 { try place.restore(into: other) }
        let names = try FileManager.default.subpathsOfDirectory(atPath: other)
        #expect(names.contains("lock") && names.contains("countersign.sqlite") && names.count > 3)
        for name in names {
            let attributes = try FileManager.default.attributesOfItem(atPath: other + "/" + name)
            #expect(attributes[.ownerAccountID] as? Int == 65_533, "\(name)")
            #expect(attributes[.groupOwnerAccountID] as? Int == 65_532, "\(name)")
        }
    }

    @Test func theReplacedDatabaseIsKept() async throws {
        let place = try await BackupPlace()
        try await place.live()
        let report = try place.restore(into: place.data)
        let folder = try #require(report.replacedFolder)
        let old = try SQLStore(folder: folder, key: place.key)
        #expect(try await old.account(username: "added") != nil)
        await old.close()
    }

    /// Another history: without a guard every account of the backup would count as deleted since.
    @Test func aDatabaseThatDoesNotGoOnFromTheBackupIsNotComparedWith() async throws {
        let place = try await BackupPlace()
        try await place.enrol("alice")
        _ = try place.backUp()
        await place.store.close()
        let other = place.folder + "/other"
        let fresh = try SQLStore(folder: other, key: place.key)
        try await fresh.createAccount(BackupPlace.account("stranger"), audit: BackupPlace.event("account-created"))
        await fresh.close()
        let report = try place.restore(into: other)
        guard case .notComparable = report.comparison else {
            Issue.record("\(report.comparison)")
            return
        }
        let restored = try SQLStore(folder: other, key: place.key)
        #expect(try await restored.accounts(after: nil, limit: 9).map(\.username) == ["alice"])
        #expect(try await restored.devices(accountID: "alice").count == 1)
        await restored.close()
    }

    @Test(arguments: [
        "UPDATE audit SET detail = 'forged' WHERE number = 1", "DELETE FROM audit WHERE number = 2",
        "UPDATE store_check SET sealed = randomblob(40)", "DELETE FROM account WHERE id = 'alice'",
        "PRAGMA user_version = 999", "DROP TABLE device",
    ])
    func aDatabaseThatWasTamperedWithIsNotComparedWith(sql: String) async throws {
        let place = try await BackupPlace()
        try await place.enrol("alice")
        _ = try place.backUp()
        await place.store.close()
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        let raw = try DatabaseQueue(path: place.data + "/countersign.sqlite", configuration: configuration)
        try await raw.writeWithoutTransaction { try $0.execute(sql: sql) }
        try raw.close()
        guard case .notComparable = try place.restore(into: place.data).comparison else {
            Issue.record("it was compared with")
            return
        }
        let restored = try SQLStore(folder: place.data, key: place.key)
        #expect(try await restored.devices(accountID: "alice").count == 1)
        await restored.close()
    }

    @Test func aDatabaseThatIsNoneIsReplaced() async throws {
        let place = try await BackupPlace()
        try await place.enrol("alice")
        _ = try place.backUp()
        await place.store.close()
        for suffix in ["", "-wal"] {
            try Data(repeating: 0x41, count: 20_000)
                .write(to: URL(fileURLWithPath: place.data + "/countersign.sqlite" + suffix))
        }
        let report = try place.restore(into: place.data)
        guard case .notComparable = report.comparison else {
            Issue.record("it was compared with")
            return
        }
        let restored = try SQLStore(folder: place.data, key: place.key)
        #expect(try await restored.account(username: "alice") != nil)
        #expect(try await restored.verifyAudit() == .intact(entries: 3))
        await restored.close()
    }

    // MARK: A restore that ends in the middle

    /// The steps after the decision, and the process ended after each of them: whoever opens the folder finishes the rest.
    @Test(arguments: 0...4)
    func aRestoreThatEndedInTheMiddleIsFinishedByWhoeverOpensTheFolder(steps: Int) async throws {
        let place = try await BackupPlace()
        try await place.enrol("alice")
        _ = try place.backUp()
        try await place.enrol("bob")
        await place.store.close()
        let other = place.folder + "/other"
        try place.restore(into: other)
        let (manager, old) = (FileManager.default, place.data + "/countersign.sqlite")
        try Data("rest of a draft".utf8).write(to: URL(fileURLWithPath: place.data + "/restored-dead.draft"))
        if steps > 0 {
            try manager.moveItem(atPath: other + "/countersign.sqlite", toPath: place.data + "/restored-x.sqlite")
        }
        if steps > 1 {
            try manager.createDirectory(atPath: place.data + "/replaced-x", withIntermediateDirectories: false)
        }
        if steps > 2 { try manager.linkItem(atPath: old, toPath: place.data + "/replaced-x/countersign.sqlite") }
        if steps > 3 {
            try manager.moveItem(atPath: old + "-wal", toPath: place.data + "/replaced-x/countersign.sqlite-wal")
        }
        let opened = try SQLStore(folder: place.data, key: place.key)
        let expected = steps == 0 ? ["alice", "bob"] : ["alice"]
        #expect(try await opened.accounts(after: nil, limit: 9).map(\.reference.text) == expected)
        guard case .intact = try await opened.verifyAudit() else {
            Issue.record("the trail is broken")
            return
        }
        await opened.close()
        #expect(try place.names == place.namesOfAStoppedServer + (steps == 0 ? [] : ["replaced-x"]))
        guard steps > 0 else { return }
        let replaced = try SQLStore(folder: place.data + "/replaced-x", key: place.key)
        #expect(try await replaced.accounts(after: nil, limit: 9).map(\.username) == ["alice", "bob"])
        await replaced.close()
    }
}

/// The end of what a loop is for.
private final class End: Sendable {
    let hasCome = Atomic(false)
}

/// A store, its key, and a backup beside it.
final class BackupPlace: Sendable {
    static let now = Timestamp(seconds: 1_800_000_000)
    static let differences =
        [
            "account-added added added", "account-changed mailed mailed", "account-changed used used",
            "account-deleted deleted deleted", "account-locked locked locked",
            "account-unlocked unlocked unlocked", "activation-disabled disabled Phone disabled of holder",
            "client-added new New", "client-changed changed Changed",
            "client-deleted gone Gone", "counter-advanced key-used Phone used of used",
            "device-added device-new Phone new of renamed",
            "device-rested device-locked Phone locked of locked",
            "device-revoked device-revoked Phone revoked of revoked",
            "identity-linked link-second kept", "identity-unlinked link-ended kept",
            "invented-accounts-set invented-accounts invented-accounts", "key-added key-more Phone locked of locked",
            "key-deregistered key-deregistered Phone deregistered of deregistered",
            "password-changed mailed mailed",
            "provider-added late Late", "provider-changed kept Kept", "provider-removed ended Ended",
            "signing-key-added other other", "signing-key-rotated first first",
        ] + BackupIdentities.differences

    let folder = FileManager.default.temporaryDirectory.path + "/countersign-" + UUID().uuidString
    let keyBytes: [UInt8]
    let key: KeyEncryptionKey
    let store: SQLStore
    let epoch: String

    var data: String { self.folder + "/data" }
    var backup: String { self.folder + "/backup" }
    let namesOfAStoppedServer = [
        "countersign.sqlite", "countersign.sqlite-shm", "countersign.sqlite-wal", "lock",
    ]
    var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: self.data).sorted() } }

    init() async throws {
        self.keyBytes = RandomSource.system.bytes(32)
        self.key = try KeyEncryptionKey(self.keyBytes)
        self.store = try SQLStore(folder: self.folder + "/data", key: self.key)
        self.epoch = self.store.sealing.epoch
        try await self.store.appendAudit(Self.event("begun"))
    }

    deinit { try? FileManager.default.removeItem(atPath: self.folder) }

    static func event(_ kind: String) -> AuditEvent { AuditEvent(AuditEvent.Kind(rawValue: kind), at: self.now) }
    static func digest(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 32) }
    static func account(_ name: String) -> AccountRecord {
        AccountRecord(id: name, username: AccountName(stored: name), displayName: nil, createdAt: self.now)
    }

    static func client(_ id: String, mayDeregister: Bool = false) -> ClientRecord {
        ClientRecord(
            id: id, name: id.capitalized, redirectURIs: ["https://\(id).example/in"], postLogoutRedirectURIs: [],
            secretDigest: self.digest(9), createdAt: self.now,
            settings: ClientSettings(mayDeregister: mayDeregister))
    }

    static func signingKey(_ id: String, _ algorithm: JWSAlgorithm) -> SigningKeyRecord {
        SigningKeyRecord(
            id: id, algorithm: algorithm, privateKey: SecretBytes(Self.digest(1)), createdAt: Self.now, retiredAt: nil)
    }

    static func provider(_ name: String) -> UpstreamProvider {
        UpstreamProvider(
            name: name, title: name.capitalized, kind: .openID, issuer: "https://\(name).example", clientID: "client",
            secret: SecretBytes(utf8: "secret"), usualLevel: "urn:x", createdAt: Self.now)
    }

    /// Connects an account with an identity at a provider, by a request that is gone then.
    func link(_ name: String, _ account: String, to provider: String = "kept") async throws {
        let request = SampleSignIn("link-\(name)", secret: Self.digest(0x30), at: Self.now).request
        try await self.store.addRequest(request)
        let identity = UpstreamIdentity(provider: provider, issuer: "https://\(provider).example", subject: name)
        _ = try await self.store.arrive(
            UpstreamArrival(request: request.id, identity: identity, at: Self.now, acr: "urn:x", amr: []), at: Self.now,
            newcomer: nil
        ) { (Self.event("signed-in"), NoticeRecord(id: $0, accountID: $0, kind: .signedIn, at: Self.now, subject: "")) }
        _ = try await self.store.wantLink(request: request.id, provider: provider)
        _ = try await self.store.connect(request: request.id, provider: provider, account: account, limit: 9) {
            identity in
            (
                UpstreamLink(id: "link-\(name)", identity: identity, accountID: account, createdAt: Self.now),
                Self.event("identity-linked"),
                NoticeRecord(
                    id: "linked-\(name)", accountID: account, kind: .identityLinked, at: Self.now, subject: provider)
            )
        }
        _ = try await self.store.removeRequest(request.id)
    }

    static func emailChanged(_ account: String) -> AuditEvent {
        AuditEvent(.accountEmailChanged, at: Self.now, accountID: account, actor: "operator")
    }

    static func key(_ name: String, device: String, account: String, isActive: Bool = true) -> CredentialRecord {
        CredentialRecord(
            id: "key-\(name)", deviceID: device, accountID: account, aaid: name == "more" ? "C516#0002" : "C516#0001",
            keyID: Array(name.utf8) + Self.digest(7), publicKey: [4], keyFormat: 256, algorithm: 1, counter: 5,
            registrationCounter: 2, authenticatorVersion: 3, isActive: isActive, createdAt: Self.now)
    }

    /// Gives an account a device.
    func addDevice(_ name: String, to account: String, isActive: Bool = true) async throws {
        var change = CeremonyChange()
        change.registration = DeviceRegistration(
            device: DeviceRecord(
                id: "device-\(name)", accountID: account, name: "Phone \(name)", isActive: isActive,
                createdAt: Self.now),
            credentials: [Self.key(name, device: "device-\(name)", account: account, isActive: isActive)],
            identity: Self.identity(name))
        change.attestedApp = BackupColumns.app(on: "device-\(name)")
        try await self.answer(change)
    }

    func answer(_ change: CeremonyChange) async throws {
        let challenge = AnsweredChallenge(digest: RandomSource.system.bytes(32), expiresAt: Self.now + .seconds(9))
        #expect(try await self.store.answer(challenge, change: change, at: Self.now))
    }

    /// An account with a device of the same name.
    func enrol(_ name: String, isActive: Bool = true) async throws {
        try await self.store.createAccount(Self.account(name), audit: Self.event("account-created"))
        try await self.addDevice(name, to: name, isActive: isActive)
    }

    /// One of each that lives for minutes or as long as a browser or a token.
    func begin() async throws {
        try await self.store.createCeremony(
            CeremonyRecord(
                id: "ceremony", kind: .authentication, clientID: "bank", createdAt: Self.now,
                expiresAt: Self.now + .seconds(60), detail: CeremonyDetail(service: "Bank")),
            tokens: [
                DispatchTokenRecord(digest: Self.digest(1), channel: .qrCode, expiresAt: Self.now + .seconds(60))
            ], audit: nil)
        let signIn = SampleSignIn("1", secret: Self.digest(3), account: "alice", client: "bank", at: Self.now)
        try await signIn.keep(in: self.store)
        let end = Self.now + .seconds(60)
        _ = try await self.store.beginFamily(
            RefreshFamilyStart(
                grant: signIn.grant.id, head: Self.digest(7), headEndsAt: end, keyThumbprint: nil, until: end, most: 9,
                displaced: Self.event("displaced")), at: Self.now)
        _ = try await self.store.addDeviceSecret(
            DeviceSecretRecord(
                digest: Self.digest(6), id: "secret", session: signIn.session.id, client: "bank", group: "apps",
                scope: "openid", isBound: false, givenAt: Self.now), ofGrant: signIn.grant.id)
        try await self.store.revokeToken("token", ofGrant: signIn.grant.id, until: end)
        let waiting = SampleSignIn("2", secret: Self.digest(4), client: "bank", at: Self.now)
        for number in [UInt8(8), 9] {
            try await self.store.addPushedRequest(
                PushedRequestRecord(digest: Self.digest(number), client: "bank", parameters: "a=b", expiresAt: end))
        }
        _ = try await self.store.begin(waiting.request, pushed: Self.digest(8))
        try await self.store.addBackchannelRequest(
            BackchannelRequestRecord(
                id: "question", digest: Self.digest(11), client: "bank", scope: "openid", interval: .seconds(5),
                expiresAt: end), keptUntil: end)
        try await self.store.addDeviceCode(
            DeviceCodeRecord(
                digest: Self.digest(10), userCode: TypedCode(letters: 8, random: .system), client: "bank",
                scope: "openid", interval: .seconds(5), expiresAt: end), keptUntil: end)
        _ = try await self.store.countAttempt(.unknownName(1)) { _ in (AttemptCount(count: 1, at: Self.now), nil) }
        let link = MailedLinkRecord(
            digest: Self.digest(12), accountID: "alice", purpose: .passwordReset, expiresAt: end)
        let mail = MailRecord(
            accountID: "alice", subject: .passwordReset, link: ("name", link), createdAt: Self.now, expiresAt: end)
        _ = try await self.store.countAttempt(.mail(account: "alice"), leaving: (mail, 9)) { _ in
            (AttemptCount(count: 1, at: Self.now), nil)
        }
        _ = try await self.store.keepAsk(for: "alice", at: Self.now, most: 9)
        try await BackupActivations(store: self.store).begin(account: "alice", session: "ceremony")
        try await BackupIdentities(store: self.store).invite()
        let attempt = ReservedAttempt(
            holder: .unknownName(2), leave: .account(AttemptCount(count: 1, at: Self.now)), day: 1)
        _ = try await self.store.reserveAttempt(attempt.holder, browser: nil, since: 0) { _ in .reserved(attempt, nil) }
        var byPassword = PasswordSignInStep(
            to: PasswordSignInRecord(
                request: waiting.request.id, accountID: "alice", needsSecondFactor: false, needsNewPassword: false))
        byPassword.finished = FinishedSignInRecord(
            request: waiting.request.id, method: AuthenticationRecord.passwordMethod, account: "alice", at: Self.now,
            acr: "urn:x", amr: ["pwd"], browser: "a browser", address: "192.0.2.1", finishedAt: Self.now)
        byPassword.visit = KnownVisit(network: "n", former: nil, browser: Self.digest(14), at: Self.now, most: 5)
        _ = try await self.store.advance(byPassword)
        for name in ["up", "other"] {
            try await self.store.addProvider(Self.provider(name), limit: 9, audit: Self.event("provider-added"))
        }
        try await self.store.begin(
            UpstreamTrip(
                request: waiting.request.id, provider: "up", stateDigest: Self.digest(12),
                verifier: SecretBytes(utf8: "v"), nonce: SecretBytes(utf8: "n"), isSecond: false, begunAt: Self.now,
                expiresAt: end))
        _ = try await self.store.arrive(
            UpstreamArrival(
                request: waiting.request.id,
                identity: UpstreamIdentity(provider: "other", issuer: "https://other.example", subject: "s"),
                at: Self.now, acr: "urn:x", amr: []), at: Self.now, newcomer: nil
        ) { (Self.event("signed-in"), NoticeRecord(id: $0, accountID: $0, kind: .signedIn, at: Self.now, subject: "")) }
        _ = try await self.store.createAdministratorLink(
            digest: Self.digest(6), expiresAt: Self.now + .seconds(60), audit: Self.event("link"))
        _ = try await self.store.redeemAdministratorLink(
            digest: Self.digest(6), at: Self.now,
            administrator: AdministratorRecord(
                id: "administrator", tokenDigest: Self.digest(5), createdAt: Self.now,
                expiresAt: Self.now + .seconds(60)), audit: Self.event("administrator"))
    }

    /// A client has the keys of an account deleted, out of band.
    func deregister(_ account: String, token: UInt8) async throws {
        let token = DispatchTokenRecord(
            digest: Self.digest(token), channel: .link, expiresAt: Self.now + .seconds(60))
        try await self.store.createCeremony(
            CeremonyRecord(
                id: "deregistration-\(account)", kind: .deregistration, clientID: "bank", accountID: account,
                createdAt: Self.now, expiresAt: Self.now + .seconds(60), detail: CeremonyDetail(service: "Bank")),
            tokens: [token], audit: nil)
        let redeemed = try await self.store.redeem(tokenDigest: token.digest) { record, _ in
            record.phase = .ended
            record.outcome = .succeeded
            var change = CeremonyChange()
            change.deregistration = .all
            change.deregistrationAudit = AuditEvent(
                .deregistered, at: Self.now, accountID: account, ceremonyID: record.id, actor: "bank")
            return change
        }
        #expect(redeemed?.deregistered.count == 1)
    }

    /// The models of the keys that tokens 1 and 2 are still told of, by account, in a copy of the data folder.
    func deregistered(afterRestoring revocations: DatabaseRestore.Revocations) async throws -> [String: [String]] {
        let copy = self.folder + "/copy-\(revocations)"
        try FileManager.default.copyItem(atPath: self.data, toPath: copy)
        try self.restore(into: copy, revocations)
        let restored = try SQLStore(folder: copy, key: self.key)
        var told: [String: [String]] = [:]
        for token: UInt8 in [1, 2] {
            guard let offered = try await restored.ceremony(ofToken: Self.digest(token)) else { continue }
            #expect(offered.ceremony.detail.service == "Bank")
            told[offered.ceremony.accountID ?? ""] = offered.deregistered.map(\.aaid)
        }
        await restored.close()
        return told
    }

    /// A backup, and after it one change of each kind. The store is closed at the end.
    func live() async throws {
        for name in ["deleted", "locked", "unlocked", "revoked", "deregistered", "used", "mailed"] {
            try await self.enrol(name)
        }
        let email = AccountEmail(address: "mailed@post.example", isVerified: true)
        _ = try await self.store.setAccountEmail(email, id: "mailed", audit: Self.emailChanged("mailed"))
        // A device with two keys, so that losing one leaves the device.
        _ = try await self.store.setAccountLocked(true, id: "unlocked", audit: Self.event("account-locked"))
        for (id, mayDeregister) in [("gone", false), ("changed", true)] {
            try await self.store.addClient(
                Self.client(id, mayDeregister: mayDeregister), limit: 99, audit: Self.event("client-added"))
        }
        _ = try await self.store.providerKeys(
            orFirst: ProviderKeys(
                subjectSecret: SecretBytes(Self.digest(8)),
                signingKeys: [Self.signingKey("first", .es256)]))
        for name in ["ended", "kept"] {
            try await self.store.addProvider(Self.provider(name), limit: 9, audit: Self.event("provider-added"))
        }
        try await self.link("ended", "used")
        try await self.link("first", "used")
        // What goes with its provider or its account is not named again.
        try await self.link("gone-with-provider", "used", to: "ended")
        try await self.link("gone-with-account", "deleted")
        let activations = BackupActivations(store: self.store)
        try await activations.activate()
        let identities = BackupIdentities(store: self.store)
        try await identities.begin()
        _ = try self.backUp()
        try await activations.attempt()
        try await identities.change()
        _ = try await self.store.removeProvider("ended", audit: Self.event("provider-removed"))
        _ = try await self.store.changeProvider("kept") { provider in
            provider.title = "Other"
            provider.newcomers = .created
            return [AuditEvent(.providerChanged, at: Self.now, detail: "kept title,newcomers")]
        }
        _ = try await self.store.removeLink("link-ended", ofAccount: "used", audit: Self.event("identity-unlinked"))
        try await self.link("second", "used")
        try await self.store.addProvider(Self.provider("late"), limit: 9, audit: Self.event("provider-added"))

        _ = try await self.store.deleteAccount(id: "deleted", audit: Self.event("account-deleted"))
        var change = CeremonyChange()
        change.newCredentials = [Self.key("more", device: "device-locked", account: "locked")]
        change.advances = [CounterAdvance(credentialID: "key-used", counter: 77)]
        try await self.answer(change)
        try await self.addDevice("new", to: "used")
        _ = try await self.store.setAccountLocked(true, id: "locked", audit: Self.event("account-locked"))
        _ = try await self.store.setAccountLocked(false, id: "unlocked", audit: Self.event("account-unlocked"))
        _ = try await self.store.deleteDevice(id: "device-revoked", audit: Self.event("device-deleted"))
        try await activations.rest("device-locked", of: "locked")
        try await self.store.createAccount(Self.account("added"), audit: Self.event("account-created"))
        _ = try await self.store.deleteClient("gone", audit: Self.event("client-deleted"))
        _ = try await self.store.changeClient("changed") { client in
            client.settings.mayDeregister = false
            client.settings.idTokenAlgorithm = .edDSA
            client.formerSecret = FormerSecret(digest: Self.digest(9), endsAt: Self.now)
            client.secretDigest = Self.digest(7)
            return [
                AuditEvent(.clientSecretRotated, at: Self.now, detail: "changed"),
                AuditEvent(.clientMayNotDeregister, at: Self.now, detail: "changed"),
                AuditEvent(.clientAlgorithmChanged, at: Self.now, detail: "changed EdDSA"),
            ]
        }
        _ = try await self.store.addSigningKey(
            Self.signingKey("other", .edDSA), audit: Self.event("signing-key-added"))
        _ = try await self.store.setAccountEmail(
            AccountEmail(address: "mailed@post.example", isVerified: false), id: "mailed",
            audit: Self.emailChanged("mailed"))
        _ = try await self.store.setAccountNames(
            id: "used",
            audit: [AuditEvent.Kind.accountRenamed, .accountDisplayNameChanged].map {
                AuditEvent($0, at: Self.now, accountID: "used")
            }, username: "renamed", displayName: "Renamed")
        _ = try await self.store.setPassword(
            PasswordChange(
                to: PasswordRecord(accountID: "mailed", hash: "hash", setAt: Self.now), endsSessions: true,
                audit: AuditEvent(.passwordSet, at: Self.now, accountID: "mailed")))
        try await self.store.setInventedAccounts(
            "{}", audit: AuditEvent(.inventedAccountsSet, at: Self.now, actor: "operator"))
        try await self.store.addClient(Self.client("new"), limit: 99, audit: Self.event("client-added"))
        _ = try await self.store.rotateSigningKeys(
            to: [Self.signingKey("second", .es256)], replacing: nil, from: Self.now,
            forgettingRetiredBefore: Self.now - .seconds(60),
            audit: Self.event("rotated"))
        await self.store.close()
        // One key of a device that stays: the step that deletes a device's last key deletes the device, too.
        let raw = try DatabaseQueue(path: self.data + "/countersign.sqlite")
        try await raw.write { try $0.execute(sql: "DELETE FROM credential WHERE id = 'key-deregistered'") }
        try raw.close()
    }

    /// Reads or changes the database of a store that is closed, behind its back.
    func changing<Result: Sendable>(_ body: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        let raw = try DatabaseQueue(path: self.data + "/countersign.sqlite")
        let result = try await raw.write(body)
        try raw.close()
        return result
    }

    /// The database itself, where no store has it open.
    func raw<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        let raw = try DatabaseQueue(path: self.data + "/countersign.sqlite")
        defer { try? raw.close() }
        return try await raw.write(body)
    }

    @discardableResult
    func backUp() throws -> BackupManifest {
        try DatabaseBackup(folder: self.data, key: self.key)
            .write(to: self.backup, issuer: "https://id.example", at: Self.now)
    }

    @discardableResult
    func restore(into folder: String, _ revocations: DatabaseRestore.Revocations = .kept) throws -> RestoreReport {
        try DatabaseRestore(folder: folder, key: self.key)
            .restore(self.backup, revocations: revocations, mayReplace: true, at: Self.now)
    }

    func check(_ revocations: DatabaseRestore.Revocations = .kept) throws -> RestoreReport {
        try DatabaseRestore(folder: self.data, key: self.key)
            .check(self.backup, revocations: revocations, in: self.folder, at: Self.now)
    }
}
