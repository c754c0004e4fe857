import Foundation
import GRDB
import Records
package import SQLStore
package import SQLiteStore
package import Sealing
package import Settings

/// Stores that nothing is in yet.
///
/// To make the schema takes longer than most tests do, so it is made once in a process; each store is a copy with a key
/// and a root secret of its own, as if it had been made by itself.
public enum FreshStore {
    private static let made = Result { try Self.make() }

    /// Opens a store in `folder`, which must not be there yet.
    ///
    /// Nothing waits for the disk: a test ends with its process, and no machine stops in between. A test of durability
    /// passes its own `synchronize`. The store uses the database that `decorate` returns for the opened one. Throws
    /// ``StoreError``, and what the file system says.
    package static func open(
        in folder: String, key: KeyEncryptionKey, limits: Limits = Limits(),
        synchronize: @escaping @Sendable (LogFile) throws -> Void = { _ in },
        decorate: (any SQLDatabase) -> any SQLDatabase = { $0 }
    ) throws -> SQLStore {
        let (made, former) = try self.made.get()
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let file = folder + "/countersign.sqlite"
        guard FileManager.default.createFile(atPath: file, contents: made, attributes: [.posixPermissions: 0o600])
        else {
            throw StoreError(.unavailable, "no file can be made in \(folder)")
        }
        try self.give(key, to: file, former)
        return try SQLStore(
            folder: folder, keys: KeyRing(key), limits: limits, synchronize: synchronize, decorate: decorate)
    }

    /// Locks an account of the open store in `folder` by another connection. Nothing of the account ends, as between the
    /// lock and a request that is already on its way.
    package static func lock(account id: String, in folder: String) throws {
        let other = try DatabaseQueue(path: folder + "/countersign.sqlite")
        try other.write { db in
            try db.execute(sql: "UPDATE account SET is_locked = 1 WHERE id = ?", arguments: [id])
        }
        try other.close()
    }

    /// The file of a store, and the key that it was made with.
    private static func make() throws -> (file: Data, key: KeyEncryptionKey) {
        let folder = FileManager.default.temporaryDirectory.path + "/schema-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let key = KeyEncryptionKey()
        // Nothing closes it before its file is read: it is one of the steps that tests are about. What is in its log is
        // moved into the file here.
        try withExtendedLifetime(try SQLStore(folder: folder, key: key)) {
            try DatabaseQueue(path: folder + "/countersign.sqlite").writeWithoutTransaction { db in
                _ = try db.checkpoint(.truncate)
            }
        }
        return (try Data(contentsOf: URL(fileURLWithPath: folder + "/countersign.sqlite")), key)
    }

    /// Seals what a store has from its beginning under another key.
    private static func give(_ key: KeyEncryptionKey, to file: String, _ former: KeyEncryptionKey) throws {
        // A machine that stops has nothing to find here.
        var configuration = Configuration()
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA synchronous = OFF") }
        let store = try DatabaseQueue(path: file, configuration: configuration)
        try store.write { db in
            let before = try Data.fetchOne(db, sql: "SELECT sealed FROM store_check") ?? Data()
            let check = SealingPurpose("store check")
            let root = SealingRoot()
            let sealing = Sealing(KeyRing(key), root: root)
            let text = try Sealing(former).openText(before, purpose: check, row: "1")
            try db.execute(
                sql: """
                    UPDATE store_check SET sealed = ?; UPDATE sealing_root SET sealed = ?; UPDATE sealing_key SET id = ?
                    """,
                arguments: [
                    Data(try sealing.seal(text, purpose: check, row: "1")),
                    Data(try sealing.seal(root.kept, purpose: SealingPurpose("store root secret"), row: "1")),
                    key.identifier,
                ])
        }
        try store.close()
    }
}
