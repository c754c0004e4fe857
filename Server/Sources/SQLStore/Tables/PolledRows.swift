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

/// The rows that clients ask about repeatedly.
struct PolledRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Writes the effect of a question about a row of that table, and returns the answer.
    ///
    /// - Parameter answer: Returns the answer to a judged question.
    func carryOut<Answer: PollingAnswer>(
        _ verdict: PolledRow<Answer>.Verdict, of question: PollingQuestion, in table: PolledTable,
        at moment: Timestamp, _ sealing: Sealing, answer: () throws -> Answer
    ) throws -> Answer {
        switch verdict {
        case .replayed(let grant):
            let replay = question.replay(of: try GrantRows(self.db).standingGrant(grant, at: moment, sealing))
            // The row is deleted with the grant, so further questions add nothing to the trail.
            _ = try GrantEnds(self.db).endGrants(where: "id = ?", [grant])
            try AuditRows(self.db).appendAudit(replay, sealing)
            return .replayed
        case .answered(let answer): return answer
        case .tooSoon(let pause):
            try self.db.run(
                .composed("UPDATE \(table.name) SET pause = ? WHERE digest = ? AND client = ?"),
                [pause.milliseconds, question.digest, question.client])
            return .tooSoon
        case .judged:
            try self.db.run(
                .composed("UPDATE \(table.name) SET asked_at = ? WHERE digest = ? AND client = ?"),
                [moment.milliseconds, question.digest, question.client])
            return try answer()
        }
    }

    /// Returns the row of the question, if the row belongs to the asking client.
    func polledRow(_ question: PollingQuestion, in table: PolledTable) throws -> SQLRow? {
        try self.db.row(
            .composed("SELECT \(table.selection) FROM \(table.name) WHERE digest = ? AND client = ?"),
            [question.digest, question.client])
    }
}
