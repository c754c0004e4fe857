import Foundation
import GRDB
import Records
public import Sealing
public import Settings
public import _Primitives

/// Restores a backup into a data folder that no server uses.
///
/// The restore verifies the whole backup and changes only a copy of the backup, before it changes anything in the
/// folder. A single rename decides: before, the folder holds the former content, and afterwards the restored database,
/// whenever the process ends.
public struct DatabaseRestore: Sendable {
    /// The treatment of revocations, locks and deletions since the backup that the replaced database records.
    public enum Revocations: Sendable, Equatable {
        /// Revocations stay in force: everything revoked stays revoked.
        case kept
        /// Everything is as it was when the backup was made.
        case undone
    }

    private let folder: String
    private let keys: KeyRing
    private let busyTimeout: Duration

    /// Makes a value that restores into `folder`. A restore makes the folder if it does not exist.
    public init(folder: String, keys: KeyRing, limits: Limits = Limits()) {
        self.folder = folder
        self.keys = keys
        self.busyTimeout = limits.busyTimeout
    }

    /// Makes a value that restores a backup with only one key.
    public init(folder: String, key: KeyEncryptionKey, limits: Limits = Limits()) {
        self.init(folder: folder, keys: KeyRing(key), limits: limits)
    }

    /// Restores a backup. If the folder holds a database, `mayReplace` must be `true`; the database is kept in a folder
    /// beside. Blocks.
    ///
    /// Throws ``StoreError``: `locked` if a process uses the folder, `conflict` if a database must not be replaced,
    /// `notFound`, `wrongKey`, `missingKey`, `newerSchema`, `corrupt` if the backup is incomplete or was changed, and
    /// `unavailable` if a file cannot be written.
    public func restore(
        _ path: String, revocations: Revocations, mayReplace: Bool, at now: Timestamp, random: RandomSource = .system
    ) throws -> RestoreReport {
        let manifest = try BackupFile(path: path).manifest(self.keys)
        let lock = try FolderLock(folder: self.folder)
        defer { lock.release() }
        try RestoredFile.finish(in: self.folder)
        let isReplaced = DatabaseFile.exists(self.databasePath)
        guard mayReplace || !isReplaced else {
            throw StoreError(.conflict, "\(self.folder) holds a database")
        }
        let name = "\(now.description.filter { $0 != ":" })-\(random.identifier().prefix(6))"
        let draft = try DraftFile(path: RestoredFile.draft(in: self.folder, name: name))
        defer { draft.remove() }
        var report = try self.make(draft, path, manifest, revocations, at: now, random: random)
        if isReplaced { report.replacedFolder = RestoredFile.replacedFolder(in: self.folder, name: name) }
        try Owner.give(draft.path, ofFolder: self.folder)
        try RestoredFile.commit(name: name, in: self.folder)
        try RestoredFile.finish(in: self.folder)
        return report
    }

    /// Returns the report that ``restore(_:revocations:mayReplace:at:random:)`` would return, without a
    /// ``RestoreReport/replacedFolder``. Changes nothing in the data folder, and works while the server runs: the copy
    /// is made in `temporaryFolder` and removed.
    public func check(
        _ path: String, revocations: Revocations, in temporaryFolder: String, at now: Timestamp,
        random: RandomSource = .system
    ) throws -> RestoreReport {
        let manifest = try BackupFile(path: path).manifest(self.keys)
        DraftFile.removeAbandoned(in: temporaryFolder, prefix: "countersign-", suffix: ".check")
        let draft = try DraftFile(path: "\(temporaryFolder)/countersign-\(random.identifier()).check")
        defer { draft.remove() }
        return try self.make(draft, path, manifest, revocations, at: now, random: random)
    }

    private var databasePath: String { self.folder + "/countersign.sqlite" }

    /// Makes the restored database in a draft, complete and on disk.
    private func make(
        _ draft: DraftFile, _ path: String, _ manifest: BackupManifest, _ revocations: Revocations, at now: Timestamp,
        random: RandomSource
    ) throws -> RestoreReport {
        try SchemaVersion(manifest.schema).require(knownAmong: Migration.all.count)
        try BackupFile(path: path).copyDatabase(manifest, to: draft)
        do {
            var configuration = Configuration()
            configuration.busyMode = .timeout(Double(self.busyTimeout.milliseconds) / 1000)
            let queue = try DatabaseQueue(path: draft.path, configuration: configuration)
            let report = try queue.writeWithoutTransaction { db in
                try RestoredDatabase(db, keys: self.keys).change(
                    manifest, keepsRevocations: revocations == .kept, replacing: self.databasePath, at: now,
                    random: random)
            }
            try queue.close()
            try draft.synchronize()
            return report
        } catch {
            throw SQLiteDatabase.translated(
                error, fullDisk: "there is no room for the restored database in \(draft.folder)")
        }
    }
}
