import _Primitives

/// The place of the key of a folder of values.
struct KeptKey {
    /// Reads the key; `nil` if the place has none. Throws ``StorageError``.
    let read: () throws -> SecretBytes?
    /// Stores a key durably. Call this function only if the place has no key: the function does not check. Throws
    /// ``StorageError``.
    let keep: (SecretBytes) throws -> Void
}
