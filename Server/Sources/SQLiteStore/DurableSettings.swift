import GRDB
import Records
import SQLStore
import Settings
import _Primitives

/// The library's pool of connections, with the connection of the steps and reads that belongs to each.
final class ConnectedPool: Sendable {
    /// The pool itself, which has the transactions, the observers and the checkpoints.
    let library: DatabasePool
    private let connections = SQLiteConnections()

    /// Opens the file of a store with the settings by which the store is durable. Throws ``StoreError`` `unavailable`
    /// if SQLite does not take the settings.
    init(ofStore path: String, _ limits: Limits) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(Double(limits.busyTimeout.milliseconds) / 1000)
        configuration.maximumReaderCount = limits.readers
        configuration.label = "store"
        configuration.prepareDatabase { [connections] db in
            try db.execute(sql: "PRAGMA cell_size_check = ON; PRAGMA cache_size = -\(limits.cacheKibibytes)")
            // The undo data of a step is kept in memory: a few pages, which would otherwise go into a file.
            try db.execute(sql: "PRAGMA temp_store = MEMORY")
            try db.keepLogFile()
            try connections.open(db)
        }
        self.library = try DatabasePool(path: path, configuration: configuration)
        // With NORMAL, pages that go from the log into the file are durable in the log before. The log is not
        // overwritten before the pages are durable in the file. `CommitLog` makes mere commits durable. The setting is
        // read back, because nobody would notice a store that acknowledges before the disk does.
        let synchronous = try self.library.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = \(limits.logPages)")
            // Deleted content is overwritten, whatever the library's build settings are: some of the content is keys.
            try db.execute(sql: "PRAGMA secure_delete = ON")
            return try Int.fetchOne(db, sql: "PRAGMA synchronous")
        }
        let journal = try self.library.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") }
        guard synchronous == 1, journal == "wal" else {
            throw StoreError(.unavailable, "the database does not take WAL with synchronous NORMAL")
        }
    }

    // Nobody uses the pool any more. The statements end before the library closes their connections.
    deinit { self.connections.close() }

    /// Lets `body` write. `body` begins and ends the transactions.
    func write<Result>(_ body: (Database, SQLConnection) throws -> Result) throws -> Result {
        try self.library.writeWithoutTransaction { try body($0, self.connections.connection(of: $0)) }
    }

    /// Lets `body` read. `body` begins and ends the transactions.
    func read(_ body: (Database, SQLConnection) throws -> Void) throws {
        try self.library.unsafeRead { try body($0, self.connections.connection(of: $0)) }
    }

    /// Closes all connections. The caller has ended the threads that use the connections.
    func close() {
        self.connections.close()
        try? self.library.close()
    }
}
