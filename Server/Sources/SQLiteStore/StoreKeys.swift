import Foundation
import GRDB
import Store
import _Primitives

extension Migration {
    /// What every store has: the value that recognises the key-encryption key.
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

    /// Which key-encryption keys values lie under, in the order in which they came, and the root secret of codes. Before,
    /// there was one key, and the root secret followed from it: it is kept as it was, so that every name is found and
    /// every recovery code counts whatever becomes of the key.
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
    /// The value that recognises the key of a store from before there were several.
    static let storeCheck = SealingPurpose("store check")
    /// The root secret of codes.
    static let sealingRoot = SealingPurpose("store root secret")
}

/// Finds out which of the keys that are there a database needs, and has it use the newest.
struct StoreKeys {
    static let checkText = "countersign"

    let keys: KeyRing

    /// Brings the schema up to date, and has the database use the newest key from now on: what lies under former ones stays
    /// there until it is sealed anew. Gives what reads and writes its values.
    ///
    /// Throws ``StoreError``: `wrongKey`, `missingKey`, `newerSchema`.
    func open(_ db: Database) throws -> Sealing {
        let done = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        // A new store has a root secret of its own, which nobody knows who has the key alone.
        let present = done == 0 ? Sealing(KeyRing(self.keys.newest), root: SealingRoot()) : try self.sealing(of: db)
        try Migration.runAll(db, present)
        let sealing = try self.sealing(of: db)
        let newest = try db.sealingKeys().first
        guard newest?.hasSameBytes(as: self.keys.newest.identifier) != true else { return sealing }
        try db.inTransaction(.immediate) {
            try self.takeOver(db, sealing)
            return .commit
        }
        return sealing
    }

    /// What reads and writes the values of a database, whose schema may be an earlier one.
    ///
    /// Throws ``StoreError``: `wrongKey` where it needs none of the keys, `missingKey` where it needs others beside.
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

    /// Of a database from before it said which keys it needs: it needs the one that opens its check.
    private func sealingOfFormerSchema(_ db: Database, _ schema: String, _ epoch: String) throws -> Sealing {
        for key in self.keys.all {
            let sealing = Sealing(key, epoch: epoch)
            if try self.opensCheck(of: db, schema, sealing) { return sealing }
        }
        throw StoreError(.wrongKey, "the key-encryption key is not the one of this store")
    }

    /// From here on the database needs the newest key, too.
    private func takeOver(_ db: Database, _ sealing: Sealing) throws {
        let newest = self.keys.newest.identifier
        // One that it has needed before comes again after the others.
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
    /// Which stretch of the store's life this is; none where the schema is from before there were several.
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

    /// The identifiers of the keys that values can lie under, the newest first; none where the schema is from before it
    /// said so.
    func sealingKeys(of schema: String = "main") throws -> [String] {
        let isThere = try Bool.fetchOne(
            self, sql: "SELECT EXISTS (SELECT 1 FROM \(schema).sqlite_schema WHERE name = 'sealing_key')")
        guard isThere == true else { return [] }
        return try String.fetchAll(self, sql: "SELECT id FROM \(schema).sealing_key ORDER BY number DESC")
    }
}
