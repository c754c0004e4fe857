import Records
import Sealing
import _Primitives

extension SealingPurpose {
    /// The addition of a change, bound to the change.
    static let changeAddition = SealingPurpose("addition of an account change")
    /// The words of a change, bound to the change.
    static let changeWords = SealingPurpose("words of an account change")
}

enum ChangeColumn: Int, TableColumn {
    static let table = "account_change"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case id, accountID, addition, words, madeAt, state, decidedAt
}

/// The rows of changes that a person can disown.
struct AccountChangeRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Keeps a change within the present step.
    func insert(_ change: AccountChangeRecord, _ sealing: Sealing) throws {
        try self.db.insert(
            [
                ChangeColumn.id: change.id, .accountID: change.accountID,
                .addition: try sealing.seal(change.addition.stored, purpose: .changeAddition, row: change.id),
                .words: try sealing.seal(change.words, purpose: .changeWords, row: change.id),
                .madeAt: change.madeAt.milliseconds, .state: change.state.rawValue,
                .decidedAt: change.decidedAt.milliseconds,
            ], by: ChangeColumn.insertion)
        try self.db.run(
            """
            UPDATE account_change SET address_was_known = 1 WHERE id = ?1 AND (
                EXISTS (SELECT 1 FROM account WHERE id = ?2 AND email_code = ?3 AND email_verified = 1)
                OR EXISTS (
                    SELECT 1 FROM account_email
                    WHERE account_id = ?2 AND address_code = ?3 AND is_verified = 1))
            """, [change.id, change.accountID, change.addition.email.map { sealing.emailCode($0) }])
    }

    func accountChange(_ id: String, _ sealing: Sealing) throws -> AccountChangeRecord? {
        try self.db.row(.composed("SELECT \(ChangeColumn.selection) FROM account_change WHERE id = ?"), [id]).map {
            try AccountChangeRecord($0, sealing)
        }
    }

    /// Keeps the state that a decision gives a change, and spends the mailed links about the change.
    func keep(_ decision: AccountChangeDecision) throws {
        try self.db.run(
            "UPDATE account_change SET state = ?, decided_at = ? WHERE id = ?",
            [decision.state.rawValue, decision.audit.at.milliseconds, decision.change])
        try self.db.run(
            "DELETE FROM mailed_link WHERE account_id = ? AND purpose = ? AND about = ?",
            [
                decision.accountID, MailedLinkRecord.Purpose.changeQuestion.rawValue, decision.change,
            ])
    }
}

extension AccountChangeRecord {
    /// Reads a row of the table's columns.
    init(_ row: SQLRow, _ sealing: Sealing) throws {
        let id = try row.text(ChangeColumn.id)
        let state = try State(stored: row.text(ChangeColumn.state))
        self.init(
            id: id, accountID: try row.text(ChangeColumn.accountID),
            addition: try AccountAddition(
                stored: sealing.openText(row.bytes(ChangeColumn.addition), purpose: .changeAddition, row: id)),
            words: try sealing.openText(row.bytes(ChangeColumn.words), purpose: .changeWords, row: id),
            madeAt: try row.moment(ChangeColumn.madeAt), state: state,
            decidedAt: try row.moment(ChangeColumn.decidedAt))
    }
}
