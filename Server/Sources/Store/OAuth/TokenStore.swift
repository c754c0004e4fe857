public import _Primitives

/// Knows which access tokens still stand, as far as they do not say it themselves, and keeps those that were taken back
/// before their end.
public protocol TokenStore: Sendable {
    /// The grant that stands at `moment`, with its authentication; `nil` where it is unknown or ended, or what it hangs on is,
    /// or one of the tokens was taken back.
    ///
    /// - Parameter tokens: Access tokens of it by their `jti`.
    func grant(_ id: String, tokens: [String], at moment: Timestamp) async throws -> StandingGrant?

    /// Whether one of these tokens was taken back, by their `jti`.
    func isRevoked(tokens: [String]) async throws -> Bool

    /// Takes an access token back, which would be valid until `end`.
    ///
    /// - Parameter grant: What it hangs on. Nothing happens where there is no such grant (any more). `nil` for a token that
    ///   a client was given for itself.
    func revokeToken(_ id: String, ofGrant grant: String?, until end: Timestamp) async throws
}
