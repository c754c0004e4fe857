import Records

extension SQLStore {
    /// Does a step, and appends its event if the step has changed anything, which `change` returns. Returns `true` if
    /// the step has changed anything.
    func step(
        _ step: Step, noting audit: AuditEvent, _ change: @escaping @Sendable (SQLConnection) throws -> Bool
    ) async throws -> Bool {
        try await self.step(step) { [sealing] db in try db.appendAudit(audit, if: try change(db), sealing) }
    }

    /// Does a step on a row of a table, and appends its event. Returns `false` if the table has no row of that
    /// identifier: nothing is changed then.
    func step(
        _ step: Step, noting audit: AuditEvent, on table: String, id: String,
        _ change: @escaping @Sendable (SQLConnection) throws -> Void
    ) async throws -> Bool {
        try await self.step(step, on: { db in try db.identifier(id, in: table) }) { db, _ in
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
            try find(db).map { try db.appendAudit(try change(db, $0), sealing) } != nil
        }
    }
}

extension SQLConnection {
    /// Returns the identifier if a table has a row of that identifier; `nil` otherwise.
    fileprivate func identifier(_ id: String, in table: String) throws -> String? {
        try self.row(.composed("SELECT id FROM \(table) WHERE id = ?"), [id]).map { try $0.text("id") }
    }

    /// Returns `true` if a table has a row of that identifier.
    func exists(_ table: String, id: String) throws -> Bool { try self.identifier(id, in: table) != nil }

    /// Runs a statement, and returns `true` if the statement has changed a row.
    func changes(_ text: SQLText, _ values: SQLValues) throws -> Bool {
        try self.run(text, values)
        return self.hasChangedRows
    }

    /// Throws `notFound` with `reason` if an identifier is given, and a table has no row of that identifier.
    func require(_ table: String, id: String?, _ reason: String) throws {
        try self.require(
            .composed("SELECT EXISTS (SELECT 1 FROM \(table) WHERE id = ?1) OR ?1 IS NULL"), [id],
            orThrow: StoreError(.notFound, reason))
    }

    /// Throws `conflict` with `reason` if a query returns a row.
    func refuse(_ text: SQLText, _ values: SQLValues, _ reason: String) throws {
        try self.requireNoRow(text, values, orThrow: StoreError(.conflict, reason))
    }
}
