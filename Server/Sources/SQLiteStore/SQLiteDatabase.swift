import CSQLiteSettings
import Foundation
import GRDB
import Records
package import SQLStore
package import Sealing
import Settings
import Synchronization
import _Primitives

/// The database of a store in SQLite: one file in a data folder that one process holds.
///
/// The store is durable: a step that returned is on disk, and so is every state that a read has seen (``CommitLog``).
/// Steps that wait at the same time share one commit. A step that throws leaves no changes and does not affect the
/// other steps of the commit.
package final class SQLiteDatabase: SQLDatabase {
    package let sealing: Sealing
    package let knownClients = KnownClients(capacity: Limits.Fixed.knownClients)
    private let pool: ConnectedPool
    private let folderLock: FolderLock
    private let path: String
    private let isOpen = Atomic(true)
    private let log: CommitLog
    private let writer: WorkQueue<QueuedStep>
    private let readers: WorkQueue<ReadJob>
    private let measure: @Sendable (StoreMeasurement) -> Void

    /// Opens the store in `folder`, runs the missing ones of `migrations`, and makes commits durable by `synchronize`.
    init(
        folder: String, keys: KeyRing, limits: Limits, migrations: [Migration],
        measure: @escaping @Sendable (StoreMeasurement) -> Void,
        synchronize: @escaping @Sendable (LogFile) throws -> Void
    ) throws {
        _ = Self.keepsNoMemoryAccount
        self.measure = measure
        self.folderLock = try FolderLock(folder: folder)
        // A restore that was interrupted after its last check is finished first, so the folder holds one complete
        // store.
        try RestoredFile.finish(in: folder)
        self.path = folder + "/countersign.sqlite"
        try self.folderLock.makePrivateFile(self.path)
        try LogFile.rewrite(of: self.path)
        do {
            let pool = try ConnectedPool(ofStore: self.path, limits)
            self.sealing = try pool.library.writeWithoutTransaction { try StoreKeys(keys: keys).open($0, migrations) }
            pool.library.add(transactionObserver: ClientObserver(self.knownClients), extent: .databaseLifetime)
            self.pool = pool
            let file = try LogFile(of: self.path)
            // The writes of opening the store are made durable, too.
            try synchronize(file)
            self.log = CommitLog(capacity: limits.waitingSteps) { try synchronize(file) }
        } catch {
            throw Self.translated(error)
        }
        let (pool, log) = (self.pool, self.log)
        self.writer = WorkQueue(
            name: "store-writer", threads: 1, capacity: limits.waitingSteps, batchSize: limits.stepsPerCommit
        ) { Self.commit($0, pool, log) }
        self.readers = WorkQueue(
            name: "store-reader", threads: limits.readers, capacity: limits.waitingSteps,
            batchSize: Limits.Fixed.readsPerTurn
        ) { Self.answer($0, pool) }
    }

    /// `true` if SQLite keeps no account of its memory. Evaluated once, before the first file is opened; `false` if
    /// other code in this process has opened a file before. Everything works then, but more slowly.
    private static let keepsNoMemoryAccount = countersign_sqlite_without_memory_account() == 0

    deinit {
        self.writer.stop()
        self.readers.stop()
        self.log.stop()
    }

    /// Finishes the waiting steps and releases the folder. Closing the database again does nothing.
    package func close() async {
        // SQLite does not survive a call on a closed connection.
        guard self.isOpen.exchange(false, ordering: .acquiringAndReleasing) else { return }
        await withCheckedContinuation { continuation in
            Thread { [self] in
                self.writer.close()
                self.readers.close()
                self.log.close()
                // The checkpoint moves everything into the one file, so a copy of the file made now is a complete
                // store. If the checkpoint succeeds, no reader uses the log any more.
                let log = try? self.pool.library.writeWithoutTransaction { db in
                    guard !self.log.hasFailed else {
                        // The log's content in memory may differ from the disk, so nothing of the log goes into the
                        // file. The next process to open the store reads the log by check sums.
                        _ = countersign_sqlite_without_last_checkpoint(db.sqliteConnection)
                        return nil as (walFrameCount: Int, checkpointedFrameCount: Int)?
                    }
                    return try db.checkpoint(.restart)
                }
                self.pool.close()
                if let log, log.walFrameCount == log.checkpointedFrameCount { LogFile.empty(of: self.path) }
                self.folderLock.release()
                continuation.resume()
            }.start()
        }
    }

    package var waiting: (steps: Int, reads: Int) { (self.writer.count, self.readers.count) }

    // MARK: Steps and reads

    /// Does one whole business step: the whole step is durable when this returns, and nothing is kept when this throws.
    ///
    /// `body` runs on the writer's thread. `body` must not wait for anything, and has no effect outside the database:
    /// `body` runs again if another step of its commit fails late.
    package func step<Result: Sendable>(
        _ step: Step, _ body: @escaping @Sendable (SQLConnection) throws -> Result
    ) async throws -> Result {
        try await self.measured(.step, step.name) { continuation in
            do { try self.writer.add(Self.queued(continuation, body)) } catch { continuation.resume(throwing: error) }
        }
    }

    /// Reads one consistent state of the database, on a separate thread.
    package func read<Result: Sendable>(
        _ body: @escaping @Sendable (SQLConnection) throws -> Result
    ) async throws -> Result {
        try await self.measured(.read, nil) { continuation in
            let log = self.log
            let job = ReadJob(
                perform: { db in
                    let result = Swift.Result { try body(db) }
                    log.whenDurable { Self.resume(continuation, with: result, unless: $0) }
                },
                fail: { continuation.resume(throwing: $0) })
            do { try self.readers.add(job) } catch { continuation.resume(throwing: error) }
        }
    }

    /// Does a step as ``step(_:_:)`` does, but a reader looks first. If the reader answers or refuses, the writer is not
    /// involved.
    ///
    /// The reader's thread hands the step directly to the writer: returning to the caller in between would cost two
    /// more thread changes. The step must judge the found values again, because other steps may have come in between.
    package func step<Found: Sendable, Result: Sendable>(
        _ step: Step, screenedBy screen: @escaping @Sendable (SQLConnection) throws -> Screening<Found, Result>,
        _ body: @escaping @Sendable (SQLConnection, Found) throws -> Result
    ) async throws -> Result {
        try await self.measured(.step, step.name) { continuation in
            let (writer, log) = (self.writer, self.log)
            let job = ReadJob(
                perform: { db in
                    let result: Swift.Result<Result, any Error>
                    do {
                        switch try screen(db) {
                        case .answered(let answer): result = .success(answer)
                        case .step(let found): return try writer.add(Self.queued(continuation) { try body($0, found) })
                        }
                    } catch {
                        result = .failure(error)
                    }
                    log.whenDurable { Self.resume(continuation, with: result, unless: $0) }
                },
                fail: { continuation.resume(throwing: $0) })
            do { try self.readers.add(job) } catch { continuation.resume(throwing: error) }
        }
    }

    private static func queued<Result: Sendable>(
        _ continuation: CheckedContinuation<Result, any Error>,
        _ body: @escaping @Sendable (SQLConnection) throws -> Result
    ) -> QueuedStep {
        let outcome = Outcome<Result>()
        return QueuedStep(
            perform: { db in outcome.value = try body(db) },
            settle: { error in
                if let error {
                    continuation.resume(throwing: error)
                } else if let value = outcome.value {
                    continuation.resume(returning: value)
                } else {
                    continuation.resume(throwing: StoreError(.unavailable, "the step was not done"))
                }
            })
    }

    /// Answers the caller of a read, unless the state that was read may not be durable.
    private static func resume<Value: Sendable>(
        _ continuation: CheckedContinuation<Value, any Error>, with result: Result<Value, any Error>,
        unless failure: StoreError?
    ) {
        if let failure { return continuation.resume(throwing: failure) }
        continuation.resume(with: result.mapError { Self.translated($0) })
    }

    /// Waits for work, and reports its duration.
    private func measured<Result: Sendable>(
        _ work: StoreMeasurement.Work, _ step: StaticString?, _ begin: (CheckedContinuation<Result, any Error>) -> Void
    ) async throws -> Result {
        let start = ContinuousClock.now
        var isFailed = false
        defer {
            self.measure(
                StoreMeasurement(work, step: step, duration: ContinuousClock.now - start, isFailed: isFailed))
        }
        do { return try await withCheckedThrowingContinuation(begin) } catch let error as StoreError {
            isFailed = error.isStoresOwn
            throw error.naming(folder: URL(fileURLWithPath: self.path).deletingLastPathComponent().path)
        }
    }

    /// Keeps a step's result until the commit is durable.
    private final class Outcome<Value: Sendable>: @unchecked Sendable {
        // Safe to share: the writer's thread writes the value. The value is read after the writer has handed the step
        // to `CommitLog`, whose lock orders the two accesses.
        var value: Value?
    }
}
