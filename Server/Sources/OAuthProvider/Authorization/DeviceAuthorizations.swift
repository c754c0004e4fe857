public import OAuth
import Records
import Sealing
public import Settings
import _Primitives

/// The next step for a browser whose person has typed a device's code.
public enum DeviceCodeAnswer: Sendable, Equatable {
    /// Have the person authenticate for this request of this client.
    case signIn(request: String, client: String)
    /// Ask for the code again: no device waits for this code, or another browser used the code before.
    case unknown
    /// Show a page that asks the person to come back: too many codes were tried, or too many sign-ins begun.
    case tooMany(Shortage)
}

/// The question to a person before a device is signed in.
public struct DeviceConfirmation: Sendable, Equatable {
    /// The code, in its halves. The device shows the same code.
    public let userCode: String
    /// The client that the device belongs to.
    public let client: String
    /// The client's name, as the page shows it.
    public let clientName: String
    /// The scheme, host and port of the client's first address.
    public let clientOrigin: String
    /// The name of the person who has authenticated.
    public let username: String
}

/// The result of a person's decision about a device.
public enum DeviceDecision: Sendable, Equatable {
    /// The device gets its tokens at its next question.
    case confirmed(clientName: String, method: String)
    /// The account cannot sign in to this client, or its person has to agree to the terms first. The device learns that
    /// the person refused.
    case denied(OAuthError)
    /// The request has ended, and no decision is left.
    case ended(OAuthError)
}

extension AuditEvent.Kind {
    /// A person signed in a device that has no browser; the detail is the device's client.
    static let deviceConfirmed = Self(rawValue: "device-confirmed")
}

/// Signs in devices without a browser, from a browser that the person has elsewhere (RFC 8628).
///
/// The waiting request is an authorization request like any other, in the browser in which the code was typed. The
/// request ends with the person's yes on a page that shows code, client and origin, after the person has authenticated
/// for the request. An existing session of the browser does not count: anybody could have sent the person a link with a
/// code.
public struct DeviceAuthorizations: Sendable {
    private let authorizations: Authorizations
    /// The budget of new device codes of each client and, for a client that proves nothing, of each source.
    private let devices: Budget
    /// The budget of wrong codes that the browsers of a source may try. All sources together have no budget: an
    /// attacker who used it up would keep everybody from signing devices in.
    private let guesses: Budget

    /// Creates the authorizations of devices beside the authorizations of browsers.
    public init(_ authorizations: Authorizations) {
        let limits = authorizations.limits
        self.authorizations = authorizations
        self.devices = Budget(limits.deviceCodes)
        self.guesses = Budget(limits.guesses)
    }

    /// The page where people type the codes of devices.
    private var page: String { self.authorizations.issuer + "/device" }

    /// Answers a request to the device authorization endpoint (RFC 8628, section 3.1).
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - body: The form as received, not decoded.
    ///   - source: The device's source. A client that proves nothing has a budget for each source.
    ///   - connection: The connection of the request.
    ///
    /// Cost: one query, one store step, two hashes, one HMAC.
    public func authorize(
        header: String?, body: String, source: String, over connection: ClientConnection = .usual
    ) async throws -> ProviderAnswer {
        try await self.authorizations.endpoint.answer(
            header: header, body: body, from: source, over: connection
        ) { client, form in
            guard client.settings.grantTypes.containsBytes(of: GrantType.deviceCode.rawValue) else {
                throw OAuthError(
                    .unauthorizedClient, "The client may not use this grant type.",
                    detail: "the operator can give it --grant-type")
            }
            try self.authorizations.details.refuse(in: form)
            let scope = try Clients.scope(form["scope"], settings: client.settings)
            let (now, limits) = (self.authorizations.time.now(), self.authorizations.limits.oauth)
            // Anybody can ask in the name of a client that proves nothing. A budget for each source keeps one caller
            // from using up the budget of all.
            let spender = client.settings.isPublic ? source : client.id
            if let shortage = self.devices.spend(spender, of: client.id, at: now) { return ProviderAnswer(shortage) }
            let secret = self.authorizations.random.token(byteCount: 32)
            let code = DeviceCodeRecord(
                digest: Sealing.digest(ofSecret: secret),
                userCode: TypedCode(letters: Limits.Fixed.deviceUserCodeLetters, random: self.authorizations.random),
                client: client.id, scope: scope.description, interval: Limits.Fixed.pollingInterval,
                expiresAt: now + limits.deviceCodeLifetime)
            do {
                try await self.authorizations.store.addDeviceCode(
                    code, keptUntil: code.expiresAt + limits.endedPollingRetention)
            } catch let error as StoreError where error.code == .conflict {
                // The chance is one in many millions: the next draw gives another code.
                throw OAuthError(.temporarilyUnavailable, "Ask again.", detail: error.reason)
            }
            let shown = code.userCode.shown
            return ProviderAnswer(
                status: 200,
                body: [
                    "device_code": .string(secret), "user_code": .string(shown), "verification_uri": .string(self.page),
                    "verification_uri_complete": .string("\(self.page)?user_code=\(shown)"),
                    "expires_in": .integer(limits.deviceCodeLifetime.components.seconds),
                    "interval": .integer(Limits.Fixed.pollingInterval.components.seconds),
                ])
        }
    }

    /// Returns a device's code from a person's typed text; `nil` if the text cannot be a code.
    public static func userCode(_ text: String) -> String? {
        TypedCode(typed: text, letters: Limits.Fixed.deviceUserCodeLetters)?.shown
    }

    /// Has a person authenticate for the device whose code the person has typed.
    ///
    /// An attempt is counted before the lookup of the code, and given back if the code leads to a sign-in. Past the
    /// budget no code is looked up.
    ///
    /// Cost: two queries, one store step, one HMAC.
    public func enter(_ text: String, browser: BrowserSecret, source: String) async throws -> DeviceCodeAnswer {
        guard let userCode = TypedCode(typed: text, letters: Limits.Fixed.deviceUserCodeLetters) else {
            return .unknown
        }
        let now = self.authorizations.time.now()
        if let shortage = self.guesses.spend(source, at: now) { return .tooMany(shortage) }
        guard let code = try await self.authorizations.store.deviceCode(userCode: userCode), now < code.expiresAt,
            let client = try await self.authorizations.clients.servedClient(code.client),
            let address = client.redirectURIs.first
        else { return .unknown }
        if let shortage = self.authorizations.signIns.spend(source, at: now) { return .tooMany(shortage) }
        let request = AuthorizationRequestRecord(
            id: self.authorizations.random.identifier(), browserDigest: browser.digest, client: client.id,
            redirectURI: address, scope: code.scope, state: nil, nonce: nil, codeChallenge: nil,
            expiresAt: code.expiresAt)
        guard let waiting = try await self.authorizations.store.begin(request, userCode: userCode) else {
            return .unknown
        }
        self.guesses.refund(source)
        return .signIn(request: waiting, client: client.id)
    }

    /// Returns the question to the person of a request; `nil` if the request is no device's, has ended, belongs to
    /// another browser, or has no authenticated person who may sign in, and if the client is switched off.
    ///
    /// Cost: five queries, two hashes.
    public func confirmation(request id: String, browser: BrowserSecret) async throws -> DeviceConfirmation? {
        guard let request = try await self.authorizations.openRequest(id, browser),
            let code = try await self.authorizations.store.deviceCode(request: id),
            let (outcome, _) = try await self.authorizations.outcome(of: request, browser: browser),
            let client = try await self.authorizations.clients.servedClient(request.client),
            let person = try await self.authorizations.standing.person(ofAccount: outcome.account)
        else { return nil }
        return DeviceConfirmation(
            userCode: code.userCode.shown, client: client.id, clientName: client.name,
            clientOrigin: try Clients.origin(of: client), username: person.shownName)
    }

    /// Signs the device in, by the decision of the person who has authenticated for the request.
    ///
    /// A session begins that belongs to no browser. The person finds the session among their sessions, and can end it
    /// there.
    ///
    /// - Parameters:
    ///   - language: The language of the person's letters from now on; `nil` to leave the language.
    ///   - explain: Receives the reason if the device is not signed in, for the operator's log.
    ///
    /// Cost: six queries, one more if the operator has terms, one store step beside the outcome's own, one HMAC, three
    /// hashes.
    public func confirm(
        request id: String, browser: BrowserSecret, language: String? = nil,
        explain: (ProviderRefusal) -> Void = { _ in }
    ) async throws -> DeviceDecision {
        let ended = OAuthError(.invalidRequest, "This sign-in has ended, or was started in another browser.")
        let denied = OAuthError(.accessDenied, "The account cannot sign in.")
        guard let request = try await self.authorizations.openRequest(id, browser),
            let code = try await self.authorizations.store.deviceCode(request: id),
            let (outcome, method) = try await self.authorizations.outcome(of: request, browser: browser),
            let client = try await self.authorizations.clients.servedClient(request.client)
        else {
            explain(ProviderRefusal(ended))
            return .ended(ended)
        }
        let now = self.authorizations.time.now()
        do {
            let refusal = try await self.authorizations.standing.refusalWithoutPage(
                ofAccount: outcome.account, in: outcome.role, at: client.id)
            guard refusal == nil else {
                throw StoreError(.notFound, "the account cannot sign in here, or has to agree to the terms first")
            }
            let session = SessionRecord(
                of: AuthenticationRecord(of: outcome, by: method, random: self.authorizations.random), cookie: nil,
                lifetime: self.authorizations.limits.sessionLifetime, random: self.authorizations.random, at: now)
            let scope = try Scope(code.scope)
            let grant = GrantRecord(
                id: self.authorizations.random.grantIdentifier(at: now), client: client.id,
                subject: self.authorizations.keys.subject(ofAccount: outcome.account, of: client),
                authentication: session.authentication.id, session: session.id,
                isLasting: scope.contains(Scope.offlineAccess), scope: code.scope,
                expiresAt: code.expiresAt + self.authorizations.limits.accessTokenLifetime)
            try await self.authorizations.store.confirm(
                ConfirmedDevice(
                    request: id, session: session, grant: grant, redirectURI: request.redirectURI, language: language),
                audit: AuditEvent(
                    .deviceConfirmed, at: now, accountID: outcome.account, detail: client.id,
                    address: outcome.address))
        } catch let error as StoreError where error.code == .notFound {
            // If the request still exists, the person's phone was removed, the account may not sign in to this client,
            // or the person has to agree to the terms first.
            let isDenied = try await self.authorizations.store.removeRequest(id)
            explain(ProviderRefusal(isDenied ? denied : ended, client: client.id))
            return isDenied ? .denied(denied) : .ended(ended)
        }
        return .confirmed(clientName: client.name, method: method)
    }

    /// Ends a device's request because its person refused. The device learns of the refusal. Returns `true` if this
    /// browser had such a request.
    ///
    /// Cost: two queries, one store step.
    public func refuse(request id: String, browser: BrowserSecret) async throws -> Bool {
        guard try await self.authorizations.openRequest(id, browser) != nil,
            try await self.authorizations.store.deviceCode(request: id) != nil
        else { return false }
        return try await self.authorizations.store.removeRequest(id)
    }
}
