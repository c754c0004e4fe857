/// Why a password was not hashed or judged. Two are equal when their codes are.
public struct HashingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String { case busy, closed, failed }
        private let name: Name
        /// Too many wait already. It is 503 with `Retry-After` to whoever asked.
        public static let busy = Self(name: .busy)
        /// The pool was shut down.
        public static let closed = Self(name: .closed)
        /// The library could not: no memory, or a function that the system's libcrypt leaves out.
        public static let failed = Self(name: .failed)
        public var description: String { self.name.rawValue }
    }

    /// What went wrong.
    public let code: Code
    /// For the log.
    public let reason: String
    /// When to come again, of ``Code/busy``.
    public let retryAfter: Duration?

    init(_ code: Code, _ reason: String, retryAfter: Duration? = nil) {
        self.code = code
        self.reason = reason
        self.retryAfter = retryAfter
    }

    public var description: String { "HashingError.\(self.code): \(self.reason)" }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}
