import JOSE
import OAuth
import Records
import Settings
import _Primitives

/// The statements to clients that a person's session has ended (OpenID Connect Back-Channel Logout 1.0).
struct LogoutStatements: Sendable {
    /// The event of the statement (section 2.4).
    private static let event = "http://schemas.openid.net/event/backchannel-logout"

    let clients: Clients

    /// Returns the statement that a session has ended (section 2.4), made for this one delivery.
    ///
    /// Cost: one signature of the client's algorithm, two HMACs.
    func message(of session: String, subject: String, for client: ClientRecord, since end: Timestamp) async throws
        -> ClientMessage
    {
        let (clients, keys) = (self.clients, self.clients.keys)
        let limits = clients.limits.oauth
        let now = clients.time.now()
        let algorithm = client.settings.idTokenAlgorithm
        try await keys.require(algorithm)
        let token = try keys.signing.sign(
            [
                "iss": .string(clients.issuer), "sub": .string(subject), "aud": .string(client.id),
                "iat": .integer(now.seconds), "exp": .integer((now + limits.logoutTokenLifetime).seconds),
                "jti": .string(clients.random.identifier()),
                "sid": .string(keys.signing.pairwise("sid", client: client.id, of: session)),
                "events": .object([Self.event: .object([:])]),
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
