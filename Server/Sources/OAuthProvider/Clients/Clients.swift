public import JOSE
import OAuth
public import Store
public import _Primitives

/// A client that has just been registered. Its secret cannot be read again.
public struct RegisteredClient: Sendable {
    /// The client, as it is kept.
    public let client: ClientRecord
    /// 256 random bits as base64url, to be shown once; `nil` where the client shares no secret with the server.
    public let secret: String?
}

/// A registered service, as a page names it to people who cannot go on where they are.
public struct KnownService: Sendable, Equatable {
    /// What it is called.
    public let name: String
    /// Where people find it, if that is registered.
    public let home: String?
}

/// What an operator changes of a client; what is `nil` stays as it is.
public struct ClientChange: Sendable, Equatable {
    /// What people see.
    public var name: String?
    /// Where a sign-in may lead to; all of them.
    public var redirectURIs: [String]?
    /// Where a sign-out may lead to; all of them.
    public var postLogoutRedirectURIs: [String]?
    /// Where people find the service; an empty text for nowhere.
    public var clientURI: String?
    /// What ID tokens are signed with from now on.
    public var idTokenAlgorithm: JWSAlgorithm?
    /// What codes are bound to.
    public var codeBinding: ClientSettings.CodeBinding?
    /// Whom its assertions have to name.
    public var assertionAudience: ClientSettings.AssertionAudience?
    /// The ways to tokens that it may go; all of them.
    public var grantTypes: [String]?
    /// How it proves who it is. Whatever it proved itself by before ends.
    public var authenticationMethod: String?
    /// The public keys that it signs with, a JWK set as JSON; an empty text for none.
    public var keySet: String?
    /// Whether it may have the keys of people whom it knows deleted.
    public var mayDeregister: Bool?
    /// What changes of the access tokens that it may have, and that are for it.
    public var tokens: TokenSettingsChange
    /// The ways in which people may sign in to it; all of them.
    public var signInMethods: [String]?
    /// What is asked of its requests.
    public var profile: ClientProfileChange
    /// Whose it is: whether people are asked what it may have.
    public var party: ClientSettings.Party?
    /// Where its keys are; an empty text for nowhere.
    public var keySetAddress: String?
    /// The name that its certificate has; an empty name for none.
    public var certificateName: ClientCertificateName?
    /// Where it is told that a session has ended; an empty text for nowhere.
    public var logoutURI: String?
    /// Whether it has to be told which session it was.
    public var logoutNeedsSession: Bool?
    /// How it hears what people have answered whom it has had asked.
    public var answerMode: ClientSettings.AnswerDelivery.Mode?
    /// Where it is told; an empty text for nowhere.
    public var answerAddress: String?
    /// Whether it is switched off.
    public var isDisabled: Bool?
    /// What changes of what it is to the app sign-in service, by the names of ``SignInServiceSettings``; an empty object for
    /// a client that is to be none of it.
    public var signInService: JSONObject?

    /// These changes and no others.
    public init(
        name: String? = nil, redirectURIs: [String]? = nil, postLogoutRedirectURIs: [String]? = nil,
        clientURI: String? = nil, idTokenAlgorithm: JWSAlgorithm? = nil,
        codeBinding: ClientSettings.CodeBinding? = nil,
        mayDeregister: Bool? = nil, grantTypes: [String]? = nil, authenticationMethod: String? = nil,
        keySet: String? = nil, tokens: TokenSettingsChange = TokenSettingsChange(), signInMethods: [String]? = nil,
        profile: ClientProfileChange = ClientProfileChange(), party: ClientSettings.Party? = nil
    ) {
        self.tokens = tokens
        self.signInMethods = signInMethods
        self.profile = profile
        self.party = party
        self.grantTypes = grantTypes
        self.authenticationMethod = authenticationMethod
        self.keySet = keySet
        self.name = name
        self.redirectURIs = redirectURIs
        self.postLogoutRedirectURIs = postLogoutRedirectURIs
        self.clientURI = clientURI
        self.idTokenAlgorithm = idTokenAlgorithm
        self.codeBinding = codeBinding
        self.mayDeregister = mayDeregister
    }

    /// The address at which people find the service, where there is to be one.
    var home: String? { self.clientURI?.isEmpty == false ? self.clientURI : nil }

    /// The settings after the change.
    public func applied(to settings: ClientSettings) -> ClientSettings {
        var applied = ClientSettings(
            idTokenAlgorithm: self.idTokenAlgorithm ?? settings.idTokenAlgorithm,
            codeBinding: self.codeBinding ?? settings.codeBinding,
            mayDeregister: self.mayDeregister ?? settings.mayDeregister,
            grantTypes: self.grantTypes ?? settings.grantTypes,
            authenticationMethod: self.authenticationMethod ?? settings.authenticationMethod,
            keySet: self.keySet.map { $0.isEmpty ? nil : $0 } ?? settings.keySet,
            tokens: self.tokens.applied(to: settings.tokens),
            signInMethods: self.signInMethods ?? settings.signInMethods,
            profile: self.profile.applied(to: settings.profile),
            party: self.party ?? settings.party)
        applied.keySetAddress = self.keySetAddress.map { $0.isEmpty ? nil : $0 } ?? settings.keySetAddress
        applied.certificateName = (self.certificateName ?? settings.certificateName).flatMap {
            $0.value.isEmpty ? nil : $0
        }
        applied.assertionAudience = self.assertionAudience ?? settings.assertionAudience
        applied.isDisabled = self.isDisabled ?? settings.isDisabled
        applied.sectorIdentifierURI = settings.sectorIdentifierURI
        applied.signInService = settings.signInService
        if let address = self.logoutURI ?? settings.logout?.text, !address.isEmpty {
            applied.logout = ClientSettings.LogoutAddress(
                address, needsSession: self.logoutNeedsSession ?? settings.logout?.needsSession ?? false)
        }
        applied.answers = ClientSettings.AnswerDelivery(
            self.answerMode ?? settings.answers.mode,
            at: self.answerAddress.map { $0.isEmpty ? nil : $0 } ?? settings.answers.address)
        return applied
    }
}

extension ClientChange {
    /// The settings after the change. Throws `OAuthError` `invalid_request` with a sentence for the administrator.
    public func changed(_ settings: ClientSettings) throws -> ClientSettings {
        var changed = self.applied(to: settings)
        guard let document = self.signInService else { return changed }
        do {
            changed.signInService =
                document.members.isEmpty
                ? nil : try (settings.signInService ?? SignInServiceSettings()).changed(by: document)
        } catch let error as JSONError {
            throw OAuthError(.invalidRequest, "Of the app sign-in service: \(error.reason).")
        }
        return changed
    }
}

extension ClientSettings {
    /// What the client's ID tokens and its answers of userinfo are signed with.
    var answerAlgorithms: [JWSAlgorithm] { [self.idTokenAlgorithm, self.tokens.userinfoAlgorithm].compactMap(\.self) }

    /// Whose keys sign what the client is given.
    var face: SigningKeyRecord.Face { self.signInService == nil ? .openID : .signInService }
}

extension ClientRecord {
    /// What the audit trail says of a change; nothing where there is none.
    func events(after old: Self, at moment: Timestamp, by operator: String?) -> [AuditEvent] {
        func event(_ kind: AuditEvent.Kind) -> AuditEvent {
            AuditEvent(kind, at: moment, actor: `operator`, detail: self.id)
        }
        var events = self.settings.events(after: old.settings, client: self.id, at: moment, by: `operator`)
        if !self.name.hasSameBytes(as: old.name) { events.append(event(.clientRenamed)) }
        func addresses(_ client: Self) -> [[ExactText]] {
            [client.redirectURIs, client.postLogoutRedirectURIs, client.clientURI.map { [$0] } ?? []]
                .map { $0.map(ExactText.init) }
        }
        if addresses(self) != addresses(old) { events.append(event(.clientAddressesChanged)) }
        return events
    }
}

extension ClientSettings {
    /// What the audit trail says of a change; nothing where there is none.
    fileprivate func events(after old: Self, client: String, at moment: Timestamp, by operator: String?) -> [AuditEvent]
    {
        func event(_ kind: AuditEvent.Kind, _ detail: String) -> AuditEvent {
            AuditEvent(kind, at: moment, actor: `operator`, detail: detail)
        }
        var events: [AuditEvent] = []
        if self.idTokenAlgorithm != old.idTokenAlgorithm {
            events.append(event(.clientAlgorithmChanged, "\(client) \(self.idTokenAlgorithm.rawValue)"))
        }
        if self.codeBinding != old.codeBinding {
            events.append(event(.clientPKCEChanged, "\(client) \(self.codeBinding.rawValue)"))
        }
        func exact(_ texts: [String]) -> [ExactText] { texts.map(ExactText.init) }
        if exact(self.grantTypes) != exact(old.grantTypes) {
            events.append(event(.clientGrantsChanged, "\(client) \(self.grantTypes.joined(separator: " "))"))
        }
        func keys(_ settings: Self) -> [ExactText] {
            exact([
                settings.authenticationMethod, settings.keySet ?? "", settings.keySetAddress ?? "",
                settings.certificateName?.text ?? "", settings.assertionAudience.rawValue,
            ])
        }
        if keys(self) != keys(old) {
            events.append(event(.clientAuthenticationChanged, "\(client) \(self.authenticationMethod)"))
        }
        if self.tokens.exact != old.tokens.exact { events.append(event(.clientTokensChanged, client)) }
        if exact(self.signInMethods) != exact(old.signInMethods) {
            let ways = self.signInMethods.joined(separator: " ")
            events.append(event(.clientSignInMethodsChanged, "\(client) \(ways)"))
        }
        if self.profile != old.profile {
            let words =
                [self.profile.security.rawValue] + (self.profile.requiresSignedRequests ? ["signed"] : [])
                + (self.profile.requiresPushedRequests ? ["pushed"] : [])
                + (self.profile.defaultMaximumAge.map { ["max-age=\($0.components.seconds)"] } ?? [])
                + (self.profile.signsInDirectly ? ["direct"] : [])
            events.append(
                event(
                    .clientProfileChanged,
                    ([client] + words + self.profile.origins + self.profile.detailTypes).joined(separator: " ")))
        }
        if self.party != old.party {
            events.append(event(.clientPartyChanged, "\(client) \(self.party.rawValue)"))
        }
        if self.isDisabled != old.isDisabled {
            events.append(event(self.isDisabled ? .clientDisabled : .clientEnabled, client))
        }
        if self.signInService != old.signInService { events.append(event(.clientSignInServiceChanged, client)) }
        if self.logout != old.logout { events.append(event(.clientLogoutChanged, client)) }
        if self.answers != old.answers {
            events.append(event(.clientAnswersChanged, "\(client) \(self.answers.mode.rawValue)"))
        }
        if self.mayDeregister != old.mayDeregister {
            events.append(event(self.mayDeregister ? .clientMayDeregister : .clientMayNotDeregister, client))
        }
        return events
    }
}

extension OpenIDProvider {
    /// Registers a relying party.
    ///
    /// - Parameters:
    ///   - name: What people will see: 1 to ``Limits/nameCharacters`` characters without control characters.
    ///   - redirectURIs: At least one where it signs people in; see `RedirectURI` for the rules.
    ///   - postLogoutRedirectURIs: By the same rules.
    ///   - clientURI: Where people find the service, by the same rules.
    ///   - id: What it calls itself, where the operator chooses: of the app sign-in service alone.
    ///   - settings: What the operator decides about it. Its ID tokens can be signed with RS256, ES256, PS256 or EdDSA.
    ///   - operator: Who does it, for the audit trail.
    /// - Throws: `OAuthError` `invalid_request` with a sentence for the administrator; ``StoreError`` `conflict` where there
    ///   are too many clients.
    public func registerClient(
        name: String, redirectURIs: [String], postLogoutRedirectURIs: [String] = [], clientURI: String? = nil,
        settings: ClientSettings = ClientSettings(), id: String? = nil,
        by operator: String? = nil
    ) async throws -> RegisteredClient {
        let made = try await self.newClient(
            id: id, name: name, redirectURIs: redirectURIs, postLogoutRedirectURIs: postLogoutRedirectURIs,
            clientURI: clientURI, settings: settings, by: `operator`)
        try await self.store.addClient(
            made.client, limit: self.limits.oauth.clients,
            audit: AuditEvent(.clientAdded, at: made.client.createdAt, actor: `operator`, detail: made.client.id))
        self.warn(of: made.client)
        return made
    }

    /// A client that is right in itself, and not kept yet. Throws as
    /// ``registerClient(name:redirectURIs:postLogoutRedirectURIs:clientURI:settings:by:)``.
    func newClient(
        id: String? = nil, name: String, redirectURIs: [String], postLogoutRedirectURIs: [String], clientURI: String?,
        settings: ClientSettings, registration: ClientRegistration? = nil, by operator: String?
    ) async throws -> RegisteredClient {
        var settings = settings
        let read = try settings.keySet.map(self.keySet)
        settings.keySet = read?.text
        let secret = settings.hasSecret ? self.random.token(byteCount: 32) : nil
        var client = ClientRecord(
            id: id ?? self.random.identifier(), name: name, redirectURIs: redirectURIs,
            postLogoutRedirectURIs: postLogoutRedirectURIs, secretDigest: secret.map { Sealing.digest(ofSecret: $0) },
            createdAt: self.time.now(), settings: settings,
            clientURI: clientURI.flatMap { $0.isEmpty ? nil : $0 })
        guard id == nil || settings.signInService != nil else {
            throw OAuthError(.invalidRequest, "Only a client of the app sign-in service is called what you like.")
        }
        client.registration = registration
        try self.check(client, keys: read?.keys)
        try await self.checkOwner(of: settings.tokens.resources, client: client.id)
        try await self.provideSigningKeys(of: settings, by: `operator`)
        return RegisteredClient(client: client, secret: secret)
    }

    /// Holds a client that is new against the rules. Throws `OAuthError` `invalid_request` with a sentence for the
    /// administrator.
    ///
    /// - Parameter keys: The client's keys, if it gives a set (``keySet(_:)``).
    func check(_ client: ClientRecord, keys: JWKSet?) throws {
        try self.check(
            ClientChange(
                name: client.name, redirectURIs: client.redirectURIs,
                postLogoutRedirectURIs: client.postLogoutRedirectURIs, clientURI: client.clientURI))
        for algorithm in client.settings.answerAlgorithms { try Self.check(algorithm) }
        try self.checkKind(of: client, keys: keys)
    }

    /// Holds what people will see and where browsers may be led against the rules. Throws `OAuthError`
    /// `invalid_request` with a sentence for the administrator.
    func check(_ change: ClientChange) throws {
        if let name = change.name {
            let scalars = name.unicodeScalars
            guard (1...self.limits.nameCharacters).contains(scalars.count), scalars.first != " ", scalars.last != " ",
                scalars.allSatisfy({ !Self.isUnfit($0.properties.generalCategory) })
            else {
                throw OAuthError(.invalidRequest, "The name is empty, too long, or has characters that do not show.")
            }
        }
        for addresses in [change.redirectURIs ?? [], change.postLogoutRedirectURIs ?? []] {
            let most = self.limits.oauth.addressesPerClient
            guard addresses.count <= most else {
                throw OAuthError(.invalidRequest, "There are more than \(most) redirect addresses.")
            }
            guard Set(addresses.map(ExactText.init)).count == addresses.count else {
                throw OAuthError(.invalidRequest, "One redirect address is there twice.")
            }
            for address in addresses {
                guard !address.contains("*") else {
                    throw OAuthError(
                        .invalidRequest,
                        "The address \(address.prefix(Limits.Fixed.shownAddressCharacters)) has a wildcard. Addresses are compared letter by letter: "
                            + "register each one that the service uses.")
                }
                // Which of them the client can have is seen with what it is.
                _ = try RedirectURI(registered: address)
            }
        }
        if let home = change.home, (try? RedirectURI(home)) == nil {
            throw OAuthError(
                .invalidRequest,
                "The client_uri is no page that browsers can be led to: https, or http to a literal loopback address, "
                    + "without a fragment.")
        }
    }

    private static func isUnfit(_ category: Unicode.GeneralCategory) -> Bool {
        switch category {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: true
        default: false
        }
    }

    /// All clients, the oldest first.
    public func clients() async throws -> [ClientRecord] { try await self.store.clients() }

    /// What a page may say of the service that an address names, whoever wrote the address: what was registered, and
    /// nothing of the address itself.
    public func service(_ id: String) async throws -> KnownService? {
        try await self.store.client(id).map { KnownService(name: $0.name, home: $0.clientURI) }
    }

    /// The client of that identifier.
    public func client(_ id: String) async throws -> ClientRecord? { try await self.store.client(id) }

    /// The client of that identifier, where it is there and not switched off.
    func servedClient(_ id: String) async throws -> ClientRecord? {
        Self.served(try await self.store.client(id))
    }

    /// The client that owns a resource, where there is one that is not switched off: nothing is made for any other, and what
    /// was made for it is worth nothing.
    func servedClient(owning resource: String) async throws -> ClientRecord? {
        Self.served(try await self.store.client(owning: resource))
    }

    static func served(_ client: ClientRecord?) -> ClientRecord? {
        client.flatMap { $0.settings.isDisabled ? nil : $0 }
    }

    /// What a client is refused with that the operator has switched off, and its people on a page.
    static func disabled(_ code: OAuthError.Code) -> OAuthError {
        OAuthError(
            code, "This service is switched off here.",
            detail: "an operator has disabled it: countersign admin client change --no-disabled switches it on again")
    }

    /// Changes what is given of a client. Answers with the client; `nil` where there is none. Sign-ins that are under
    /// way to an address which it has no more end.
    ///
    /// - Parameters:
    ///   - settings: What to change.
    ///   - operator: Who does it, for the audit trail.
    /// - Throws: `OAuthError` `invalid_request`, with a sentence for the administrator, as ``registerClient`` does.
    public func changeClient(_ id: String, _ settings: ClientChange, by operator: String? = nil) async throws
        -> ClientRecord?
    {
        try self.check(settings)
        var settings = settings
        var read: JWKSet?
        if let keys = settings.keySet, !keys.isEmpty { (read, settings.keySet) = try self.keySet(keys) }
        let (change, keys) = (settings, read)
        try await self.checkOwner(of: settings.tokens.resources ?? [], client: id)
        if settings.idTokenAlgorithm != nil || settings.tokens.userinfoAlgorithm != nil || settings.signInService != nil
        {
            guard let before = try await self.store.client(id) else { return nil }
            let after = try change.changed(before.settings)
            for algorithm in after.answerAlgorithms { try Self.check(algorithm) }
            try await self.provideSigningKeys(of: after, by: `operator`)
        }
        let now = self.time.now()
        let changed = try await self.store.changeClient(id) { current in
            let before = current
            current.settings = try change.changed(before.settings)
            current.name = change.name ?? before.name
            current.redirectURIs = change.redirectURIs ?? before.redirectURIs
            current.postLogoutRedirectURIs = change.postLogoutRedirectURIs ?? before.postLogoutRedirectURIs
            if change.clientURI != nil { current.clientURI = change.home }
            if !current.settings.hasSecret { (current.secretDigest, current.formerSecret) = (nil, nil) }
            try self.checkKind(of: current, insteadOf: before, keys: keys)
            var disabled = before
            disabled.settings.isDisabled = current.settings.isDisabled
            guard before.registration != .document || current == disabled else {
                throw OAuthError(
                    .invalidRequest,
                    "The client has what its document says. Here it can be switched off (--disabled), and deleted.")
            }
            return current.events(after: before, at: now, by: `operator`)
        }
        if let changed { self.warn(of: changed) }
        return changed
    }

    /// The clients whose registration an operator is warned of, with what is dangerous about each: for every start, and for
    /// whoever looks after a server. The oldest first.
    ///
    /// Cost: one query.
    public func warnedClients() async throws -> [(client: ClientRecord, warnings: [ClientWarning])] {
        try await self.store.clients().map { (client: $0, warnings: ClientWarning.all(of: $0)) }.filter {
            !$0.warnings.isEmpty
        }
    }

    private func warn(of client: ClientRecord) {
        for warning in ClientWarning.all(of: client) {
            self.configuration.note(
                ClientMisfit(client: client.id, setting: warning.setting, advice: warning.sentence))
        }
    }

    /// Gives a client a new secret. The one before it works for `overlap` longer, so that the service can be told the
    /// new one in its own time; one before that ends at once. Answers with the client and the secret; `nil` where there
    /// is no such client.
    ///
    /// - Throws: `OAuthError` `invalid_request` for an overlap of more than ``Limits/clientSecretOverlap``, or less than
    ///   nothing, and for a client that shares no secret with the server.
    public func rotateSecret(ofClient id: String, overlap: Duration? = nil, by operator: String? = nil) async throws
        -> RegisteredClient?
    {
        let most = self.limits.oauth.clientSecretOverlap
        let overlap = overlap ?? min(Limits.Fixed.usualSecretOverlap, most)
        guard (.zero...most).contains(overlap) else {
            throw OAuthError(
                .invalidRequest, "The former secret can go on for \(most.components.seconds) seconds at most.")
        }
        let secret = self.random.token(byteCount: 32)
        let now = self.time.now()
        let client = try await self.store.changeClient(id) { current in
            guard current.settings.hasSecret else {
                throw OAuthError(
                    .invalidRequest,
                    "The client has no secret: it authenticates by \(current.settings.authenticationMethod).")
            }
            current.formerSecret = current.secretDigest.flatMap { digest in
                overlap > .zero ? FormerSecret(digest: digest, endsAt: now + overlap) : nil
            }
            current.secretDigest = Sealing.digest(ofSecret: secret)
            return [AuditEvent(.clientSecretRotated, at: now, actor: `operator`, detail: id)]
        }
        return client.map { RegisteredClient(client: $0, secret: secret) }
    }

    static func check(_ algorithm: JWSAlgorithm) throws {
        guard SigningKeys.algorithms.contains(algorithm) else {
            let names = SigningKeys.algorithms.map(\.rawValue).joined(separator: ", ")
            throw OAuthError(.invalidRequest, "ID tokens and userinfo are signed with one of these: \(names).")
        }
    }

    /// Deletes a client with everything that it was given. Says whether there was one.
    ///
    /// - Parameter operator: Who does it, for the audit trail.
    public func deleteClient(_ id: String, by operator: String? = nil) async throws -> Bool {
        let event = AuditEvent(.clientDeleted, at: self.time.now(), actor: `operator`, detail: id)
        return try await self.store.deleteClient(id, audit: event)
    }

    /// The origin that people are shown for a client.
    static func origin(of client: ClientRecord) throws -> String {
        guard let address = client.redirectURIs.first else {
            throw OAuthError(
                .invalidClient, "The client did not authenticate.",
                detail: "it has no redirect address, and people could not be told who asks")
        }
        return try client.settings.redirectURI(address).origin
    }
}
