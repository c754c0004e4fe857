import JOSE
import OAuth
public import Records
import Settings
public import _Primitives

/// Returns the status document of an ended session for the client that dispatched the session.
public typealias SessionStatuses = @Sendable (CeremonyRecord, ClientRecord) async throws -> JSONObject

/// The statements to back ends that a session which they dispatched has ended (decision 122).
struct StatusStatements: Sendable {
    let clients: Clients
    let statuses: SessionStatuses

    /// Returns the statement of how a session has ended, made for this one delivery: a JWT for the client with the
    /// document that the client's question for the status would get.
    ///
    /// Cost: the status document; one signature of the client's algorithm, and one more for a confirmed transaction.
    func message(of session: CeremonyRecord, for client: ClientRecord) async throws -> ClientMessage {
        let (clients, keys) = (self.clients, self.clients.keys)
        let limits = clients.limits.oauth
        let algorithm = client.settings.idTokenAlgorithm
        try await keys.require(algorithm)
        let status = try await self.statuses(session, client)
        let now = clients.time.now()
        var claims: JSONObject = [
            "iss": .string(clients.issuer), "aud": .string(client.id), "iat": .integer(now.seconds),
            "exp": .integer((now + limits.logoutTokenLifetime).seconds), "jti": .string(clients.random.identifier()),
            "session_id": .string(session.id), "status": .object(status),
        ]
        claims["sub"] = try status.string("subject").map(JSON.string)
        let token = try keys.signing.sign(claims, type: TokenType.sessionStatus, algorithm: algorithm, at: now)
        let form: Parameters = ["status_token": token]
        return ClientMessage(
            content: .form(form.encoded), end: session.changedAt + limits.logoutDeliveryLifetime,
            undelivered: .statusUndelivered)
    }
}

extension AuditEvent.Kind {
    /// A client was never told how a session that it dispatched has ended, however often the server tried; the actor is
    /// the client. The trail has at most one such event an hour for each client.
    static let statusUndelivered = Self(rawValue: "status-undelivered")
}
