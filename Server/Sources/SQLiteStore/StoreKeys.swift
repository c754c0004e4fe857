import Foundation
import GRDB
import Records
import SQLStore
import Sealing
import _Primitives

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
        let connection = try SQLConnection(db)
        // A new store has a random root secret. Nobody can derive the secret from the key alone.
        let present =
            done == 0
            ? Sealing(KeyRing(self.keys.newest), root: SealingRoot()) : try self.sealing(of: connection)
        try Migration.run(migrations, db, present)
        let sealing = try self.sealing(of: connection)
        guard try !ListedKeys(connection.sealingKeys()).isNewest(self.keys.newest.identifier) else { return sealing }
        try db.inTransaction(.immediate) {
            try self.takeOver(connection, sealing)
            return .commit
        }
        return sealing
    }

    /// Returns the object that reads and writes the sealed values of a database. The schema may be an earlier one.
    ///
    /// Throws ``StoreError``: `wrongKey` if the database needs none of the keys, `missingKey` if it needs further keys,
    /// `corrupt` if its root secret or its check value does not open.
    func sealing(of db: SQLConnection, schema: String = "main") throws -> Sealing {
        let epoch = try db.epoch(of: schema)
        let needed = ListedKeys(try db.sealingKeys(of: schema))
        guard !needed.isOfFormerSchema else { return try self.sealingOfFormerSchema(db, schema, epoch) }
        try needed.check(available: self.keys.all.map(\.identifier))
        let root = try StoreKeyRequirement.root.found(
            db.sealedRoot(of: schema).flatMap { try? Sealing(self.keys).open($0, purpose: .sealingRoot, row: "1") })
        let sealing = Sealing(self.keys, root: try SealingRoot(kept: root), epoch: epoch)
        try StoreKeyRequirement.check.check(self.opensCheck(of: db, schema, sealing))
        return sealing
    }

    private func opensCheck(of db: SQLConnection, _ schema: String, _ sealing: Sealing) throws -> Bool {
        let sealed = try db.sealedCheck(of: schema)
        let text = try? sealing.openText(sealed, purpose: .storeCheck, row: "1")
        return text?.hasSameBytes(as: Self.checkText) ?? false
    }

    /// Finds the key of a database from before databases listed their keys: the needed key is the key that opens the
    /// check value.
    private func sealingOfFormerSchema(_ db: SQLConnection, _ schema: String, _ epoch: String) throws -> Sealing {
        let candidates = self.keys.all.lazy.map { Sealing($0, epoch: epoch) }
        return try StoreKeyRequirement.key.found(candidates.first { try self.opensCheck(of: db, schema, $0) })
    }

    /// Makes the newest key a needed key of the database.
    private func takeOver(_ db: SQLConnection, _ sealing: Sealing) throws {
        try db.takeOver(
            newest: self.keys.newest.identifier,
            root: try sealing.seal(sealing.root.kept, purpose: .sealingRoot, row: "1"),
            check: try sealing.seal(Self.checkText, purpose: .storeCheck, row: "1"))
    }
}
