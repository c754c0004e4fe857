import OAuth
import Records
import _Primitives

/// The token endpoint (RFC 6749, section 3.2), with the tokens of each grant type.
public struct Grants: Sendable {
    let endpoint: ClientEndpoint
    let authorizationCode: AuthorizationCodeGrant
    let refreshToken: RefreshTokenGrant
    let deviceCode: DeviceCodeGrant
    let backchannel: BackchannelAuthenticationGrant
    let clientCredentials: ClientCredentialsGrant
    let serviceAssertion: ServiceAssertionGrant
    let tokenExchange: TokenExchangeGrant

    /// Creates the part from the parts below.
    init(
        store: any AuthorizationStore & BackchannelStore & DeviceCodeStore & DeviceSecretStore & RefreshStore,
        authorizations: Authorizations, audiences: TokenAudiences, claims: ToldClaims, renewals: Renewals,
        backchannel: (any BackchannelMethod)?
    ) {
        let (tokens, details) = (authorizations.tokens, authorizations.details)
        let first = FirstTokens(tokens: tokens, audiences: audiences, claims: claims, renewals: renewals)
        let own = OwnTokens(tokens: tokens, audiences: audiences, details: details)
        self.endpoint = authorizations.endpoint
        self.authorizationCode = AuthorizationCodeGrant(
            store: store, tokens: tokens, audiences: audiences, details: details,
            deviceSecrets: DeviceSecrets(store: store, random: tokens.clients.random), firstTokens: first)
        self.refreshToken = RefreshTokenGrant(
            store: store, tokens: tokens, audiences: audiences, details: details, claims: claims, renewals: renewals)
        self.deviceCode = DeviceCodeGrant(
            store: store, tokens: tokens, audiences: audiences, details: details, firstTokens: first)
        self.backchannel = BackchannelAuthenticationGrant(
            store: store, backchannel: backchannel, tokens: tokens, audiences: audiences, details: details,
            firstTokens: first)
        self.clientCredentials = ClientCredentialsGrant(own: own)
        self.serviceAssertion = ServiceAssertionGrant(own: own)
        self.tokenExchange = TokenExchangeGrant(
            tokens: tokens, audiences: audiences, details: details,
            native: NativeSSO(
                store: store, tokens: tokens, authorizations: authorizations, firstTokens: first,
                budgets: NativeSignInBudgets(tokens.limits)))
    }

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
    public func answer(
        header: String?, body: String, source: String, proofs: [String] = [],
        over connection: ClientConnection = .usual
    ) async throws -> ProviderAnswer {
        try await self.endpoint.answer(
            header: header, body: body, from: source, proofs: proofs, over: connection,
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
            if let proof { try await self.endpoint.proofs.take(proof) }
            let request = TokenRequest(
                client: client, parameters: parameters, source: source, proof: proof, binding: binding)
            return ProviderAnswer(status: 200, body: try await self.grant(type).tokens(for: request).json)
        }
    }

    private func grant(_ type: GrantType) -> any TokenGrant {
        switch type {
        case .authorizationCode: self.authorizationCode
        case .refreshToken: self.refreshToken
        case .deviceCode: self.deviceCode
        case .backchannel: self.backchannel
        case .clientCredentials: self.clientCredentials
        case .serviceAssertion: self.serviceAssertion
        case .tokenExchange: self.tokenExchange
        }
    }
}
