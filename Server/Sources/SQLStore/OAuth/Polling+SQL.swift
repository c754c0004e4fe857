import Records
import Sealing
import _Primitives

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
                .step(if: try PolledRows(db).polledRow(question, in: table) != nil, otherwise: .unknown)
            }
        ) { [sealing] db, _ in
            try PolledRows(db).polledRow(question, in: table).map { row in
                let verdict = try read(row).verdict(on: question, at: moment)
                return try PolledRows(db).carryOut(verdict, of: question, in: table, at: moment, sealing) {
                    try answer(row, db)
                }
            } ?? .unknown
        }
    }
}
