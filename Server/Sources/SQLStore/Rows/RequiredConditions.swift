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

    /// Runs a statement that has to change exactly one row. Throws `error` for any other number of rows.
    ///
    /// The step does not need the number. So a database that takes statements one behind the other may queue this
    /// statement, go on, and compare the numbers of all queued statements in their order, before the next query of the
    /// step or at the step's end. The step is undone after the error, and the error reads nothing. A statement whose
    /// number decides about the step is run by ``changes(_:_:)``, which waits.
    package func changeOneRow(
        _ text: SQLText, _ values: SQLValues, orThrow error: @autoclosure () -> any Error
    ) throws {
        try self.run(text, values)
        guard self.hasChangedOneRow else { throw error() }
    }

    /// `true` if the latest statement has changed exactly one row.
    var hasChangedOneRow: Bool { self.changesCount == 1 }

    /// `true` if the latest statement has changed a row.
    var hasChangedRows: Bool { self.changesCount > 0 }

    /// Runs a statement, and returns `true` if the statement has changed a row.
    func changes(_ text: SQLText, _ values: SQLValues) throws -> Bool {
        try self.run(text, values)
        return self.hasChangedRows
    }

    /// Throws `conflict` with `reason` if a query returns a row.
    func refuse(_ text: SQLText, _ values: SQLValues, _ reason: String) throws {
        try self.requireNoRow(text, values, orThrow: StoreError(.conflict, reason))
    }
}
