import Crypto
import OAuth
public import Records
import Settings
public import _Primitives

/// A consent that a person has given to a service.
public struct GivenConsent: Sendable, Equatable {
    /// The identifier with which the person revokes the consent. It gives no access.
    public let id: String
    /// The client's identifier.
    public let client: String
    /// The client's name.
    public let clientName: String
    /// The items for the client.
    public let items: [ConsentItem]
    /// The client's own scopes, by their names at the client.
    public let scopes: [String]
    /// The resources at which the tokens are valid (RFC 8707), beside this server.
    public let resources: [String]
    /// The session in which the person last gave the consent; `nil` if the session is not known.
    public let session: GivingSession?
    /// The time of the person's last consent.
    public let grantedAt: Timestamp
}

extension AuditEvent.Kind {
    /// A person consented to a client's access; the detail is the client.
    static let consentGiven = Self(rawValue: "consent-given")
    /// A consent was revoked; the detail is the consent, the actor the operator, if the operator revoked it.
    static let consentRevoked = Self(rawValue: "consent-revoked")
}

/// The consents of people to services: lists consents, and revokes consents.
public struct Consents: Sendable {
    let store: any ConsentStore & ClientStore
    let limits: Limits
    let time: TimeSource

    /// Returns an account's consents, the last first, at most ``Limits/activityRows``.
    ///
    /// Cost: one query, and one for each consent.
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

    /// Revokes a consent. The service's tokens of the consent stop working at once, on every node. `false` if the
    /// account has no such consent.
    ///
    /// - Parameter operator: The operator who revokes the consent; `nil` for the person.
    ///
    /// Cost: one store step.
    public func end(_ id: String, ofAccount account: String, by operator: String? = nil) async throws -> Bool {
        try await self.store.endConsent(
            id, account: account,
            audit: AuditEvent(
                .consentRevoked, at: self.time.now(), accountID: account, actor: `operator`, detail: id))
    }
}

/// The part of a request that needs the person's consent.
struct ConsentTerms {
    let client: String
    let scope: Scope
    /// The requested claims about the person, as JSON.
    let claims: String?
    /// The resources at which the tokens are to be valid.
    let resources: [String]
    /// `true` if the person is asked even after an earlier consent to the same terms.
    let isAlwaysAsked: Bool

    /// Creates the terms of a request; `nil` if no consent is needed: the client is the operator's own, and does not
    /// request consent.
    init?(of client: ClientRecord, scope: Scope, resources: [String], _ wishes: AuthorizationWishes) {
        let isWanted = wishes.prompts.contains(.consent)
        guard client.settings.party == .third || isWanted else { return nil }
        // A person who agreed to something in detail has not agreed to the next. A stranger's client can change hands.
        self.isAlwaysAsked = isWanted || wishes.details != nil || client.isStranger
        self.client = client.id
        self.scope = scope
        self.claims = wishes.personClaims
        self.resources = resources
    }

    /// A hash that recognises the same terms: scopes and resources in any order, and the claims in any spelling.
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

/// The question to a person on the page between the sign-in and the return to the client.
public struct ConsentQuestion: Sendable, Equatable {
    /// The client that asks.
    public let client: String
    /// The client's name, as the page shows it.
    public let clientName: String
    /// The scheme, host and port of the address to which the browser will return.
    public let clientOrigin: String
    /// `true` if the operator does not know the client's owner (``ClientRecord/isStranger``).
    public var isStranger = false
    /// The name by which the person recognises the account (``Person/shownName``).
    public let username: String
    /// The items for the client; empty in a question about terms or about a connection.
    public let items: [ConsentItem]
    /// The client's own scopes, by their names at the client.
    public let scopes: [String]
    /// The resources at which the tokens would be valid (RFC 8707), beside this server.
    public let resources: [String]
    /// The text that the person has also signed (RFC 9396).
    public let agreement: String?
    /// The terms that the person has to agree to before the question about the client. A question with terms names
    /// nothing of the client's request.
    public let terms: Terms?
    /// The connection that the person wants for the account. The page asks about the connection first.
    public let connection: WantedConnection?
}

extension Scope {
    /// The scopes that OpenID Connect does not define: a client's own.
    fileprivate var ofClients: [String] { self.names.filter { !Clients.scopes.containsBytes(of: $0) } }
}

extension Authorizations {
    /// The consents of people to services.
    public var consents: Consents { Consents(store: self.store, limits: self.limits, time: self.time) }

    /// The error for a request without a page if the person has to consent first.
    static let nobodyAgreed = OAuthError(.consentRequired, "The person has to agree first.")

    /// Returns the person's earlier consent to these terms, if an earlier consent is enough.
    func remembered(_ terms: ConsentTerms, account: String) async throws -> ConsentRecord? {
        guard !terms.isAlwaysAsked else { return nil }
        return try await self.store.consent(account: account, client: terms.client, content: terms.content)
    }

    /// Returns the identifier of the consent on which a grant without a page rests, if the client is a third party's.
    /// The person must have consented to exactly the same terms for this client. Returns `nil` if the client needs no
    /// consent.
    ///
    /// Throws `OAuthError` `invalid_scope` if the person has not consented, and for every stranger's client. Cost: one
    /// query for a third party's client.
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

    /// Returns a request that waits for its person's decision in this session, with the terms of the decision.
    private func waiting(_ id: String, _ browser: BrowserSecret, _ secret: SessionSecret?) async throws -> (
        request: AuthorizationRequestRecord, session: SessionRecord, client: ClientRecord, terms: ConsentTerms,
        wishes: AuthorizationWishes
    )? {
        guard let request = try await self.openRequest(id, browser), let secret,
            let session = try await self.sessions.live(secret),
            request.session?.hasSameBytes(as: session.id) ?? false,
            let client = try await self.clients.client(of: request)
        else { return nil }
        let wishes = try AuthorizationWishes(of: request)
        // If the operator has meanwhile made the client one of their own, the person is asked all the same.
        var asked = client
        asked.settings.party = .third
        guard
            let terms = ConsentTerms(
                of: asked, scope: try Scope(request.scope), resources: request.resources, wishes)
        else { return nil }
        return (request, session, client, terms, wishes)
    }

    /// Returns `true` if the person of a waiting request still has to be asked about the client, and the person's
    /// earlier consent.
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

    /// Returns the question for the person of this session about the request; `nil` for every other browser and
    /// session, and if the request needs no question.
    ///
    /// Cost: five queries, one more if the operator has terms, two hashes.
    public func consentQuestion(request id: String, browser: BrowserSecret, session: SessionSecret?) async throws
        -> ConsentQuestion?
    {
        guard let (request, session, client, terms, wishes) = try await self.waiting(id, browser, session),
            let person = try await self.standing.person(ofAccount: session.account)
        else { return nil }
        let origin = try self.reply(to: request).redirectURI.origin
        if let wanted = try await self.connection(for: id, since: session.authentication.at) {
            return ConsentQuestion(
                client: client.id, clientName: client.name, clientOrigin: origin, username: person.shownName, items: [],
                scopes: [], resources: [], agreement: nil, terms: nil, connection: wanted)
        }
        if let missing = try await self.standing.missingTerms(ofAccount: session.account, at: client) {
            return ConsentQuestion(
                client: client.id, clientName: client.name, clientOrigin: origin, username: person.shownName, items: [],
                scopes: [], resources: [], agreement: nil, terms: missing, connection: nil)
        }
        var question = ConsentQuestion(
            client: client.id, clientName: client.name, clientOrigin: origin, username: person.shownName,
            items: try ConsentItem.items(scope: terms.scope, claims: terms.claims), scopes: terms.scope.ofClients,
            resources: terms.resources, agreement: try self.details.agreement(to: wishes.details), terms: nil,
            connection: nil)
        question.isStranger = client.isStranger
        return question
    }

    /// Ends a request with its person's decision. The client gets its code and the consent is remembered, or the client
    /// receives an error: `access_denied` after a no. Of any number of calls exactly one ends the request.
    ///
    /// A page asks one question at a time. The request waits on, and the answer is
    /// ``AuthorizationAnswer/consent(request:client:)``, if another question is left, or if the page has shown another
    /// question than the present one.
    ///
    /// - Parameters:
    ///   - isGranted: `true` if the person agrees. Only for a form that stood on a page of this session.
    ///   - connection: The wanted connection that the page has shown; `nil` if the page has shown none. A person who
    ///     declines the connection is signed in all the same.
    ///   - version: The version of the operator's terms that the page has shown; `nil` if the page has shown none.
    ///   - address: The browser's network address, for the audit trail.
    ///   - explain: Receives the reason if the client gets nothing, for the operator's log.
    ///   - notConnected: Receives the reason if a wanted connection was not made. The person is signed in all the same.
    ///
    /// Cost: seven queries, two of them for the client, and one if the operator has terms; one store step, and one more
    /// each for a connection and for an agreement to terms.
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
        let isKnown = try await self.standing.person(ofAccount: session.account) != nil
        let wanted = try await self.connection(for: id, since: session.authentication.at)
        // A page that has shown something else than the question of this step has decided nothing.
        guard wanted.map({ $0.name.hasSameBytes(as: connection ?? "") }) ?? (connection == nil) else {
            return .consent(request: id, client: client.id)
        }
        guard isGranted || wanted != nil, isKnown else {
            let refusal = isKnown ? OAuthError(.accessDenied, "The person did not agree.") : Self.denied
            explain(ProviderRefusal(refusal, client: client.id))
            let answer = isKnown || wishes.service == nil ? reply.answer(error: refusal) : reply.answer(.locked)
            return try await self.store.removeRequest(id) ? .client(answer) : .page(ended)
        }
        // The session that gives the code must meet the requirements of the sign-in: the session can have changed
        // meanwhile.
        guard try await self.standing.takes(session.account, in: session.authentication.role, at: client.id) else {
            explain(ProviderRefusal(Self.notForService, client: client.id))
            return try await self.store.removeRequest(id)
                ? .client(reply.answer(error: Self.notForService)) : .page(ended)
        }
        guard client.settings.signInMethods.containsBytes(of: session.authentication.method),
            wishes.levels.areMet(by: session.authentication.acr, in: self.levels)
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
        let missing = try await self.standing.missingTerms(ofAccount: session.account, at: client)
        if let missing {
            // A person cannot have agreed to terms that the page has not shown.
            guard let version, version.hasSameBytes(as: missing.version) else {
                return .consent(request: id, client: client.id)
            }
            let agreed = AuditEvent(
                .termsAgreed, at: now, accountID: session.account, detail: version, address: address)
            _ = try await self.store.agree(account: session.account, version: version, audit: agreed)
        }
        // A page about the terms, or about a connection, has not shown the client's request.
        var known: (isMissing: Bool, given: String?)?
        if version != nil || wanted != nil {
            known = try await self.consent(
                of: session.account, to: request, by: client, signedInBy: session.authentication.method, wishes)
        }
        if known?.isMissing == true { return .consent(request: id, client: client.id) }
        do { try await self.clients.keep(client) } catch let error as OAuthError {
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
