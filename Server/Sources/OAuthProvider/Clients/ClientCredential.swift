import OAuth
import Store
import _Primitives

/// What a client sends to an endpoint where it must say who it is.
struct ClientRequest: Sendable {
    /// The value of `Authorization`, or `nil`.
    let header: String?
    /// The form, without parameters where the endpoint takes none.
    let parameters: Parameters
    /// Whether it asks for tokens: a statement to get one by proves nothing elsewhere.
    var asksForTokens = false
    /// What it came over.
    var connection = ClientConnection.usual
}

/// A way in which clients prove who they are, as one request shows it (RFC 6749, section 2.3).
///
/// A new one is a type, and a line in ``OpenIDProvider/clientCredentials``; the metadata names all methods of the list.
protocol ClientCredential: Sendable {
    /// The values of `token_endpoint_auth_method` that come this way.
    static var methods: [String] { get }

    /// Takes what the request shows; `nil` where it shows nothing of this kind. Throws `OAuthError` where it does, and that
    /// cannot be read.
    init?(_ request: ClientRequest) throws(OAuthError)

    /// Whose it claims to be.
    var clientID: String { get }

    /// Says why it does not prove that the request is that client's; `nil` where it does. What counts once is taken with
    /// this.
    ///
    /// - Parameter client: The client of ``clientID``, where it is registered for one of ``methods``.
    func failure(for client: ClientRecord?, at provider: OpenIDProvider) async throws -> String?
}
