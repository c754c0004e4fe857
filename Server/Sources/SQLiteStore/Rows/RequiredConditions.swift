import GRDB
import Records

extension Database {
    /// Checks a condition that a query answers with a single truth value. Throws `error` if the query answers no, and
    /// if the query has no row.
    func require(_ sql: String, _ values: StatementArguments, orThrow error: @autoclosure () -> StoreError) throws {
        guard try Bool.fetchOne(self.cachedStatement(sql: sql), arguments: values) == true else { throw error() }
    }
}
