import OAuth
import Records
import _Primitives

extension OpenIDProvider {
    /// Answers a request to the token endpoint (RFC 6749, section 3.2): authenticates the client, and returns the
    /// tokens of the request's grant.
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - body: The form as received, not decoded.
    ///   - source: The client's source.
    ///   - proofs: The values of all header fields `DPoP`.
    ///   - connection: The connection of the request.
    ///
    /// Cost: one query (client), two hashes, and the cost of the grant; with a proof one signature, two HMACs and one
    /// store step more.
    public func token(
        header: String?, body: String, source: String = "", proofs: [String] = [],
        over connection: ClientConnection = .usual
    ) async throws -> ProviderAnswer {
        try await self.endpoint.answer(
            header: header, body: body, proofs: proofs, over: connection,
            for: { ProviderMetadata.tokenEndpoint(of: $0) }
        ) { client, parameters, proof in
            let name = try parameters.required("grant_type")
            guard let type = GrantType.allCases.first(where: { $0.rawValue.hasSameBytes(as: name) }) else {
                throw OAuthError(.unsupportedGrantType, "The grant type is not known here.")
            }
            guard client.settings.grantTypes.containsBytes(of: name) else {
                throw OAuthError(
                    .unauthorizedClient, "The client may not use this grant type.",
                    detail: "the operator can give it --grant-type")
            }
            // Before anything is spent: the client can repeat the request with the missing proof.
            let binding = try TokenBinding.needed(by: client, proof, over: connection)
            if let proof { try await self.proofs.take(proof) }
            let request = TokenRequest(
                client: client, parameters: parameters, source: source, proof: proof, binding: binding)
            return ProviderAnswer(status: 200, body: try await Self.grant(type).tokens(for: request, from: self).json)
        }
    }

    private static func grant(_ type: GrantType) -> any TokenGrant {
        switch type {
        case .authorizationCode: AuthorizationCodeGrant()
        case .refreshToken: RefreshTokenGrant()
        case .deviceCode: DeviceCodeGrant()
        case .backchannel: BackchannelAuthenticationGrant()
        case .clientCredentials: ClientCredentialsGrant()
        case .serviceAssertion: ServiceAssertionGrant()
        case .tokenExchange: TokenExchangeGrant()
        }
    }
}
