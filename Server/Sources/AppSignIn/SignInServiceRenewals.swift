import OAuth
import OAuthProvider
import Records
import Sealing
import _Primitives

/// A session, found by the refresh token that its client has shown.
private struct ShownRefreshToken {
    let token: RefreshToken
    let standing: StandingGrant
    let client: ClientRecord
    let settings: SignInServiceSettings
}

/// Renews and ends sessions of the app sign-in service by their refresh tokens.
public struct SignInServiceRenewals: Sendable {
    let store: any RefreshStore
    let sessions: SignInServiceSessions
    let pages: SignInServicePages
    let renewals: Renewals
    let wrongFace: WrongFace

    private var endpoint: SignInServiceEndpoint { self.sessions.endpoint }
    private var clients: Clients { self.sessions.clients }

    /// Renews a session (`POST /v0/sign_in/refresh`): the next refresh token, the next access token.
    ///
    /// The checks before the use of the token use up the proof of the key, and a refresh token of the other face ends
    /// its own grant. Nothing else changes. A client with the wrong anti-CSRF token, or a person who has to agree to something, stays signed in.
    /// A past token ends the session.
    ///
    /// Cost: two queries, one store step, one signature.
    public func refresh(_ request: SignInServiceRequest) async throws -> SignInServiceAnswer {
        try await self.endpoint.answer(request, status: 401) { named in
            let proof = try self.endpoint.proof(of: request)
            // A refused request leaves no proof that counts with another of its key's tokens.
            if let proof { try await self.endpoint.proofs.take(proof) }
            let shown = try await self.shown(request, &named)
            let facts = try await self.sessions.checkedPerson(of: shown.standing, at: shown.client, status: 401)
            try self.pages.checkPage(of: request, shown.client, shown.settings, status: 401)
            try self.checkAntiCSRF(of: shown, request)
            let binding = proof.map { TokenBinding.key($0.thumbprint) }
            try Self.checkKey(of: shown, binding)
            try await self.clients.keys.require(shown.client.settings.idTokenAlgorithm, of: .signInService)
            let now = self.clients.time.now()
            let renewed = try await self.renewals.renew(
                shown.token, isBound: false, until: Self.end(of: shown, at: now), by: shown.client, showing: binding,
                knowing: facts, at: now, refuse: Self.refusal)
            switch renewed {
            case .admitted(let admitted, let next, let end):
                let tokens = try await self.sessions.tokens(
                    of: admitted, for: shown.client, shown.settings, refreshToken: next, parent: shown.token,
                    sessionEndsAt: end, boundTo: admitted.grant.keyThumbprint == nil ? nil : binding, at: now)
                return tokens.answer(by: shown.settings)
            case .refused(let detail): throw Self.tokenRefusal(detail)
            }
        }
    }

    /// Returns the end of a session that goes on.
    private static func end(of shown: ShownRefreshToken, at now: Timestamp) -> Timestamp {
        min(now + shown.settings.refreshTokenLifetime, shown.standing.grant.expiresAt)
    }

    private static func refusal(_ refusal: StandingRefusal) -> any Error {
        switch refusal {
        case .key(.missing): Self.tokenRefusal("no proof of its key")
        case .key: Self.tokenRefusal("another key")
        case .notAgreed: Self.tokenRefusal("nobody has agreed to it")
        case .locked, .notTaken, .terms: SignInServiceError(refusal, status: 401)
        }
    }

    /// Returns the session of the request's refresh token: a parameter, else a cookie. Throws ``SignInServiceError``. A
    /// token at the wrong face ends its grant.
    private func shown(_ request: SignInServiceRequest, _ named: inout String?) async throws -> ShownRefreshToken {
        guard let text = request.parameters["refresh_token"] ?? request.cookies[.refreshToken] else {
            throw SignInServiceError.malformed("The refresh_token is missing.")
        }
        guard let token = RefreshToken(inParts: text, keys: self.clients.keys.signing) else {
            // A refresh token of the other face is no longer accepted anywhere after this.
            if let foreign = RefreshToken(text, keys: self.clients.keys.signing) {
                try await self.wrongFace.burn(foreign, shownBy: nil)
            }
            throw Self.tokenRefusal("not one of ours")
        }
        guard let standing = try await self.store.grant(token.grant, token: nil, at: self.clients.time.now()) else {
            throw Self.tokenRefusal("ended, or revoked")
        }
        named = standing.grant.client
        guard let (client, settings) = try await self.endpoint.client(standing.grant.client) else {
            try await self.wrongFace.burn(token, shownBy: nil)
            throw Self.tokenRefusal("its client is none of the app sign-in service any more")
        }
        if let id = request.parameters["client_id"], !id.hasSameBytes(as: client.id) {
            throw Self.tokenRefusal("another client's")
        }
        try self.endpoint.checkPlace(of: request, settings)
        return ShownRefreshToken(token: token, standing: standing, client: client, settings: settings)
    }

    /// Returns the same message for all cases: a client with another's token learns nothing about the token.
    private static func tokenRefusal(_ detail: String) -> SignInServiceError {
        .refused("The refresh token is not valid.", detail)
    }

    /// Checks that the request shows the key of the grant.
    private static func checkKey(of shown: ShownRefreshToken, _ binding: TokenBinding?) throws {
        let key = ShownKey(of: shown.standing.grant.keyThumbprint, shown: binding?.text)
        guard key == .right else { throw Self.refusal(.key(key)) }
    }

    private func checkAntiCSRF(of shown: ShownRefreshToken, _ request: SignInServiceRequest) throws {
        guard shown.settings.usesAntiCSRF else { return }
        let expected = self.sessions.antiCSRFToken(ofHash: SignInServiceSessions.hash(shown.token.inParts))
        let given = request.parameters["anti_csrf_token"] ?? request.cookies[.antiCSRFToken] ?? ""
        guard constantTimeEqual(Array(given.utf8), Array(expected.utf8)) else {
            throw SignInServiceError.refused("The anti-CSRF token is not valid.", "missing, or another session's")
        }
    }

    /// Ends a session (`POST /v0/sign_in/revoke`) and the sessions derived from it. With its device's secret all
    /// sessions of the device end, even if a web view shows the secret. Another device's secret is ignored. Ended
    /// sessions are worth nothing from then on, on every node.
    ///
    /// Cost: two queries, two store steps.
    public func revoke(_ request: SignInServiceRequest) async throws -> SignInServiceAnswer {
        try await self.endpoint.answer(request, status: 401) { named in
            let shown = try await self.shown(request, &named)
            try self.checkAntiCSRF(of: shown, request)
            let now = self.clients.time.now()
            // The use of the token detects a past token, and so ends the session.
            let used = try await self.renewals.use(
                shown.token, isBound: false, until: Self.end(of: shown, at: now), by: shown.client, at: now)
            if case .refused(let detail) = used { throw Self.tokenRefusal(detail) }
            let grant = shown.standing.grant
            let digest = request.parameters["device_secret"].map { Sealing.digest(ofSecret: $0) }
            // A secret of another device is not this session's. All sessions of a device come from the session of the
            // device's app.
            if let digest, let own = grant.deviceSecret, constantTimeEqual(own, digest) {
                try await self.sessions.end(
                    grant.origin ?? grant.id, of: shown.standing, by: shown.client, as: .deviceSessionsEnded, at: now)
            } else {
                try await self.sessions.end(grant.id, of: shown.standing, by: shown.client, at: now)
            }
            return SignInServiceAnswer(cookies: shown.settings.answers == .cookie ? .delete : .keep)
        }
    }
}

extension AuditEvent.Kind {
    /// All sessions of a device ended, at its app's wish; the actor is the client.
    static let deviceSessionsEnded = Self(rawValue: "device-sessions-ended")
}
