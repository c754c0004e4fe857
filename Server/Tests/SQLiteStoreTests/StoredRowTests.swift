import Foundation
import GRDB
import Records
import SQLiteStore
import Testing
import _Primitives

@Suite("Rows of the database, read where they stand")
struct StoredRowTests {
    /// A database in memory with one table of three rows.
    private func withDatabase(_ body: (Database) throws -> Void) throws {
        try DatabaseQueue().inDatabase { db in
            try db.execute(
                sql: """
                    CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT, content BLOB, size INTEGER) STRICT;
                    INSERT INTO thing VALUES (1, 'a', x'0102', 7), (2, '', x'', -1), (3, NULL, NULL, NULL);
                    """)
            try body(db)
        }
    }

    @Test("gives every kind of value, by its place and by its name")
    func values() throws {
        try self.withDatabase { db in
            try db.execute(sql: "UPDATE thing SET name = 'a' || char(0, 252) WHERE id = 1")
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

    @Test("a value of another kind, out of its range, or of no column is a corrupt database, and no crash")
    func otherKinds() throws {
        let corrupt = StoreError(.corrupt, "")
        try self.withDatabase { db in
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
        try self.withDatabase { db in
            let insertion = "INSERT INTO thing (id, name, content, size) VALUES (?, ?, ?, ?)"
            try db.run(insertion, [4, "a\u{fc}", Data([0, 1]), Int64.min])
            try db.run(insertion, [5, "", nil, UInt32.max])
            try db.run(insertion, [6, nil, Data(count: 70_000), true])
            let four = try #require(try db.row("SELECT name, content, size FROM thing WHERE id = ?", [4]))
            #expect(try four.text("name") == "a\u{fc}" && four.bytes("content") == [0, 1])
            #expect(try four.integer("size", as: Int64.self) == .min)
            let five = try #require(try db.row("SELECT name, content, size FROM thing WHERE id = ?", [5]))
            #expect(try five.text("name") == "" && five.optionalBytes("content") == nil)
            #expect(try five.integer("size", as: Int.self) == Int(UInt32.max))
            let six = try #require(try db.row("SELECT name, content, size FROM thing WHERE id = ?", [6]))
            #expect(try six.optionalText("name") == nil && six.bytes("content").count == 70_000 && six.flag("size"))
            for values: [(any DatabaseValueConvertible)?] in [[], [7, "b", nil], [7, "b", nil, 1, 2]] {
                let error = #expect(throws: DatabaseError.self) { try db.run(insertion, values) }
                #expect(error?.resultCode == .SQLITE_MISUSE)
                #expect(throws: DatabaseError.self) { try db.row("SELECT id FROM thing WHERE id = ?", []) }
            }
            try db.run("UPDATE thing SET size = ?2 WHERE id > ?1", [3, 8])
            #expect(db.changesCount == 3)
            for _ in 1...2 {
                let error = #expect(throws: DatabaseError.self) { try db.run(insertion, [4, nil, nil, nil]) }
                #expect(error?.extendedResultCode == .SQLITE_CONSTRAINT_PRIMARYKEY)
            }
            try db.run("DELETE FROM thing")
            #expect(try db.row("SELECT id FROM thing") == nil)
        }
    }

    @Test("a statement that the library has done takes values again, and the other way round")
    func shared() throws {
        try self.withDatabase { db in
            let update = "UPDATE thing SET size = ? WHERE id = ?"
            let query = "SELECT size FROM thing WHERE id = ?"
            for size in 1...3 {
                try db.cachedStatement(sql: update).execute(arguments: [10 * size, 1])
                #expect(try db.row(query, [1])?.integer(0, as: Int.self) == 10 * size)
                try db.run(update, [20 * size, 1])
                #expect(try Int.fetchOne(db.cachedStatement(sql: query), arguments: [1]) == 20 * size)
                try db.cachedStatement(sql: update).execute(arguments: [30 * size, 1])
                try db.cachedStatement(sql: query).execute(arguments: [1])
                #expect(try db.rows(query, [1]) { try $0.integer(0, as: Int.self) } == [30 * size])
                // Nor does one that has failed, by either.
                let insertion = "INSERT INTO thing (id) VALUES (?)"
                #expect(throws: DatabaseError.self) { try db.cachedStatement(sql: insertion).execute(arguments: [1]) }
                #expect(throws: DatabaseError.self) { try db.run(insertion, [1]) }
                try db.run(insertion, [10 + size])
                try db.cachedStatement(sql: insertion).execute(arguments: [20 + size])
            }
        }
    }

    @Test("the same query can be asked while somebody stands on its row")
    func nested() throws {
        try self.withDatabase { db in
            let query = "SELECT id, name FROM thing WHERE id >= ? ORDER BY id"
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
        try self.withDatabase { db in
            try db.execute(sql: "BEGIN; SAVEPOINT step")
            let row = try #require(try db.row("SELECT id, name, content FROM thing WHERE id = 1"))
            try db.execute(sql: "UPDATE thing SET name = 'b', content = x'03' WHERE id = 1")
            #expect(try row.text("name") == "a" && row.bytes("content") == [1, 2])
            let gone = try db.rows("DELETE FROM thing WHERE id > 1 RETURNING id") { try $0.integer(0, as: Int.self) }
            #expect(gone == [2, 3])
            #expect(try db.row("DELETE FROM thing WHERE id = 1 RETURNING name")?.text("name") == "b")
            try db.execute(sql: "RELEASE step; COMMIT")
            #expect(try db.row("SELECT id FROM thing") == nil)
        }
    }

    @Test("what SQLite refuses is thrown, and the statement can be used again")
    func failures() throws {
        try self.withDatabase { db in
            let insertion = "INSERT INTO thing (id, size) VALUES (?, ?) RETURNING id"
            for _ in 1...2 {
                let error = #expect(throws: DatabaseError.self) { try db.row(insertion, [1, 1]) }
                #expect(error?.resultCode == .SQLITE_CONSTRAINT)
                #expect(error?.extendedResultCode == .SQLITE_CONSTRAINT_PRIMARYKEY)
            }
            #expect(try db.row(insertion, [4, 1])?.integer("id", as: Int.self) == 4)
            #expect(throws: DatabaseError.self) { try db.row("SELECT nothing FROM thing") }
            // What `read` throws ends the query.
            struct Enough: Error {}
            let query = "SELECT id FROM thing ORDER BY id"
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
            try db.execute(sql: "BEGIN; COMMIT")
        }
    }
}
