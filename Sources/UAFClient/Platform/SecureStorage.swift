/// Named values that survive the process, the reboot and the power cut, and that no other program reads.
///
/// Duties of an implementation:
/// - ``write(_:to:)`` returns only once the value would survive a power cut, and a crash in between leaves the old value
///   or the new one, never a part. The limit of PIN attempts rests on it.
/// - Values are encrypted at rest and bound to their name, so that one cannot be put in another's place.
/// - While the operating system protects the data, as on a device that was not unlocked since its start, all three throw
///   ``StorageError`` `locked`. A value that is there is never said to be none: the SDK would begin anew, and what was there
///   would be lost.
/// - At most one process uses the storage at a time.
/// - The calls are short and may come from any thread; they may block for the disk.
public protocol SecureStorage: Sendable {
    /// Whether this is a store for development, whose keys a reader of the device's disk can take.
    ///
    /// The app says so to the person at enrolment.
    var isDevelopmentStore: Bool { get }

    /// The value of that name, or `nil` where there is none. Throws ``StorageError``.
    func read(_ name: String) throws -> [UInt8]?

    /// Sets the value of that name, durably. Throws ``StorageError``; the old value is then still there, or the new one.
    func write(_ value: [UInt8], to name: String) throws

    /// Removes the value of that name, durably; nothing happens where there is none. Throws ``StorageError``.
    func remove(_ name: String) throws
}

/// Why a secure storage did not do its work. Two are equal when their codes are.
public struct StorageError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case unavailable, corrupt, newer, inUse, locked, unsupported }
        private let base: Base
        /// The medium failed or is full. Transient; nothing was changed that was not asked for.
        public static let unavailable = Self(base: .unavailable)
        /// The value is there and cannot be opened: damaged, exchanged, or written under another key.
        public static let corrupt = Self(base: .corrupt)
        /// A later version of the program has written the value. Nothing is lost: it opens after an update.
        public static let newer = Self(base: .newer)
        /// Another process uses the storage.
        public static let inUse = Self(base: .inUse)
        /// The person has to unlock it first, or to set it up: a keyring, or a device that was not unlocked since its start.
        /// Nothing is lost. Open it again while they look at the app.
        public static let locked = Self(base: .locked)
        /// This device has no such storage. Lasting: use another one.
        public static let unsupported = Self(base: .unsupported)
        public var description: String { self.base.rawValue }
    }

    /// What happened, and what to do about it.
    public let code: Code
    /// For the log: never a stored value.
    public let reason: String

    /// An error of that code; `reason` goes to the log alone.
    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    public var description: String { "StorageError.\(self.code): \(self.reason)" }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}
