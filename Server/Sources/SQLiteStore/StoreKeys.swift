import Foundation
import GRDB
import Records
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

/// Finds out which of the available keys a database needs, and makes the database use the newest key.
struct StoreKeys {
    static let checkText = "countersign"

    let keys: KeyRing

    /// Runs the missing ones of `migrations`, and makes the database use the newest key from now on. Values under former keys
    /// stay there until they are resealed. Returns the object that reads and writes sealed values.
    ///
    /// Throws ``StoreError``: `wrongKey`, `missingKey`, `newerSchema`, `corrupt`.
    func open(_ db: Database, _ migrations: [Migration]) throws -> Sealing {
        let done = try db.storeVersion().number
        // A new store has a random root secret. Nobody can derive the secret from the key alone.
        let present = done == 0 ? Sealing(KeyRing(self.keys.newest), root: SealingRoot()) : try self.sealing(of: db)
        try Migration.run(migrations, db, present)
        let sealing = try self.sealing(of: db)
        let newest = try db.sealingKeys().first
        guard newest?.hasSameBytes(as: self.keys.newest.identifier) != true else { return sealing }
        try db.inTransaction(.immediate) {
            try self.takeOver(db, sealing)
            return .commit
        }
        return sealing
    }

    /// Returns the object that reads and writes the sealed values of a database. The schema may be an earlier one.
    ///
    /// Throws ``StoreError``: `wrongKey` if the database needs none of the keys, `missingKey` if it needs further keys,
    /// `corrupt` if its root secret or its check value does not open.
    func sealing(of db: Database, schema: String = "main") throws -> Sealing {
        let epoch = try db.epoch(of: schema)
        let needed = try db.sealingKeys(of: schema)
        guard !needed.isEmpty else { return try self.sealingOfFormerSchema(db, schema, epoch) }
        let missing = needed.filter { self.keys.key(identifier: $0) == nil }
        guard missing.count < needed.count else {
            throw StoreError(.wrongKey, "the key-encryption key is not the one of this store")
        }
        guard missing.isEmpty else {
            throw StoreError(
                .missingKey,
                "values of the database still lie under the key-encryption key \(missing.joined(separator: ", "))")
        }
        let sealed = try Data.fetchOne(db, sql: "SELECT sealed FROM \(schema).sealing_root WHERE id = 1")
        guard let sealed, let root = try? Sealing(self.keys).open(sealed, purpose: .sealingRoot, row: "1") else {
            throw StoreError(.corrupt, "the root secret of the database does not open")
        }
        let sealing = Sealing(self.keys, root: try SealingRoot(kept: root), epoch: epoch)
        guard try self.opensCheck(of: db, schema, sealing) else {
            throw StoreError(.corrupt, "the check of the database's key does not open")
        }
        return sealing
    }

    private func opensCheck(of db: Database, _ schema: String, _ sealing: Sealing) throws -> Bool {
        let sealed = try Data.fetchOne(db, sql: "SELECT sealed FROM \(schema).store_check WHERE id = 1") ?? Data()
        let text = try? sealing.openText(sealed, purpose: .storeCheck, row: "1")
        return text?.hasSameBytes(as: Self.checkText) ?? false
    }

    /// Finds the key of a database from before databases listed their keys: the needed key is the key that opens the
    /// check value.
    private func sealingOfFormerSchema(_ db: Database, _ schema: String, _ epoch: String) throws -> Sealing {
        for key in self.keys.all {
            let sealing = Sealing(key, epoch: epoch)
            if try self.opensCheck(of: db, schema, sealing) { return sealing }
        }
        throw StoreError(.wrongKey, "the key-encryption key is not the one of this store")
    }

    /// Makes the newest key a needed key of the database.
    private func takeOver(_ db: Database, _ sealing: Sealing) throws {
        let newest = self.keys.newest.identifier
        // A key that the database needed before is moved behind the others.
        try db.execute(sql: "DELETE FROM sealing_key WHERE id = ?", arguments: [newest])
        try db.execute(sql: "INSERT INTO sealing_key (id) VALUES (?)", arguments: [newest])
        try db.execute(
            sql: "UPDATE sealing_root SET sealed = ?",
            arguments: [try sealing.seal(sealing.root.kept, purpose: .sealingRoot, row: "1").blob])
        try db.execute(
            sql: "UPDATE store_check SET sealed = ?",
            arguments: [try sealing.seal(Self.checkText, purpose: .storeCheck, row: "1").blob])
    }
}

extension Database {
    /// Returns the epoch, which names the present stretch of the store's life; empty if the schema has no epochs yet.
    fileprivate func epoch(of schema: String) throws -> String {
        let isThere = try Bool.fetchOne(
            self,
            sql: "SELECT EXISTS (SELECT 1 FROM pragma_table_info('store_check', '\(schema)') WHERE name = 'epoch')")
        guard isThere == true else { return "" }
        guard let epoch = try String.fetchOne(self, sql: "SELECT epoch FROM \(schema).store_check WHERE id = 1") else {
            throw StoreError(.corrupt, "the store has no epoch")
        }
        return epoch
    }

    /// Returns the identifiers of the keys that values can lie under, the newest first; empty if the schema has no list
    /// of keys yet.
    func sealingKeys(of schema: String = "main") throws -> [String] {
        let isThere = try Bool.fetchOne(
            self, sql: "SELECT EXISTS (SELECT 1 FROM \(schema).sqlite_schema WHERE name = 'sealing_key')")
        guard isThere == true else { return [] }
        return try String.fetchAll(self, sql: "SELECT id FROM \(schema).sealing_key ORDER BY number DESC")
    }
}
