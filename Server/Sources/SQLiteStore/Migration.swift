import Foundation
import GRDB
import Records
import Sealing

/// One change of the schema. A released migration is never edited: a later change is a later migration.
struct Migration: Sendable {
    let name: String
    let run: @Sendable (Database, Sealing) throws -> Void

    /// Adds the epoch, which names a stretch of the store's life. A restored backup begins another epoch.
    static let epoch = Migration(name: "epoch") { db, _ in
        try db.execute(sql: "ALTER TABLE store_check ADD COLUMN epoch TEXT NOT NULL DEFAULT ''")
    }

    /// Adds the issuer: the address at which people are enrolled. An older store has no issuer until its server has
    /// started once.
    static let issuer = Migration(name: "issuer") { db, _ in
        try db.execute(sql: "ALTER TABLE store_check ADD COLUMN issuer TEXT")
    }

    /// Runs the ones of `migrations` that have not run: all of them, or none. Throws `newerSchema` if the database has run
    /// migrations that this program does not know. After an interrupted start the former program can still open the
    /// store, and a new store waits for only one write to the disk.
    static func run(_ migrations: [Migration], _ db: Database, _ sealing: Sealing) throws {
        let missing = try db.storeVersion().missing(of: migrations)
        guard !missing.isEmpty else { return }
        try db.inTransaction(.immediate) {
            for migration in missing { try migration.run(db, sealing) }
            try db.execute(sql: "PRAGMA user_version = \(migrations.count)")
            return .commit
        }
    }
}

extension [UInt8] {
    /// The bytes as the library takes them.
    var blob: Data { Data(self) }
}

extension Database {
    /// Returns the number of migrations that a database has run.
    func storeVersion(of schema: String = "main") throws -> SchemaVersion {
        SchemaVersion(try Int.fetchOne(self, sql: "PRAGMA \(schema).user_version") ?? 0)
    }
}
