import OAuth
import Records
import _Primitives

/// A client's request to an endpoint that requires the client's identity.
struct ClientRequest: Sendable {
    /// The value of `Authorization`, or `nil`.
    let header: String?
    /// The form; empty for an endpoint without parameters.
    let parameters: Parameters
    /// `true` if the request asks for tokens: a statement that gets a token proves nothing elsewhere.
    var asksForTokens = false
    /// The connection of the request.
    var connection = ClientConnection.usual
}

/// A method of client authentication, as a request shows its credential (RFC 6749, section 2.3).
///
/// A new method is a type, and a line in ``Clients/credentials``. The metadata names all methods of the
/// list.
protocol ClientCredential: Sendable {
    /// The values of `token_endpoint_auth_method` for this method.
    static var methods: [String] { get }

    /// Reads the credential of a request; `nil` if the request has no credential of this kind. Throws `OAuthError` if
    /// the credential cannot be read.
    init?(_ request: ClientRequest) throws(OAuthError)

    /// The identifier of the client that the credential claims.
    var clientID: String { get }

    /// Returns the reason why the credential does not prove the client; `nil` for a valid proof. Uses up a credential
    /// that counts only once, if the proof is valid.
    ///
    /// - Parameter client: The client of ``clientID``; `nil` if the client is unknown, or registered for none of
    ///   ``methods``.
    func failure(for client: ClientRecord?, at clients: Clients) async throws -> String?
}
