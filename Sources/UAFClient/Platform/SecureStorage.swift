public import _Primitives

/// Named values that survive the end of the process, a reboot and a power cut, and that no other program can read.
///
/// Duties of an implementation:
/// - ``write(_:to:)`` returns only after the value would survive a power cut. A crash in between leaves the old value
///   or the new value, never a part. The limit of PIN attempts relies on this.
/// - Values are encrypted at rest and bound to their name, so no value can replace another value.
/// - While the operating system protects the data, as on a device that was not unlocked since its start, all three
///   functions throw ``StorageError`` `locked`. The functions never report an existing value as missing: the SDK would
///   begin anew, and the existing value would be lost.
/// - At most one process uses the storage at a time.
/// - The calls are short and may come from any thread; they may block for the disk.
public protocol SecureStorage: Sendable {
    /// `true` if this is a store for development, whose keys a reader of the device's disk can take.
    ///
    /// The app tells the person so at the enrolment.
    var isDevelopmentStore: Bool { get }

    /// Returns the value with the name; `nil` if the storage has none. Throws ``StorageError``.
    func read(_ name: String) throws -> [UInt8]?

    /// Sets the value with the name, durably. Throws ``StorageError``; the storage then has the old value or the new
    /// value.
    func write(_ value: [UInt8], to name: String) throws

    /// Removes the value with the name, durably; does nothing if the storage has none. Throws ``StorageError``.
    func remove(_ name: String) throws
}

/// The reason why a secure storage failed. Two errors are equal if their codes are equal.
public struct StorageError: CodedError {
    /// The kind of error, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case unavailable, corrupt, newer, inUse, locked, unsupported }
        private let base: Base
        /// The medium failed or is full. The failure is transient, and no other value was changed.
        public static let unavailable = Self(base: .unavailable)
        /// The value exists and cannot be opened: damaged, exchanged, or written under another key.
        public static let corrupt = Self(base: .corrupt)
        /// A later version of the program has written the value. Nothing is lost: the value opens after an update.
        public static let newer = Self(base: .newer)
        /// Another process uses the storage.
        public static let inUse = Self(base: .inUse)
        /// The person first has to unlock the storage or set it up: a keyring, or a device that was not unlocked since
        /// its start.
        ///
        /// Nothing is lost. Open the storage again while the person looks at the app.
        public static let locked = Self(base: .locked)
        /// This device has no such storage. The failure is permanent: use another storage.
        public static let unsupported = Self(base: .unsupported)
        public var description: String { self.base.rawValue }
    }

    /// The kind of error, from which the app chooses what to do.
    public let code: Code
    /// A text for the log, never with a stored value.
    public let reason: String

    /// Creates an error with the code; `reason` is for the log only.
    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}
