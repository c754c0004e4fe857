/// The number of migrations that a database has run.
package struct SchemaVersion: Sendable, Equatable {
    /// The number.
    package let number: Int

    /// Makes the version of a database with `number` migrations.
    package init(_ number: Int) { self.number = number }

    /// Returns `true` if a program with `known` migrations knows all migrations of the database.
    package func isKnown(among known: Int) -> Bool { self.number <= known }

    /// Checks that a program with `known` migrations knows the database. Throws ``StoreError`` `newerSchema`.
    package func require(knownAmong known: Int) throws {
        guard self.isKnown(among: known) else {
            throw StoreError(.newerSchema, "schema \(self.number), this program knows \(known)")
        }
    }

    /// Returns the migrations that the database has not run. Throws ``StoreError`` `newerSchema` if the database has run
    /// further migrations.
    package func missing<Migration>(of all: [Migration]) throws -> ArraySlice<Migration> {
        try self.require(knownAmong: all.count)
        return all.dropFirst(self.number)
    }
}
