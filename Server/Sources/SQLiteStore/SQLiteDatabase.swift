import CSQLiteSettings
import Foundation
import GRDB
public import Store
import Synchronization
import _Primitives

/// The SQLite store: one file in a data folder that one process holds.
///
/// Durable: a step that returned is on disk, and so is what a read has seen (``CommitLog``). Steps that wait at the same time
/// share one commit: a step that throws leaves nothing and does not touch its neighbours.
/// The features are extensions of this type, one file each, that conform to the narrow protocols of `Store`.
public final class SQLiteDatabase: Sendable {
    /// What reads and writes sealed values.
    public let sealing: Sealing
    let limits: Limits
    let handedOutTokens: HandedOutTokens
    let knownClients = KnownClients(capacity: Limits.Fixed.knownClients)
    /// Profiles of services by their text, which is read each time.
    let readProfiles = RecentValues<ExactText, ServiceProfile>(capacity: Limits.Fixed.knownClients)
    private let pool: DatabasePool
    private let folderLock: FolderLock
    private let path: String
    private let isOpen = Atomic(true)
    private let log: CommitLog
    private let writer: WorkQueue<Step>
    private let readers: WorkQueue<ReadJob>
    private let measure: @Sendable (StoreMeasurement) -> Void

    /// One step on its way to the writer.
    struct Step: Sendable {
        /// Does the step and keeps its result. Throws what the step throws, after which nothing of it is to be left.
        let perform: @Sendable (Database) throws -> Void
        /// Answers the caller: with the kept result where the commit is durable, else with the error.
        let settle: @Sendable ((any Error)?) -> Void
    }

    struct ReadJob: Sendable {
        let perform: @Sendable (Database) -> Void
        let fail: @Sendable (any Error) -> Void
    }

    /// Opens the store in `folder`, which is made where it does not exist (mode 0700), and brings its schema up to
    /// date.
    ///
    /// Blocks; called once, before anything is served. `measure` is told what every step and every read took. Throws
    /// ``StoreError``: `locked` where another process holds the folder, `wrongKey`, `missingKey`, `newerSchema`, `corrupt`,
    /// `unavailable`.
    public convenience init(
        folder: String, keys: KeyRing, limits: Limits = Limits(),
        measure: @escaping @Sendable (StoreMeasurement) -> Void = { _ in }
    ) throws {
        try self.init(folder: folder, keys: keys, limits: limits, measure: measure) { try $0.synchronize() }
    }

    /// Opens the store as ``init(folder:keys:limits:measure:)`` does, for a test that has a disk of its own:
    /// `synchronize` is to make durable what was written into the log.
    package init(
        folder: String, keys: KeyRing, limits: Limits = Limits(),
        measure: @escaping @Sendable (StoreMeasurement) -> Void = { _ in },
        synchronize: @escaping @Sendable (LogFile) throws -> Void
    ) throws {
        _ = Self.keepsNoMemoryAccount
        self.limits = limits
        self.measure = measure
        self.handedOutTokens = HandedOutTokens(capacity: limits.handedOutTokens)
        self.folderLock = try FolderLock(folder: folder)
        // A restore that was interrupted after its last check is finished: the folder holds one whole store or another.
        try RestoredFile.finish(in: folder)
        self.path = folder + "/countersign.sqlite"
        try self.folderLock.makePrivateFile(self.path)
        try LogFile.rewrite(of: self.path)
        do {
            var configuration = Configuration()
            configuration.busyMode = .timeout(Double(limits.busyTimeout.milliseconds) / 1000)
            configuration.maximumReaderCount = limits.readers
            configuration.label = "store"
            configuration.prepareDatabase { db in
                try db.execute(sql: "PRAGMA cell_size_check = ON; PRAGMA cache_size = -\(limits.cacheKibibytes)")
                // What a step might have to undo is kept in memory: it is a few pages, and went into a file otherwise.
                try db.execute(sql: "PRAGMA temp_store = MEMORY")
                try db.keepLogFile()
            }
            let pool = try DatabasePool(path: self.path, configuration: configuration)
            // With NORMAL what goes from the log into the file is durable in the log before, and the log is not written over
            // before it is durable in the file; what was only committed is made so by `log`. Read back, because a store that
            // acknowledges before the disk does is the one failure that nobody would notice.
            let synchronous = try pool.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = \(limits.logPages)")
                // What is deleted is written over, whatever the library was built with: some of it is keys.
                try db.execute(sql: "PRAGMA secure_delete = ON")
                return try Int.fetchOne(db, sql: "PRAGMA synchronous")
            }
            let journal = try pool.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") }
            guard synchronous == 1, journal == "wal" else {
                throw StoreError(.unavailable, "the database does not take WAL with synchronous NORMAL")
            }
            self.sealing = try pool.writeWithoutTransaction { try StoreKeys(keys: keys).open($0) }
            pool.add(transactionObserver: self.knownClients, extent: .databaseLifetime)
            self.pool = pool
            let file = try LogFile(of: self.path)
            // What opening has written, too.
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

    /// Asked once, before the first file is opened; `false` where somebody else in this process has opened one before, and
    /// then everything is as it was, but slower.
    private static let keepsNoMemoryAccount = countersign_sqlite_without_memory_account() == 0

    /// Opens a store that needs one key alone.
    public convenience init(
        folder: String, key: KeyEncryptionKey, limits: Limits = Limits(),
        measure: @escaping @Sendable (StoreMeasurement) -> Void = { _ in }
    ) throws {
        try self.init(folder: folder, keys: KeyRing(key), limits: limits, measure: measure)
    }

    deinit {
        self.writer.stop()
        self.readers.stop()
        self.log.stop()
    }

    /// Finishes the steps that wait, and lets the folder go. Nothing can be done with the store afterwards; closing it
    /// again does nothing.
    public func close() async {
        // SQLite does not survive a call on a connection that is gone.
        guard self.isOpen.exchange(false, ordering: .acquiringAndReleasing) else { return }
        await withCheckedContinuation { continuation in
            Thread { [self] in
                self.writer.close()
                self.readers.close()
                self.log.close()
                // So that the one file holds everything: a copy of it that somebody makes now is a whole store. Where
                // this succeeds, nobody reads from the log any more.
                let log = try? self.pool.writeWithoutTransaction { db in
                    guard !self.log.hasFailed else {
                        // What the log has in memory may not be what is on the disk: none of it goes into the file. Who opens
                        // the store next reads the log by its check sums.
                        _ = countersign_sqlite_without_last_checkpoint(db.sqliteConnection)
                        return nil as (walFrameCount: Int, checkpointedFrameCount: Int)?
                    }
                    return try db.checkpoint(.restart)
                }
                try? self.pool.close()
                if let log, log.walFrameCount == log.checkpointedFrameCount { LogFile.empty(of: self.path) }
                self.folderLock.release()
                continuation.resume()
            }.start()
        }
    }

    /// How much waits for the store.
    public var waiting: (steps: Int, reads: Int) { (self.writer.count, self.readers.count) }

    /// Whether a step can be made durable now. Throws ``StoreError/Code/unavailable``.
    public func assertWritable() async throws {
        try await self.step { db in
            try db.cachedStatement(sql: "UPDATE store_check SET probes = probes + 1").execute()
        }
    }

    // MARK: For the features

    /// Does one whole business step: all of it durable when this returns, or nothing of it when this throws.
    ///
    /// `body` runs on the writer's thread. It must not wait for anything, and has no effect but on the database: where another
    /// step of its commit fails late it is done anew.
    func step<Result: Sendable>(_ body: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        try await self.measured(.step) { continuation in
            do { try self.writer.add(Self.step(continuation, body)) } catch { continuation.resume(throwing: error) }
        }
    }

    /// Reads one consistent state of the database, on a thread of its own.
    func read<Result: Sendable>(_ body: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        try await self.measured(.read) { continuation in
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

    /// What a reader makes of what it finds before a step.
    enum Screening<Found: Sendable, Result: Sendable> {
        /// There is nothing to write: this is the result.
        case answered(Result)
        /// The step follows, with what was found.
        case step(Found)
    }

    /// As ``step(_:)``, but a reader looks first, and what it answers or refuses never comes to the writer.
    ///
    /// The reader's thread hands the step on to the writer by itself: going back to the caller in between would cost
    /// two more changes of thread. The step must judge again what it finds: others may have come in between.
    func step<Found: Sendable, Result: Sendable>(
        screenedBy screen: @escaping @Sendable (Database) throws -> Screening<Found, Result>,
        _ body: @escaping @Sendable (Database, Found) throws -> Result
    ) async throws -> Result {
        try await self.measured(.step) { continuation in
            let (writer, log) = (self.writer, self.log)
            let job = ReadJob(
                perform: { db in
                    let result: Swift.Result<Result, any Error>
                    do {
                        switch try screen(db) {
                        case .answered(let answer): result = .success(answer)
                        case .step(let found): return try writer.add(Self.step(continuation) { try body($0, found) })
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

    private static func step<Result: Sendable>(
        _ continuation: CheckedContinuation<Result, any Error>, _ body: @escaping @Sendable (Database) throws -> Result
    ) -> Step {
        let outcome = Outcome<Result>()
        return Step(
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

    /// Answers whoever has read something, unless it may not be durable.
    private static func resume<Value: Sendable>(
        _ continuation: CheckedContinuation<Value, any Error>, with result: Result<Value, any Error>,
        unless failure: StoreError?
    ) {
        if let failure { return continuation.resume(throwing: failure) }
        continuation.resume(with: result.mapError { Self.translated($0) })
    }

    /// Waits for work, and tells what it took.
    private func measured<Result: Sendable>(
        _ work: StoreMeasurement.Work, _ begin: (CheckedContinuation<Result, any Error>) -> Void
    ) async throws -> Result {
        let start = ContinuousClock.now
        var isFailed = false
        defer { self.measure(StoreMeasurement(work, duration: ContinuousClock.now - start, isFailed: isFailed)) }
        do { return try await withCheckedThrowingContinuation(begin) } catch let error as StoreError {
            isFailed = error.code == .unavailable || error.code == .corrupt
            guard error.reason.hasSameBytes(as: Self.diskIsFull) else { throw error }
            let folder = URL(fileURLWithPath: self.path).deletingLastPathComponent().path
            throw StoreError(.unavailable, "the disk of \(folder) is full (SQLite \(ResultCode.SQLITE_FULL.rawValue))")
        }
    }

    /// Where a step's result waits for the commit.
    private final class Outcome<Value: Sendable>: @unchecked Sendable {
        // Safe to share: written by the writer's thread, and read once that has handed the step to `CommitLog`, whose lock lies
        // between the two.
        var value: Value?
    }

    // MARK: Threads

    private static func commit(_ steps: ArraySlice<Step>, _ pool: DatabasePool, _ log: CommitLog) {
        let failures: [(any Error)?]
        do {
            failures = try pool.writeWithoutTransaction { db in
                try db.cachedStatement(sql: "BEGIN IMMEDIATE").execute()
                let changes = db.totalChangesCount
                do {
                    let failures = try self.performTogether(steps, db) ?? self.performApart(steps, db)
                    let commit = try db.cachedStatement(sql: "COMMIT")
                    // Refusals alone are nothing that has to reach the disk.
                    if db.totalChangesCount == changes {
                        try commit.execute()
                    } else {
                        try log.commit { try commit.execute() }
                    }
                    return failures
                } catch {
                    if db.isInsideTransaction { try? db.rollback() }
                    throw error
                }
            }
        } catch {
            // Nothing of the batch is left, whatever each step said.
            failures = Array(repeating: self.translated(error), count: steps.count)
        }
        log.whenDurable { lost in
            for (step, failure) in zip(steps, failures) { step.settle(lost ?? failure) }
        }
    }

    /// Does steps one after the other in the present transaction, and returns what each threw; `nil` where one of several
    /// has thrown after it had written something. Throws where the whole batch is lost.
    ///
    /// A savepoint for each would have SQLite copy every page that a step writes to. Steps hardly ever throw once they have
    /// written: what refuses is asked before.
    private static func performTogether(_ steps: ArraySlice<Step>, _ db: Database) throws -> [(any Error)?]? {
        var failures: [(any Error)?] = []
        for step in steps {
            let changes = db.totalChangesCount
            do {
                try step.perform(db)
                failures.append(nil)
            } catch {
                let failure = self.translated(error)
                // SQLite itself gives up the transaction after some errors (a full disk): then nothing is left of any step.
                // Of a step that is alone nothing is to be left either.
                guard db.isInsideTransaction, steps.count > 1 else { throw failure }
                guard db.totalChangesCount == changes else { return nil }
                failures.append(failure)
            }
        }
        return failures
    }

    /// Begins the transaction anew, and does steps each in a savepoint of its own, so that one that throws leaves nothing and
    /// does not touch its neighbours. Returns what each threw; throws where the whole batch is lost.
    private static func performApart(_ steps: ArraySlice<Step>, _ db: Database) throws -> [(any Error)?] {
        try db.rollback()
        try db.cachedStatement(sql: "BEGIN IMMEDIATE").execute()
        return try steps.map { step in
            try db.cachedStatement(sql: "SAVEPOINT step").execute()
            do {
                try step.perform(db)
                try db.cachedStatement(sql: "RELEASE SAVEPOINT step").execute()
                return nil
            } catch {
                let failure = self.translated(error)
                guard db.isInsideTransaction else { throw failure }
                try db.execute(sql: "ROLLBACK TRANSACTION TO SAVEPOINT step")
                try db.execute(sql: "RELEASE SAVEPOINT step")
                return failure
            }
        }
    }

    private static func answer(_ jobs: ArraySlice<ReadJob>, _ pool: DatabasePool) {
        var answered = 0
        do {
            // As `read` does, which has SQLite compile the beginning and the end anew each time.
            try pool.unsafeRead { db in
                try db.cachedStatement(sql: "BEGIN DEFERRED TRANSACTION").execute()
                defer { if db.isInsideTransaction { try? db.rollback() } }
                for job in jobs {
                    // Counted before: whatever becomes of the connection afterwards, the caller has its answer.
                    answered += 1
                    job.perform(db)
                }
                try db.cachedStatement(sql: "COMMIT TRANSACTION").execute()
            }
        } catch {
            let failure = self.translated(error)
            for job in jobs.dropFirst(answered) { job.fail(failure) }
        }
    }

    /// Why nothing can be written. The folder is named where it is known.
    private static let diskIsFull = "the disk is full"

    /// The ring boundary: SQLite's errors become ``StoreError``; a step's own errors pass.
    static func translated(_ error: any Error) -> any Error {
        guard let error = error as? DatabaseError else { return error }
        let reason = "SQLite \(error.extendedResultCode.rawValue)"
        switch error.resultCode {
        case .SQLITE_CONSTRAINT: return StoreError(.conflict, reason)
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: return StoreError(.corrupt, reason)
        case .SQLITE_FULL: return StoreError(.unavailable, Self.diskIsFull)
        default: return StoreError(.unavailable, reason)
        }
    }
}
