import UAFClient
import _Primitives

/// Where the key of a folder of values is kept.
struct KeptKey {
    /// The key, or `nil` where there is none. Throws ``StorageError``.
    let read: () throws -> SecretBytes?
    /// Keeps a key, durably, where there is none yet. Throws ``StorageError``.
    let keep: (SecretBytes) throws -> Void

    /// In a file that its owner alone can read.
    static func inFile(_ path: String) -> KeptKey {
        KeptKey(
            read: { try EncryptedFileStorage.contents(of: path, limit: 64, isKey: true).map { SecretBytes($0) } },
            keep: { key in
                let folder = EncryptedFileStorage.folder(of: path)
                try EncryptedFileStorage.makeDirectory(folder)
                try EncryptedFileStorage.replace(
                    path, with: key.withBytes { Array($0) }, in: folder, interruption: { _ in })
            })
    }
}
