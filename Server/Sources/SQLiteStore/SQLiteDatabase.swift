import CSQLiteSettings
import Foundation
import GRDB
public import Records
public import Sealing
public import Settings
import Synchronization
import _Primitives

/// The SQLite store: one file in a data folder that one process holds.
///
/// The store is durable: a step that returned is on disk, and so is every state that a read has seen (``CommitLog``).
/// Steps that wait at the same time share one commit. A step that throws leaves no changes and does not affect the
/// other steps of the commit.
/// The features are extensions of this type, one file each, that conform to the narrow protocols of `Records`.
public final class SQLiteDatabase: Sendable {
    /// Reads and writes sealed values.
    public let sealing: Sealing
    let limits: Limits
    let handedOutTokens: HandedOutTokens
    let knownClients = KnownClients(capacity: Limits.Fixed.knownClients)
    /// Profiles of services by their text. A query reads the text each time.
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
        /// Does the step and keeps its result. Throws the step's error; the changes of the step have to be undone then.
        let perform: @Sendable (Database) throws -> Void
        /// Answers the caller: with the kept result if the commit is durable, otherwise with the error.
        let settle: @Sendable ((any Error)?) -> Void
    }

    struct ReadJob: Sendable {
        let perform: @Sendable (Database) -> Void
        let fail: @Sendable (any Error) -> Void
    }

    /// Opens the store in `folder` and brings its schema up to date. Makes the folder if it does not exist (mode 0700).
    ///
    /// Blocks; called once, before anything is served. `measure` receives the duration of every step and every read.
    /// Throws ``StoreError``: `locked` if another process holds the folder, `wrongKey`, `missingKey`, `newerSchema`,
    /// `corrupt`, `unavailable`.
    public convenience init(
        folder: String, keys: KeyRing, limits: Limits = Limits(),
        measure: @escaping @Sendable (StoreMeasurement) -> Void = { _ in }
    ) throws {
        try self.init(folder: folder, keys: keys, limits: limits, measure: measure) { try $0.synchronize() }
    }

    /// Opens the store as ``init(folder:keys:limits:measure:)`` does, for a test that simulates the disk: `synchronize`
    /// has to make the bytes in the log durable.
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
        // A restore that was interrupted after its last check is finished first, so the folder holds one complete
        // store.
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
                // The undo data of a step is kept in memory: a few pages, which would otherwise go into a file.
                try db.execute(sql: "PRAGMA temp_store = MEMORY")
                try db.keepLogFile()
            }
            let pool = try DatabasePool(path: self.path, configuration: configuration)
            // With NORMAL, pages that go from the log into the file are durable in the log before. The log is not
            // overwritten before the pages are durable in the file. `log` makes mere commits durable. The setting is
            // read back, because nobody would notice a store that acknowledges before the disk does.
            let synchronous = try pool.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = \(limits.logPages)")
                // Deleted content is overwritten, whatever the library's build settings are: some of the content is
                // keys.
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

    /// Opens a store that needs only one key.
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

    /// Finishes the waiting steps and releases the folder. The store cannot be used afterwards. Closing the store again
    /// does nothing.
    public func close() async {
        // SQLite does not survive a call on a closed connection.
        guard self.isOpen.exchange(false, ordering: .acquiringAndReleasing) else { return }
        await withCheckedContinuation { continuation in
            Thread { [self] in
                self.writer.close()
                self.readers.close()
                self.log.close()
                // The checkpoint moves everything into the one file, so a copy of the file made now is a complete
                // store. If the checkpoint succeeds, no reader uses the log any more.
                let log = try? self.pool.writeWithoutTransaction { db in
                    guard !self.log.hasFailed else {
                        // The log's content in memory may differ from the disk, so nothing of the log goes into the
                        // file. The next process to open the store reads the log by check sums.
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

    /// The numbers of steps and reads that wait for the store.
    public var waiting: (steps: Int, reads: Int) { (self.writer.count, self.readers.count) }

    /// Checks that a step can be made durable now. Throws ``StoreError/Code/unavailable``.
    public func assertWritable() async throws {
        try await self.step { db in
            try db.cachedStatement(sql: "UPDATE store_check SET probes = probes + 1").execute()
        }
    }

    // MARK: For the features

    /// Does one whole business step: the whole step is durable when this returns, and nothing is kept when this throws.
    ///
    /// `body` runs on the writer's thread. `body` must not wait for anything, and has no effect outside the database:
    /// `body` runs again if another step of its commit fails late.
    func step<Result: Sendable>(_ body: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        try await self.measured(.step) { continuation in
            do { try self.writer.add(Self.step(continuation, body)) } catch { continuation.resume(throwing: error) }
        }
    }

    /// Reads one consistent state of the database, on a separate thread.
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

    /// The result of a reader's look before a step.
    enum Screening<Found: Sendable, Result: Sendable> {
        /// Nothing has to be written: the value is the result.
        case answered(Result)
        /// The step follows, with the value that the reader found.
        case step(Found)
    }

    /// Does a step as ``step(_:)`` does, but a reader looks first. If the reader answers or refuses, the writer is not
    /// involved.
    ///
    /// The reader's thread hands the step directly to the writer: returning to the caller in between would cost two
    /// more thread changes. The step must judge the found values again, because other steps may have come in between.
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

    /// Keeps a step's result until the commit is durable.
    private final class Outcome<Value: Sendable>: @unchecked Sendable {
        // Safe to share: the writer's thread writes the value. The value is read after the writer has handed the step
        // to `CommitLog`, whose lock orders the two accesses.
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
                    // A batch of refusals changes nothing, so it does not have to reach the disk.
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
            // Nothing of the batch is kept, whatever the result of each step was.
            failures = Array(repeating: self.translated(error), count: steps.count)
        }
        log.whenDurable { lost in
            for (step, failure) in zip(steps, failures) { step.settle(lost ?? failure) }
        }
    }

    /// Does steps one after the other in the present transaction, and returns the error of each. Returns `nil` if one
    /// of several steps has thrown after writing something. Throws if the whole batch is lost.
    ///
    /// With a savepoint for each step, SQLite would copy every page that a step writes to. Steps hardly ever throw
    /// after writing: steps check refusals before.
    private static func performTogether(_ steps: ArraySlice<Step>, _ db: Database) throws -> [(any Error)?]? {
        var failures: [(any Error)?] = []
        for step in steps {
            let changes = db.totalChangesCount
            do {
                try step.perform(db)
                failures.append(nil)
            } catch {
                let failure = self.translated(error)
                // SQLite itself rolls back the transaction after some errors (a full disk): the changes of every step
                // are gone then. The changes of a step that is alone have to be gone as well.
                guard db.isInsideTransaction, steps.count > 1 else { throw failure }
                guard db.totalChangesCount == changes else { return nil }
                failures.append(failure)
            }
        }
        return failures
    }

    /// Begins the transaction anew, and does each step in its own savepoint. So a step that throws leaves no changes
    /// and does not affect the other steps. Returns the error of each step. Throws if the whole batch is lost.
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
            // The library's `read` would have SQLite compile the beginning and the end anew each time.
            try pool.unsafeRead { db in
                try db.cachedStatement(sql: "BEGIN DEFERRED TRANSACTION").execute()
                defer { if db.isInsideTransaction { try? db.rollback() } }
                for job in jobs {
                    // The job is counted first: whatever happens to the connection afterwards, the caller has its
                    // answer.
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

    /// The reason that nothing can be written. Other code names the folder if it knows the folder.
    private static let diskIsFull = "the disk is full"

    /// The ring boundary: turns SQLite's errors into ``StoreError``. A step's own errors pass unchanged.
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
