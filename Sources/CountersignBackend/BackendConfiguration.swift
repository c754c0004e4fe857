public import _Primitives

/// A service, as its back end knows itself: what `countersign admin client add` has made.
public struct BackendConfiguration: Sendable {
    /// The server, as its discovery document names it: `https`, without a slash at its end.
    public var issuer: String
    /// The service's `client_id`.
    public var clientID: String
    /// The service's secret.
    public var clientSecret: SecretBytes
    /// One of the service's, to the letter.
    public var redirectURI: String
    /// What is asked for; contains `openid`.
    public var scope: String
    /// How far the server's clock may differ.
    public var clockSkew: Duration

    /// Describes a service.
    public init(
        issuer: String, clientID: String, clientSecret: SecretBytes, redirectURI: String, scope: String = "openid",
        clockSkew: Duration = .seconds(30)
    ) {
        self.issuer = issuer
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.redirectURI = redirectURI
        self.scope = scope
        self.clockSkew = clockSkew
    }
}
