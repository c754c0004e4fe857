import _Primitives

/// The place of the key of a folder of values.
struct KeptKey {
    /// Reads the key; `nil` if the place has none. Throws ``StorageError``.
    let read: () throws -> SecretBytes?
    /// Stores a key, durably, if the place has none yet. Throws ``StorageError``.
    let keep: (SecretBytes) throws -> Void
}
