public import OAuth
import Store
public import _Primitives

/// A browser that is signed in.
public struct ActiveSession: Sendable, Equatable {
    /// Its identifier, which opens nothing.
    public let id: String
    /// Who is signed in.
    public let account: String
    /// When the person authenticated, and how.
    public let authenticatedAt: Timestamp
    /// Whether another provider has said so, which may have asked nobody.
    public let isByAnotherProvider: Bool
    /// The level (`acr`).
    public let acr: String
    /// The methods (`amr`).
    public let amr: [String]
}

/// What to do with a browser that wants to sign out.
public enum LogoutAnswer: Sendable, Equatable {
    /// Delete the session's cookie and send the browser there (status 303).
    case redirect(String)
    /// Delete the session's cookie and show that the person is signed out.
    case signedOut
    /// Ask the person: nobody has shown that they want it. The page's form posts `fields`, the part of the request that
    /// means something here, back with the person's yes.
    case askPerson(clientName: String?, fields: Parameters)
    /// Show an error page.
    case page(OAuthError)
}

extension OpenIDProvider {
    /// The session of a cookie; `nil` where it is unknown or has ended.
    ///
    /// Cost: one query, one hash.
    public func session(_ secret: SessionSecret) async throws -> ActiveSession? {
        try await self.liveSession(secret).map {
            ActiveSession(
                id: $0.id, account: $0.account, authenticatedAt: $0.authentication.at,
                isByAnotherProvider: $0.authentication.method.hasBytes(atStart: UpstreamProvider.methodPrefix),
                acr: $0.authentication.acr, amr: $0.authentication.amr)
        }
    }

    /// The session of a cookie, within its absolute and its idle end.
    func liveSession(_ secret: SessionSecret) async throws -> SessionRecord? {
        guard let session = try await self.store.session(cookieDigest: secret.digest) else { return nil }
        let now = self.time.now()
        guard now < session.expiresAt, now < session.usedAt + self.limits.oauth.sessionIdleLifetime else { return nil }
        return session
    }

    /// Signing out, as a client or the person asks for it (OpenID Connect RP-Initiated Logout 1.0, section 2).
    ///
    /// The session ends without a question only if the client shows, with an ID token, that the person of this session is
    /// its own user: any page could send a browser here.
    ///
    /// - Parameters:
    ///   - text: The query or form as it came.
    ///   - session: The session that the browser shows, if any.
    ///   - confirmed: Whether the person pressed the button of ``LogoutAnswer/askPerson(clientName:fields:)``. Only for a
    ///     POST that carried the session's cookie, which no other site can cause.
    ///
    /// Cost: two queries, one store step; with `id_token_hint` one ES256 verification.
    public func logout(_ text: String, session secret: SessionSecret?, confirmed: Bool) async throws -> LogoutAnswer {
        do {
            let parameters = try Parameters(
                parsing: text, limits: Parameters.Limits(bytes: self.limits.oauth.parameterBytes))
            let hint = try await self.hint(parameters["id_token_hint"])
            let named = parameters["client_id"]
            if let hint, let named, !hint.client.hasSameBytes(as: named) {
                throw OAuthError(.invalidRequest, "The client_id is not the client of the id_token_hint.")
            }
            var client: ClientRecord?
            if let id = hint?.client ?? named {
                client = try await self.store.client(id)
                guard client != nil else { throw OAuthError(.invalidRequest, "The client is not known here.") }
            }
            let destination = try self.destination(parameters, client: client)
            if let secret, let session = try await self.liveSession(secret) {
                let isShown = hint.map {
                    $0.subject.hasSameBytes(as: self.subject(ofAccount: session.account, client: $0.client))
                }
                guard confirmed || isShown == true else {
                    return .askPerson(clientName: client?.name, fields: Self.logoutFields(parameters))
                }
                let event = AuditEvent(
                    .signedOut, at: self.time.now(), accountID: session.account, actor: client?.id)
                _ = try await self.store.endSession(session.id, audit: event)
            }
            return destination.map(LogoutAnswer.redirect) ?? .signedOut
        } catch let error as OAuthError {
            return .page(error)
        }
    }

    /// What the form carries on: the parameters that are read here, under the names that stand here. A request may have
    /// others; they are ignored, and not repeated to anybody.
    private static func logoutFields(_ parameters: Parameters) -> Parameters {
        var fields: Parameters = [:]
        for name in ["id_token_hint", "client_id", "post_logout_redirect_uri", "state"] {
            if let value = parameters[name] { fields.append(name, value) }
        }
        return fields
    }

    /// Where the browser goes afterwards (section 3): only to a registered address of a client that is known.
    private func destination(_ parameters: Parameters, client: ClientRecord?) throws -> String? {
        guard let address = parameters["post_logout_redirect_uri"] else { return nil }
        guard let client, client.postLogoutRedirectURIs.containsBytes(of: address) else {
            throw OAuthError(.invalidRequest, "The address after signing out is not registered.")
        }
        var reply: Parameters = [:]
        if let state = parameters["state"] {
            guard state.utf8.count <= self.limits.oauth.stateCharacters else {
                throw OAuthError(.invalidRequest, "The state is too long.")
            }
            reply.append("state", state)
        }
        return try RedirectURI(address, allowing: client.settings.redirectKinds).adding(reply)
    }
}
