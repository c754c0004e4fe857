import Foundation
package import GRDB
import GRDBSQLite
package import SQLStore

extension SQLDriver {
    /// The functions of SQLite.
    static let sqlite = SQLDriver(
        dialect: .sqlite,
        prepare: { connection, text, size, statement in
            var end: UnsafePointer<CChar>?
            let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
            let code = sqlite3_prepare_v3(connection, text, size, flags, statement, &end)
            guard code == SQLITE_OK, let end else { return code }
            let rest = UnsafeBufferPointer(start: end, count: max(0, Int(size) - (end - text)))
            guard rest.allSatisfy({ isspace(CInt(UInt8(bitPattern: $0))) != 0 }) else {
                sqlite3_finalize(statement.pointee)
                statement.pointee = nil
                return SQLITE_OK
            }
            return code
        },
        finalize: { sqlite3_finalize($0) },
        placeCount: { sqlite3_bind_parameter_count($0) },
        bindNull: { sqlite3_bind_null($0, $1) },
        bindInteger: { sqlite3_bind_int64($0, $1, $2) },
        bindText: { statement, place, text, size in
            // The address -1 (`SQLITE_TRANSIENT`) has SQLite copy the value before the function returns.
            let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
            guard let text else { return sqlite3_bind_text(statement, place, "", 0, copied) }
            return text.withMemoryRebound(to: CChar.self, capacity: size) {
                sqlite3_bind_text64(statement, place, $0, sqlite3_uint64(size), copied, UInt8(SQLITE_UTF8))
            }
        },
        bindBytes: { statement, place, bytes, size in
            // No bytes without an address would be NULL.
            guard let bytes, size > 0 else { return sqlite3_bind_zeroblob(statement, place, 0) }
            let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
            return sqlite3_bind_blob64(statement, place, bytes, sqlite3_uint64(size), copied)
        },
        clearBindings: { sqlite3_clear_bindings($0) },
        step: { sqlite3_step($0) },
        reset: { sqlite3_reset($0) },
        isBusy: { sqlite3_stmt_busy($0) },
        columnCount: { sqlite3_column_count($0) },
        columnName: { sqlite3_column_name($0, $1) },
        kind: { sqlite3_column_type($0, $1) },
        integer: { sqlite3_column_int64($0, $1) },
        text: { sqlite3_column_text($0, $1) },
        bytes: { sqlite3_column_blob($0, $1) },
        size: { sqlite3_column_bytes($0, $1) },
        changesCount: { sqlite3_changes($0) },
        message: { sqlite3_errmsg($0) })
}

extension SQLConnection {
    /// Makes a connection over a connection of the library, with prepared statements of its own.
    ///
    /// The library reports changes of the table of clients to ``KnownClients``, so the library runs the statements that
    /// change this table.
    package convenience init(_ db: Database) throws {
        guard let handle = db.sqliteConnection else {
            throw SQLError(code: SQLITE_MISUSE, message: "the connection is closed")
        }
        let clients = ObservedTable(name: KnownClients.table) { [unowned db] text, values in
            try db.cachedStatement(sql: Dialect.sqlite.statement(text.text))
                .execute(arguments: StatementArguments(values.map { $0?.sqlValue.databaseValue ?? .null }))
        }
        self.init(handle, .sqlite, clients)
    }
}

extension SQLValue {
    /// The value as the library binds it.
    var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let number): number.databaseValue
        case .text(let text): text.databaseValue
        case .bytes(let bytes): Data(bytes).databaseValue
        }
    }
}

/// The connections of a pool's steps and reads, one for each of the library's connections.
final class SQLiteConnections: Sendable {
    private let lock = NSLock()
    /// The connections by the addresses of the handles.
    // Safe to share: each access holds the lock. The connections that come out are safe as well: only the thread that
    // the library lets use a `Database` asks for its connection, and the library lets one thread at a time.
    private nonisolated(unsafe) var connections: [UInt: SQLConnection] = [:]

    /// Makes the connection that belongs to a new connection of the library.
    func open(_ db: Database) throws {
        let connection = try SQLConnection(db)
        self.lock.withLock { self.connections[Self.address(of: db)] = connection }
    }

    /// Returns the connection that belongs to a connection of the library.
    func connection(of db: Database) throws -> SQLConnection {
        guard let found = self.lock.withLock({ self.connections[Self.address(of: db)] }) else {
            throw SQLError(code: SQLITE_MISUSE, message: "the connection is closed")
        }
        return found
    }

    /// Ends all prepared statements, because the library closes no connection with prepared statements. The caller has
    /// ended the threads that use the connections.
    func close() { self.lock.withLock { self.connections = [:] } }

    private static func address(of db: Database) -> UInt { UInt(bitPattern: db.sqliteConnection) }
}
