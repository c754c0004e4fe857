import JOSE
import OAuth
import Records
import _Primitives

/// A client's identifier, and the certificate of the connection (RFC 8705, section 2).
///
/// The certificate has a name that one of the operator's authorities vouches for, or a key that the client has
/// registered. An app that proves nothing may show a certificate, too, so that its tokens are bound to the certificate.
struct CertificateClient: ClientCredential {
    /// An authority vouches for the certificate (section 2.1).
    static let issued = "tls_client_auth"
    /// The client has registered the certificate's key itself (section 2.2).
    static let selfSigned = "self_signed_tls_client_auth"
    /// The methods that need a certificate.
    static let proving = [Self.issued, Self.selfSigned]

    static let methods = Self.proving + PublicClient.methods

    let clientID: String
    private let certificate: ClientCertificate

    init?(_ request: ClientRequest) {
        guard let certificate = request.connection.certificate, let id = PublicClient.identifier(of: request) else {
            return nil
        }
        self.clientID = id
        self.certificate = certificate
    }

    /// Returns the reason why the certificate does not prove the client; `nil` for a valid proof, and for an app that
    /// proves nothing.
    ///
    /// Cost: for an authority's certificate one or more signatures; for a registered key as
    /// ``Clients/keys(of:naming:)``.
    func failure(for client: ClientRecord?, at clients: Clients) async throws -> String? {
        guard let client else { return "another way to authenticate" }
        switch ExactText(client.settings.authenticationMethod) {
        case ExactText(Self.issued): return await self.distrust(for: client)
        case ExactText(Self.selfSigned): return try await self.unknownKey(for: client, at: clients)
        default: return nil
        }
    }

    private func distrust(for client: ClientRecord) async -> String? {
        guard let name = client.settings.certificateName, self.certificate.has(name) else {
            return "its certificate has the names \(self.certificate.names.map(\.text).joined(separator: ", "))"
        }
        return await self.certificate.distrust()
    }

    private func unknownKey(for client: ClientRecord, at clients: Clients) async throws -> String? {
        guard let key = self.certificate.key else {
            return "its certificate has a key of a kind that none is registered of"
        }
        do {
            let thumbprint = key.thumbprint
            func isRegistered(_ keys: JWKSet) -> Bool {
                keys.keys.contains { key in
                    // A key for encryption proves no client.
                    key.thumbprint.hasSameBytes(as: thumbprint) && JWSAlgorithm.ofClients.contains(where: key.fits)
                }
            }
            if isRegistered(try await clients.keys(of: client, naming: nil)) { return nil }
            // A client that keeps its keys itself can have added a key since. Asking for a missing key fetches the keys
            // again, unless the last fetch was just now.
            guard client.settings.keySetAddress != nil,
                isRegistered(try await clients.keys(of: client, naming: thumbprint))
            else { return "its certificate has another key than those that are registered" }
            return nil
        } catch let error as OutgoingCallError {
            return error.reason
        }
    }
}
