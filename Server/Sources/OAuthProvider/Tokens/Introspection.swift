import JOSE
import OAuth
import Records
import _Primitives

/// The introspection endpoint (RFC 7662).
public struct Introspection: Sendable {
    let endpoint: ClientEndpoint
    let tokens: Tokens
    let claims: ToldClaims

    private var keys: Keys { self.tokens.keys }

    /// The media type of a signed answer (RFC 9701, section 4).
    private static let signedIntrospection = "application/token-introspection+jwt"

    /// Answers a request to the introspection endpoint (RFC 7662): tells if an access token is valid now, and its
    /// rights.
    ///
    /// A client sees its own tokens, and the tokens for the resources that it owns; every other token looks like an
    /// unknown token. A public client, or a client that does not authenticate, gets `invalid_client` (section 2.1). The
    /// owner of the resource receives the person's name (`username`) for a token with the scope `profile`, and `email`
    /// for a token with `email`.
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - body: The form as received, not decoded.
    ///   - source: The client's source.
    ///   - accept: The value of `Accept`. A client that names the media type of RFC 9701 gets a signed answer.
    ///   - connection: The connection of the request.
    ///
    /// Cost: three queries, two hashes; one query more if the client does not own the token's resource, and one if the
    /// token's grant is another client's; one ES256 verification if this process has neither made nor recently verified
    /// the token; for a signed answer one signature; for a person's token for a resource of the client's two queries
    /// more; for an exchanged token one query more for each exchange; for an opaque token one decryption in place of
    /// the verification.
    public func answer(
        header: String?, body: String, source: String, accept: String? = nil,
        over connection: ClientConnection = .usual
    ) async throws -> ProviderAnswer {
        try await self.endpoint.answer(
            header: header, body: body, from: source, over: connection
        ) { client, parameters in
            guard !client.settings.isPublic else {
                throw OAuthError(.invalidClient, "The client did not authenticate.", detail: "it has no way to")
            }
            let members = try await self.introspection(of: parameters.required("token"), for: client)
            guard Self.wantsSignature(accept) else { return ProviderAnswer(status: 200, body: members) }
            let algorithm = client.settings.idTokenAlgorithm
            try await self.keys.require(algorithm)
            let now = self.tokens.time.now()
            let claims: JSONObject = [
                "iss": .string(self.tokens.issuer), "aud": .string(client.id), "iat": .integer(now.seconds),
                "token_introspection": .object(members),
            ]
            return ProviderAnswer(
                signed: try self.keys.signing.sign(
                    claims, type: TokenType.introspection, algorithm: algorithm, at: now),
                type: Self.signedIntrospection)
        }
    }

    /// Returns the members of the answer to a client about a token.
    private func introspection(of text: String, for client: ClientRecord) async throws -> JSONObject {
        let inactive: JSONObject = ["active": .bool(false)]
        guard let token = try await self.tokens.knownAccessToken(text),
            token.client.hasSameBytes(as: client.id) || client.settings.tokens.owns(token.audience),
            let basis = try await self.tokens.basis(of: token, asking: client)
        else { return inactive }
        var members = token.claims
        // Only this server needs the token's grant, the earlier tokens and their clients.
        for name in [TokenClaim.grant, TokenClaim.parents, TokenClaim.holders, TokenClaim.audiences] {
            members[name] = nil
        }
        members["active"] = .bool(true)
        members["token_type"] = .string(token.scheme.rawValue)
        if case .grant(let standing, let facts) = basis {
            let grant = standing.grant
            // The session's name at the client of the grant.
            members["sid"] = grant.session.map {
                .string(self.keys.signing.pairwise("sid", client: grant.client, of: $0))
            }
            // The owner of the resource learns the person's name: by the scope, the person has permitted these names to
            // the client.
            if client.settings.tokens.owns(token.audience),
                let told = try await self.claims.told(of: standing, facts, scope: token.scope, named: [])?.claims
            {
                if token.scope.contains(Scope.profile) { members["username"] = told["preferred_username"] }
                if token.scope.contains(Scope.email) { members["email"] = told["email"] }
            }
        }
        return members
    }

    /// `true` if a list of media types contains the type of a signed answer.
    private static func wantsSignature(_ accept: String?) -> Bool {
        (accept ?? "").splitBytes(at: ",").contains { $0.mediaType.hasSameBytes(as: Self.signedIntrospection) }
    }
}
