/// A grant type of the token endpoint: a value of `grant_type` (RFC 6749, section 1.3).
///
/// A new grant type is a case here, and a Swift type in the list of the token endpoint. The metadata names every case.
package enum GrantType: String, Sendable, CaseIterable {
    /// The grant type that leads a browser back to the client (RFC 6749, section 4.1).
    case authorizationCode = "authorization_code"
    /// The grant type of a client that already has tokens (RFC 6749, section 6).
    case refreshToken = "refresh_token"
    /// The grant type of a device that its person signs in from elsewhere (RFC 8628, section 3.4).
    case deviceCode = "urn:ietf:params:oauth:grant-type:device_code"
    /// The grant type of a client whose person is asked on the phone (OpenID Connect CIBA Core 1.0, section 10.1).
    case backchannel = "urn:openid:params:grant-type:ciba"
    /// The grant type of a service itself, with any method of client authentication (RFC 6749, section 4.4).
    case clientCredentials = "client_credentials"
    /// The grant type of a service itself, with a statement that the service has signed (RFC 7523, section 2.1).
    case serviceAssertion = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    /// The grant type of a service that exchanges the token of another client (RFC 8693, section 2.1).
    case tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"

    /// The grant types of a service itself, without a person.
    static let own = [Self.clientCredentials, .serviceAssertion]

    /// `true` if the grant type gives a person's tokens without a page that asks about the client's access.
    var asksNobody: Bool { self == .deviceCode || self == .backchannel }

    /// `true` if only clients that prove their identity may use the grant type.
    var isForClientsThatProve: Bool { self == .backchannel || Self.own.contains(self) }
}
