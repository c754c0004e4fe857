import OAuth
import Records
import Sealing
import Settings
import _Primitives

extension AuditEvent.Kind {
    /// A client got a grant from a person whom the client had asked without a browser; the detail is the client.
    static let backchannelGranted = Self(rawValue: "backchannel-granted")
}

/// The requests of clients that have people asked on their phones (OpenID Connect CIBA Core 1.0).
public struct BackchannelAuthentications: Sendable {
    let store: any BackchannelStore
    /// The way to ask people who sit at no browser; `nil` if the provider has none.
    let backchannel: (any BackchannelMethod)?
    let endpoint: ClientEndpoint
    let tokens: Tokens
    let details: RequestedDetails

    private var limits: Limits { self.tokens.limits }
    private var time: TimeSource { self.tokens.time }
    private var random: RandomSource { self.tokens.clients.random }

    /// Answers a request to the backchannel authentication endpoint (OpenID Connect CIBA Core 1.0, section 7). A client
    /// names a person, the person is asked on their phone, and the client then asks for the answer.
    ///
    /// The answer never tells if the person exists: a request for an unknown person waits, and is never answered.
    ///
    /// Cost: three queries, two store steps, four hashes; with `id_token_hint` one verification. The messages to the
    /// devices of the person are written beside the answer.
    public func answer(
        header: String?, body: String, source: String, over connection: ClientConnection = .usual
    ) async throws -> ProviderAnswer {
        try await self.endpoint.answer(header: header, body: body, from: source, over: connection) { client, form in
            guard let method = self.backchannel else {
                throw OAuthError(.unauthorizedClient, "Nobody is asked without a browser here.")
            }
            guard !client.settings.isPublic else {
                throw OAuthError(.invalidClient, "The client did not authenticate.", detail: "it has no way to")
            }
            guard client.settings.grantTypes.containsBytes(of: GrantType.backchannel.rawValue) else {
                throw OAuthError(
                    .unauthorizedClient, "The client may not use this grant type.",
                    detail: "the operator can give it --grant-type")
            }
            guard form["request"] == nil else { throw OAuthError(.invalidRequest, "Do not use request.") }
            let scope = try Clients.scope(form["scope"], settings: client.settings)
            let lifetime = try self.backchannelLifetime(form["requested_expiry"])
            let message = try self.message(form, of: client)
            let notification = try self.notification(form, of: client)
            let (account, hint) = try await self.hinted(form, client: client, method)
            let now = self.time.now()
            let secret = self.random.token(byteCount: 32)
            let request = BackchannelRequestRecord(
                id: self.random.identifier(), digest: Sealing.digest(ofSecret: secret), client: client.id,
                scope: scope.description, interval: Limits.Fixed.pollingInterval, expiresAt: now + lifetime,
                details: form["authorization_details"],
                notification: notification.map {
                    BackchannelNotification(mode: $0.mode, secret: secret, token: $0.token)
                })
            let number = client.settings.profile.matchesNumbers ? self.random.digits(Limits.Fixed.matchedDigits) : nil
            let result = try await method.ask(
                AskedPerson(
                    request: request.id, account: account, hint: hint, message: message, number: number,
                    client: AuthenticatedClient(
                        id: client.id, name: client.name, origin: try Clients.origin(of: client),
                        mayDeregister: client.settings.mayDeregister,
                        matchesNumbers: client.settings.profile.matchesNumbers),
                    end: request.expiresAt))
            switch result {
            case .asked: break
            case .unfitMessage(let reason):
                throw OAuthError(.invalidBindingMessage, "The binding_message cannot be shown.", detail: reason)
            case .notAllowed:
                throw OAuthError(
                    .unauthorizedClient, "The client may not have people's devices asked.",
                    detail: "the operator can allow it: countersign admin service set CLIENT --push")
            case .tooMany(let shortage): return ProviderAnswer(shortage)
            }
            try await self.store.addBackchannelRequest(
                request, keptUntil: request.expiresAt + self.limits.oauth.endedPollingRetention)
            var body: JSONObject = [
                "auth_req_id": .string(secret), "expires_in": .integer(lifetime.components.seconds),
            ]
            // Section 7.3: a client in push mode has no answer to poll for, and gets no interval.
            if notification?.mode != .push {
                body["interval"] = .integer(Limits.Fixed.pollingInterval.components.seconds)
            }
            body["number"] = number.map(JSON.string)
            return ProviderAnswer(status: 200, body: body)
        }
    }

    /// Returns the text that the person reads and signs: the client's message, or the text of the requested details;
    /// `nil` for neither. A phone shows one text, so a request with both is refused. A client that shows no numbers needs
    /// a text: otherwise the person could approve by one tap a request that the person did not begin (NIST SP 800-63B-4,
    /// section 3.1.3).
    private func message(_ form: Parameters, of client: ClientRecord) throws -> String? {
        let details = form["authorization_details"]
        guard details == nil || form["binding_message"] == nil else {
            throw OAuthError(
                .invalidRequest, "A request has binding_message or authorization_details: a phone shows one text.")
        }
        try self.details.check(details, of: client)
        let message = try self.details.agreement(to: details) ?? form["binding_message"]
        guard message != nil || client.settings.profile.matchesNumbers else {
            throw OAuthError(
                .invalidBindingMessage, "A request needs a binding_message.",
                detail: "or the client shows numbers: --match-numbers")
        }
        return message
    }

    /// Returns the notification's mode and token for a client that does not poll; `nil` for a client that polls. The
    /// token proves to the client that the notification comes from this server (section 7.1).
    private func notification(_ form: Parameters, of client: ClientRecord) throws -> (
        mode: BackchannelNotification.Mode, token: String
    )? {
        let mode: BackchannelNotification.Mode
        switch client.settings.answers.mode {
        case .poll: return nil
        case .ping: mode = .ping
        case .push: mode = .push
        }
        guard let token = form["client_notification_token"] else {
            throw OAuthError(.invalidRequest, "This client is told: a request needs a client_notification_token.")
        }
        // RFC 6750, section 2.1.
        let text = token.utf8.reversed().drop { $0 == UInt8(ascii: "=") }
        guard !text.isEmpty, token.utf8.count <= Limits.Fixed.notificationTokenBytes,
            text.allSatisfy({ Self.tokenCharacters.contains($0) })
        else { throw OAuthError(.invalidRequest, "The client_notification_token is too long, or no bearer token.") }
        return (mode, token)
    }

    private static let tokenCharacters = Set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/".utf8)

    /// Returns the lifetime of a request: the client's wish, up to the longest lifetime; without a wish, the usual
    /// lifetime.
    private func backchannelLifetime(_ text: String?) throws -> Duration {
        let limits = self.limits.oauth
        guard let text else { return limits.backchannelRequestLifetime }
        guard (1...Limits.Fixed.maximumAgeDigits).contains(text.utf8.count),
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let seconds = Int64(text),
            seconds > 0
        else { throw OAuthError(.invalidRequest, "The requested_expiry is not a number of seconds.") }
        return min(.seconds(seconds), limits.longestBackchannelRequest)
    }

    /// Returns the account and the text of the one hint that a request has (section 7.1). The account is `nil` if the
    /// hint names no person here; the request then goes on in the same way.
    ///
    /// Throws `OAuthError` `invalid_request` for no hint or several, for another client's ID token, and for any
    /// `login_hint_token`.
    private func hinted(_ form: Parameters, client: ClientRecord, _ method: any BackchannelMethod) async throws -> (
        account: String?, hint: String
    ) {
        let hints = ["login_hint", "id_token_hint", "login_hint_token"].compactMap { name in
            form[name].map { (name, $0) }
        }
        guard hints.count == 1, let (name, value) = hints.first else {
            throw OAuthError(.invalidRequest, "A request has one of login_hint, id_token_hint and login_hint_token.")
        }
        switch name {
        case "login_hint":
            // Counted in the name's canonical spelling, in which the name is looked up.
            let name = AccountName(value, limits: self.limits)?.key ?? value
            return (try await method.account(username: value), "login \(name)")
        case "id_token_hint":
            guard let hint = try await self.tokens.hint(value), hint.client.hasSameBytes(as: client.id) else {
                throw OAuthError(.invalidRequest, "The id_token_hint is another client's.")
            }
            let account = try await self.tokens.account(ofSubject: hint.subject, client: client.id)
            return (account, "subject \(hint.subject)")
        default: throw OAuthError(.invalidRequest, "No form of login_hint_token is taken here.")
        }
    }
}
