/// The credentials that authenticate a person's requests to the server. An authentication creates the provider; a
/// registration, for instance, uses it.
public protocol AuthorizationProvider: Sendable {
    /// The header fields for the request.
    var headers: [(name: String, value: String)] { get }
}

/// A JSON web token of the server, sent as a bearer token.
public struct JwtAuthorizationProvider: AuthorizationProvider, CustomStringConvertible, CustomReflectable {
    /// The token: a secret.
    public let jwt: String

    /// Creates a provider with the token.
    public init(_ jwt: String) { self.jwt = jwt }

    /// The token as `Authorization: Bearer`.
    public var headers: [(name: String, value: String)] { [("Authorization", "Bearer \(self.jwt)")] }
    /// A description without the token.
    public var description: String { "JwtAuthorizationProvider" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
