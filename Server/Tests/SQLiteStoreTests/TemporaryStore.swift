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

    /// Makes a store over the database that `decorate` returns for the opened one.
    init(limits: Limits = Limits(), decorate: (any SQLDatabase) -> any SQLDatabase = { $0 }) throws {
        self.folder = FileManager.default.temporaryDirectory.path + "/countersign-" + UUID().uuidString
        self.key = KeyEncryptionKey()
        self.database = try FreshStore.open(
            in: self.folder, key: self.key, limits: limits, synchronize: { try $0.synchronize() }, decorate: decorate)
    }

    var file: String { self.folder + "/countersign.sqlite" }

    deinit { try? FileManager.default.removeItem(atPath: self.folder) }
}
