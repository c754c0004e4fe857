public import _Primitives

/// The configuration of a service's back end, as `countersign admin client add` creates the service.
public struct BackendConfiguration: Sendable {
    /// The server's issuer, as in the discovery document: `https`, or `http` on this machine, without a slash at the
    /// end.
    public var issuer: String
    /// The service's `client_id`.
    public var clientID: String
    /// The service's secret.
    public var clientSecret: SecretBytes
    /// One of the service's redirect addresses, to the letter.
    public var redirectURI: String
    /// The requested scope; contains `openid`.
    public var scope: String
    /// The accepted difference of the server's clock.
    public var clockSkew: Duration

    /// Creates a configuration.
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
