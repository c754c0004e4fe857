public import OAuth
import Records
import Settings
public import _Primitives

/// A browser that is signed in.
public struct ActiveSession: Sendable, Equatable {
    /// The session's identifier, which gives no access.
    public let id: String
    /// The signed-in account.
    public let account: String
    /// The time of the person's authentication.
    public let authenticatedAt: Timestamp
    /// `true` if another provider authenticated the person, perhaps without any question.
    public let isByAnotherProvider: Bool
    /// The level (`acr`).
    public let acr: String
    /// The methods (`amr`).
    public let amr: [String]
    /// The device by which the person has signed in; `nil` for another way.
    public let device: String?
}

/// The next step for a sign-out.
public enum LogoutAnswer: Sendable, Equatable {
    /// Delete the session's cookie and send the browser to this address (status 303).
    case redirect(String)
    /// Delete the session's cookie and show that the person is signed out.
    case signedOut
    /// Ask the person, as nothing shows that the person wants to sign out. The page's form posts `fields`, the relevant
    /// part of the request, back with the person's yes.
    case askPerson(clientName: String?, fields: Parameters)
    /// Show an error page.
    case page(OAuthError)
}

/// The sessions of people: signed-in browsers, and apps and devices that were signed in without a browser.
public final class Sessions: Sendable {
    let store: any ClientStore & SessionStore
    let keys: Keys
    let issuer: String
    let limits: Limits
    let time: TimeSource
    private let hints: SignOutHints

    /// Creates the part over a store, with the keys that verify ID tokens at sign-out.
    init(
        store: any ClientStore & SessionStore, keys: Keys, issuer: String, limits: Limits, time: TimeSource
    ) {
        self.store = store
        self.keys = keys
        self.issuer = issuer
        self.limits = limits
        self.time = time
        self.hints = SignOutHints(store: store, keys: keys, issuer: issuer, limits: limits.oauth, time: time)
    }

    /// Returns the session of a cookie; `nil` if the session is unknown or has ended.
    ///
    /// Cost: one query, one hash.
    public func session(_ secret: SessionSecret) async throws -> ActiveSession? {
        try await self.live(secret).map {
            ActiveSession(
                id: $0.id, account: $0.account, authenticatedAt: $0.authentication.at,
                isByAnotherProvider: $0.authentication.method.hasBytes(atStart: UpstreamProvider.methodPrefix),
                acr: $0.authentication.acr, amr: $0.authentication.amr, device: $0.authentication.device)
        }
    }

    /// Returns the session of a cookie, before its absolute and its idle end.
    func live(_ secret: SessionSecret) async throws -> SessionRecord? {
        guard let session = try await self.store.session(cookieDigest: secret.digest) else { return nil }
        let now = self.time.now()
        guard now < session.expiresAt, now < session.usedAt + self.limits.oauth.sessionIdleLifetime else { return nil }
        return session
    }

    /// Returns the number of all people's running sessions.
    ///
    /// Cost: one query, which reads every session.
    public func count() async throws -> Int {
        let now = self.time.now()
        return try await self.store.sessionCount(at: now, idleSince: now - self.limits.oauth.sessionIdleLifetime)
    }

    /// Signs a browser out, at the request of a client or the person (OpenID Connect RP-Initiated Logout 1.0, section
    /// 2).
    ///
    /// Clients' lasting grants (`offline_access`) stay. The session ends without a question only if the client shows,
    /// with an ID token, that the person of this session is its own user: any page could send a browser here. An ID
    /// token that names nobody here (``SignOutHint``) counts as absent. The person is then asked, and the browser is
    /// led only to an address of the `client_id`.
    ///
    /// - Parameters:
    ///   - text: The query or form as received.
    ///   - session: The session of the browser's cookie, if any.
    ///   - confirmed: `true` if the person pressed the button of ``LogoutAnswer/askPerson(clientName:fields:)``. Only
    ///     for a POST that carried the session's cookie, as no other site can cause such a POST.
    ///
    /// Cost: two queries, one store step; with `id_token_hint` one verification.
    public func logout(_ text: String, session secret: SessionSecret?, confirmed: Bool) async throws -> LogoutAnswer {
        do {
            let (parameters, hint) = try await self.logoutRequest(text)
            let named = parameters["client_id"]
            if let hint, let named, !hint.client.id.hasSameBytes(as: named) {
                throw OAuthError(.invalidRequest, "The client_id is not the client of the id_token_hint.")
            }
            var client = hint?.client
            if client == nil, let named {
                client = try await self.store.client(named)
                guard client != nil else { throw OAuthError(.invalidRequest, "The client is not known here.") }
            }
            let destination = try self.destination(parameters, client: client)
            if let secret, let session = try await self.live(secret) {
                guard confirmed || hint.map({ self.hints.isShown(session, by: $0) }) == true else {
                    return .askPerson(clientName: client?.name, fields: parameters)
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

    /// Returns the parameters with a meaning here, which the form carries on, and the hint. Other parameters of the
    /// request are ignored, and never repeated.
    ///
    /// A hint that names nobody here is left out. The address is also left out if no `client_id` names its client.
    private func logoutRequest(_ text: String) async throws -> (parameters: Parameters, hint: SignOutHint?) {
        let all = try Parameters(parsing: text, limits: Parameters.Limits(bytes: self.limits.oauth.parameterBytes))
        let shown = all["id_token_hint"]
        let hint = try await self.hints.hint(shown)
        var names = ["client_id", "post_logout_redirect_uri", "state"]
        if hint != nil {
            names.insert("id_token_hint", at: 0)
        } else if shown != nil, all["client_id"] == nil {
            names = []
        }
        var parameters: Parameters = [:]
        for name in names {
            if let value = all[name] { parameters.append(name, value) }
        }
        return (parameters, hint)
    }

    /// Returns the address to which the browser goes afterwards (section 3): only a registered address of a known
    /// client.
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

extension AuditEvent.Kind {
    /// A browser was signed out; the actor is the client that asked, if any.
    static let signedOut = Self(rawValue: "signed-out")
}
