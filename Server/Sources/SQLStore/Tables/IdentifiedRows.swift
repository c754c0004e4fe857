import Records

/// The rows of any table whose rows have identifiers.
struct IdentifiedRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Returns the identifier if a table has a row of that identifier; `nil` otherwise.
    func identifier(_ id: String, in table: String) throws -> String? {
        try self.db.row(.composed("SELECT id FROM \(table) WHERE id = ?"), [id]).map { try $0.text("id") }
    }

    /// Returns `true` if a table has a row of that identifier.
    func exists(_ table: String, id: String) throws -> Bool { try self.identifier(id, in: table) != nil }

    /// Throws `notFound` with `reason` if an identifier is given, and a table has no row of that identifier.
    func require(_ table: String, id: String?, _ reason: String) throws {
        try self.db.require(
            .composed("SELECT EXISTS (SELECT 1 FROM \(table) WHERE id = ?1) OR ?1 IS NULL"), [id],
            orThrow: StoreError(.notFound, reason))
    }
}
