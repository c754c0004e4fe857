package import OAuth
package import Records
import Settings
import _Primitives

extension Clients {
    /// The methods of client authentication.
    static let credentials: [any ClientCredential.Type] = [
        ClientSecret.self, PrivateKeyJWT.self, ServiceAssertion.self, PublicClient.self, CertificateClient.self,
    ]

    /// Returns the credential of a request that has exactly one.
    ///
    /// Throws `OAuthError` `invalid_client` if the request has none, `invalid_request` if the request has two.
    static func credential(of request: ClientRequest) throws -> any ClientCredential {
        let shown = try Self.credentials.compactMap { try $0.init(request) }
        guard let credential = shown.first else {
            throw OAuthError(.invalidClient, "The client did not authenticate.", detail: "no credentials")
        }
        guard shown.count == 1 else { throw OAuthError(.invalidRequest, "The client authenticates in two ways.") }
        return credential
    }

    /// The error for a client of the app sign-in service at every endpoint of OpenID Connect.
    static let isOfSignInService = OAuthError(
        .unauthorizedClient, "This client is one of the app sign-in service, at /v0/sign_in.",
        detail: "a client has one profile: countersign admin client change --no-sign-in-service makes it another one")

    /// Returns the client of a request that only clients may send.
    ///
    /// - Parameter header: The value of `Authorization`, of the scheme `Basic`.
    ///
    /// Throws `OAuthError` `invalid_client`, and `unauthorized_client` for a client of the app sign-in service. Cost:
    /// one query, one hash.
    public func authenticate(header: String?) async throws -> AuthenticatedClient {
        let credential = try Self.credential(of: ClientRequest(header: header, parameters: [:]))
        let client = try await self.authenticate(credential, from: nil)
        guard client.settings.signInService == nil else { throw Self.isOfSignInService }
        return AuthenticatedClient(
            id: client.id, name: client.name, origin: try Self.origin(of: client),
            mayDeregister: client.settings.mayDeregister, matchesNumbers: client.settings.profile.matchesNumbers,
            scopes: client.settings.tokens.scopes, linksChannels: client.settings.tokens.linksChannels)
    }

    /// Returns the client that a credential proves. Only the client's registered way counts (RFC 7591, section 2): a
    /// thief of one of its secrets cannot choose where to show the secret. Throws `OAuthError` `invalid_client`; also
    /// as the credential (``ClientCredential/failure(for:at:)``) and as ``client(_:for:)``.
    ///
    /// - Parameters:
    ///   - source: The client's source; `nil` for a request whose credential leaves no row.
    ///   - canBeFirst: `true` if the request can be the client's first: a document of the client's is then fetched
    ///     within the budget of the source's network. Every other request comes from a client that has already had
    ///     consent.
    func authenticate(
        _ credential: any ClientCredential, from source: String?, canBeFirst: Bool = false
    ) async throws -> ClientRecord {
        let asker = canBeFirst ? source.map { ClientDocuments.Asker.network($0) } : nil
        let client = try await self.client(credential.clientID, for: asker)
        // The number of strangers has no bound. So a stranger's requests count for the stranger's network alone. They
        // count before the stranger's statements and proofs are judged, as each of these leaves a row.
        if let source, client?.isStranger == true,
            let shortage = self.pushedRequests.spend(source, at: self.time.now())
        {
            throw shortage
        }
        let methods = type(of: credential).methods
        let method = client?.settings.authenticationMethod
        let isRegistered = method.map { methods.containsBytes(of: $0) } ?? false
        let failure = try await credential.failure(for: isRegistered ? client : nil, at: self)
        guard isRegistered, failure == nil, let client else {
            let detail =
                isRegistered
                ? failure
                : method.map { "it came by \(methods.joined(separator: " or ")), and is registered for \($0)" }
            throw OAuthError(
                .invalidClient, "The client did not authenticate.", detail: client == nil ? "unknown client" : detail)
        }
        guard !client.settings.isDisabled else { throw Self.disabled(.invalidClient) }
        return client
    }

    /// Returns the client that proves its own key by an assertion in the parameters of a request; `nil` for a request
    /// without an assertion. Throws as ``authenticate(_:from:canBeFirst:)``.
    package func provenClient(of parameters: Parameters, from source: String) async throws -> ClientRecord? {
        let request = ClientRequest(header: nil, parameters: parameters)
        guard let credential = try PrivateKeyJWT(request) else { return nil }
        return try await self.authenticate(credential, from: source)
    }

    /// Returns the start of the addresses that a connection's requests come to. Proofs of keys name this start.
    func origin(of connection: ClientConnection) -> String {
        switch connection {
        case .usual: self.issuer
        case .mutual: self.rules.certificates?.origin ?? self.issuer
        }
    }

    /// Refuses a certificate outside its validity, whatever the purpose of the certificate.
    ///
    /// Throws `OAuthError` with `code`.
    func checkTime(of connection: ClientConnection, else code: OAuthError.Code, _ message: String) throws {
        guard let certificate = connection.certificate else { return }
        let now = self.time.now()
        guard certificate.notBefore <= now, now <= certificate.notAfter else {
            throw OAuthError(
                code, message,
                detail: "its certificate is valid from \(certificate.notBefore) to \(certificate.notAfter)")
        }
    }
}
