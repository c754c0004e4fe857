import Foundation
import GRDB

/// A text or a blob of a server's database, as it lies there.
struct DatabaseCell: Sendable {
    let table: String
    let bytes: [UInt8]

    func contains(_ text: String) -> Bool { Data(self.bytes).range(of: Data(text.utf8)) != nil }
}

extension ServerFixture {
    /// Every text and every blob of every table.
    func cells() async throws -> [DatabaseCell] {
        let database = try DatabaseQueue(path: self.folder + "/countersign.sqlite")
        return try await database.read { db in
            let tables = try String.fetchAll(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'")
            return try tables.flatMap { table in
                try Row.fetchAll(db, sql: "SELECT * FROM \(table)").flatMap { row in
                    row.databaseValues.compactMap { value -> DatabaseCell? in
                        switch value.storage {
                        case .blob(let data): DatabaseCell(table: table, bytes: Array(data))
                        case .string(let text): DatabaseCell(table: table, bytes: Array(text.utf8))
                        case .null, .int64, .double: nil
                        }
                    }
                }
            }
        }
    }
}
