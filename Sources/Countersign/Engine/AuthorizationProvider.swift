/// What proves to the server who registers: made by an authentication, given to a registration.
public protocol AuthorizationProvider: Sendable {
    /// The header fields to send along.
    var headers: [(name: String, value: String)] { get }
}

/// A JSON web token of the server, sent as bearer token.
public struct JwtAuthorizationProvider: AuthorizationProvider, CustomStringConvertible, CustomReflectable {
    /// The token: a secret.
    public let jwt: String

    /// A provider of that token.
    public init(_ jwt: String) { self.jwt = jwt }

    /// The token as `Authorization: Bearer`.
    public var headers: [(name: String, value: String)] { [("Authorization", "Bearer \(self.jwt)")] }
    /// Without the token.
    public var description: String { "JwtAuthorizationProvider" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
