import Crypto
import OAuth
public import Store
public import _Primitives

/// What a client gets of a person, in parts that people understand.
public enum ConsentItem: String, Sendable, CaseIterable {
    /// That it is the same person each time, by a number of the client's own.
    case identity
    /// The name that the person signs in with.
    case username
    /// The name that people read.
    case name
    /// The person's picture, language and time zone.
    case profile
    /// Where the person gets e-mail.
    case email
    /// By what number the person can be called.
    case phone
    /// Where the person gets post.
    case address
    /// To go on while the person is away.
    case offlineAccess
    /// To have the other apps of its group on the device sign the person in.
    case deviceSSO

    /// What scopes and claims come to, in the order of the cases.
    static func items(scope: Scope, claims: String?) throws -> [ConsentItem] {
        let byScope = PersonClaims.scopes.filter { scope.contains($0.scope) }.flatMap(\.claims)
        let named = try claims.map { try ClaimsRequest($0) }
        let names = byScope + ((named?.idToken ?? []) + (named?.userinfo ?? [])).map(\.name)
        let words: [(ConsentItem, [String])] = [
            (.username, ["preferred_username"]), (.name, ["name", "given_name", "family_name", "middle_name"]),
            (.profile, ["picture", "locale", "zoneinfo", "updated_at"]), (.email, ["email", "email_verified"]),
            (.phone, ["phone_number", "phone_number_verified"]), (.address, ["address"]),
        ]
        var items: Set<ConsentItem> = [.identity]
        for (item, claims) in words where claims.contains(where: names.containsBytes) { items.insert(item) }
        if scope.contains(Scope.offlineAccess) { items.insert(.offlineAccess) }
        if scope.contains(Scope.deviceSSO) { items.insert(.deviceSSO) }
        return Self.allCases.filter(items.contains)
    }
}

/// What a person has let a service have.
public struct GivenConsent: Sendable, Equatable {
    /// By what it is taken back. It opens nothing.
    public let id: String
    /// The client's identifier.
    public let client: String
    /// The client's name.
    public let clientName: String
    /// What it gets.
    public let items: [ConsentItem]
    /// The scopes of the client's own, by the names that they have there.
    public let scopes: [String]
    /// Where its tokens are good for (RFC 8707), beside this server.
    public let resources: [String]
    /// The session that it was given in last; `nil` where that is not known.
    public let session: GivingSession?
    /// When it was given last.
    public let grantedAt: Timestamp
}

extension AuditEvent.Kind {
    /// A person let a client have something; the detail is the client.
    static let consentGiven = Self(rawValue: "consent-given")
    /// A consent was taken back; the detail is the consent, the actor the operator, where it was one.
    static let consentRevoked = Self(rawValue: "consent-revoked")
}

/// What people have let services have: to be shown, and taken back.
public struct Consents: Sendable {
    let store: any ConsentStore & ClientStore
    let limits: Limits
    let time: TimeSource

    /// What an account has let services have, the last one first, at most ``Limits/activityRows``.
    ///
    /// Cost: one query, and one for each.
    public func given(byAccount account: String) async throws -> [GivenConsent] {
        var given: [GivenConsent] = []
        for consent in try await self.store.consents(account: account, limit: self.limits.activityRows) {
            guard let client = try await self.store.client(consent.client) else { continue }
            given.append(
                GivenConsent(
                    id: consent.id, client: client.id, clientName: client.name,
                    items: try ConsentItem.items(scope: Scope(consent.scope), claims: consent.claims),
                    scopes: try Scope(consent.scope).ofClients, resources: consent.resources,
                    session: consent.session, grantedAt: consent.grantedAt))
        }
        return given
    }

    /// Takes a consent back: what the service was given for it stops working at once, on every node. `false` where the
    /// account has no such consent.
    ///
    /// - Parameter operator: Who does it, where it is not the person.
    ///
    /// Cost: one store step.
    public func end(_ id: String, ofAccount account: String, by operator: String? = nil) async throws -> Bool {
        try await self.store.endConsent(
            id, account: account,
            audit: AuditEvent(
                .consentRevoked, at: self.time.now(), accountID: account, actor: `operator`, detail: id))
    }
}

/// What a request wants that a person has to agree to.
struct ConsentTerms {
    let client: String
    let scope: Scope
    /// What it names of the person, as JSON.
    let claims: String?
    /// Where its tokens are to be good for.
    let resources: [String]
    /// Whether the person is asked also where the same was agreed to before.
    let isAlwaysAsked: Bool

    /// `nil` where nobody is asked: the client is the operator's own, and does not want it otherwise.
    init?(of client: ClientRecord, scope: Scope, resources: [String], _ wishes: AuthorizationWishes) {
        let isWanted = wishes.prompts.contains(.consent)
        guard client.settings.party == .third || isWanted else { return nil }
        // A person who agreed to one payment has not agreed to the next. A stranger's client can change hands.
        self.isAlwaysAsked = isWanted || wishes.details != nil || client.isStranger
        self.client = client.id
        self.scope = scope
        self.claims = wishes.personClaims
        self.resources = resources
    }

    /// Recognises the same terms: scopes and resources in any order, and the claims in any spelling.
    var content: [UInt8] {
        func sorted(_ texts: [String]) -> JSON { .array(texts.map(ExactText.init).sorted().map { .string($0.text) }) }
        let parts = JSON.array([sorted(self.scope.names), .string(self.claims ?? ""), sorted(self.resources)])
        return Array(SHA256.hash(data: parts.serialized))
    }

    func record(id: String, in session: SessionRecord, at now: Timestamp) -> ConsentRecord {
        ConsentRecord(
            id: id, account: session.account, client: self.client, content: self.content,
            scope: self.scope.description, claims: self.claims, resources: self.resources,
            session: GivingSession(id: session.id, session.authentication), grantedAt: now)
    }
}

/// What a person is asked on the page between signing in and the way back.
public struct ConsentQuestion: Sendable, Equatable {
    /// The client that asks.
    public let client: String
    /// What people are shown: who asks.
    public let clientName: String
    /// Scheme, host and port where the person will be led.
    public let clientOrigin: String
    /// `true` if the operator does not know whose the client is (``ClientRecord/isStranger``).
    public var isStranger = false
    /// Whose account it is about, by the name that the person signs in with.
    public let username: String
    /// What the client gets.
    public let items: [ConsentItem]
    /// The scopes of the client's own, by the names that they have there.
    public let scopes: [String]
    /// Where its tokens would be good for (RFC 8707), beside this server.
    public let resources: [String]
    /// What the person has signed beside, in words (RFC 9396).
    public let agreement: String?
    /// What the person has to agree to before they are asked for the client: then nothing of the client's is named.
    public let terms: Terms?
    /// What the person wants connected with the account, and is asked about before everything else.
    public let connection: WantedConnection?
}

extension Scope {
    /// The names that OpenID Connect does not give: a client's own.
    fileprivate var ofClients: [String] { self.names.filter { !OpenIDProvider.scopes.containsBytes(of: $0) } }
}

extension OpenIDProvider {
    /// What people have let services have.
    public var consents: Consents { Consents(store: self.store, limits: self.limits, time: self.time) }

    /// What a request without a page is told where the person has to agree first.
    static let nobodyAgreed = OAuthError(.consentRequired, "The person has to agree first.")

    /// The consent that a person has given to these terms, and that is enough for them.
    func remembered(_ terms: ConsentTerms, account: String) async throws -> ConsentRecord? {
        guard !terms.isAlwaysAsked else { return nil }
        return try await self.store.consent(account: account, client: terms.client, content: terms.content)
    }

    /// What a grant without a page stands on, where the client is a third party's: the person has agreed to the very same
    /// for this client; `nil` where nobody is asked for the client.
    ///
    /// Throws `OAuthError` `invalid_scope` where they have not. Cost: one query for a third party's client.
    func consent(to scope: Scope, for client: ClientRecord, account: String) async throws -> String? {
        guard let terms = try ConsentTerms(of: client, scope: scope, resources: [], AuthorizationWishes([:])) else {
            return nil
        }
        guard let consent = try await self.remembered(terms, account: account) else {
            throw OAuthError(
                .invalidScope, "The person has to agree to that scope: sign in by the browser.",
                detail: "the client is a third party's, and nobody has agreed to this for it")
        }
        return consent.id
    }

    /// A request that waits for the word of its person in this session, with what it waits for.
    private func waiting(_ id: String, _ browser: BrowserSecret, _ secret: SessionSecret?) async throws -> (
        request: AuthorizationRequestRecord, session: SessionRecord, client: ClientRecord, terms: ConsentTerms,
        wishes: AuthorizationWishes
    )? {
        guard let request = try await self.openRequest(id, browser), let secret,
            let session = try await self.liveSession(secret),
            request.session?.hasSameBytes(as: session.id) ?? false,
            let client = try await self.client(of: request)
        else { return nil }
        let wishes = try AuthorizationWishes(of: request)
        // Where the operator has made the client one of their own meanwhile, the person is asked all the same.
        var asked = client
        asked.settings.party = .third
        guard
            let terms = ConsentTerms(
                of: asked, scope: try Scope(request.scope), resources: request.resources, wishes)
        else { return nil }
        return (request, session, client, terms, wishes)
    }

    /// Whether a person whose request waits has to be asked for the client, too, and what they have agreed to before.
    private func consent(
        of account: String, to request: AuthorizationRequestRecord, by client: ClientRecord, signedInBy method: String,
        _ wishes: AuthorizationWishes
    ) async throws -> (isMissing: Bool, given: String?) {
        let terms = ConsentTerms(of: client, scope: try Scope(request.scope), resources: request.resources, wishes)
        let isAsked = self.isAskedEachTime(client, try self.reply(to: request).redirectURI, by: method)
        guard let terms else { return (isAsked, nil) }
        let given = try await self.remembered(terms, account: account)?.id
        return (given == nil || isAsked, given)
    }

    /// What the person of this session is asked for the request; `nil` for every other browser and session, and where
    /// nobody is asked.
    ///
    /// Cost: four queries, two hashes.
    public func consentQuestion(request id: String, browser: BrowserSecret, session: SessionSecret?) async throws
        -> ConsentQuestion?
    {
        guard let (request, session, client, terms, wishes) = try await self.waiting(id, browser, session),
            let person = try await self.people.person(account: session.account)
        else { return nil }
        let origin = try self.reply(to: request).redirectURI.origin
        if let wanted = try await self.connection(for: id, since: session.authentication.at) {
            return ConsentQuestion(
                client: client.id, clientName: client.name, clientOrigin: origin, username: person.shownName, items: [],
                scopes: [], resources: [], agreement: nil, terms: nil, connection: wanted)
        }
        if let missing = try await self.missingTerms(ofAccount: session.account, at: client) {
            return ConsentQuestion(
                client: client.id, clientName: client.name, clientOrigin: origin, username: person.shownName, items: [],
                scopes: [], resources: [], agreement: nil, terms: missing, connection: nil)
        }
        var question = ConsentQuestion(
            client: client.id, clientName: client.name, clientOrigin: origin, username: person.shownName,
            items: try ConsentItem.items(scope: terms.scope, claims: terms.claims), scopes: terms.scope.ofClients,
            resources: terms.resources, agreement: try self.agreement(to: wishes.details), terms: nil,
            connection: nil)
        question.isStranger = client.isStranger
        return question
    }

    /// Ends a request with its person's word: the client gets its code, and the consent is remembered, or it is told
    /// `access_denied`. Of any number of calls one ends it.
    ///
    /// - Parameters:
    ///   - isGranted: Whether the person agrees. Only for a form that stood on a page of this session.
    ///   - connection: What the page has shown that the person wants connected; `nil` where it has shown nothing such. A
    ///     person who does not want it after all is signed in all the same.
    ///   - version: The version of the operator's terms that the page has shown; `nil` where it has shown none.
    ///   - address: The browser's network address, for the audit trail.
    ///   - explain: Is told why, where the client gets nothing: for the operator's log.
    ///   - notConnected: Is told why a connection was not made that the person wanted: they are signed in all the same.
    ///
    /// Cost: four queries, one store step.
    public func decide(
        request id: String, browser: BrowserSecret, session: SessionSecret?, isGranted: Bool,
        connection: String? = nil, terms version: String? = nil, address: String?,
        explain: (ProviderRefusal) -> Void = { _ in },
        notConnected: (WantedConnection, LinkRefusal) -> Void = { _, _ in }
    ) async throws -> AuthorizationAnswer {
        let ended = OAuthError(.invalidRequest, "This sign-in has ended, or was started in another browser.")
        guard let (request, session, client, terms, wishes) = try await self.waiting(id, browser, session) else {
            explain(ProviderRefusal(ended))
            return .page(ended)
        }
        let reply = try self.reply(to: request)
        let isKnown = try await self.people.person(account: session.account) != nil
        let wanted = try await self.connection(for: id, since: session.authentication.at)
        // A page that has shown something else than what is to be decided has decided nothing.
        guard wanted.map({ $0.name.hasSameBytes(as: connection ?? "") }) ?? (connection == nil) else {
            return .consent(request: id, client: client.id)
        }
        guard isGranted || wanted != nil, isKnown else {
            let refusal = isKnown ? OAuthError(.accessDenied, "The person did not agree.") : Self.denied
            explain(ProviderRefusal(refusal, client: client.id))
            let answer = isKnown || wishes.service == nil ? reply.answer(error: refusal) : reply.answer(.locked)
            return try await self.store.removeRequest(id) ? .client(answer) : .page(ended)
        }
        // What was asked of the sign-in is asked of the session that gives the code: it can have changed meanwhile.
        guard try await self.people.takes(session.account, in: session.authentication.role, at: client.id) else {
            explain(ProviderRefusal(Self.notForService, client: client.id))
            return try await self.store.removeRequest(id)
                ? .client(reply.answer(error: Self.notForService)) : .page(ended)
        }
        guard client.settings.signInMethods.containsBytes(of: session.authentication.method),
            wishes.levels.areMet(by: session.authentication.acr, in: self.configuration.levels)
        else {
            explain(ProviderRefusal(RequestedLevels.unmet, client: client.id))
            return try await self.store.removeRequest(id)
                ? .client(reply.answer(error: RequestedLevels.unmet)) : .page(ended)
        }
        let now = self.time.now()
        if let wanted {
            for method in self.methods {
                let refusal = try await method.decide(
                    wanted, request: id, account: session.account, isGranted: isGranted)
                if let refusal { notConnected(wanted, refusal) }
            }
        }
        let missing = try await self.missingTerms(ofAccount: session.account, at: client)
        if let missing {
            // What the page has not shown nobody has agreed to.
            guard let version, version.hasSameBytes(as: missing.version) else {
                return .consent(request: id, client: client.id)
            }
            let agreed = AuditEvent(
                .termsAgreed, at: now, accountID: session.account, detail: version, address: address)
            _ = try await self.store.agree(account: session.account, version: version, audit: agreed)
        }
        // A page of the terms, or of a connection, has not shown what the client wants.
        var known: (isMissing: Bool, given: String?)?
        if version != nil || wanted != nil {
            known = try await self.consent(
                of: session.account, to: request, by: client, signedInBy: session.authentication.method, wishes)
        }
        if known?.isMissing == true { return .consent(request: id, client: client.id) }
        do { try await self.keep(client) } catch let error as OAuthError {
            explain(ProviderRefusal(error, client: client.id))
            return try await self.store.removeRequest(id) ? .client(reply.answer(error: error)) : .page(ended)
        }
        let issue = try await self.issue(
            session, client: client.id, redirectURI: request.redirectURI, scope: terms.scope, nonce: request.nonce,
            challenge: request.codeChallenge, keyThumbprint: request.keyThumbprint, wishes: wishes,
            consent: known?.given, resources: request.resources, at: now)
        do {
            if known != nil {
                guard try await self.store.removeRequest(id) else { throw StoreError(.notFound, "ended meanwhile") }
                let detail = AuditEvent.signInDetail(service: client.id, methods: session.authentication.amr)
                try await self.store.addGrant(
                    issue.grant, code: issue.code, usedAt: now,
                    audit: AuditEvent(
                        .signedInBySession, at: now, accountID: session.account, detail: detail, address: address))
                return .client(reply.answer(code: issue.secret))
            }
            try await self.store.consent(
                ConsentedAuthorization(
                    request: id,
                    consent: terms.record(id: self.random.identifier(), in: session, at: now),
                    grant: issue.grant, code: issue.code), usedAt: now,
                audit: AuditEvent(
                    .consentGiven, at: now, accountID: session.account, detail: client.id, address: address))
        } catch let error as StoreError where error.code == .notFound {
            explain(ProviderRefusal(ended, client: client.id))
            return .page(ended)
        }
        return .client(reply.answer(code: issue.secret))
    }
}
