import _Primitives

/// The progress of a store in sealing anew the values under a former key-encryption key.
public struct Resealed: Sendable, Equatable {
    /// The number of examined values.
    public var examined: Int
    /// The number of values that were sealed under another key than the newest, and are sealed under the newest key
    /// now.
    public var resealed: Int
    /// The number of values that no key opens. These values were spoilt, and stay as they are.
    public var unreadable: Int
    /// The tables and columns of the unreadable values.
    public var unreadableColumns: [String]

    /// Makes a progress with these numbers.
    public init(examined: Int = 0, resealed: Int = 0, unreadable: Int = 0, unreadableColumns: [String] = []) {
        self.examined = examined
        self.resealed = resealed
        self.unreadable = unreadable
        self.unreadableColumns = unreadableColumns
    }

    /// Adds the numbers of another part of the store.
    public mutating func add(_ other: Resealed) {
        self.examined += other.examined
        self.resealed += other.resealed
        self.unreadable += other.unreadable
        for column in other.unreadableColumns where !self.unreadableColumns.containsBytes(of: column) {
            self.unreadableColumns.append(column)
        }
    }
}

/// Keeps the names of the key-encryption keys that values are sealed under.
public protocol SealingKeyStore: Sendable {
    /// Returns the identifiers of the keys that values of this store can be sealed under, the newest first.
    func sealingKeys() async throws -> [String]

    /// Seals anew all values sealed under another key than the newest, some rows in each step. Once no value needs the
    /// former keys, forgets these keys with the audit event.
    ///
    /// Does nothing if the newest key is the only key. If a value could not be read, all former keys stay: the key that
    /// the value needs is unknown.
    ///
    /// Every step leaves the store whole. A process that ends in between begins again, and a value is the same before
    /// and after. `told` receives the progress after each step.
    func reseal(
        audit: @escaping @Sendable () -> AuditEvent, told: @escaping @Sendable (Resealed) -> Void
    ) async throws -> Resealed
}
