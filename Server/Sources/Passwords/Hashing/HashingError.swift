public import _Primitives

/// The reason why a password was not hashed or judged. Two errors are equal if their codes are equal.
public struct HashingError: CodedError {
    /// The reason of the error, for code that must choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String { case busy, closed, failed }
        private let name: Name
        /// Too many hashes wait already. A caller over HTTP gets 503 with `Retry-After`.
        public static let busy = Self(name: .busy)
        /// The pool was shut down.
        public static let closed = Self(name: .closed)
        /// The library failed: no memory, or a function that the system's libcrypt leaves out. Or the limits allow no
        /// hashing.
        public static let failed = Self(name: .failed)
        public var description: String { self.name.rawValue }
    }

    /// The reason of the error.
    public let code: Code
    /// A text for the log.
    public let reason: String
    /// The time after which to try again, for ``Code/busy``.
    public let retryAfter: Duration?

    init(_ code: Code, _ reason: String, retryAfter: Duration? = nil) {
        self.code = code
        self.reason = reason
        self.retryAfter = retryAfter
    }
}
