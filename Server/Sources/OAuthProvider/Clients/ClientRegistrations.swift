import OAuth
public import Records
import Sealing
import Settings
public import _Primitives

/// Clients that register themselves (RFC 7591), and see, change and delete their registration (RFC 7592).
///
/// A client registers with an initial access token, which an operator made, or without a token if the operator has
/// opened registration. Such a client is a third party's: it has the grant types of a service that signs people in, and
/// no more until an operator gives others. ``Strangers`` also applies to a client that came without a token.
public struct ClientRegistrations: Sendable {
    private let clients: Clients
    private let store: any RegistrationStore
    private let issuers: SoftwareStatementIssuers
    /// The budget of each network for registrations without a token.
    private let openRegistrations: Budget

    /// Creates the registrations of clients at a provider.
    public init(
        clients: Clients, store: any RegistrationStore,
        issuers: SoftwareStatementIssuers = SoftwareStatementIssuers()
    ) {
        self.clients = clients
        self.store = store
        self.issuers = issuers
        self.openRegistrations = Budget(clients.limits.openRegistrations)
    }

    private var now: Timestamp { self.clients.time.now() }
    private var limits: Limits.OAuth { self.clients.limits.oauth }

    // MARK: For an operator

    /// Creates a new initial access token. The secret is shown only this once. Without a lifetime the token has the
    /// usual lifetime; without a number of uses the token is for one client.
    ///
    /// Throws `OAuthError` `invalid_request` with a sentence for the administrator; ``StoreError`` `conflict` if the
    /// store has too many tokens.
    public func makeInitialToken(lifetime: Duration?, uses: Int?, by operator: String) async throws -> (
        token: InitialTokenRecord, secret: String
    ) {
        let lifetime = lifetime ?? min(Limits.Fixed.usualInitialTokenLifetime, self.limits.initialTokenLifetime)
        guard (Limits.Fixed.shortestLifetime...self.limits.initialTokenLifetime).contains(lifetime) else {
            throw OAuthError(
                .invalidRequest,
                "A token lives from a second to \(self.limits.initialTokenLifetime.components.seconds) seconds.")
        }
        let uses = uses ?? 1
        guard (1...self.limits.initialTokenUses).contains(uses) else {
            throw OAuthError(.invalidRequest, "A token is for 1 to \(self.limits.initialTokenUses) clients.")
        }
        let secret = self.clients.random.token(byteCount: 32)
        let now = self.now
        let token = InitialTokenRecord(
            id: self.clients.random.identifier(), digest: Sealing.digest(ofSecret: secret), createdAt: now,
            expiresAt: now + lifetime, left: uses)
        try await self.store.addInitialToken(
            token, limit: self.limits.initialTokens, at: now,
            audit: AuditEvent(.initialTokenAdded, at: now, actor: `operator`, detail: token.id))
        return (token, secret)
    }

    /// Returns the valid initial access tokens, the oldest first.
    public func initialTokens() async throws -> [InitialTokenRecord] {
        try await self.store.initialTokens(at: self.now)
    }

    /// Ends an initial access token. Clients that were registered with the token stay. Returns `true` if the token
    /// existed.
    public func revokeInitialToken(_ id: String, by operator: String) async throws -> Bool {
        try await self.store.deleteInitialToken(
            id, audit: AuditEvent(.initialTokenRevoked, at: self.now, actor: `operator`, detail: id))
    }

    // MARK: For clients

    /// Registers a client (RFC 7591, section 3).
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, of the scheme `Bearer`: the initial access token. `nil` is for open
    ///     registration.
    ///   - body: The metadata.
    ///   - source: The source of the request. Each network has a budget of open registrations.
    ///
    /// Cost: one query, one hash, one store step; a key generation if no other client's ID tokens are signed with the
    /// algorithm; a call if the client has a `sector_identifier_uri`, and a signature for a software statement.
    public func register(header: String?, body: JSONObject, source: String) async throws -> ProviderAnswer {
        try await self.answer(client: nil) {
            if header == nil, self.clients.choices.isRegistrationOpen {
                if let shortage = self.openRegistrations.spend(source, at: self.now) { return ProviderAnswer(shortage) }
                return try await self.register(body, ClientRegistration.open, by: nil) { client in
                    try await self.store.addStranger(
                        client, limit: self.limits.strangers,
                        unusedSince: self.now - self.limits.unusedStrangerLifetime,
                        audit: AuditEvent(.clientAdded, at: client.createdAt, actor: client.id, detail: client.id))
                }
            }
            let digest = Sealing.digest(ofSecret: try BearerToken(header: header).text)
            guard let initial = try await self.store.initialToken(digest: digest, at: self.now) else {
                throw Self.noToken
            }
            return try await self.register(
                body, { .invited(tokenDigest: $0, initialToken: initial.id) }, by: initial.id
            ) { client in
                try await self.store.register(
                    client, by: digest, at: self.now, limit: self.limits.clients,
                    audit: AuditEvent(.clientAdded, at: client.createdAt, actor: initial.id, detail: client.id))
            }
        }
    }

    /// Registers a client.
    ///
    /// - Parameters:
    ///   - registration: Returns the client's registration, from the digest of its registration access token.
    ///   - add: Writes the client to the store.
    private func register(
        _ body: JSONObject, _ registration: ([UInt8]) -> ClientRegistration, by actor: String?,
        add: (ClientRecord) async throws -> Void
    ) async throws -> ProviderAnswer {
        let stated = try self.stated(body)
        let token = self.clients.random.token(byteCount: 32)
        let made = try await self.client(stated, registration(Sealing.digest(ofSecret: token)), by: actor)
        try await self.checkSector(of: made.client)
        do { try await add(made.client) } catch let error as StoreError where error.code == .notFound {
            throw Self.noToken
        } catch let error as StoreError where error.code == .conflict {
            guard !made.client.isStranger else { throw Strangers.tooMany }
            throw OAuthError(
                .temporarilyUnavailable, "There are as many clients as this server takes.",
                detail: "the operator can delete some")
        }
        var answer = self.answer(made.client, secret: made.secret)
        answer["registration_access_token"] = .string(token)
        answer["software_statement"] = body["software_statement"]
        answer[ClientMetadata.ignored] = ClientMetadata.ignoredMembers(of: stated, by: made.client)
        return ProviderAnswer(status: 201, body: answer)
    }

    /// Returns the registration of a client, for the client itself (RFC 7592, section 2.1).
    ///
    /// - Parameter header: The value of `Authorization`: the client's registration access token.
    public func read(_ id: String, header: String?) async throws -> ProviderAnswer {
        try await self.answer(client: id) {
            let client = try await self.registered(id, header)
            return ProviderAnswer(status: 200, body: try self.answer(client, secret: nil, shown: header))
        }
    }

    /// Replaces the registration of a client (RFC 7592, section 2.2). Missing members return to their defaults, except
    /// for requirements of more security (bound tokens, pushed or signed requests): only an operator removes these. The
    /// operator's own settings stay. A client that had no secret, and now needs one, gets a secret.
    ///
    /// Cost: one query, one hash, one store step.
    public func replace(_ id: String, header: String?, body: JSONObject) async throws -> ProviderAnswer {
        try await self.answer(client: id) {
            let known = try await self.registered(id, header)
            guard case .string(let named)? = body["client_id"], named.hasSameBytes(as: known.id) else {
                throw OAuthError(.invalidClientMetadata, "The client_id is the client's own.")
            }
            for name in [
                "registration_access_token", "registration_client_uri", "client_secret_expires_at",
                "client_id_issued_at",
            ] where body[name] != nil {
                throw OAuthError(.invalidClientMetadata, "The member \(name) is the server's to say.")
            }
            if let shown = body["client_secret"] {
                guard case .string(let secret) = shown, let digest = known.secretDigest,
                    constantTimeEqual(Sealing.digest(ofSecret: secret), digest)
                else { throw OAuthError(.invalidClientMetadata, "The client_secret is not the client's present one.") }
            }
            // Judged as a new client. Only its own statements are kept.
            let stated = try self.stated(body)
            let asked = try await self.client(
                stated, known.registration, by: id, given: known.settings.grantTypes)
            // The subjects by which the client knows people follow from its sector.
            guard
                asked.client.settings.sectorIdentifierURI.map(ExactText.init)
                    == known.settings.sectorIdentifierURI.map(ExactText.init)
            else { throw OAuthError(.invalidClientMetadata, "The sector_identifier_uri of a client never changes.") }
            try await self.checkSector(of: asked.client)
            let now = self.now
            let (secret, digest) = (asked.secret, try Self.digest(ofToken: header))
            let changed = try await self.clients.store.changeClient(id) { current in
                guard constantTimeEqual(current.registration?.tokenDigest ?? [], digest) else { throw Self.noToken }
                let before = current
                current.name = asked.client.name
                current.redirectURIs = asked.client.redirectURIs
                current.postLogoutRedirectURIs = asked.client.postLogoutRedirectURIs
                current.clientURI = asked.client.clientURI
                current.settings.takeOver(asked.client.settings)
                if !current.settings.hasSecret {
                    (current.secretDigest, current.formerSecret) = (nil, nil)
                } else if before.secretDigest == nil {
                    current.secretDigest = asked.client.secretDigest
                }
                // Judged as it will be, including the operator's latest decisions.
                let allowed = ClientMetadata.grantTypes + before.settings.grantTypes
                guard current.settings.grantTypes.allSatisfy(allowed.containsBytes) else {
                    throw OAuthError(.invalidClientMetadata, "The grant types have changed meanwhile.")
                }
                do { try self.clients.rules.checkKind(of: current, insteadOf: before) } catch let error as OAuthError
                    where error.code == .invalidRequest
                {
                    throw OAuthError(.invalidClientMetadata, error.message, detail: error.detail)
                }
                return current.events(after: before, at: now, by: id)
            }
            guard let changed else { throw Self.noToken }
            // Another request may have changed the client since it was read: only a stored secret is told.
            let isStored = changed.secretDigest.map { constantTimeEqual($0, asked.client.secretDigest ?? []) } ?? false
            var answer = try self.answer(changed, secret: isStored ? secret : nil, shown: header)
            answer[ClientMetadata.ignored] = ClientMetadata.ignoredMembers(of: stated, by: changed)
            return ProviderAnswer(status: 200, body: answer)
        }
    }

    /// Deletes a client at its own wish (RFC 7592, section 2.3), with all of its grants and tokens.
    public func delete(_ id: String, header: String?) async throws -> ProviderAnswer {
        try await self.answer(client: id) {
            _ = try await self.registered(id, header)
            guard try await self.clients.delete(id, by: id) else { throw Self.noToken }
            return ProviderAnswer(status: 204, body: nil)
        }
    }

    /// The same answer for all cases: a caller without a right to a registration does not learn if the registration
    /// exists.
    private static let noToken = OAuthError(
        .invalidToken, "The token is not valid.", detail: "unknown, ended, or used up")

    private static func digest(ofToken header: String?) throws -> [UInt8] {
        Sealing.digest(ofSecret: try BearerToken(header: header).text)
    }

    /// Returns the client of a registration access token. Throws `OAuthError` `invalid_token`, also for a switched-off
    /// client.
    private func registered(_ id: String, _ header: String?) async throws -> ClientRecord {
        let digest = try Self.digest(ofToken: header)
        let client = try await self.clients.store.client(id)
        // The comparison covers as many bytes for an unknown client.
        let known = client?.registration?.tokenDigest
        let expected = known ?? [UInt8](repeating: 0, count: digest.count)
        guard constantTimeEqual(digest, expected), let client, known != nil else { throw Self.noToken }
        guard !client.settings.isDisabled else { throw Clients.disabled(.invalidToken) }
        return client
    }

    /// Returns the metadata, with a software statement's claims in place of the members of the same names. Throws
    /// `OAuthError`.
    private func stated(_ body: JSONObject) throws -> JSONObject {
        guard let member = body["software_statement"] else { return body }
        guard case .string(let statement) = member else {
            throw OAuthError(.invalidSoftwareStatement, "The software statement is not valid here.", detail: "no text")
        }
        var stated = body
        let claims = try self.issuers.claims(
            of: statement,
            within: ValidityWindow(
                now: self.now, skew: self.limits.clientClockSkew, longest: self.limits.assertionLifetime))
        for claim in claims.members { stated[claim.name] = claim.value }
        return stated
    }

    /// Returns a client of the metadata, not stored yet. Throws `OAuthError`.
    private func client(
        _ body: JSONObject, _ registration: ClientRegistration?, by actor: String?, given: [String] = []
    ) async throws -> RegisteredClient {
        let asked = try ClientMetadata(body, given: given)
        // Nobody here vouches for the client: people are asked about its access.
        var settings = asked.settings
        settings.party = .third
        let isStranger = registration?.isStranger ?? false
        do {
            return try await self.clients.newClient(
                name: isStranger
                    ? Strangers.name(of: Strangers.hosts(of: asked.redirectURIs), limits: self.clients.limits)
                    : asked.name,
                redirectURIs: asked.redirectURIs, postLogoutRedirectURIs: asked.postLogoutRedirectURIs,
                // No page of this server leads to a stranger's page.
                clientURI: isStranger ? nil : asked.clientURI, settings: settings, registration: registration,
                by: actor)
        } catch let error as OAuthError where error.code == .invalidRequest {
            throw OAuthError(.invalidClientMetadata, error.message, detail: error.detail)
        }
    }

    /// Throws `OAuthError` `invalid_client_metadata` if the document of the client's sector cannot be had, or does not list each
    /// of its redirect addresses (OpenID Connect Dynamic Client Registration 1.0, section 5).
    ///
    /// Cost: a call, if the client has such a document.
    private func checkSector(of client: ClientRecord) async throws {
        guard let address = client.settings.sectorIdentifierURI else { return }
        func refusal(_ reason: String) -> OAuthError {
            OAuthError(.invalidClientMetadata, "The sector_identifier_uri \(reason).")
        }
        guard (try? RedirectURI(address, allowing: [.https])) != nil, client.settings.sector != nil else {
            throw refusal("is an https address without a fragment")
        }
        guard let calls = self.clients.choices.calls else {
            throw refusal("cannot be fetched: this server calls nobody")
        }
        let answer: OutgoingAnswer
        do {
            answer = try await calls.send(OutgoingCall(to: address, longestAnswer: self.limits.keySetBytes))
        } catch {
            // A registering client does not learn which addresses this server can reach.
            throw OAuthError(
                .invalidClientMetadata, "The document at the sector_identifier_uri cannot be had.", detail: "\(error)")
        }
        guard answer.status == 200, let document = try? JSON(parsing: answer.body),
            let listed = try? JSONObject([("list", document)]).strings("list")
        else {
            throw OAuthError(
                .invalidClientMetadata, "The document at the sector_identifier_uri cannot be had.",
                detail: "status \(answer.status), or no list of texts")
        }
        guard client.redirectURIs.allSatisfy(listed.containsBytes) else {
            throw refusal("does not list each of the redirect_uris")
        }
    }

    /// Returns the answer to a client that has shown its registration access token. The answer repeats the token (RFC
    /// 7592, section 3).
    private func answer(_ client: ClientRecord, secret: String?, shown header: String?) throws -> JSONObject {
        var json = self.answer(client, secret: secret)
        json["registration_access_token"] = .string(try BearerToken(header: header).text)
        return json
    }

    private func answer(_ client: ClientRecord, secret: String?) -> JSONObject {
        var json = client.metadata
        json["registration_client_uri"] = .string(
            ProviderMetadata.registrationEndpoint(of: self.clients.issuer) + "/" + client.id)
        if let secret {
            json["client_secret"] = .string(secret)
            // The secret does not expire.
            json["client_secret_expires_at"] = .integer(0)
        }
        return json
    }

    private func answer(client: String?, _ body: () async throws -> ProviderAnswer) async throws -> ProviderAnswer {
        do { return try await body() } catch let error as OAuthError {
            let challenge = error.challenge(scheme: "Bearer", realm: self.clients.issuer)
            return ProviderAnswer(
                status: error.status, body: error.json,
                headers: error.status == 401 ? [(name: "WWW-Authenticate", value: challenge)] : [],
                refusal: ProviderRefusal(error, client: client))
        }
    }
}

extension ClientSettings {
    /// Takes over the settings that belong to the client. The operator's decisions stay.
    fileprivate mutating func takeOver(_ asked: Self) {
        self.idTokenAlgorithm = asked.idTokenAlgorithm
        self.grantTypes = asked.grantTypes
        self.authenticationMethod = asked.authenticationMethod
        (self.keySet, self.keySetAddress) = (asked.keySet, asked.keySetAddress)
        self.tokens.idTokenEncryption = asked.tokens.idTokenEncryption
        self.logout = asked.logout
        self.tokens.userinfoAlgorithm = asked.tokens.userinfoAlgorithm
        self.profile.defaultMaximumAge = asked.profile.defaultMaximumAge
        // A client can add rules by itself. Only an operator removes a rule: the rule may be the operator's own.
        self.tokens.keyBound = self.tokens.keyBound || asked.tokens.keyBound
        self.tokens.certificateBound = self.tokens.certificateBound || asked.tokens.certificateBound
        self.profile.requiresPushedRequests =
            self.profile.requiresPushedRequests || asked.profile.requiresPushedRequests
        self.profile.requiresSignedRequests =
            self.profile.requiresSignedRequests || asked.profile.requiresSignedRequests
        // The client's codes are bound to a challenge, even if an operator had allowed otherwise.
        if self.codeBinding.isLoose { self.codeBinding = .usual }
        if !PrivateKeyJWT.methods.containsBytes(of: self.authenticationMethod) { self.assertionAudience = .issuer }
    }
}

extension AuditEvent.Kind {
    /// An operator allowed registrations of clients; the detail is the initial access token's identifier.
    static let initialTokenAdded = Self(rawValue: "initial-token-added")
    /// An initial access token ended before its time; the detail is its identifier.
    static let initialTokenRevoked = Self(rawValue: "initial-token-revoked")
}
