public import _Primitives

/// The reason why a store did not do a step. A refused step leaves nothing behind. Two errors are equal when their
/// codes are equal.
public struct StoreError: CodedError {
    /// The kind of an error, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String {
            case unavailable, conflict, notFound, forbidden, outdated, corrupt, wrongKey, missingKey, locked,
                newerSchema,
                invalidKey
        }
        private let name: Name
        /// The store cannot write or read now: its disk is full, the store is busy, or its queue is full. Trying again
        /// may help.
        public static let unavailable = Self(name: .unavailable)
        /// The step would break a rule of uniqueness or order: a name is taken, a counter went back, a state has
        /// passed.
        public static let conflict = Self(name: .conflict)
        /// A row that the step needs does not exist (any more), or no longer counts.
        public static let notFound = Self(name: .notFound)
        /// The account is locked, or its key may not be used (yet).
        public static let forbidden = Self(name: .forbidden)
        /// A state that a person has confirmed for the step has changed since: a value is gone, or the largest number
        /// is reached.
        public static let outdated = Self(name: .outdated)
        /// Stored data cannot be read: a damaged file, or a sealed value that does not belong to its row.
        public static let corrupt = Self(name: .corrupt)
        /// None of the given key-encryption keys is a key of this store.
        public static let wrongKey = Self(name: .wrongKey)
        /// A former key-encryption key is missing, and values of this store are still sealed under this key.
        public static let missingKey = Self(name: .missingKey)
        /// Another process holds the data folder.
        public static let locked = Self(name: .locked)
        /// The store was written by a newer version of the program.
        public static let newerSchema = Self(name: .newerSchema)
        /// The key-encryption key cannot be read: not 32 bytes, or readable by others.
        public static let invalidKey = Self(name: .invalidKey)
        public var description: String { self.name.rawValue }
    }

    /// The kind of the error.
    public let code: Code
    /// A text for the log about the problem and its place, never with a stored value.
    public let reason: String

    /// Makes an error. `reason` must hold no stored value.
    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    /// `true` for a failure of the store itself; `false` for a refusal.
    package var isStoresOwn: Bool { self.code == .unavailable || self.code == .corrupt }
}

extension RawRepresentable {
    /// Reads a stored raw value. Throws `corrupt` with `reason` for a raw value that the type does not have.
    package init(stored rawValue: RawValue, _ reason: String) throws(StoreError) {
        guard let value = Self(rawValue: rawValue) else { throw StoreError(.corrupt, reason) }
        self = value
    }
}
