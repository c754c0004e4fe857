/// An error that has a code for programs and a reason for logs.
///
/// Two errors are equal if their codes are equal: a test or a `switch` names the code, and the reason is free to change.
public protocol CodedError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The type of the codes.
    associatedtype Code: Hashable & Sendable & CustomStringConvertible

    /// The code.
    var code: Code { get }
    /// The cause, for logs; may be empty.
    var reason: String { get }
}

extension CodedError {
    /// The type, the code and the reason.
    public var description: String {
        self.reason.isEmpty ? "\(Self.self).\(self.code)" : "\(Self.self).\(self.code): \(self.reason)"
    }

    /// Returns `true` if the codes are equal.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }

    /// Hashes the code.
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}
