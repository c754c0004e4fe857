import Foundation
import Records
import SQLStore
import SQLiteStore
import Sealing
import Synchronization

/// The files of an open store as a machine that stops now would find them: the database's file, and the log with the
/// bytes that the store has made durable.
final class DurableFiles: Sendable {
    /// A copy of both files.
    struct Copy: Sendable, Equatable {
        fileprivate let database: Data
        fileprivate let log: Data
    }

    private let database: URL
    private let key: KeyEncryptionKey
    private let log = Mutex(Data())

    /// Makes the record for a store that will be opened in `folder`.
    init(folder: String, key: KeyEncryptionKey) {
        self.database = URL(fileURLWithPath: folder + "/countersign.sqlite")
        self.key = key
    }

    /// Makes the log durable, and keeps its bytes.
    func synchronize(_ file: LogFile) throws {
        try file.synchronize()
        let bytes = try Data(contentsOf: Self.log(of: self.database))
        self.log.withLock { $0 = bytes }
    }

    /// Returns the files now. No checkpoint may run meanwhile.
    func copy() throws -> Copy {
        Copy(database: try Data(contentsOf: self.database), log: self.log.withLock { $0 })
    }

    /// Starts a store from a copy, as the machine would after its stop. Returns all rows.
    func rows(of copy: Copy) async throws -> Set<String> {
        let folder = FileManager.default.temporaryDirectory.appending(path: "stopped-" + UUID().uuidString)
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        let database = folder.appending(path: "countersign.sqlite")
        for (file, bytes) in [(database, copy.database), (Self.log(of: database), copy.log)] {
            guard
                FileManager.default.createFile(
                    atPath: file.path, contents: bytes, attributes: [.posixPermissions: 0o600])
            else { throw StoreError(.unavailable, "no file can be made in \(folder.path)") }
        }
        var opened: (any SQLDatabase)?
        let store = try SQLStore(folder: folder.path, keys: KeyRing(self.key), synchronize: { _ in }) { database in
            opened = database
            return database
        }
        let rows = try await opened?.read { [sealing = store.sealing] in try PicturedTable.picture(of: $0, sealing) }
        await store.close()
        return rows ?? []
    }

    private static func log(of database: URL) -> URL { URL(fileURLWithPath: database.path + "-wal") }
}
