public import _Primitives

/// Keeps the state of access tokens as far as the tokens do not state it themselves: the standing grants, and the names
/// of tokens revoked before their end.
public protocol TokenStore: Sendable {
    /// Returns the grant that stands at `moment`, with its authentication; `nil` if the grant is unknown, if the grant
    /// or a row that it depends on has ended, if its client is switched off, or if a token in the list was revoked.
    ///
    /// - Parameter tokens: Access tokens of the grant by their `jti`.
    func grant(_ id: String, tokens: [String], at moment: Timestamp) async throws -> StandingGrant?

    /// Returns `true` if a token in the list was revoked, by `jti`.
    func isRevoked(tokens: [String]) async throws -> Bool

    /// Revokes an access token that would be valid until `end`.
    ///
    /// - Parameter grant: The grant that the token depends on. Nothing happens if the grant does not exist (any more).
    ///   `nil` for a token that a client got for itself.
    func revokeToken(_ id: String, ofGrant grant: String?, until end: Timestamp) async throws
}
