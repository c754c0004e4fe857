import Foundation
import GRDB
import Records
import Settings
public import _Primitives

/// The evaluations of a PIN service in the last day, by activation. The log is the service's separate count of
/// attempts, in a separate folder that one process holds. The log has no other rows, and contains nothing of any PIN.
///
/// The log is as durable as ``SQLiteDatabase``: a count is on disk before the evaluation begins.
public final class EvaluationLog: Sendable {
    private let queue: DatabaseQueue
    private let folderLock: FolderLock

    /// Returns `true` if a folder has a log, so that evaluations may have happened.
    public static func exists(in folder: String) -> Bool {
        FileManager.default.fileExists(atPath: Self.path(in: folder))
    }

    private static func path(in folder: String) -> String { folder + "/evaluations.sqlite" }

    /// Opens the log in `folder`, and makes the folder if it does not exist (mode 0700). Blocks.
    ///
    /// Throws ``StoreError``: `locked` if another process holds the folder, `corrupt`, `unavailable`.
    public init(folder: String) throws {
        self.folderLock = try FolderLock(folder: folder)
        let path = Self.path(in: folder)
        try self.folderLock.makePrivateFile(path)
        do {
            var configuration = Configuration()
            configuration.label = "evaluations"
            configuration.prepareDatabase { db in
                try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
            }
            self.queue = try DatabaseQueue(path: path, configuration: configuration)
            try self.queue.write { db in
                try db.execute(
                    sql: """
                        CREATE TABLE IF NOT EXISTS evaluation (
                          activation TEXT NOT NULL, name BLOB NOT NULL, at INTEGER NOT NULL,
                          PRIMARY KEY (activation, name)) WITHOUT ROWID, STRICT;
                        CREATE INDEX IF NOT EXISTS evaluation_at ON evaluation (at);
                        """)
            }
        } catch {
            throw SQLiteDatabase.translated(error)
        }
    }

    /// Counts an evaluation for an activation before the evaluation is made: at most `limit` in a day. Blocks until the
    /// count is on disk. Two evaluations of the same `name` stand for the same question and are counted once.
    ///
    /// - Returns: `nil` if the evaluation may be made; otherwise the time until the next evaluation may be made, and
    ///   nothing is counted.
    ///
    /// Throws ``StoreError``.
    public func count(_ name: [UInt8], of activation: String, limit: Int, at now: Timestamp) throws -> Duration? {
        do {
            return try self.queue.write { db in
                let begin = now - Limits.Evaluations.window
                try db.cachedStatement(sql: "DELETE FROM evaluation WHERE at <= ?").execute(
                    arguments: [begin.milliseconds])
                let known = try Int64.fetchAll(
                    db.cachedStatement(sql: "SELECT at FROM evaluation WHERE activation = ? ORDER BY at"),
                    arguments: [activation])
                let isCounted = try Bool.fetchOne(
                    db.cachedStatement(
                        sql: "SELECT EXISTS (SELECT 1 FROM evaluation WHERE activation = ? AND name = ?)"),
                    arguments: [activation, Data(name)])
                let decision = EvaluationDecision(
                    isCounted: isCounted == true, counted: known.map { Timestamp(milliseconds: $0) }, limit: limit,
                    at: now)
                switch decision {
                case .again: return nil
                case .wait(let time): return time
                case .count:
                    try db.cachedStatement(sql: "INSERT INTO evaluation (activation, name, at) VALUES (?, ?, ?)")
                        .execute(arguments: [activation, Data(name), now.milliseconds])
                    return nil
                }
            }
        } catch {
            throw SQLiteDatabase.translated(error)
        }
    }

    /// Closes the log and releases the folder. Nothing can be counted afterwards.
    public func close() {
        try? self.queue.close()
        self.folderLock.release()
    }
}
