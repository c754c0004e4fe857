import OAuth
import Store

/// The identifier alone: an app that can keep nothing to prove itself by (RFC 6749, section 3.2.1). What it gets it gets for
/// the verifier of its code.
struct PublicClient: ClientCredential {
    static let methods = ["none"]

    let clientID: String

    init?(_ request: ClientRequest) {
        guard request.connection.certificate == nil, let id = Self.identifier(of: request) else { return nil }
        self.clientID = id
    }

    /// The identifier of a request that shows nothing else.
    static func identifier(of request: ClientRequest) -> String? {
        guard request.header == nil, request.parameters["client_secret"] == nil,
            !UnverifiedClientAssertion.isPresent(in: request.parameters),
            !UnverifiedServiceAssertion.isPresent(in: request.parameters)
        else { return nil }
        return request.parameters["client_id"]
    }

    func failure(for client: ClientRecord?, at provider: OpenIDProvider) -> String? { nil }
}
