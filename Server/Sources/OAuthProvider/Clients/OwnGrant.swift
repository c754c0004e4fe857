import OAuth

/// The grant types for a service itself, without a person.
enum OwnGrant {
    /// With any method of client authentication (RFC 6749, section 4.4).
    static let clientCredentials = "client_credentials"
    /// With a statement that the client has signed (RFC 7523, section 2.1).
    static let serviceAssertion = UnverifiedServiceAssertion.grantType

    /// All of the grant types.
    static let types = [Self.clientCredentials, Self.serviceAssertion]
}
