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

extension SQLStore {
    /// Answers a question about a row of that table within one step.
    ///
    /// - Parameters:
    ///   - step: The step, which guards the row and the grant of the row.
    ///   - read: Reads the values by which the question is judged.
    ///   - answer: Returns the answer to a judged question.
    func poll<Answer: PollingAnswer>(
        _ step: Step, _ question: PollingQuestion, in table: PolledTable, at moment: Timestamp,
        read: @escaping @Sendable (SQLRow) throws -> PolledRow<Answer>,
        answer: @escaping @Sendable (SQLRow, SQLConnection) throws -> Answer
    ) async throws -> Answer {
        // A client can send invented digests. A reader looks the digest up, and answers if nothing has to be written.
        try await self.step(
            step,
            screenedBy: { db -> Screening<Void, Answer> in
                .step(if: try db.polledRow(question, in: table) != nil, otherwise: .unknown)
            }
        ) { [sealing] db, _ in
            try db.polledRow(question, in: table).map { row in
                let verdict = try read(row).verdict(on: question, at: moment)
                return try db.carryOut(verdict, of: question, in: table, at: moment, sealing) { try answer(row, db) }
            } ?? .unknown
        }
    }
}

extension SQLConnection {
    /// Writes the effect of a question about a row of that table, and returns the answer.
    ///
    /// - Parameter answer: Returns the answer to a judged question.
    fileprivate func carryOut<Answer: PollingAnswer>(
        _ verdict: PolledRow<Answer>.Verdict, of question: PollingQuestion, in table: PolledTable,
        at moment: Timestamp, _ sealing: Sealing, answer: () throws -> Answer
    ) throws -> Answer {
        switch verdict {
        case .replayed(let grant):
            let replay = question.replay(of: try self.standingGrant(grant, at: moment, sealing))
            // The row is deleted with the grant, so further questions add nothing to the trail.
            _ = try self.endGrants(where: "id = ?", [grant])
            try self.appendAudit(replay, sealing)
            return .replayed
        case .answered(let answer): return answer
        case .tooSoon(let pause):
            try self.run(
                .composed("UPDATE \(table.name) SET pause = ? WHERE digest = ? AND client = ?"),
                [pause.milliseconds, question.digest, question.client])
            return .tooSoon
        case .judged:
            try self.run(
                .composed("UPDATE \(table.name) SET asked_at = ? WHERE digest = ? AND client = ?"),
                [moment.milliseconds, question.digest, question.client])
            return try answer()
        }
    }

    /// Returns the row of the question, if the row belongs to the asking client.
    fileprivate func polledRow(_ question: PollingQuestion, in table: PolledTable) throws -> SQLRow? {
        try self.row(
            .composed("SELECT \(table.selection) FROM \(table.name) WHERE digest = ? AND client = ?"),
            [question.digest, question.client])
    }
}
