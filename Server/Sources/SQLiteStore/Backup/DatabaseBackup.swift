import Foundation
import GRDB
public import Store
public import _Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Makes backups of a store, whether or not a server runs over it.
///
/// A backup is read through a connection of its own, of one consistent state: no step of the server waits for it. The
/// log grows by what is written meanwhile, since SQLite keeps the state that is being read.
public struct DatabaseBackup: Sendable {
    private let databasePath: String
    private let keys: KeyRing
    private let busyTimeout: Duration

    /// Backups of the store in `folder`.
    public init(folder: String, keys: KeyRing, limits: Limits = Limits()) {
        self.databasePath = folder + "/countersign.sqlite"
        self.keys = keys
        self.busyTimeout = limits.busyTimeout
    }

    /// Backups of a store that needs one key alone.
    public init(folder: String, key: KeyEncryptionKey, limits: Limits = Limits()) {
        self.init(folder: folder, keys: KeyRing(key), limits: limits)
    }

    /// Writes a backup to the new file `path`, of mode 0600, which gets its name once all of it is on disk and its database
    /// was checked. Blocks.
    ///
    /// Throws ``StoreError``: `notFound` where there is no database, `conflict` where the file exists, `wrongKey`,
    /// `newerSchema`, `corrupt` where the database is damaged, `unavailable` where the file cannot be written.
    public func write(
        to path: String, issuer: String?, at now: Timestamp, random: RandomSource = .system
    ) throws -> BackupManifest {
        guard access(self.databasePath, F_OK) == 0 else {
            throw StoreError(.notFound, "there is no database at \(self.databasePath)")
        }
        var status = stat()
        guard lstat(path, &status) != 0 else { throw StoreError(.conflict, "there is a file at \(path)") }
        DraftFile.removeAbandoned(
            in: (path as NSString).deletingLastPathComponent,
            prefix: (path as NSString).lastPathComponent + ".", suffix: ".partial")
        let file = try DraftFile(path: "\(path).\(random.identifier()).partial")
        defer { file.remove() }
        let draft = file.path
        do {
            let schema = try self.copyDatabase(to: draft)
            // A backup has nothing that its store could still lose.
            try LogFile.synchronize(of: self.databasePath)
            try self.eraseSealingKeys(in: draft)
            let counts = try self.check(draft)
            let manifest = try BackupFile(path: draft).finish(
                BackupManifest(
                    createdAt: now, schema: schema, keyID: self.keys.newest.identifier, issuer: issuer, byteCount: 0,
                    digest: [], counts: counts), self.keys.newest)
            // A link never takes the place of a file that came meanwhile.
            guard link(draft, path) == 0 else {
                if errno == EEXIST { throw StoreError(.conflict, "there is a file at \(path)") }
                throw FileFailure.storeError("cannot make \(path)")
            }
            try Folder.synchronize((path as NSString).deletingLastPathComponent)
            return manifest
        } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
            throw StoreError(.unavailable, "there is no room for the backup at \(path)")
        } catch {
            throw SQLiteDatabase.translated(error)
        }
    }

    /// One consistent state as a file of its own, without what was deleted. Gives the number of its migrations.
    private func copyDatabase(to path: String) throws -> Int {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(Double(self.busyTimeout.milliseconds) / 1000)
        let source = try DatabaseQueue(path: self.databasePath, configuration: configuration)
        defer { try? source.close() }
        return try source.writeWithoutTransaction { db in
            let schema = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
            guard schema <= Migration.all.count else {
                throw StoreError(.newerSchema, "schema \(schema), this program knows \(Migration.all.count)")
            }
            _ = try StoreKeys(keys: self.keys).sealing(of: db)
            try db.execute(sql: "VACUUM INTO ?", arguments: [path])
            return schema
        }
    }

    /// What phones have sealed lives for minutes, and the keys to open it go nowhere: whoever has a backup, and the key that
    /// it lies under, still reads nothing of what was sealed before.
    private func eraseSealingKeys(in path: String) throws {
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            // Nothing stays in free pages, nor in a journal beside the file, which is nobody's before it has its name.
            try db.execute(sql: "PRAGMA secure_delete = ON; PRAGMA journal_mode = MEMORY")
        }
        let copy = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? copy.close() }
        try copy.write { db in
            guard try db.tableExists(IdentityKeys.sealingKeyTable) else { return }
            try db.execute(sql: "DELETE FROM \(IdentityKeys.sealingKeyTable)")
        }
    }

    private func check(_ path: String) throws -> BackupManifest.Counts {
        var configuration = Configuration()
        configuration.readonly = true
        let copy = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? copy.close() }
        return try copy.read { db in
            try db.checkIntegrity()
            return try db.counts()
        }
    }
}

extension Database {
    /// Throws ``StoreError/Code/corrupt`` where the file is damaged.
    func checkIntegrity(of schema: String = "main") throws {
        guard try String.fetchOne(self, sql: "PRAGMA \(schema).integrity_check(1)") == "ok" else {
            throw StoreError(.corrupt, "the database is damaged")
        }
        guard try self.row("PRAGMA \(schema).foreign_key_check") == nil else {
            throw StoreError(.corrupt, "the database holds a row whose owner is gone")
        }
    }

    fileprivate func counts() throws -> BackupManifest.Counts {
        func count(_ table: String) throws -> Int64 {
            try Int64.fetchOne(self, sql: "SELECT count(*) FROM \(table)") ?? 0
        }
        return BackupManifest.Counts(
            accounts: try count("account"), devices: try count("device"), keys: try count("credential"),
            clients: try count("oauth_client"), auditEntries: try count("audit"))
    }
}
