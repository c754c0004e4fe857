import OAuth

/// The ways to tokens of a service itself, without a person.
enum OwnGrant {
    /// By whatever the client authenticates with (RFC 6749, section 4.4).
    static let clientCredentials = "client_credentials"
    /// By a statement that the client has signed (RFC 7523, section 2.1).
    static let serviceAssertion = UnverifiedServiceAssertion.grantType

    /// All of them.
    static let types = [Self.clientCredentials, Self.serviceAssertion]
}
