import GRDB
import Store
import _Primitives

/// A table of what clients ask about again and again, until a person has answered: by a `digest`, each `client` about its
/// own, with a `pause` from the last question that was judged (`asked_at`) to the next, until it `ends_at`, and once for what `grant_id` gives.
struct PolledTable: Sendable {
    let name: String
    /// The columns, as its own statements have them.
    let selection: String
}

/// What a question comes to.
enum PolledRow {
    /// It may be told what the row says.
    case open(StoredRow)
    case tooSoon, expired, replayed, unknown
}

extension SQLiteDatabase {
    /// Answers a question about a row of that table within one step.
    ///
    /// - Parameters:
    ///   - isTaken: Whether what the row's grant gives was given before. Then the grant goes, with all that hangs on it.
    ///   - isOver: Whether the answer will never be another one: then nobody has to wait for it.
    ///   - answer: What the client is told.
    func poll<Answer: Sendable>(
        _ question: PollingQuestion, in table: PolledTable, at moment: Timestamp, unknown: Answer,
        isTaken: @escaping @Sendable (StoredRow) throws -> Bool,
        isOver: @escaping @Sendable (StoredRow) throws -> Bool = { _ in false },
        answer: @escaping @Sendable (PolledRow, Database) throws -> Answer
    ) async throws -> Answer {
        // A client can send what it has invented: readers look it up, and what there is nothing to write of ends there.
        try await self.step(screenedBy: { db -> Screening<Void, Answer> in
            try db.polledRow(question, in: table) == nil ? .answered(unknown) : .step(())
        }) { [sealing] db, _ in
            try answer(db.poll(question, in: table, at: moment, sealing, isTaken: isTaken, isOver: isOver), db)
        }
    }
}

extension Database {
    /// The row that is asked about, where it is the client's who asks.
    fileprivate func polledRow(_ question: PollingQuestion, in table: PolledTable) throws -> StoredRow? {
        try self.row(
            "SELECT \(table.selection) FROM \(table.name) WHERE digest = ? AND client = ?",
            [question.digest.blob, question.client])
    }

    fileprivate func poll(
        _ question: PollingQuestion, in table: PolledTable, at moment: Timestamp, _ sealing: Sealing,
        isTaken: (StoredRow) throws -> Bool, isOver: (StoredRow) throws -> Bool
    ) throws -> PolledRow {
        guard let row = try self.polledRow(question, in: table) else { return .unknown }
        if let grant = try row.optionalText("grant_id"), try isTaken(row) {
            var replay = question.replay
            replay.accountID = try self.standingGrant(grant, at: moment, sealing)?.authentication.account
            // With the grant the row is gone, too: whoever goes on adds nothing to the trail.
            _ = try self.endGrants(where: "id = ?", [grant])
            try self.appendAudit(replay, sealing)
            return .replayed
        }
        guard try moment < row.moment("ends_at") else { return .expired }
        guard try !isOver(row) else { return .open(row) }
        let pause = Duration.milliseconds(try row.integer("pause", as: Int64.self))
        let isTooSoon = try row.optionalMoment("asked_at").map { moment < $0 + pause - question.tolerance } ?? false
        guard !isTooSoon else {
            // From the last question that was judged on, so that whoever keeps asking too soon is answered all the same.
            let next = min(pause + question.slowdown, max(pause, question.longestInterval))
            try self.cachedStatement(sql: "UPDATE \(table.name) SET pause = ? WHERE digest = ? AND client = ?")
                .execute(arguments: [next.milliseconds, question.digest.blob, question.client])
            return .tooSoon
        }
        try self.cachedStatement(sql: "UPDATE \(table.name) SET asked_at = ? WHERE digest = ? AND client = ?")
            .execute(arguments: [moment.milliseconds, question.digest.blob, question.client])
        return .open(row)
    }
}
