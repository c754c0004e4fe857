package import Records

extension SQLConnection {
    /// Checks a condition that a query answers with a single truth value. Throws `error` if the query answers no, and
    /// if the query has no row.
    func require(_ text: SQLText, _ values: SQLValues, orThrow error: @autoclosure () -> StoreError) throws {
        guard try self.isTrue(text, values) else { throw error() }
    }

    /// Checks that a query has no row. Throws `error` if the query has a row.
    package func requireNoRow(
        _ text: SQLText, _ values: SQLValues = [], orThrow error: @autoclosure () -> StoreError
    ) throws {
        guard try self.row(text, values) == nil else { throw error() }
    }
}
