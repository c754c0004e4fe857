import Foundation
import GRDB
import Records
import SQLStore
public import Sealing
public import Settings
import _Primitives

/// Lists the key-encryption keys that a database needs, for a program that does not serve the database. Works beside a
/// running server, too.
public struct DatabaseKeys: Sendable {
    private let path: String
    private let busyTimeout: Duration

    /// Makes a value that reads the keys of the database in `folder`.
    public init(folder: String, limits: Limits = Limits()) {
        self.path = folder + "/countersign.sqlite"
        self.busyTimeout = limits.busyTimeout
    }

    /// Returns the identifiers of the keys that stored values are sealed under, the newest first, if `keys` has all of
    /// them. Blocks.
    ///
    /// Throws ``StoreError``: `notFound` if the folder has no database, `wrongKey`, `missingKey`, `unavailable`.
    public func needed(of keys: KeyRing) throws -> [String] {
        guard FileManager.default.fileExists(atPath: self.path) else {
            throw StoreError(.notFound, "there is no database at \(self.path)")
        }
        do {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(Double(self.busyTimeout.milliseconds) / 1000)
            let queue = try DatabaseQueue(path: self.path, configuration: configuration)
            defer { try? queue.close() }
            let needed = try queue.read { library in
                let db = try SQLConnection(library)
                let sealing = try StoreKeys(keys: keys).sealing(of: db)
                let needed = try db.sealingKeys()
                return needed.isEmpty ? [sealing.keys.newest.identifier] : needed
            }
            // A server may be running. Values that the server has just resealed must be durable: a loss of power would
            // bring back the former values.
            try LogFile.synchronize(of: self.path)
            return needed
        } catch {
            throw SQLiteDatabase.translated(error)
        }
    }
}
