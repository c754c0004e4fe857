import JOSE
import OAuth
import Records
import Sealing
import Settings
import _Primitives

/// The messages to clients that learn a person's answer without asking again (OpenID Connect CIBA Core 1.0).
struct BackchannelAnswers: Sendable {
    /// Issues the tokens of a pushed answer.
    let grant: BackchannelAuthenticationGrant

    private var tokens: Tokens { self.grant.tokens }

    /// Returns the message to a client when the person whom the client asked has answered, or no longer answers. The
    /// message announces the answer (section 10.2), or contains the answer (sections 10.3.1 and 12).
    ///
    /// A client that did not confirm the message gets the message again, for the same grant, with the same refresh
    /// token. The statuses 401 and 403 say that the client's notification token is no longer valid, so further tries
    /// have no use.
    ///
    /// - Returns: `nil` if no message is needed any more.
    ///
    /// Cost: one query; a pushed answer costs as much as ``BackchannelAuthenticationGrant`` costs beside its first
    /// step.
    func message(to request: String, for client: ClientRecord) async throws -> ClientMessage? {
        let now = self.tokens.time.now()
        let found = try await self.grant.store.backchannelRequest(request, at: now)
        guard let asked = found, let notification = asked.request.notification else { return nil }
        var body: JSONObject = ["auth_req_id": .string(notification.secret)]
        // A client that asks late gets the reason until then.
        var end = asked.request.expiresAt + self.tokens.limits.oauth.endedPollingRetention
        var grant: String?
        var obstacle: String?
        if notification.mode == .push {
            do {
                guard let pushed = try await self.tokens(of: asked, secret: notification.secret, for: client, at: now)
                else { return nil }
                for (name, value) in pushed.response.json.members { body[name] = value }
                grant = pushed.grant.id
                // The tokens are worth nothing after their grant.
                end = min(end, pushed.grant.expiresAt)
            } catch let error as OAuthError where error.code == .temporarilyUnavailable {
                obstacle = error.detail ?? "its keys cannot be fetched"
                // An earlier try may have begun the grant. If the client is never told, the grant must not stay.
                grant = asked.given?.grant.id
                if let given = asked.given { end = min(end, given.grant.expiresAt) }
            } catch let error as OAuthError {
                for (name, value) in Self.pushed(error).json.members { body[name] = value }
            }
        }
        return ClientMessage(
            content: .json(JSON.object(body).serialized), authorization: "Bearer \(notification.token)", end: end,
            refusals: [401, 403], undelivered: .answerUndelivered, grant: grant, obstacle: obstacle)
    }

    /// Returns the tokens for a yes; `nil` if the client has used its earlier tokens, which shows that the client was
    /// told.
    ///
    /// Throws `OAuthError` if the client can have no tokens.
    private func tokens(
        of asked: NotifiedBackchannelRequest, secret: String, for client: ClientRecord, at now: Timestamp
    ) async throws -> (response: TokenResponse, grant: GrantRecord)? {
        let tokens = self.tokens
        guard let method = self.grant.backchannel else { throw OAuthError(.transactionFailed) }
        let protection = try await tokens.idTokenProtection(of: client)
        let standing =
            if let given = asked.given {
                // Fetching the client's keys takes time, in which the account can be locked and the grant can end.
                try await tokens.store.grant(given.grant.id, token: nil, at: tokens.time.now())
            } else {
                try await self.grant.grant(asked.request, of: client, by: method, at: now)
            }
        guard let standing else { throw OAuthError(.invalidGrant, "What was granted is not valid any more.") }
        let claim = "urn:openid:params:jwt:claim:"
        var named: JSONObject = [claim + "auth_req_id": .string(secret)]
        var refreshToken: RefreshToken?
        if standing.grant.isRenewed(by: client) {
            let token = try RefreshToken(pushedFor: secret, grant: standing.grant, keys: tokens.keys.signing)
            let isThere = try await self.grant.firstTokens.renewals.begin(
                token, of: standing.grant, for: client, boundTo: nil, at: now)
            guard isThere else { return nil }
            named[claim + "rt_hash"] = .string(Tokens.halfHash(token.text, protection.algorithm))
            refreshToken = token
        }
        let audience = try await self.grant.audiences.audience(nil, of: standing.grant, for: client)
        var response = try tokens.issue(
            for: try await tokens.standing.admit(standing, for: client), audience: audience, nonce: nil, named: named,
            acr: nil,
            details: self.grant.details.granted([:], within: standing.grant, of: client), protection: protection,
            boundTo: nil, at: now)
        response.refreshToken = refreshToken?.text
        return (response, standing.grant)
    }

    /// Returns the error for a client in push mode (section 12): three codes, and no word about the server's obstacles.
    private static func pushed(_ error: OAuthError) -> OAuthError {
        switch error.code {
        case .accessDenied, .expiredToken: error
        default: OAuthError(.transactionFailed, "The person has answered, and nothing can be given for it.")
        }
    }
}

extension RefreshToken {
    /// Creates the refresh token that is pushed for a request: the same token at each try.
    ///
    /// Cost: two HMACs, one hash.
    fileprivate init(pushedFor secret: String, grant: GrantRecord, keys: SigningKeys) throws {
        let derived = keys.pairwise("pushed refresh token", client: grant.client, of: secret)
        try self.init(grant: grant.id, secret: Sealing.digest(ofSecret: derived), keys: keys)
    }
}

extension AuditEvent.Kind {
    /// A client was never told a person's answer, however often the server tried; the actor is the client.
    static let answerUndelivered = Self(rawValue: "answer-undelivered")
}
