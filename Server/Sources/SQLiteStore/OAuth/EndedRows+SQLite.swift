import GRDB
import Records
import Sealing

extension Database {
    /// Keeps the event of ended rows within the present step; nothing if no row has ended.
    func keepEvent(of ended: EndedRows, _ sealing: Sealing) throws {
        guard let event = ended.event else { return }
        try self.appendAudit(event, sealing)
    }
}

extension SQLiteDatabase.Screening where Found == Void {
    /// Answers with the answer that a reader has found. If the reader has found none, the step follows.
    init(answer: Result?) { self = answer.map(Self.answered) ?? .step(()) }
}

extension SQLiteDatabase.Screening where Found == Void, Result == Bool {
    /// The step follows if its row exists. Otherwise the answer is `false`.
    init(isThere: Bool) { self = isThere ? .step(()) : .answered(false) }
}
