import _Primitives

/// How far a store has come in sealing anew what lies under a former key-encryption key.
public struct Resealed: Sendable, Equatable {
    /// Values that were looked at.
    public var examined: Int
    /// Those that lay under another key than the newest, and lie under it now.
    public var resealed: Int
    /// Those that open under no key: somebody has spoilt them, and they stay as they are.
    public var unreadable: Int
    /// Where those are: tables and columns.
    public var unreadableColumns: [String]

    /// So many values.
    public init(examined: Int = 0, resealed: Int = 0, unreadable: Int = 0, unreadableColumns: [String] = []) {
        self.examined = examined
        self.resealed = resealed
        self.unreadable = unreadable
        self.unreadableColumns = unreadableColumns
    }

    /// Counts what another stretch of the store has had.
    public mutating func add(_ other: Resealed) {
        self.examined += other.examined
        self.resealed += other.resealed
        self.unreadable += other.unreadable
        for column in other.unreadableColumns where !self.unreadableColumns.containsBytes(of: column) {
            self.unreadableColumns.append(column)
        }
    }
}

/// Keeps which key-encryption keys values lie under.
public protocol SealingKeyStore: Sendable {
    /// The identifiers of the keys that values of this store can lie under, the newest first.
    func sealingKeys() async throws -> [String]

    /// Seals everything anew that lies under another key than the newest, some rows in each step, and forgets the former keys
    /// with the audit event once nothing lies under them. Does nothing where the newest is the only one. Where a value could
    /// not be read, all former keys stay: nobody knows which of them it needs.
    ///
    /// Every step leaves the store whole: whoever ends in between begins again, and a value is the same before and after.
    /// `told` hears how far it is after each step.
    func reseal(
        audit: @escaping @Sendable () -> AuditEvent, told: @escaping @Sendable (Resealed) -> Void
    ) async throws -> Resealed
}
