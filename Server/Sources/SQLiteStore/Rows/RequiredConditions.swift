import GRDB
import Records

extension Database {
    /// Checks a condition that a query answers with a single truth value. Throws `error` if the query answers no, and
    /// if the query has no row.
    func require(_ sql: String, _ values: StatementArguments, orThrow error: @autoclosure () -> StoreError) throws {
        guard try Bool.fetchOne(self.cachedStatement(sql: sql), arguments: values) == true else { throw error() }
    }

    /// Checks that a query has no row. Throws `error` if the query has a row.
    func requireNoRow(_ sql: String, orThrow error: @autoclosure () -> StoreError) throws {
        guard try self.row(sql) == nil else { throw error() }
    }
}
