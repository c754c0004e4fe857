import GRDB
import SQLStore

/// The work of the store's threads. Steps share one commit, and reads share one state.
extension SQLiteDatabase {
    /// One step on its way to the writer.
    struct QueuedStep: Sendable {
        /// Does the step and keeps its result. Throws the step's error; the changes of the step have to be undone then.
        let perform: @Sendable (SQLConnection) throws -> Void
        /// Answers the caller: with the kept result if the commit is durable, otherwise with the error.
        let settle: @Sendable ((any Error)?) -> Void
    }

    /// One read on its way to a reader.
    struct ReadJob: Sendable {
        let perform: @Sendable (SQLConnection) -> Void
        let fail: @Sendable (any Error) -> Void
    }

    /// Does steps in one transaction, and answers their callers when the commit is durable.
    static func commit(_ steps: ArraySlice<QueuedStep>, _ pool: ConnectedPool, _ log: CommitLog) {
        let failures: [(any Error)?]
        do {
            failures = try pool.write { db, connection in
                try db.cachedStatement(sql: "BEGIN IMMEDIATE").execute()
                let changes = db.totalChangesCount
                do {
                    let failures =
                        try self.performTogether(steps, db, connection)
                        ?? self.performApart(steps, db, connection)
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
    private static func performTogether(
        _ steps: ArraySlice<QueuedStep>, _ db: Database, _ connection: SQLConnection
    ) throws -> [(any Error)?]? {
        var failures: [(any Error)?] = []
        for step in steps {
            let changes = db.totalChangesCount
            do {
                try step.perform(connection)
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
    private static func performApart(
        _ steps: ArraySlice<QueuedStep>, _ db: Database, _ connection: SQLConnection
    ) throws -> [(any Error)?] {
        try db.rollback()
        try db.cachedStatement(sql: "BEGIN IMMEDIATE").execute()
        return try steps.map { step in
            try db.cachedStatement(sql: "SAVEPOINT step").execute()
            do {
                try step.perform(connection)
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

    /// Answers reads that see one state.
    static func answer(_ jobs: ArraySlice<ReadJob>, _ pool: ConnectedPool) {
        var answered = 0
        do {
            // The library's `read` would have SQLite compile the beginning and the end anew each time.
            try pool.read { db, connection in
                try db.cachedStatement(sql: "BEGIN DEFERRED TRANSACTION").execute()
                defer { if db.isInsideTransaction { try? db.rollback() } }
                for job in jobs {
                    // The job is counted first: whatever happens to the connection afterwards, the caller has its
                    // answer.
                    answered += 1
                    job.perform(connection)
                }
                try db.cachedStatement(sql: "COMMIT TRANSACTION").execute()
            }
        } catch {
            let failure = self.translated(error)
            for job in jobs.dropFirst(answered) { job.fail(failure) }
        }
    }
}
