import GRDB
import Records
import Sealing
import _Primitives

/// A table of rows that clients ask about repeatedly, until a person has answered.
///
/// A row has a `digest` and belongs to a `client`. The client asks with a `pause` between the last judged question
/// (`asked_at`) and the next, until the row `ends_at`. The client receives the result of `grant_id` once.
struct PolledTable: Sendable {
    let name: String
    /// The columns, as the table's own statements have them.
    let selection: String
}

/// The result of a question.
enum PolledRow {
    /// The client may receive the content of the row.
    case open(StoredRow)
    case tooSoon, expired, replayed, unknown
}

extension SQLiteDatabase {
    /// Answers a question about a row of that table within one step.
    ///
    /// - Parameters:
    ///   - isTaken: Returns `true` if the result of the row's grant was given before. The grant then ends, with
    ///     everything depending on the grant.
    ///   - isOver: Returns `true` if the answer will never change: the client does not have to wait for the answer
    ///     then.
    ///   - answer: Returns the answer to the client.
    func poll<Answer: Sendable>(
        _ question: PollingQuestion, in table: PolledTable, at moment: Timestamp, unknown: Answer,
        isTaken: @escaping @Sendable (StoredRow) throws -> Bool,
        isOver: @escaping @Sendable (StoredRow) throws -> Bool = { _ in false },
        answer: @escaping @Sendable (PolledRow, Database) throws -> Answer
    ) async throws -> Answer {
        // A client can send invented digests. A reader looks the digest up, and answers if nothing has to be written.
        try await self.step(screenedBy: { db -> Screening<Void, Answer> in
            try db.polledRow(question, in: table) == nil ? .answered(unknown) : .step(())
        }) { [sealing] db, _ in
            try answer(db.poll(question, in: table, at: moment, sealing, isTaken: isTaken, isOver: isOver), db)
        }
    }
}

extension Database {
    /// Returns the row of the question, if the row belongs to the asking client.
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
            // The row is deleted with the grant, so further questions add nothing to the trail.
            _ = try self.endGrants(where: "id = ?", [grant])
            try self.appendAudit(replay, sealing)
            return .replayed
        }
        guard try moment < row.moment("ends_at") else { return .expired }
        guard try !isOver(row) else { return .open(row) }
        let pause = Duration.milliseconds(try row.integer("pause", as: Int64.self))
        let isTooSoon = try row.optionalMoment("asked_at").map { moment < $0 + pause - question.tolerance } ?? false
        guard !isTooSoon else {
            // The pause counts from the last judged question, so a client that keeps asking too soon still gets an
            // answer.
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
