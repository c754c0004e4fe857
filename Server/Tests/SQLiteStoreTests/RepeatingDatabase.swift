import Records
import SQLStore
import SQLiteStore
import Sealing
import Synchronization

/// A database that does the body of each step twice, and notes each fault of the steps: a second run that writes
/// something else than the first, a refusal after a write, a guard that does not work, and a name that is used for two
/// kinds of steps. The first step of each name also meets a machine that stops: before the commit nothing of the step is
/// there, and the whole step is there once its caller has the result.
final class RepeatingDatabase: SQLDatabase {
    /// The isolations of the steps of this process, by the steps' names and by the tables that the steps guard.
    private static let kinds = Mutex<[String: [Set<StepGuard.Table>: Step.Isolation]]>([:])

    /// The number of steps of a name that run twice in a database. A check that fills a table with steps of a name would
    /// take the square of the steps' number.
    private static let repeatedSteps = 3
    /// The steps that may refuse after a write. The list only shrinks.
    private static let lateRefusals: Set<String> = [
        // A counter, an activation and an offer of another activation are judged by the statements that write them, or
        // right before.
        "identity-session.step"
    ]

    /// The names of the steps of this process that have met a machine that stops.
    private static let stopped = Mutex<Set<String>>([])

    private let database: any SQLDatabase
    private let files: DurableFiles
    private let noted = Mutex<[String]>([])
    private let counts = Mutex<[String: Int]>([:])
    private let steps = Mutex((begun: 0, running: 0))

    init(_ database: any SQLDatabase, files: DurableFiles) {
        self.database = database
        self.files = files
    }

    var sealing: Sealing { self.database.sealing }
    var knownClients: KnownClients { self.database.knownClients }
    var waiting: (steps: Int, reads: Int) { self.database.waiting }

    /// The faults of the steps so far. Each fault begins with the name of its step.
    var faults: [String] { self.noted.withLock { $0 } }

    func step<Result: Sendable>(
        _ step: Step, _ body: @escaping @Sendable (SQLConnection) throws -> Result
    ) async throws -> Result {
        try await self.stopping(at: step) { writing in
            try await self.database.step(step) { db in
                try self.kept(writing, of: step, db) { try self.twice(step, db, body) }
            }
        }
    }

    func step<Found: Sendable, Result: Sendable>(
        _ step: Step, screenedBy screen: @escaping @Sendable (SQLConnection) throws -> Screening<Found, Result>,
        _ body: @escaping @Sendable (SQLConnection, Found) throws -> Result
    ) async throws -> Result {
        try await self.stopping(at: step) { writing in
            try await self.database.step(step, screenedBy: screen) { db, found in
                try self.kept(writing, of: step, db) { try self.twice(step, db) { try body($0, found) } }
            }
        }
    }

    func read<Result: Sendable>(_ body: @escaping @Sendable (SQLConnection) throws -> Result) async throws -> Result {
        try await self.database.read(body)
    }

    func close() async { await self.database.close() }

    // MARK: A machine that stops

    /// What a step has written, seen before the commit.
    private final class Writing: Sendable {
        /// All rows with the changes of the step; `nil` for a step that writes nothing.
        let rows = Mutex<Set<String>?>(nil)
    }

    /// Does a step. Notes the step if a part is on the disk before the commit, or if a store that is started from the
    /// disk afterwards has other rows. The second step of a name is not looked at, and no step beside others.
    private func stopping<Result>(at step: Step, _ run: (Writing?) async throws -> Result) async throws -> Result {
        let name = step.name.description
        let (number, isAlone) = self.steps.withLock { steps in
            steps.begun += 1
            steps.running += 1
            return (steps.begun, steps.running == 1)
        }
        defer { self.steps.withLock { $0.running -= 1 } }
        guard isAlone, !Self.stopped.withLock({ $0.contains(name) }) else { return try await run(nil) }
        let writing = Writing()
        let result = try await run(writing)
        guard let written = writing.rows.withLock({ $0 }) else { return result }
        let files = try self.files.copy()
        guard self.steps.withLock({ $0.begun == number }), Self.stopped.withLock({ $0.insert(name).inserted }) else {
            return result
        }
        if try await self.files.rows(of: files) != written {
            self.note(step, "a machine that stops after the step has lost a part of the step")
        }
        return result
    }

    /// Runs the body of a step, and keeps the rows for ``stopping(at:_:)``.
    private func kept<Value>(
        _ writing: Writing?, of step: Step, _ db: SQLConnection, _ body: () throws -> Value
    ) throws -> Value {
        guard let writing else { return try body() }
        let before = try self.files.copy()
        let changes = try db.number("SELECT total_changes()")
        let value = try body()
        guard try db.number("SELECT total_changes()") != changes else { return value }
        if try self.files.copy() != before {
            self.note(step, "a machine that stops before the commit has a part of the step")
        }
        let rows = try PicturedTable.picture(of: db, self.sealing)
        writing.rows.withLock { $0 = rows }
        return value
    }

    // MARK: Two runs

    /// Runs the body of a step, takes back the changes, and runs the body again. Returns the result of the second run.
    /// After many steps of a name, the body runs once.
    private func twice<Value>(
        _ step: Step, _ db: SQLConnection, _ body: (SQLConnection) throws -> Value
    ) throws -> Value {
        let count = self.counts.withLock { counts in
            counts[step.name.description, default: 0] += 1
            return counts[step.name.description] ?? 0
        }
        guard count <= Self.repeatedSteps else { return try body(db) }
        self.checkKind(of: step)
        self.checkGuards(of: step, db)
        try db.run("SAVEPOINT repeated_step")
        let first = try self.run(db, body)
        try db.run("ROLLBACK TO repeated_step")
        let second = try self.run(db, body)
        if case .failure = second.result { try db.run("ROLLBACK TO repeated_step") }
        try db.run("RELEASE repeated_step")
        self.checkRefusal(first.result, hasWritten: !first.picture.isEmpty, of: step)
        self.compare(first.picture, second.picture, of: step)
        self.compare(first.result, second.result, of: step)
        return try second.result.get()
    }

    /// Runs a body. Returns its result and the rows of the database afterwards; no rows if the body wrote nothing.
    private func run<Value>(
        _ db: SQLConnection, _ body: (SQLConnection) throws -> Value
    ) throws -> (result: Result<Value, any Error>, picture: Set<String>) {
        let changes = try db.number("SELECT total_changes()")
        let result = Result { try body(db) }
        guard try db.number("SELECT total_changes()") != changes else { return (result, []) }
        return (result, try PicturedTable.picture(of: db, self.sealing))
    }

    private func compare(_ first: Set<String>, _ second: Set<String>, of step: Step) {
        guard first != second else { return }
        let rows = first.subtracting(second).map { "- \($0)" } + second.subtracting(first).map { "+ \($0)" }
        self.note(step, "the second run writes something else:\n" + rows.sorted().joined(separator: "\n"))
    }

    private func compare<Value>(_ first: Result<Value, any Error>, _ second: Result<Value, any Error>, of step: Step) {
        switch (first, second) {
        case (.success, .success): break
        case (.failure(let first), .failure(let second)):
            guard String(reflecting: first) != String(reflecting: second) else { break }
            self.note(step, "the first run throws \(first), the second throws \(second)")
        case (.failure(let error), .success): self.note(step, "only the first run throws \(error)")
        case (.success, .failure(let error)): self.note(step, "only the second run throws \(error)")
        }
    }

    /// Notes a refusal after a write: the database does the whole batch again then, each step by itself. Callers could
    /// slow down the steps of others by such refusals. Every error is a refusal, also the error of a constraint, except
    /// for a damaged file and a database that cannot be used.
    private func checkRefusal<Value>(_ result: Result<Value, any Error>, hasWritten: Bool, of step: Step) {
        guard hasWritten, case .failure(let error) = result else { return }
        if let failure = SQLiteDatabase.translated(error) as? StoreError, failure.isStoresOwn { return }
        guard !Self.lateRefusals.contains(step.name.description) else { return }
        self.note(step, "refuses after a write: \(error)")
    }

    // MARK: Names and guards

    /// Notes a name that is no name, and a name of two kinds of steps. The steps of a name guard rows of the same tables,
    /// or none if there is no row that the step relies on.
    private func checkKind(of step: Step) {
        let name = step.name.description
        let guarded = Set(step.guards.map(\.table))
        let kinds = Self.kinds.withLock { all in
            var kinds = all[name] ?? [:]
            if kinds[guarded] == nil { kinds[guarded] = step.isolation }
            all[name] = kinds
            return kinds
        }
        if kinds[guarded] != step.isolation || kinds.keys.count(where: { !$0.isEmpty }) > 1 {
            self.note(step, "the name is used for \(kinds), and for \(guarded) with \(step.isolation)")
        }
        let words = name.split(separator: ".", omittingEmptySubsequences: false)
        let letters = Set("abcdefghijklmnopqrstuvwxyz-")
        let isFormed = words.count == 2 && words.allSatisfy { !$0.isEmpty && letters.isSuperset(of: $0) }
        if !isFormed { self.note(step, "the name is not a feature and a change") }
    }

    /// Notes the guards whose query does not run.
    private func checkGuards(of step: Step, _ db: SQLConnection) {
        for guarded in step.guards {
            do { _ = try db.row(.composed(guarded.query), guarded.values) } catch {
                self.note(step, "the guard \(guarded.query) throws \(error)")
            }
        }
    }

    private func note(_ step: Step, _ fault: String) {
        self.noted.withLock { $0.append("\(step.name): \(fault)") }
    }
}
