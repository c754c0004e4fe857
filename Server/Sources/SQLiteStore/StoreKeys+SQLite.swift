import Foundation
import GRDB
import Records
import SQLStore
import Sealing
import _Primitives

extension Migration {
    /// Adds the table of every store: the check value that recognises the key-encryption key.
    static let foundation = Migration(name: "foundation") { db, sealing in
        try db.execute(
            sql: """
                CREATE TABLE store_check (
                    id INTEGER PRIMARY KEY, sealed BLOB NOT NULL, probes INTEGER NOT NULL
                ) STRICT
                """)
        let sealed = try sealing.seal(StoreKeys.checkText, purpose: .storeCheck, row: "1")
        try db.execute(sql: "INSERT INTO store_check (id, sealed, probes) VALUES (1, ?, 0)", arguments: [sealed.blob])
    }

    /// Adds the list of key-encryption keys that values lie under, in the order of their arrival, and the root secret
    /// of codes. Before, a store had one key, and the root secret followed from the key. The migration keeps this root
    /// secret, so every name is found and every recovery code stays valid, whatever happens to the key.
    static let sealingKeys = Migration(name: "keys of sealed values") { db, sealing in
        try db.execute(
            sql: """
                CREATE TABLE sealing_key (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE) STRICT;
                CREATE TABLE sealing_root (id INTEGER PRIMARY KEY CHECK (id = 1), sealed BLOB NOT NULL) STRICT;
                """)
        let sealed = try sealing.seal(sealing.root.kept, purpose: .sealingRoot, row: "1")
        try db.execute(sql: "INSERT INTO sealing_root (id, sealed) VALUES (1, ?)", arguments: [sealed.blob])
        try db.execute(
            sql: "INSERT INTO sealing_key (id) VALUES (?)", arguments: [sealing.keys.newest.identifier])
    }
}

extension SealingPurpose {
    /// The value that recognises the key of a store from before stores had several keys.
    static let storeCheck = SealingPurpose("store check")
    /// The root secret of codes.
    static let sealingRoot = SealingPurpose("store root secret")
}

extension SQLConnection {
    /// Returns the epoch, which names the present stretch of the store's life; empty if the schema has no epochs yet.
    func epoch(of schema: String) throws -> String {
        try self.texts(
            .composed("SELECT epoch FROM \(schema).store_check WHERE id = 1"),
            whenThere: .composed(
                "SELECT EXISTS (SELECT 1 FROM pragma_table_info('store_check', '\(schema)') WHERE name = 'epoch')")
        ).map { try StoreKeyRequirement.epoch.found($0.first) } ?? ""
    }

    /// Returns the identifiers of the keys that values can lie under, the newest first; empty if the schema has no list
    /// of keys yet.
    func sealingKeys(of schema: String = "main") throws -> [String] {
        try self.texts(
            .composed("SELECT id FROM \(schema).sealing_key ORDER BY number DESC"),
            whenThere: .composed(
                "SELECT EXISTS (SELECT 1 FROM \(schema).sqlite_schema WHERE name = 'sealing_key')")) ?? []
    }

    /// Returns the texts of a query; `nil` if the schema does not have the table or the column of the query, as
    /// `condition` says.
    private func texts(_ query: SQLText, whenThere condition: SQLText) throws -> [String]? {
        guard try self.isTrue(condition) else { return nil }
        return try self.texts(query)
    }

    /// Returns the sealed root secret of codes; `nil` if the database has none.
    func sealedRoot(of schema: String) throws -> [UInt8]? {
        try self.bytes(.composed("SELECT sealed FROM \(schema).sealing_root WHERE id = 1"))
    }

    /// Returns the sealed check value; no bytes if the database has none.
    func sealedCheck(of schema: String) throws -> [UInt8] {
        try self.bytes(.composed("SELECT sealed FROM \(schema).store_check WHERE id = 1")) ?? []
    }

    /// Makes a key the newest key that values can lie under. The root secret and the check value are sealed under the
    /// key already.
    func takeOver(newest: String, root: [UInt8], check: [UInt8]) throws {
        // A key that the database needed before is moved behind the others.
        try self.run("DELETE FROM sealing_key WHERE id = ?", [newest])
        try self.run("INSERT INTO sealing_key (id) VALUES (?)", [newest])
        try self.run("UPDATE sealing_root SET sealed = ?", [root])
        try self.run("UPDATE store_check SET sealed = ?", [check])
    }
}
