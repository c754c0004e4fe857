/// The rows of the keys that values lie under.
struct SealingKeyRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Returns the identifiers of the keys that values can lie under, the newest first.
    func neededKeys() throws -> [String] { try self.db.texts("SELECT id FROM sealing_key ORDER BY number DESC") }

    /// Forgets all keys beside the newest.
    func forgetKeys(beside newest: String) throws {
        try self.db.run("DELETE FROM sealing_key WHERE id <> ?", [newest])
    }
}
