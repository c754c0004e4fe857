public import _Primitives

/// Remembers statements that count only once: statements that clients have signed, by the client's name for the
/// statement (`jti`).
public protocol ReplayStore: Sendable {
    /// Takes a statement, for good. Returns `true` if this call, and no other on any node, has the statement.
    ///
    /// Must be atomic: of any number of calls for the same digest exactly one returns `true`.
    ///
    /// - Parameters:
    ///   - digest: The statement's name among all statements that were ever made. 32 bytes.
    ///   - end: The moment from which the statement is refused for its age, and need not be remembered.
    func takeOnce(digest: [UInt8], until end: Timestamp) async throws -> Bool
}
