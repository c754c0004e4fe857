import OAuth
import Records

/// The client's identifier alone, for an app that can keep no secret to prove its identity (RFC 6749, section 3.2.1).
/// The verifier of its code is the app's only proof for tokens.
struct PublicClient: ClientCredential {
    static let methods = ["none"]

    let clientID: String

    init?(_ request: ClientRequest) {
        guard request.connection.certificate == nil, let id = Self.identifier(of: request) else { return nil }
        self.clientID = id
    }

    /// Returns the identifier of a request without any other credential.
    static func identifier(of request: ClientRequest) -> String? {
        guard request.header == nil, request.parameters["client_secret"] == nil,
            !UnverifiedClientAssertion.isPresent(in: request.parameters),
            !UnverifiedServiceAssertion.isPresent(in: request.parameters)
        else { return nil }
        return request.parameters["client_id"]
    }

    func failure(for client: ClientRecord?, at clients: Clients) -> String? { nil }
}
