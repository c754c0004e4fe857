import JOSE
import OAuth
import Records
import Settings
import _Primitives

extension ClientDeliveries {
    /// The event of the statement (OpenID Connect Back-Channel Logout 1.0, section 2.4).
    static let logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

    /// Returns the statement that a session has ended (section 2.4), made for this one delivery.
    ///
    /// Cost: one signature of the client's algorithm, two HMACs.
    func logout(of session: String, subject: String, for client: ClientRecord, since end: Timestamp) async throws
        -> ClientMessage
    {
        let provider = self.provider
        let limits = provider.limits.oauth
        let now = provider.time.now()
        let algorithm = client.settings.idTokenAlgorithm
        try await provider.keys.require(algorithm)
        let token = try provider.keys.signing.sign(
            [
                "iss": .string(provider.issuer), "sub": .string(subject), "aud": .string(client.id),
                "iat": .integer(now.seconds), "exp": .integer((now + limits.logoutTokenLifetime).seconds),
                "jti": .string(provider.random.identifier()),
                "sid": .string(provider.keys.signing.pairwise("sid", client: client.id, of: session)),
                "events": .object([Self.logoutEvent: .object([:])]),
            ], type: TokenType.logoutToken, algorithm: algorithm, at: now)
        let form: Parameters = ["logout_token": token]
        return ClientMessage(
            content: .form(form.encoded), end: end + limits.logoutDeliveryLifetime, undelivered: .logoutUndelivered)
    }
}

extension AuditEvent.Kind {
    /// A client was never told that a session had ended, however often the server tried; the actor is the client.
    static let logoutUndelivered = Self(rawValue: "logout-undelivered")
}
