import _Primitives

/// Where the key of a folder of values is kept.
struct KeptKey {
    /// The key, or `nil` where there is none. Throws ``StorageError``.
    let read: () throws -> SecretBytes?
    /// Keeps a key, durably, where there is none yet. Throws ``StorageError``.
    let keep: (SecretBytes) throws -> Void
}
