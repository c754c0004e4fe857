import Foundation
import GRDB
public import Store
import _Primitives

/// Which key-encryption keys a database needs, for whoever does not serve it: beside a server that runs, too.
public struct DatabaseKeys: Sendable {
    private let path: String
    private let busyTimeout: Duration

    /// The keys of the database in `folder`.
    public init(folder: String, limits: Limits = Limits()) {
        self.path = folder + "/countersign.sqlite"
        self.busyTimeout = limits.busyTimeout
    }

    /// The identifiers of the keys that values lie under, the newest first, where `keys` has them all. Blocks.
    ///
    /// Throws ``StoreError``: `notFound` where there is no database, `wrongKey`, `missingKey`, `unavailable`.
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
            let needed = try queue.read { db in
                let sealing = try StoreKeys(keys: keys).sealing(of: db)
                let needed = try db.sealingKeys()
                return needed.isEmpty ? [sealing.keys.newest.identifier] : needed
            }
            // A server may be running: what it has just sealed anew is as it was when the power goes, unless it is durable.
            try LogFile.synchronize(of: self.path)
            return needed
        } catch {
            throw SQLiteDatabase.translated(error)
        }
    }
}
