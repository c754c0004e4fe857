import _Primitives

/// A connection to a database: runs statements, and reads their rows. Used by one thread at a time.
package final class SQLConnection {
    private let handle: OpaquePointer
    let driver: SQLDriver
    private let observed: ObservedTable
    private var literals: [UnsafeRawPointer: OpaquePointer] = [:]
    private var numbered: [OpaquePointer?] = []
    private var composed: [ExactText: OpaquePointer] = [:]

    /// Makes a connection over the handle that the functions of `driver` take. Somebody else closes the handle later.
    package init(_ handle: OpaquePointer, _ driver: SQLDriver, _ observed: ObservedTable) {
        self.handle = handle
        self.driver = driver
        self.observed = observed
    }

    deinit {
        for statement in self.literals.values { _ = self.driver.finalize(statement) }
        for statement in self.numbered { _ = statement.map(self.driver.finalize) }
        for statement in self.composed.values { _ = self.driver.finalize(statement) }
    }

    // MARK: Statements

    /// Returns the first row of a query; `nil` if the query has no rows.
    package func row(_ text: SQLText, _ values: SQLValues = []) throws -> SQLRow? {
        let row = SQLRow(of: try self.begin(text, values), self)
        return try self.isOnRow(row.statement) ? row : nil
    }

    /// Calls `read` for every row of a query, and returns the results in the query's order. The query stands on the row
    /// while `read` runs, so `read` changes no table of the query.
    package func rows<Value>(
        _ text: SQLText, _ values: SQLValues = [], _ read: (SQLRow) throws -> Value
    ) throws -> [Value] {
        let row = SQLRow(of: try self.begin(text, values), self)
        var results: [Value] = []
        while try self.isOnRow(row.statement) { results.append(try read(row)) }
        return results
    }

    /// Runs a statement that returns no rows. A change of the observed table is made by ``runObserved(_:_:)``.
    package func run(_ text: SQLText, _ values: SQLValues = []) throws {
        let statement = try self.begin(text, values)
        defer { self.end(statement) }
        while try self.isOnRow(statement) {}
    }

    /// Runs a statement that changes the observed table, so the cache of the table learns of the change.
    package func runObserved(_ text: SQLText, _ values: SQLValues = []) throws { try self.observed.run(text, values) }

    /// The number of rows that the last writing statement has changed.
    package var changesCount: Int { Int(self.driver.changesCount(self.handle)) }

    // MARK: Prepared statements

    /// A statement that has its values, and is ended by ``SQLConnection/end(_:)``.
    struct Begun {
        let pointer: OpaquePointer
        /// `false` for a statement that is prepared for one use.
        fileprivate let isKept: Bool
    }

    /// Returns a prepared statement with a value in each of its places.
    private func begin(_ text: SQLText, _ values: SQLValues) throws -> Begun {
        assert(!text.changes(self.observed.name), "nobody is told of a change of \(self.observed.name): \(text.text)")
        var statement = Begun(pointer: try self.prepared(text), isKept: true)
        // Somebody stands on a row of this statement.
        if self.driver.isBusy(statement.pointer) != 0 {
            statement = Begun(pointer: try self.prepare(text.text), isKept: false)
        }
        do { try self.bind(values, to: statement.pointer) } catch {
            self.end(statement)
            throw error
        }
        return statement
    }

    /// Ends a statement. The statement keeps no values, because some values are secrets.
    func end(_ statement: Begun) {
        guard statement.isKept else {
            _ = self.driver.finalize(statement.pointer)
            return
        }
        // The error of a failed statement was thrown when the statement failed.
        _ = self.driver.reset(statement.pointer)
        _ = self.driver.clearBindings(statement.pointer)
    }

    /// Moves to the next row, and returns `true` if a row follows.
    private func isOnRow(_ statement: Begun) throws -> Bool {
        switch self.driver.step(statement.pointer) {
        case SQLDriver.Result.row: return true
        case SQLDriver.Result.done: return false
        case let code: throw self.error(code)
        }
    }

    private func bind(_ values: SQLValues, to statement: OpaquePointer) throws {
        guard Int(self.driver.placeCount(statement)) == values.count else {
            throw SQLError(
                code: SQLDriver.Result.misuse, message: "a statement has not as many places as values")
        }
        var place: CInt = 0
        for value in values {
            place += 1
            let code =
                switch value?.sqlValue ?? .null {
                case .null: self.driver.bindNull(statement, place)
                case .integer(let number): self.driver.bindInteger(statement, place, number)
                case .text(var text):
                    text.withUTF8 { self.driver.bindText(statement, place, $0.baseAddress, $0.count) }
                case .bytes(let bytes):
                    bytes.withUnsafeBytes { self.driver.bindBytes(statement, place, $0.baseAddress, $0.count) }
                }
            guard code == SQLDriver.Result.fine else { throw self.error(code) }
        }
    }

    /// Returns the statement of this connection for a text.
    private func prepared(_ text: SQLText) throws -> OpaquePointer {
        switch text {
        case .literal(let literal):
            let address = UnsafeRawPointer(literal.utf8Start)
            if let statement = self.literals[address] { return statement }
            let statement = try self.prepare(text.text)
            self.literals[address] = statement
            return statement
        case .numbered(let text, let number):
            if number < self.numbered.count, let statement = self.numbered[number] { return statement }
            let statement = try self.prepare(text)
            let missing = max(0, number + 1 - self.numbered.count)
            self.numbered.append(contentsOf: repeatElement(nil, count: missing))
            self.numbered[number] = statement
            return statement
        case .composed(let text):
            if let statement = self.composed[ExactText(text)] { return statement }
            let statement = try self.prepare(text)
            self.composed[ExactText(text)] = statement
            return statement
        }
    }

    private func prepare(_ text: String) throws -> OpaquePointer {
        var statement: OpaquePointer?
        let own = self.driver.dialect.statement(text)
        let code = own.withCString { self.driver.prepare(self.handle, $0, CInt(own.utf8.count), &statement) }
        guard code == SQLDriver.Result.fine else { throw self.error(code) }
        guard let statement else {
            throw SQLError(code: SQLDriver.Result.misuse, message: "a text is not one statement: \(text)")
        }
        return statement
    }

    private func error(_ code: CInt) -> SQLError {
        SQLError(code: code, message: self.driver.message(self.handle).map(String.init(cString:)) ?? "")
    }
}
