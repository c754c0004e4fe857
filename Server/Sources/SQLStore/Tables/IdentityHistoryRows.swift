import PersonalInformation
import Records
import Sealing
import _Primitives

/// The rows of outcomes of identity sessions: history and selections.
struct IdentityHistoryRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Writes the outcome of an identity session within the present step. Throws `outdated` if an attribute has no room
    /// for a supplied value. If the account does not exist, throws `notFound` for supplied values or a selection, and
    /// otherwise writes nothing.
    func apply(_ change: IdentityOutcomeChange, _ sealing: Sealing) throws {
        for write in try change.writes(forExisting: try IdentifiedRows(self.db).exists("account", id: change.accountID))
        {
            switch write {
            case .supplied(let value, let audit):
                try PersonalValueRows(self.db).add(
                    value, accountID: change.accountID, limit: change.valuesPerAttribute, of: .suppliedValues, sealing)
                try AuditRows(self.db).appendAudit(audit, sealing)
            case .selection(let selection): try self.select(selection, change)
            case .history(let history): try self.note(history, change)
            }
        }
    }

    private func select(_ selection: [PersonalAttribute: String], _ change: IdentityOutcomeChange) throws {
        let service = try change.serviceOfSelection()
        try change.requireService(exists: try IdentifiedRows(self.db).exists("service", id: service))
        try self.db.run(
            "DELETE FROM attribute_selection WHERE account_id = ? AND service = ?", [change.accountID, service])
        for (attribute, id) in selection {
            try self.db.run(
                """
                INSERT INTO attribute_selection (account_id, service, attribute, value_id)
                SELECT account_id, ?, attribute, id FROM personal_value
                WHERE id = ? AND account_id = ? AND attribute = ?
                """, [service, id, change.accountID, attribute.rawValue])
            try change.requireChosen(attribute, exists: self.db.hasChangedRows)
        }
    }

    private func note(_ history: IdentityHistoryRecord, _ change: IdentityOutcomeChange) throws {
        try self.db.run(
            """
            INSERT INTO identity_history (account_id, purpose, service, role, outcome, at, place)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1 + coalesce(
                (SELECT place FROM identity_history WHERE account_id = ?1 ORDER BY place DESC LIMIT 1), 0))
            """,
            [
                change.accountID, history.purpose, history.service ?? "", history.role, history.outcome.rawValue,
                history.at.milliseconds,
            ])
        // At most eight rows go at a time: after an operator has lowered the bound, one sign-in must not pay for
        // thousands of rows. Each entry adds one row, so the history shrinks to its bound.
        try self.db.run(
            """
            DELETE FROM identity_history WHERE number IN (
                SELECT number FROM identity_history WHERE account_id = ?1 AND place <= (
                    SELECT place FROM identity_history WHERE account_id = ?1 ORDER BY place DESC LIMIT 1) - ?2
                ORDER BY place LIMIT 8)
            """, [change.accountID, change.historyRows])
    }

    /// Deletes history entries from before `moment`, looking at the `limit` oldest entries. Returns the number of
    /// deleted entries. Rows are in the order of their time, so no index is needed that every sign-in would have to
    /// write.
    func deleteStaleHistory(before moment: Timestamp, limit: Int) throws -> Int {
        try self.db.run(
            """
            DELETE FROM identity_history
            WHERE number IN (SELECT number FROM identity_history ORDER BY number LIMIT ?) AND at < ?
            """, [limit, moment.milliseconds])
        return self.db.changesCount
    }
}
