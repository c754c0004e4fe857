import Foundation
import GRDB
import Records
import SQLStore
import SQLiteStore
import Testing
import _Primitives

@Suite("Connection of the steps: statements, values, and rows that are read where they stand")
struct SQLConnectionTests {
    /// A database in memory with one table of three rows.
    private func withDatabase(_ body: (Database, SQLConnection) throws -> Void) throws {
        try DatabaseQueue().inDatabase { db in
            try db.execute(
                sql: """
                    CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT, content BLOB, size INTEGER) STRICT;
                    INSERT INTO thing VALUES (1, 'a', x'0102', 7), (2, '', x'', -1), (3, NULL, NULL, NULL);
                    """)
            try body(db, SQLConnection(db))
        }
    }

    @Test("gives every kind of value, by its place and by its name")
    func values() throws {
        try self.withDatabase { library, db in
            try library.execute(sql: "UPDATE thing SET name = 'a' || char(0, 252) WHERE id = 1")
            let row = try #require(try db.row("SELECT id, name, content, size FROM thing WHERE id = ?", [1]))
            #expect(try row.text("name") == "a\u{0}\u{fc}" && row.text(1) == "a\u{0}\u{fc}")
            #expect(try row.bytes("content") == [1, 2] && row.optionalBytes(2) == [1, 2])
            #expect(try row.integer("size", as: UInt8.self) == 7 && row.optionalInteger(3, as: Int64.self) == 7)
            #expect(try row.flag("id") && row.moment("size").milliseconds == 7)
            let empty = try #require(try db.row("SELECT id, name, content FROM thing WHERE id = 2"))
            #expect(try empty.text("name") == "" && empty.bytes("content") == [])
            let none = try #require(try db.row("SELECT name, content, size FROM thing WHERE id = 3"))
            #expect(try none.optionalText("name") == nil && none.optionalBytes("content") == nil)
            #expect(try none.optionalInteger("size", as: Int.self) == nil && none.optionalMoment("size") == nil)
            #expect(try db.row("SELECT id FROM thing WHERE id = 4") == nil)
            #expect(
                try db.rows("SELECT id FROM thing ORDER BY id DESC") { try $0.integer(0, as: Int.self) } == [3, 2, 1])
            #expect(try db.rows("SELECT id FROM thing WHERE id > 3") { try $0.integer(0, as: Int.self) }.isEmpty)
        }
    }

    /// A database without memory: no value has an address. The values of the columns 0 and 1 have five bytes, and the
    /// values of the columns 2 and 3 are empty.
    private static let withoutMemory = SQLDriver(
        dialect: .sqlite,
        prepare: { _, _, _, statement in
            statement.pointee = OpaquePointer(bitPattern: 1)
            return 0
        }, finalize: { _ in 0 }, placeCount: { _ in 0 }, bindNull: { _, _ in 0 }, bindInteger: { _, _, _ in 0 },
        bindText: { _, _, _, _ in 0 }, bindBytes: { _, _, _, _ in 0 }, clearBindings: { _ in 0 }, step: { _ in 100 },
        reset: { _ in 0 }, isBusy: { _ in 0 }, columnCount: { _ in 4 }, columnName: { _, _ in nil },
        kind: { _, column in column % 2 == 0 ? 4 : 3 }, integer: { _, _ in 0 }, text: { _, _ in nil },
        bytes: { _, _ in nil }, size: { _, column in column < 2 ? 5 : 0 }, changesCount: { _ in 0 },
        message: { _ in nil })

    @Test("a value that the database has no memory for is an error, and no empty value")
    func noMemory() throws {
        let handle = try #require(OpaquePointer(bitPattern: 1))
        let db = SQLConnection(handle, Self.withoutMemory, ObservedTable(name: "none") { _, _ in })
        let row = try #require(try db.row("SELECT a, b, c, d FROM thing"))
        #expect(throws: StoreError(.unavailable, "")) { try row.optionalBytes(0) }
        #expect(throws: StoreError(.unavailable, "")) { try row.optionalText(1) }
        #expect(try row.bytes(2) == [] && row.text(3) == "")
    }

    @Test("a value of another kind, out of its range, or of no column is a corrupt database, and no crash")
    func otherKinds() throws {
        let corrupt = StoreError(.corrupt, "")
        try self.withDatabase { library, db in
            let row = try #require(try db.row("SELECT name, content, size, 1.5 AS part FROM thing WHERE id = 1"))
            for name in ["content", "size", "part", "absent"] {
                #expect(throws: corrupt, "\(name)") { try row.optionalText(name) }
            }
            for name in ["name", "size", "part", "absent"] {
                #expect(throws: corrupt, "\(name)") { try row.optionalBytes(name) }
            }
            for name in ["name", "content", "part", "absent"] {
                #expect(throws: corrupt, "\(name)") { try row.optionalInteger(name, as: Int.self) }
            }
            for place in [-1, 4, Int(Int32.max)] { #expect(throws: corrupt) { try row.optionalText(place) } }
            let none = try #require(try db.row("SELECT name, content, size FROM thing WHERE id = 3"))
            #expect(throws: corrupt) { try none.text("name") }
            #expect(throws: corrupt) { try none.bytes("content") }
            #expect(throws: corrupt) { try none.integer("size", as: Int.self) }
            let negative = try #require(try db.row("SELECT size FROM thing WHERE id = 2"))
            #expect(throws: corrupt) { try negative.integer("size", as: UInt8.self) }
        }
    }

    @Test("a statement takes every kind of value, and none that has no place, and keeps nothing for the next")
    func written() throws {
        try self.withDatabase { library, db in
            let insertion: SQLText = "INSERT INTO thing (id, name, content, size) VALUES (?, ?, ?, ?)"
            try db.run(insertion, [4, "a\u{fc}", [UInt8]([0, 1]), Int64.min])
            try db.run(insertion, [5, "", nil, UInt32.max])
            try db.run(insertion, [6, nil, [UInt8](repeating: 0, count: 70_000), true])
            let four = try #require(try db.row("SELECT name, content, size FROM thing WHERE id = ?", [4]))
            #expect(try four.text("name") == "a\u{fc}" && four.bytes("content") == [0, 1])
            #expect(try four.integer("size", as: Int64.self) == .min)
            let five = try #require(try db.row("SELECT name, content, size FROM thing WHERE id = ?", [5]))
            #expect(try five.text("name") == "" && five.optionalBytes("content") == nil)
            #expect(try five.integer("size", as: Int.self) == Int(UInt32.max))
            let six = try #require(try db.row("SELECT name, content, size FROM thing WHERE id = ?", [6]))
            #expect(try six.optionalText("name") == nil && six.bytes("content").count == 70_000 && six.flag("size"))
            for values: SQLValues in [[], [7, "b", nil], [7, "b", nil, 1, 2]] {
                let error = #expect(throws: SQLError.self) { try db.run(insertion, values) }
                #expect(error?.code == 21)
                #expect(throws: SQLError.self) { try db.row("SELECT id FROM thing WHERE id = ?", []) }
            }
            try db.run("UPDATE thing SET size = ?2 WHERE id > ?1", [3, 8])
            #expect(db.changesCount == 3)
            for _ in 1...2 {
                let error = #expect(throws: SQLError.self) { try db.run(insertion, [4, nil, nil, nil]) }
                #expect(error?.code == 1555)
            }
            try db.run("DELETE FROM thing")
            #expect(try db.row("SELECT id FROM thing") == nil)
        }
    }

    @Test("no bytes and an empty text are values, a zero byte ends no text, and numbers keep their range")
    func edges() throws {
        try self.withDatabase { _, db in
            let insertion: SQLText = "INSERT INTO thing (id, name, content, size) VALUES (?, ?, ?, ?)"
            try db.run(insertion, [4, "", [UInt8](), Int64.max])
            try db.run(insertion, [5, "a\u{0}b", [UInt8]([0]), Int64.min])
            try db.run(insertion, [6, "\u{0}", nil, UInt32.max])
            let kinds = try db.rows(
                """
                SELECT typeof(name) || ' ' || typeof(content) AS kinds, hex(name) AS name FROM thing
                WHERE id > 3 ORDER BY id
                """
            ) { [try $0.text("kinds"), try $0.text("name")] }
            #expect(kinds == [["text blob", ""], ["text blob", "610062"], ["text null", "00"]])
            #expect(try db.row("SELECT name FROM thing WHERE id = 5")?.text("name") == "a\u{0}b")
            #expect(try db.row("SELECT content FROM thing WHERE id = 4")?.bytes("content") == [])
            // A text finds the same text only, and not the text before the zero byte.
            for name in ["a\u{0}b", "a", "a\u{0}c"] {
                let found = try db.rows("SELECT id FROM thing WHERE name = ?", [name]) {
                    try $0.integer("id", as: Int.self)
                }
                #expect(found == (name == "a" ? [1] : name == "a\u{0}b" ? [5] : []))
            }
            let numbers = try db.rows("SELECT size FROM thing WHERE id > 3 ORDER BY id") {
                try $0.integer("size", as: Int64.self)
            }
            #expect(numbers == [.max, .min, Int64(UInt32.max)])
            let beyond = try #require(try db.row("SELECT 9223372036854775808 AS above, size FROM thing WHERE id = 6"))
            #expect(throws: StoreError(.corrupt, "")) { try beyond.integer("above", as: UInt64.self) }
            #expect(throws: StoreError(.corrupt, "")) { try beyond.integer("size", as: Int32.self) }
        }
    }

    @Test("a value of any kind is read and written back, and a broken number is no such value")
    func anyKind() throws {
        try self.withDatabase { _, db in
            try db.run("INSERT INTO thing (id, name, content) VALUES (4, ?, ?)", ["a\u{0}b", [UInt8]()])
            let row = try #require(
                try db.row("SELECT id, name, content, size, 1.5 AS part FROM thing WHERE id = ?", [SQLValue.integer(4)])
            )
            for name in ["id", "name", "content", "size"] {
                let value = try row.value(name)
                switch (name, value) {
                case ("id", .integer(4)), ("name", .text("a\u{0}b")), ("content", .bytes([])), ("size", .null): break
                default: Issue.record("\(name) is \(value)")
                }
                let condition = SQLText.composed("SELECT count(*) AS count FROM thing WHERE id = 4 AND \(name) IS ?")
                #expect(try db.row(condition, [value])?.integer("count", as: Int.self) == 1)
            }
            #expect(throws: StoreError(.corrupt, "")) { try row.value("part") }
        }
    }

    @Test("a statement is asked again after the schema has changed, and after its table was gone")
    func changedSchema() throws {
        try self.withDatabase { library, db in
            let query: SQLText = "SELECT id, name FROM thing WHERE id = ?"
            let update: SQLText = "UPDATE thing SET name = ? WHERE id = ?"
            for name in ["b", "c"] {
                try db.run(update, [name, 1])
                #expect(try db.row(query, [1])?.text("name") == name)
                try library.execute(sql: "ALTER TABLE thing ADD COLUMN of_\(name) TEXT")
            }
            try library.execute(sql: "ALTER TABLE thing RENAME TO other")
            for _ in 1...2 {
                #expect(throws: SQLError.self) { try db.row(query, [1]) }
                #expect(throws: SQLError.self) { try db.run(update, ["d", 1]) }
            }
            try library.execute(sql: "ALTER TABLE other RENAME TO thing")
            try db.run(update, ["e", 1])
            #expect(try db.row(query, [1])?.text("name") == "e")
        }
    }

    @Test("what is done within a savepoint that is taken back is gone, and the statement goes on outside")
    func savepoints() throws {
        try self.withDatabase { library, db in
            let insertion: SQLText = "INSERT INTO thing (id, name) VALUES (?, ?)"
            let ids: SQLText = "SELECT id FROM thing WHERE id > 3 ORDER BY id"
            try library.execute(sql: "BEGIN IMMEDIATE; SAVEPOINT outer")
            try db.run(insertion, [4, "a"])
            try library.execute(sql: "SAVEPOINT step")
            try db.run(insertion, [5, "b"])
            let error = #expect(throws: SQLError.self) { try db.run(insertion, [4, "c"]) }
            #expect(error?.code == 1555 && error?.message == "UNIQUE constraint failed: thing.id")
            #expect(try db.rows(ids) { try $0.integer("id", as: Int.self) } == [4, 5])
            try library.execute(sql: "ROLLBACK TO step; RELEASE step")
            #expect(try db.rows(ids) { try $0.integer("id", as: Int.self) } == [4])
            try db.run(insertion, [6, "d"])
            try library.execute(sql: "RELEASE outer")
            #expect(try db.rows(ids) { try $0.integer("id", as: Int.self) } == [4, 6])
            try library.execute(sql: "ROLLBACK")
            #expect(try db.row(ids) == nil)
            // The count of a statement's rows holds after a row of the statement was let go before its end.
            let changes = library.totalChangesCount
            let gone = try db.row("DELETE FROM thing WHERE id > 1 RETURNING id")?.integer("id", as: Int.self)
            #expect(gone == 2)
            #expect(db.changesCount == 2 && library.totalChangesCount == changes + 2)
        }
    }

    @Test("a statement that has to change one row is refused for no row and for two rows")
    func oneRow() throws {
        try self.withDatabase { _, db in
            let refusal = StoreError(.conflict, "another number of rows")
            func evaluated() -> StoreError {
                Issue.record("the error of a statement that has changed one row")
                return refusal
            }
            try db.changeOneRow("UPDATE thing SET size = 8 WHERE id = ?", [1], orThrow: evaluated())
            #expect(try db.number("SELECT size FROM thing WHERE id = 1") == 8)
            for condition in ["id = 4", "id > 1"] {
                #expect(throws: refusal, "\(condition)") {
                    try db.changeOneRow(.composed("DELETE FROM thing WHERE \(condition)"), [], orThrow: refusal)
                }
            }
        }
    }

    @Test("a connection that is let go leaves no statement that would keep its database open")
    func letGo() throws {
        let queue = try DatabaseQueue()
        try queue.inDatabase { library in
            let db = try SQLConnection(library)
            try db.run("CREATE TABLE thing (id INTEGER PRIMARY KEY)")
            try db.run(.once("INSERT INTO thing (id) VALUES (?)"), [1])
            let query: SQLText = "SELECT id FROM thing"
            let held = try #require(try db.row(query))
            let again = try #require(try db.row(query))
            #expect(try held.integer("id", as: Int.self) == 1 && again.integer("id", as: Int.self) == 1)
            #expect(try db.row(.composed("SELECT id FROM thing WHERE id = 2")) == nil)
        }
        try queue.close()
    }

    @Test(
        "a statement changes the table behind its verb, and no other",
        arguments: [
            ("INSERT INTO thing (id) VALUES (1)", true), ("INSERT OR REPLACE INTO thing(id) VALUES (1)", true),
            ("REPLACE INTO thing VALUES (1)", true), ("UPDATE thing SET id = 1", true),
            ("UPDATE OR IGNORE main.thing SET id = 1", true), ("DELETE FROM thing", true),
            ("\n    DELETE FROM\n    \"thing\" WHERE id = 1", true), ("SELECT id FROM thing", false),
            ("DELETE FROM thing_part WHERE id = 1", false), ("INSERT INTO other SELECT id FROM thing", false),
            ("UPDATE other SET thing = 1", false), ("", false),
        ])
    func changedTable(text: String, isChange: Bool) {
        #expect(SQLText.composed(text).changes("thing") == isChange)
    }

    @Test("a text is found by its address, by its number and by its content, and each takes values again")
    func texts() throws {
        let numbered = SQLText.once("SELECT size FROM thing WHERE id = ?")
        let other = SQLText.once("SELECT name FROM thing WHERE id = ?")
        try self.withDatabase { _, db in
            for size in 1...3 {
                try db.run("UPDATE thing SET size = ? WHERE id = ?", [size, 1])
                #expect(try db.row(numbered, [1])?.integer(0, as: Int.self) == size)
                #expect(try db.row(other, [1])?.text(0) == "a")
                for column in ["size", "id"] {
                    let row = try db.row(.composed("SELECT \(column) FROM thing WHERE id = ?"), [1])
                    #expect(try row?.integer(0, as: Int.self) == (column == "id" ? 1 : size))
                }
                // A statement that has failed takes values again, too.
                let insertion: SQLText = "INSERT INTO thing (id) VALUES (?)"
                #expect(throws: SQLError.self) { try db.run(insertion, [1]) }
                try db.run(insertion, [10 + size])
            }
        }
    }

    @Test("several statements in one text, and a text without a statement, are refused")
    func otherTexts() throws {
        try self.withDatabase { _, db in
            for text: SQLText in ["DELETE FROM thing; DELETE FROM thing", "", " "] {
                let error = #expect(throws: SQLError.self) { try db.run(text) }
                #expect(error?.code == 21)
            }
            let ids = try db.rows("SELECT id FROM thing; ") { try $0.integer(0, as: Int.self) }
            #expect(ids == [1, 2, 3])
        }
    }

    @Test("a change of the observed table is told to the cache of clients, and a change of another table is not")
    func observed() throws {
        let known = KnownClients(capacity: 1)
        let queue = try DatabaseQueue()
        queue.add(transactionObserver: ClientObserver(known), extent: .databaseLifetime)
        try queue.inDatabase { library in
            try library.execute(
                sql: """
                    CREATE TABLE oauth_client (id TEXT UNIQUE, key BLOB, size INTEGER) STRICT;
                    CREATE TABLE thing (id TEXT)
                    """)
            let db = try SQLConnection(library)
            let generation = known.generation
            try db.run("INSERT INTO thing (id) VALUES (?)", ["a"])
            #expect(known.generation == generation)
            try db.runObserved(
                "INSERT INTO oauth_client (id, key, size) VALUES (?, ?, ?)", ["a\u{fc}", [UInt8]([0, 1]), nil])
            #expect(known.generation == generation + 1 && db.changesCount == 1)
            do {
                let row = try #require(try db.row("SELECT id, key, size FROM oauth_client"))
                #expect(try row.text("id") == "a\u{fc}" && row.bytes("key") == [0, 1])
                #expect(try row.optionalInteger("size", as: Int.self) == nil)
            }
            // A refused change is told to nobody, and so is a change that is taken back. The next change is told.
            let rename: SQLText = "UPDATE oauth_client SET id = ? WHERE id = ?"
            let addition: SQLText = "INSERT INTO oauth_client (id) VALUES (?)"
            try library.execute(sql: "BEGIN")
            try db.runObserved(rename, ["b", "a\u{fc}"])
            try library.execute(sql: "ROLLBACK")
            let error = #expect(throws: (any Error).self) { try db.runObserved(addition, ["a\u{fc}"]) }
            #expect(error.map { SQLiteDatabase.translated($0) } as? StoreError == StoreError(.conflict, ""))
            #expect(known.generation == generation + 1)
            try db.runObserved(rename, ["b", "a\u{fc}"])
            try db.runObserved(addition, ["a\u{fc}"])
            #expect(known.generation == generation + 3)
        }
    }

    @Test("the same query can be asked while somebody stands on its row")
    func nested() throws {
        try self.withDatabase { library, db in
            let query: SQLText = "SELECT id, name FROM thing WHERE id >= ? ORDER BY id"
            let first = try #require(try db.row(query, [1]))
            let second = try #require(try db.row(query, [2]))
            #expect(try first.integer("id", as: Int.self) == 1 && second.integer("id", as: Int.self) == 2)
            let pairs = try db.rows(query, [1]) { outer in
                let inner = try db.rows(query, [3]) { try $0.integer("id", as: Int.self) }
                return [try outer.integer("id", as: Int.self)] + inner
            }
            #expect(pairs == [[1, 3], [2, 3], [3, 3]])
        }
    }

    @Test("what is read stays as it was while the row is changed, and a row that is let go holds up no commit")
    func changes() throws {
        try self.withDatabase { library, db in
            try library.execute(sql: "BEGIN; SAVEPOINT step")
            let row = try #require(try db.row("SELECT id, name, content FROM thing WHERE id = 1"))
            try library.execute(sql: "UPDATE thing SET name = 'b', content = x'03' WHERE id = 1")
            #expect(try row.text("name") == "a" && row.bytes("content") == [1, 2])
            let gone = try db.rows("DELETE FROM thing WHERE id > 1 RETURNING id") { try $0.integer(0, as: Int.self) }
            #expect(gone == [2, 3])
            #expect(try db.row("DELETE FROM thing WHERE id = 1 RETURNING name")?.text("name") == "b")
            try library.execute(sql: "RELEASE step; COMMIT")
            #expect(try db.row("SELECT id FROM thing") == nil)
        }
    }

    @Test("what SQLite refuses is thrown, and the statement can be used again")
    func failures() throws {
        try self.withDatabase { library, db in
            let insertion: SQLText = "INSERT INTO thing (id, size) VALUES (?, ?) RETURNING id"
            for _ in 1...2 {
                let error = #expect(throws: SQLError.self) { try db.row(insertion, [1, 1]) }
                #expect(error?.code == 1555)
            }
            #expect(try db.row(insertion, [4, 1])?.integer("id", as: Int.self) == 4)
            #expect(throws: SQLError.self) { try db.row("SELECT nothing FROM thing") }
            // An error of `read` ends the query.
            struct Enough: Error {}
            let query: SQLText = "SELECT id FROM thing ORDER BY id"
            for _ in 1...2 {
                var seen: [Int] = []
                #expect(throws: Enough.self) {
                    try db.rows(query) { row in
                        seen.append(try row.integer("id"))
                        if seen.count == 2 { throw Enough() }
                    }
                }
                #expect(seen == [1, 2])
            }
            try library.execute(sql: "BEGIN; COMMIT")
        }
    }
}
