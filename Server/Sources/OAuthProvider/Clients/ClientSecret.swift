import OAuth
import Records
import Sealing
import _Primitives

/// The secret that a client shares with the server, in the header or in the form (RFC 6749, section 2.3.1).
struct ClientSecret: ClientCredential {
    static let methods = ClientCredentials.Method.allCases.map(\.rawValue)

    private let credentials: ClientCredentials

    init?(_ request: ClientRequest) throws(OAuthError) {
        guard request.header != nil || request.parameters["client_secret"] != nil else { return nil }
        self.credentials = try ClientCredentials(header: request.header, parameters: request.parameters)
    }

    var clientID: String { self.credentials.clientID }

    /// Compares in constant time. The former secret counts until its end. An unknown client takes as long as a known
    /// client with a wrong secret. Cost: one hash.
    func failure(for client: ClientRecord?, at clients: Clients) -> String? {
        let digest = self.credentials.secret.withBytes { Sealing.digest(ofSecret: $0) }
        let none = [UInt8](repeating: 0, count: 32)
        let former = client?.formerSecret
        // Both are compared, whatever the result of the first.
        let isPresent = constantTimeEqual(digest, client?.secretDigest ?? none)
        let isFormer = constantTimeEqual(digest, former?.digest ?? none)
        let isFormerTaken = former.map { clients.time.now() < $0.endsAt } ?? false
        if isPresent || isFormer && isFormerTaken { return nil }
        return isFormer ? "a secret that was rotated, and has ended" : "wrong secret"
    }
}
