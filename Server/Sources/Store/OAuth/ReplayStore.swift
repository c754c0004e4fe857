public import _Primitives

/// Remembers what counts once: statements that clients have signed, by the name that they gave them (`jti`).
public protocol ReplayStore: Sendable {
    /// Takes a statement, for good. Says whether this call, and no other on any node, has it.
    ///
    /// Must be atomic: of any number of calls for one digest exactly one is told `true`.
    ///
    /// - Parameters:
    ///   - digest: What names the statement among all that were ever made. 32 bytes.
    ///   - end: From then on the statement is refused for its age, and need not be remembered.
    func takeOnce(digest: [UInt8], until end: Timestamp) async throws -> Bool
}
