import Foundation
import FreshStores
import SQLStore
import SQLiteStore
import Sealing
import Settings
import _Primitives

/// A store in a folder of its own, which goes with it.
final class TemporaryStore: Sendable {
    let folder: String
    let key: KeyEncryptionKey
    let database: SQLStore

    /// The name of a folder that does not exist.
    static var freshFolder: String {
        FileManager.default.temporaryDirectory.path + "/countersign-" + UUID().uuidString
    }

    /// Makes a store over the database that `decorate` returns for the opened one. `synchronize` makes the log durable.
    init(
        in folder: String = TemporaryStore.freshFolder, key: KeyEncryptionKey = KeyEncryptionKey(),
        limits: Limits = Limits(), synchronize: @escaping @Sendable (LogFile) throws -> Void = { try $0.synchronize() },
        decorate: (any SQLDatabase) -> any SQLDatabase = { $0 }
    ) throws {
        self.folder = folder
        self.key = key
        self.database = try FreshStore.open(
            in: folder, key: key, limits: limits, synchronize: synchronize, decorate: decorate)
    }

    var file: String { self.folder + "/countersign.sqlite" }

    deinit { try? FileManager.default.removeItem(atPath: self.folder) }
}
