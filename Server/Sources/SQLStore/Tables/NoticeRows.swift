import Records
import Sealing
import _Primitives

/// The rows of notices to people.
struct NoticeRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Adds a notice within the present step.
    func insert(_ notice: NoticeRecord, _ sealing: Sealing) throws {
        let subject = try sealing.seal(notice.subject, purpose: .noticeSubject, row: notice.id)
        try self.db.run(
            "INSERT INTO notice (id, account_id, kind, at, subject) VALUES (?, ?, ?, ?, ?)",
            [notice.id, notice.accountID, notice.kind.rawValue, notice.at.milliseconds, subject])
    }
}
