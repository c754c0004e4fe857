import PersonalInformation
import Records
import Sealing
import _Primitives

/// The outcome of an identity session that a step has admitted before the step's first write.
struct AdmittedOutcome {
    fileprivate let change: IdentityOutcomeChange
    fileprivate let writes: [IdentityOutcomeWrite]

    fileprivate init(_ change: IdentityOutcomeChange, _ writes: [IdentityOutcomeWrite]) {
        self.change = change
        self.writes = writes
    }
}

/// The rows of outcomes of identity sessions: history and selections.
struct IdentityHistoryRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Admits the outcome of an identity session. Throws `outdated` if an attribute has no room for a supplied value,
    /// or if a chosen value that the service has to have is gone. Throws `notFound` for a selection without its
    /// service. If the account does not exist, throws `notFound` for supplied values or a selection, and otherwise
    /// admits an outcome that writes nothing.
    func admit(_ change: IdentityOutcomeChange) throws -> AdmittedOutcome {
        let isThere = try IdentifiedRows(self.db).exists("account", id: change.accountID)
        let writes = try change.writes(forExisting: isThere)
        let values = PersonalValueRows(self.db)
        try change.requireRoom { try values.count(of: $0.rawValue, accountID: change.accountID) }
        try change.requireSelection(
            service: { try IdentifiedRows(self.db).exists("service", id: $0) },
            value: { try values.attribute(ofValue: $0, accountID: change.accountID) })
        return AdmittedOutcome(change, writes)
    }

    /// Writes an admitted outcome within the present step.
    func keep(_ outcome: AdmittedOutcome, _ sealing: Sealing) throws {
        let change = outcome.change
        for write in outcome.writes {
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
        try self.db.run(
            "DELETE FROM attribute_selection WHERE account_id = ? AND service = ?", [change.accountID, service])
        for (attribute, id) in selection {
            try self.db.run(
                """
                INSERT INTO attribute_selection (account_id, service, attribute, value_id)
                SELECT account_id, ?, attribute, id FROM personal_value
                WHERE id = ? AND account_id = ? AND attribute = ?
                """, [service, id, change.accountID, attribute.rawValue])
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
