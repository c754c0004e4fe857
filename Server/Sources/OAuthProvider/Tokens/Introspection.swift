import JOSE
import OAuth
import Store
import _Primitives

extension OpenIDProvider {
    /// The media type of a signed answer (RFC 9701, section 4).
    private static let signedIntrospection = "application/token-introspection+jwt"

    /// The introspection endpoint (RFC 7662): whether an access token is good now, and what for.
    ///
    /// A client sees the tokens that it was given itself, and those for the resources that it owns; of every other it learns
    /// as much as of one that never was. One that proves nothing learns nothing (section 2.1). The owner of the resource is told
    /// the person's name (`username`) of a token with the scope `profile`, and `email` of one with `email`.
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - body: The form as it came, not decoded.
    ///   - accept: The value of `Accept`. Whoever names the media type of RFC 9701 there gets a signed answer.
    ///   - connection: What it came over.
    ///
    /// Cost: three queries, two hashes; one query more where the client does not own what the token is for; one ES256
    /// verification where this process has not made the token, nor verified it a while ago; for a signed answer one
    /// signature; of a person's token for a resource of the client's two queries more.
    public func introspect(
        header: String?, body: String, accept: String? = nil, over connection: ClientConnection = .usual
    ) async throws -> ProviderAnswer {
        try await self.answerClient(header: header, body: body, over: connection) { client, parameters in
            guard !client.settings.isPublic else {
                throw OAuthError(.invalidClient, "The client did not authenticate.", detail: "it has no way to")
            }
            let members = try await self.introspection(of: parameters.required("token"), for: client)
            guard Self.wantsSignature(accept) else { return ProviderAnswer(status: 200, body: members) }
            let algorithm = client.settings.idTokenAlgorithm
            try await self.requireSigningKey(algorithm)
            let now = self.time.now()
            let claims: JSONObject = [
                "iss": .string(self.issuer), "aud": .string(client.id), "iat": .integer(now.seconds),
                "token_introspection": .object(members),
            ]
            return ProviderAnswer(
                signed: try self.keys.sign(claims, type: TokenType.introspection, algorithm: algorithm, at: now),
                type: Self.signedIntrospection)
        }
    }

    /// What a client is told of a token.
    private func introspection(of text: String, for client: ClientRecord) async throws -> JSONObject {
        let inactive: JSONObject = ["active": .bool(false)]
        guard let token = try await self.knownAccessToken(text),
            token.client.hasSameBytes(as: client.id) || client.settings.tokens.owns(token.audience),
            let standing = try await self.standing(of: token, asking: client)
        else { return inactive }
        var members = token.claims
        // What a token hangs on, and who had those before it, is this server's to ask.
        for name in [TokenClaim.grant, TokenClaim.parents, TokenClaim.holders, TokenClaim.audiences] {
            members[name] = nil
        }
        members["active"] = .bool(true)
        members["token_type"] = .string(token.scheme.rawValue)
        if case .grant(let standing) = standing {
            let grant = standing.grant
            // As the client knows it whose session it is.
            members["sid"] = grant.session.map { .string(self.keys.pairwise("sid", client: grant.client, of: $0)) }
            // The owner of the resource is told who comes: the person has let the client have these names by the scope.
            if client.settings.tokens.owns(token.audience),
                let told = try await self.told(of: standing, scope: token.scope, named: [])?.claims
            {
                if token.scope.contains(Scope.profile) { members["username"] = told["preferred_username"] }
                if token.scope.contains(Scope.email) { members["email"] = told["email"] }
            }
        }
        return members
    }

    /// Whether a list of media types has that of a signed answer.
    private static func wantsSignature(_ accept: String?) -> Bool {
        (accept ?? "").splitBytes(at: ",").contains { $0.mediaType.hasSameBytes(as: Self.signedIntrospection) }
    }
}
