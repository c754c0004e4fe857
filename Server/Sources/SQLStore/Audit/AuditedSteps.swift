import Records

extension SQLStore {
    /// Does a step, and appends its event if the step has changed anything, which `change` returns. Returns `true` if
    /// the step has changed anything.
    func step(
        _ step: Step, noting audit: AuditEvent, _ change: @escaping @Sendable (SQLConnection) throws -> Bool
    ) async throws -> Bool {
        try await self.step(step) { [sealing] db in try AuditRows(db).appendAudit(audit, if: try change(db), sealing) }
    }

    /// Does a step on a row of a table, and appends its event. Returns `false` if the table has no row of that
    /// identifier: nothing is changed then.
    func step(
        _ step: Step, noting audit: AuditEvent, on table: String, id: String,
        _ change: @escaping @Sendable (SQLConnection) throws -> Void
    ) async throws -> Bool {
        try await self.step(step, on: { db in try IdentifiedRows(db).identifier(id, in: table) }) { db, _ in
            try change(db)
            return audit
        }
    }

    /// Does a step on what `find` finds, and appends the event that `change` returns. Returns `false` if `find` finds
    /// nothing: nothing is changed then.
    func step<Found>(
        _ step: Step, on find: @escaping @Sendable (SQLConnection) throws -> Found?,
        _ change: @escaping @Sendable (SQLConnection, Found) throws -> AuditEvent
    ) async throws -> Bool {
        try await self.step(step) { [sealing] db in
            try find(db).map { try AuditRows(db).appendAudit(try change(db, $0), sealing) } != nil
        }
    }
}
