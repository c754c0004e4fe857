import GRDB
import Records
import SQLStore
public import Sealing
public import Settings
public import _Primitives

/// Makes backups of a store, whether or not a server uses the store.
///
/// A backup reads one consistent state through a separate connection: no step of the server waits for the backup. The
/// log grows by the steps written meanwhile, since SQLite keeps the state that is being read.
public struct DatabaseBackup: Sendable {
    private let databasePath: String
    private let keys: KeyRing
    private let busyTimeout: Duration

    /// Makes a value that backs up the store in `folder`.
    public init(folder: String, keys: KeyRing, limits: Limits = Limits()) {
        self.databasePath = folder + "/countersign.sqlite"
        self.keys = keys
        self.busyTimeout = limits.busyTimeout
    }

    /// Makes a value that backs up a store with only one key.
    public init(folder: String, key: KeyEncryptionKey, limits: Limits = Limits()) {
        self.init(folder: folder, keys: KeyRing(key), limits: limits)
    }

    /// Writes a backup to the new file `path`, of mode 0600. The file gets its name after the whole backup is on disk
    /// and the database was checked. Blocks.
    ///
    /// Throws ``StoreError``: `notFound` if the folder has no database, `conflict` if the file exists, `wrongKey`,
    /// `missingKey`, `newerSchema`, `corrupt` if the database is damaged, `unavailable` if the file cannot be written.
    public func write(
        to path: String, issuer: String?, at now: Timestamp, random: RandomSource = .system
    ) throws -> BackupManifest {
        try DatabaseFile.require(self.databasePath)
        let file = try DraftFile.begin(path, name: random.identifier())
        defer { file.remove() }
        let draft = file.path
        do {
            let schema = try self.copyDatabase(to: draft)
            // A backup contains only data that the store cannot lose any more.
            try LogFile.synchronize(of: self.databasePath)
            try self.eraseSealingKeys(in: draft)
            let counts = try self.check(draft)
            let manifest = try BackupFile(path: draft).finish(
                BackupManifest(
                    createdAt: now, schema: schema, keyID: self.keys.newest.identifier, issuer: issuer, byteCount: 0,
                    digest: [], counts: counts), self.keys.newest)
            try file.publish(as: path)
            return manifest
        } catch {
            throw SQLiteDatabase.translated(error, fullDisk: "there is no room for the backup at \(path)")
        }
    }

    /// Copies one consistent state to a separate file, without deleted content. Returns the number of migrations that
    /// the state has run.
    private func copyDatabase(to path: String) throws -> Int {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(Double(self.busyTimeout.milliseconds) / 1000)
        let source = try DatabaseQueue(path: self.databasePath, configuration: configuration)
        defer { try? source.close() }
        return try source.writeWithoutTransaction { db in
            let schema = try db.storeVersion()
            try schema.require(knownAmong: Migration.all.count)
            _ = try StoreKeys(keys: self.keys).sealing(of: SQLConnection(db))
            try db.execute(sql: "VACUUM INTO ?", arguments: [path])
            return schema.number
        }
    }

    /// Deletes the private keys for messages that phones have sealed. A message lives for minutes, and the keys are
    /// never copied: a person with a backup and the key of the backup still cannot read the messages sealed before.
    private func eraseSealingKeys(in path: String) throws {
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            // Nothing stays in free pages, or in a journal beside the file: the file has no owner until the end.
            try db.execute(sql: "PRAGMA secure_delete = ON; PRAGMA journal_mode = MEMORY")
        }
        let copy = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? copy.close() }
        try copy.write { db in
            guard try db.tableExists(IdentityKeyTable.sealingKeys) else { return }
            try db.execute(sql: "DELETE FROM \(IdentityKeyTable.sealingKeys)")
        }
    }

    private func check(_ path: String) throws -> BackupManifest.Counts {
        var configuration = Configuration()
        configuration.readonly = true
        let copy = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? copy.close() }
        return try copy.read { db in
            let connection = try SQLConnection(db)
            try connection.checkIntegrity()
            return try connection.counts()
        }
    }
}

extension SQLConnection {
    /// Checks the database. Throws ``StoreError/Code/corrupt`` if the file is damaged, or a row refers to a row that
    /// does not exist.
    func checkIntegrity(of schema: String = "main") throws {
        guard try self.text(.composed("PRAGMA \(schema).integrity_check(1)")) == "ok" else {
            throw StoreError(.corrupt, "the database is damaged")
        }
        try self.requireNoRow(
            .composed("PRAGMA \(schema).foreign_key_check"),
            orThrow: StoreError(.corrupt, "the database holds a row whose owner is gone"))
    }

    fileprivate func counts() throws -> BackupManifest.Counts {
        func count(_ table: String) throws -> Int64 {
            try Int64(self.number(.composed("SELECT count(*) FROM \(table)")) ?? 0)
        }
        return BackupManifest.Counts(
            accounts: try count("account"), devices: try count("device"), keys: try count("credential"),
            clients: try count("oauth_client"), auditEntries: try count("audit"))
    }
}
