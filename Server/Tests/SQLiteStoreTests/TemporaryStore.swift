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

    init(limits: Limits = Limits()) throws {
        self.folder = FileManager.default.temporaryDirectory.path + "/countersign-" + UUID().uuidString
        self.key = KeyEncryptionKey()
        self.database = try FreshStore.open(in: self.folder, key: self.key, limits: limits) {
            try $0.synchronize()
        }
    }

    var file: String { self.folder + "/countersign.sqlite" }

    deinit { try? FileManager.default.removeItem(atPath: self.folder) }
}
