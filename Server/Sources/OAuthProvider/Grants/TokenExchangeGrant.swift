import OAuth
import Records
import Settings
import _Primitives

/// Exchanges a token for another (RFC 8693): a service that was called with a person's token calls the next service for
/// the person.
///
/// The operator decides whose tokens a client may exchange, for which resources and scopes. The new token is never
/// wider than the shown token and never lives longer. The new token is bound to the client's key if the client has one,
/// and ends with the shown token (decision 41). The client gets no refresh token: only the shown token can be renewed.
struct TokenExchangeGrant: TokenGrant {
    let tokens: Tokens
    let audiences: TokenAudiences
    let details: RequestedDetails
    let native: NativeSSO

    /// The kinds of tokens that this server issues (section 3).
    private enum Kind {
        static let accessToken = "urn:ietf:params:oauth:token-type:access_token"
        static let jwt = "urn:ietf:params:oauth:token-type:jwt"
    }

    /// Returns the token in exchange for the shown token.
    ///
    /// Cost: four queries, as for the shown tokens, and one ES256 signature; with a device secret as ``NativeSSO``.
    func tokens(for request: TokenRequest) async throws -> TokenResponse {
        let parameters = request.parameters
        let text = try parameters.required("subject_token")
        let kind = try parameters.required("subject_token_type")
        if let actorKind = parameters["actor_token_type"], NativeSSO.actorKinds.containsBytes(of: actorKind) {
            return try await self.native.tokens(for: request)
        }
        try Self.check(kind, of: text)
        guard (parameters["requested_token_type"] ?? Kind.accessToken).hasSameBytes(as: Kind.accessToken) else {
            throw OAuthError(.invalidRequest, "The only requested_token_type is \(Kind.accessToken).")
        }
        let now = self.tokens.time.now()
        let (subject, admitted) = try await self.subject(text, of: request)
        let (actor, end) = try await self.actor(of: request)
        let act = try Self.act(actor, for: subject)
        let scope = try Self.scope(parameters["scope"], of: subject, for: request.client)
        try self.details.refuse(in: parameters)
        let audience = try await self.audience(of: request)
        return try self.tokens.exchangedToken(
            for: subject, admitted, of: request.client, act: act, scope: scope, audience: audience,
            boundTo: request.binding, until: end, at: now)
    }

    private static func check(_ kind: String, of text: String) throws {
        let isJWT = text.utf8.contains(UInt8(ascii: "."))
        guard kind.hasSameBytes(as: Kind.accessToken) || isJWT && kind.hasSameBytes(as: Kind.jwt) else {
            throw OAuthError(
                .invalidRequest,
                "The subject_token is an access token (\(Kind.accessToken)), or an ID token with a device secret.")
        }
    }

    /// Returns the shown token, with its grant, whose person may get tokens now.
    ///
    /// Throws `OAuthError` `invalid_request` (section 2.2.2) with the same message for all cases: a client with a token
    /// that is not for the client learns nothing about the token. Only the client that may exchange the token learns of
    /// a missing proof of its key (`invalid_dpop_proof`), and of terms that the person has still to agree to
    /// (`invalid_grant`).
    private func subject(_ text: String, of request: TokenRequest) async throws
        -> (OwnAccessToken, AdmittedGrant)
    {
        func refusal(_ detail: String) -> OAuthError {
            OAuthError(.invalidRequest, "The subject_token is not valid, or not for this client.", detail: detail)
        }
        let client = request.client
        guard let token = try await self.tokens.knownAccessToken(text) else {
            throw refusal("no token of ours, or ended")
        }
        guard client.settings.tokens.subjects.containsBytes(of: token.client) else {
            throw refusal("of a client whose tokens it may not exchange: the operator can give it --subject-client")
        }
        guard token.audience.hasSameBytes(as: self.tokens.issuer) || client.settings.tokens.owns(token.audience) else {
            throw refusal("for another's resource")
        }
        guard !token.isOwn else { throw refusal("a service's own: there is nobody to act for") }
        try Self.checkKey(of: token, shownBy: request, refusal)
        guard case .grant(let standing, let facts)? = try await self.tokens.basis(of: token, asking: client) else {
            throw refusal(
                "revoked, not agreed to, of a locked account, or of a person who has lost the role of the sign-in"
            )
        }
        let terms = try await self.tokens.standing.missingTerms(ofAccount: standing.authentication.account)
        do { return (token, try facts.admit(standing, missing: terms)) } catch { throw error.error }
    }

    /// Checks that a bound token comes with a proof of its key or certificate, as everywhere. A thief of the token
    /// alone gets nothing, and the new token is bound to the same key.
    private static func checkKey(
        of token: OwnAccessToken, shownBy request: TokenRequest, _ refusal: (String) -> OAuthError
    ) throws {
        guard let expected = token.binding else { return }
        if case .key = expected, request.proof == nil {
            throw OAuthError(
                .invalidDPoPProof, "A token that is bound to a key is shown with a proof of the key.",
                detail: "the request has no proof of a key")
        }
        guard request.binding == expected else { throw refusal("bound to another key, or to another certificate") }
    }

    /// Returns the acting party, and the end of its token: the owner of `actor_token`, or else the client itself. An
    /// exchanged token does not count: its owner already acts for another.
    private func actor(of request: TokenRequest) async throws -> (
        JSONObject, end: Timestamp?
    ) {
        let parameters = request.parameters
        guard let text = parameters["actor_token"] else {
            guard parameters["actor_token_type"] == nil else {
                throw OAuthError(.invalidRequest, "There is an actor_token_type, and no actor_token.")
            }
            return (["sub": .string(request.client.id)], nil)
        }
        guard try parameters.required("actor_token_type").hasSameBytes(as: Kind.accessToken) else {
            throw OAuthError(.invalidRequest, "The actor_token is an access token (\(Kind.accessToken)).")
        }
        func refusal(_ detail: String) -> OAuthError {
            OAuthError(.invalidRequest, "The actor_token is not valid, or not this client's.", detail: detail)
        }
        guard let token = try await self.tokens.knownAccessToken(text),
            token.client.hasSameBytes(as: request.client.id),
            token.parents.isEmpty, try await self.tokens.basis(of: token, asking: request.client) != nil
        else { throw refusal("it has to be an access token that this client was given, and for no other one") }
        try Self.checkKey(of: token, shownBy: request, refusal)
        var actor: JSONObject = ["sub": .string(token.subject)]
        if !token.isOwn { actor["client_id"] = .string(token.client) }
        return (actor, token.expiresAt)
    }

    /// Returns the claim `act` (section 4.1): the acting party, and within it the earlier acting parties.
    ///
    /// Throws `OAuthError` `invalid_request` if the token names another actor (`may_act`, section 4.4), or if too many
    /// parties have acted.
    private static func act(_ actor: JSONObject, for subject: OwnAccessToken) throws -> JSONObject {
        if let allowed = subject.claims["may_act"] {
            guard case .object(let allowed) = allowed,
                allowed.members.allSatisfy({ name, value in actor[name] == value })
            else {
                throw OAuthError(
                    .invalidRequest, "The subject_token names another actor.",
                    detail: "the operator has set --may-act for the client whose token it is")
            }
        }
        guard subject.parents.count < Limits.Fixed.exchangeDepth else {
            throw OAuthError(.invalidRequest, "The subject_token has been exchanged too often.")
        }
        var act = actor
        act["act"] = subject.claims["act"]
        return act
    }

    /// Returns the scopes of the new token: the scopes that both the token and the client have, or a part of them.
    private static func scope(_ asked: String?, of subject: OwnAccessToken, for client: ClientRecord) throws -> Scope {
        let most = subject.scope.limited(to: client.settings.tokens.scopes)
        guard let asked else {
            guard !most.names.isEmpty else {
                throw OAuthError(
                    .invalidScope, "The subject_token has no scope that this client may have.",
                    detail: "the operator can give it --scope")
            }
            return most
        }
        let scope = try Scope(asked)
        guard scope.isPart(of: most) else {
            throw OAuthError(
                .invalidScope, "The scope is wider than that of the subject_token, or than what the client may have.")
        }
        return scope
    }

    /// Returns the audience of the new token: `resource` or `audience`, with the same names, or the client's only
    /// resource.
    private func audience(of request: TokenRequest) async throws -> TokenAudience {
        var asked = try ResourceIndicator.all(in: request.parameters)
        for text in request.parameters.values("audience") {
            let resource = try ResourceIndicator(text)
            if !asked.contains(resource) { asked.append(resource) }
        }
        let own = request.client.settings.tokens.audiences
        if asked.isEmpty, own.count == 1 { asked = [try ResourceIndicator(own[0])] }
        guard asked.count == 1 else {
            throw OAuthError(.invalidTarget, "Name one resource that the new token is for.")
        }
        guard !asked[0].text.hasSameBytes(as: self.tokens.issuer) else {
            throw OAuthError(.invalidTarget, "There is nothing here that takes an exchanged token.")
        }
        return try await self.audiences.audience(asked[0], for: request.client)
    }
}
