import Ceremony
import CountersignServer
import Records
import SQLStore
import SQLiteStore
import Sealing
import Settings
import _Primitives

/// The store of a data folder, opened under its key.
struct OpenStore {
    let database: SQLStore
    private let sealing: Sealing
    let limits: Limits

    /// Opens the folder's store. Makes the folder, the key and the store if they do not exist yet.
    init(
        folder: DataFolder, keyFile: KeyFile, limits: Limits,
        measure: @escaping @Sendable (StoreMeasurement) -> Void = { _ in }
    ) throws {
        try folder.prepare()
        let keys = try keyFile.keys(mayCreate: !folder.holdsDatabase, dataFolder: folder.path)
        do {
            self.database = try SQLStore(folder: folder.path, keys: keys, limits: limits, measure: measure)
            self.sealing = self.database.sealing
            self.limits = limits
        } catch let error as StoreError {
            throw Self.failure(error, folder, keyFile)
        }
    }

    func assembly(_ configuration: ServerAssembly.Configuration, trace: TraceRecorder? = nil) async throws
        -> ServerAssembly
    {
        try await ServerAssembly.open(configuration, store: self.database, sealing: self.sealing, trace: trace)
    }

    private static func failure(_ error: StoreError, _ folder: DataFolder, _ keyFile: KeyFile) -> CommandFailure {
        switch error.code {
        case .locked:
            CommandFailure(
                .failed, "another process uses the data folder \(folder.path)",
                remedy: "Stop it, or name another folder (--data).")
        case .wrongKey:
            CommandFailure(
                .failed, "the key file \(keyFile.path) does not open the database in \(folder.path)",
                remedy: "Name the key file that it was made with (--key-file).")
        case .missingKey:
            CommandFailure(
                .failed, "the key file \(keyFile.path) lacks a former key: \(error.reason)",
                remedy: """
                    Put its line back, below the first. When nothing lies under it any more the log says so, and \
                    `countersign db forget-keys` takes it out.
                    """)
        case .newerSchema:
            CommandFailure(
                .failed, "the database in \(folder.path) was written by a newer version",
                remedy: "Run that version, or restore a backup of this one.")
        default: CommandFailure(.failed, "the database in \(folder.path) cannot be opened: \(error)")
        }
    }
}
