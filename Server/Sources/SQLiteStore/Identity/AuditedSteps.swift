import GRDB
import Records

extension SQLiteDatabase {
    /// Does a step, and appends its event if the step has changed anything, which `change` returns. Returns `true` if
    /// the step has changed anything.
    func step(
        noting audit: AuditEvent, _ change: @escaping @Sendable (Database) throws -> Bool
    ) async throws -> Bool {
        try await self.step { [sealing] db in
            guard try change(db) else { return false }
            try db.appendAudit(audit, sealing)
            return true
        }
    }

    /// Does a step on a row of a table, and appends its event. Returns `false` if the table has no row of that
    /// identifier: nothing is changed then.
    func step(
        noting audit: AuditEvent, on table: String, id: String,
        _ change: @escaping @Sendable (Database) throws -> Void
    ) async throws -> Bool {
        try await self.step(noting: audit) { db in
            guard try db.exists(table, id: id) else { return false }
            try change(db)
            return true
        }
    }

    /// Does a step on what `find` finds, and appends the event that `change` returns. Returns `false` if `find` finds
    /// nothing: nothing is changed then.
    func step<Found>(
        on find: @escaping @Sendable (Database) throws -> Found?,
        _ change: @escaping @Sendable (Database, Found) throws -> AuditEvent
    ) async throws -> Bool {
        try await self.step { [sealing] db in
            guard let found = try find(db) else { return false }
            try db.appendAudit(try change(db, found), sealing)
            return true
        }
    }
}

extension Database {
    /// Returns `true` if a table has a row of that identifier.
    func exists(_ table: String, id: String) throws -> Bool {
        try self.row("SELECT 1 FROM \(table) WHERE id = ?", [id]) != nil
    }

    /// Runs a statement, and returns `true` if the statement has changed a row.
    func changes(_ sql: String, _ values: [(any DatabaseValueConvertible)?]) throws -> Bool {
        try self.run(sql, values)
        return self.hasChangedRows
    }

    /// Throws `notFound` with `reason` if an identifier is given, and a table has no row of that identifier.
    func require(_ table: String, id: String?, _ reason: String) throws {
        guard let id, try !self.exists(table, id: id) else { return }
        throw StoreError(.notFound, reason)
    }

    /// Throws `conflict` with `reason` if a query returns a row.
    func refuse(_ sql: String, _ values: [(any DatabaseValueConvertible)?], _ reason: String) throws {
        guard try self.row(sql, values) != nil else { return }
        throw StoreError(.conflict, reason)
    }
}

extension RawRepresentable {
    /// Reads a stored raw value. Throws `corrupt` with `reason` for a raw value that the type does not have.
    init(stored rawValue: RawValue, _ reason: String) throws(StoreError) {
        guard let value = Self(rawValue: rawValue) else { throw StoreError(.corrupt, reason) }
        self = value
    }
}
