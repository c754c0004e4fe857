public import JOSE
import OAuth
public import Records
import Sealing
package import Settings
public import _Primitives

/// A newly registered client. Its secret cannot be read again.
public struct RegisteredClient: Sendable {
    /// The client, as it is stored.
    public let client: ClientRecord
    /// 256 random bits as base64url, to be shown once; `nil` if the client shares no secret with the server.
    public let secret: String?
}

/// A registered service, as a page names the service to people who cannot go on at this server.
public struct KnownService: Sendable, Equatable {
    /// The name of the service.
    public let name: String
    /// The address of the service for people, if an address is registered.
    public let home: String?
}

/// An operator's changes of a client. Settings of `nil` stay unchanged.
public struct ClientChange: Sendable, Equatable {
    /// The name that people see.
    public var name: String?
    /// The addresses to which a sign-in may lead; the complete list.
    public var redirectURIs: [String]?
    /// The addresses to which a sign-out may lead; the complete list.
    public var postLogoutRedirectURIs: [String]?
    /// The address of the service for people; an empty text for none.
    public var clientURI: String?
    /// The signing algorithm of ID tokens from now on.
    public var idTokenAlgorithm: JWSAlgorithm?
    /// The binding of the client's codes.
    public var codeBinding: ClientSettings.CodeBinding?
    /// The required audience of the client's assertions.
    public var assertionAudience: ClientSettings.AssertionAudience?
    /// The grant types of the client; the complete list.
    public var grantTypes: [String]?
    /// The method by which the client proves its identity. A client's secret ends if the new method needs none. A
    /// client without a secret, whose new method needs one, gets it by
    /// ``Clients/rotateSecret(ofClient:overlap:by:)``.
    public var authenticationMethod: String?
    /// The public keys of the client's signatures, a JWK set as JSON; an empty text for none.
    public var keySet: String?
    /// `true` if the client may have the keys of people whom it knows deleted.
    public var mayDeregister: Bool?
    /// The changes of the access tokens that the client may have, and of the access tokens for the client.
    public var tokens: TokenSettingsChange
    /// The ways for people to sign in to the client; the complete list.
    public var signInMethods: [String]?
    /// The requirements for the client's requests.
    public var profile: ClientProfileChange
    /// The party of the client, which decides if people are asked about the client's access.
    public var party: ClientSettings.Party?
    /// The address of the client's keys; an empty text for none.
    public var keySetAddress: String?
    /// The name in the client's certificate; an empty name for none.
    public var certificateName: ClientCertificateName?
    /// The address for messages about ended sessions; an empty text for none.
    public var logoutURI: String?
    /// `true` if messages about ended sessions have to name the session.
    public var logoutNeedsSession: Bool?
    /// The address for messages about the ends of dispatched sessions; an empty text for none.
    public var statusURI: String?
    /// The way in which the client learns the answers of people whom the client asked.
    public var answerMode: ClientSettings.AnswerDelivery.Mode?
    /// The address for messages about answers; an empty text for none.
    public var answerAddress: String?
    /// `true` if the client is switched off.
    public var isDisabled: Bool?
    /// The changes of the client's settings for the app sign-in service, by the names of ``SignInServiceSettings``; an
    /// empty object for a client outside the service.
    public var signInService: JSONObject?

    /// Creates these changes and no others.
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

    /// The new address of the service for people; `nil` for none.
    var home: String? { self.clientURI?.isEmpty == false ? self.clientURI : nil }

    /// Returns the settings after the change, except for the settings of the app sign-in service, which stay
    /// (``changed(_:)``).
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
        applied.statusAddress = self.statusURI.map { $0.isEmpty ? nil : $0 } ?? settings.statusAddress
        applied.answers = ClientSettings.AnswerDelivery(
            self.answerMode ?? settings.answers.mode,
            at: self.answerAddress.map { $0.isEmpty ? nil : $0 } ?? settings.answers.address)
        return applied
    }
}

extension ClientChange {
    /// Returns the settings after the change, with the settings of the app sign-in service. Throws `OAuthError`
    /// `invalid_request` with a sentence for the administrator.
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
    /// The signing algorithms of the client's ID tokens and userinfo answers.
    var answerAlgorithms: [JWSAlgorithm] { [self.idTokenAlgorithm, self.tokens.userinfoAlgorithm].compactMap(\.self) }

    /// The face whose keys sign the client's tokens.
    var face: SigningKeyRecord.Face { self.signInService == nil ? .openID : .signInService }
}

extension ClientRecord {
    /// Returns the audit events of a change; empty if nothing changed.
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
    /// Returns the audit events of a change; empty if nothing changed.
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
                + (self.profile.matchesNumbers ? ["numbers"] : [])
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
        if self.statusAddress.map(ExactText.init) != old.statusAddress.map(ExactText.init) {
            events.append(event(.clientStatusAddressChanged, client))
        }
        if self.answers != old.answers {
            events.append(event(.clientAnswersChanged, "\(client) \(self.answers.mode.rawValue)"))
        }
        if self.mayDeregister != old.mayDeregister {
            events.append(event(self.mayDeregister ? .clientMayDeregister : .clientMayNotDeregister, client))
        }
        return events
    }
}

/// The clients of the provider: services and apps that sign people in, and services that take tokens.
public final class Clients: Sendable {
    /// The operator's choices about clients.
    struct Choices: Sendable {
        /// `true` if anybody can register a client, without an initial access token.
        let isRegistrationOpen: Bool
        /// `true` if a client's identifier can be the address of its metadata.
        let takesDocuments: Bool
        /// Calls addresses of clients; `nil` if the provider calls nobody.
        let calls: (any OutgoingCalls)?
        /// Reports a misfit or a warning to the operator.
        let note: @Sendable (ClientMisfit) -> Void
    }

    /// The store of clients.
    package let store: any ClientStore & RegistrationStore & ReplayStore
    /// The keys that sign for clients.
    package let keys: Keys
    /// The rules for registrations.
    let rules: ClientRules
    let choices: Choices
    /// The budget of clients' pushed requests, and of all requests of strangers' clients.
    let pushedRequests: Budget
    /// The budget of reports to the operator about each client.
    private let notes: SourceBudget
    /// The keys of clients that keep their keys elsewhere.
    let remoteKeys: RemoteKeySets
    /// The keys of strangers' clients (``ClientRecord/isStranger``). They have a space of their own, and take no place
    /// from other clients' keys.
    let strangersKeys: RemoteKeySets
    /// The metadata of clients whose identifiers are addresses.
    let documents: ClientDocuments
    /// The clock.
    package let time: TimeSource
    /// The source of random bytes.
    package let random: RandomSource

    /// Creates the part over a store, with the keys that sign clients' tokens.
    init(
        store: any ClientStore & RegistrationStore & ReplayStore, keys: Keys, rules: ClientRules, choices: Choices,
        time: TimeSource, random: RandomSource
    ) {
        let limits = rules.limits
        self.store = store
        self.keys = keys
        self.rules = rules
        self.choices = choices
        self.pushedRequests = Budget(limits.pushedRequests)
        self.notes = SourceBudget(oneIn: limits.pauseOfReports, sources: limits.oauth.clients, protecting: .node)
        self.remoteKeys = RemoteKeySets(calls: choices.calls, of: .client, limits: limits)
        self.strangersKeys = RemoteKeySets(calls: choices.calls, of: .clientDocument, limits: limits)
        self.documents = ClientDocuments(calls: choices.calls, limits: limits)
        self.time = time
        self.random = random
    }

    /// The address of this server.
    package var issuer: String { self.rules.issuer }
    /// The operator's times, counts and sizes.
    package var limits: Limits { self.rules.limits }
    /// The words for levels of assurance.
    package var levels: [AssuranceWord] { self.rules.levels }

    /// Registers a relying party.
    ///
    /// - Parameters:
    ///   - name: The name that people will see: 1 to ``Limits/nameCharacters`` characters without control characters.
    ///   - redirectURIs: At least one address if the client signs people in; see `RedirectURI` for the rules.
    ///   - postLogoutRedirectURIs: Addresses by the same rules.
    ///   - clientURI: The address of the service for people, by the same rules.
    ///   - id: The identifier, if the operator chooses it: only for the app sign-in service.
    ///   - settings: The operator's decisions. ID tokens can be signed with RS256, ES256, PS256 or EdDSA.
    ///   - operator: The operator, for the audit trail.
    /// - Throws: `OAuthError` `invalid_request` with a sentence for the administrator; ``StoreError`` `conflict` if the
    ///   store has too many clients.
    public func register(
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

    /// Returns a client that passes all checks, not stored yet. Creates the signing keys of its algorithms if they are
    /// missing. Throws as ``register(name:redirectURIs:postLogoutRedirectURIs:clientURI:settings:by:)``.
    func newClient(
        id: String? = nil, name: String, redirectURIs: [String], postLogoutRedirectURIs: [String], clientURI: String?,
        settings: ClientSettings, registration: ClientRegistration? = nil, by operator: String?
    ) async throws -> RegisteredClient {
        var settings = settings
        let read = try settings.keySet.map(self.rules.keySet)
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
        try self.rules.check(client, keys: read?.keys)
        try await self.checkOwner(of: settings.tokens.resources, client: client.id)
        try await self.provideSigningKeys(of: settings, by: `operator`)
        return RegisteredClient(client: client, secret: secret)
    }

    /// Creates the missing keys that sign the tokens of the registered clients, at the start of a provider.
    ///
    /// Cost: one query.
    func provideMissingKeys() async throws {
        // A restored store may lack the key of a client's algorithm. If every key is present, this step creates and
        // writes nothing.
        let clients = try await self.store.clients()
        for face in SigningKeyRecord.Face.allCases {
            let algorithms = Set(clients.filter { $0.settings.face == face }.flatMap(\.settings.answerAlgorithms))
            for algorithm in algorithms {
                do { try await self.keys.provide(algorithm, of: face, by: nil) } catch let error as StoreError
                    where error.code == .unavailable
                {
                    // The disk is full. Other clients do not need this key, and the token endpoint reports the missing
                    // key.
                }
            }
        }
    }

    /// Creates the keys that sign the tokens of a client with these settings, as ``Keys/provide(_:of:by:)``
    /// does.
    func provideSigningKeys(of settings: ClientSettings, by operator: String?) async throws {
        for algorithm in settings.answerAlgorithms {
            try await self.keys.provide(algorithm, of: settings.face, by: `operator`)
        }
    }

    /// Returns all clients, the oldest first.
    public func all() async throws -> [ClientRecord] { try await self.store.clients() }

    /// Returns the name and address of the client of an identifier; `nil` for an unknown client. The identifier can
    /// come from anybody in the address of a page, so the page shows only these registered facts.
    public func service(_ id: String) async throws -> KnownService? {
        try await self.store.client(id).map { KnownService(name: $0.name, home: $0.clientURI) }
    }

    /// Returns the client of an identifier, switched off or not; `nil` if the client is unknown.
    public func client(_ id: String) async throws -> ClientRecord? { try await self.store.client(id) }

    /// Returns the client of an identifier; `nil` if the client is unknown or switched off.
    package func servedClient(_ id: String) async throws -> ClientRecord? {
        Self.served(try await self.store.client(id))
    }

    /// Returns the client that owns a resource, if the client is not switched off. Without such a client no token is
    /// made for the resource, and earlier tokens for the resource are worth nothing.
    func servedClient(owning resource: String) async throws -> ClientRecord? {
        Self.served(try await self.store.client(owning: resource))
    }

    static func served(_ client: ClientRecord?) -> ClientRecord? {
        client.flatMap { $0.settings.isDisabled ? nil : $0 }
    }

    /// Returns the error for a client that the operator has switched off, and for its people on a page.
    static func disabled(_ code: OAuthError.Code) -> OAuthError {
        OAuthError(
            code, "This service is switched off here.",
            detail: "an operator has disabled it: countersign admin client change --no-disabled switches it on again")
    }

    /// Changes a client's given settings. Returns the client; `nil` if the client is unknown. Running sign-ins to an
    /// address that the client no longer has end.
    ///
    /// - Parameters:
    ///   - settings: The changes.
    ///   - operator: The operator, for the audit trail.
    /// - Throws: `OAuthError` `invalid_request`, with a sentence for the administrator, as ``register`` does, and
    ///   for any change but `isDisabled` of a client with a metadata document.
    public func change(_ id: String, _ settings: ClientChange, by operator: String? = nil) async throws
        -> ClientRecord?
    {
        try self.rules.check(settings)
        var settings = settings
        var read: JWKSet?
        if let keys = settings.keySet, !keys.isEmpty { (read, settings.keySet) = try self.rules.keySet(keys) }
        let (change, keys) = (settings, read)
        try await self.checkOwner(of: settings.tokens.resources ?? [], client: id)
        if settings.idTokenAlgorithm != nil || settings.tokens.userinfoAlgorithm != nil || settings.signInService != nil
        {
            guard let before = try await self.store.client(id) else { return nil }
            let after = try change.changed(before.settings)
            for algorithm in after.answerAlgorithms { try ClientRules.check(algorithm) }
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
            try self.rules.checkKind(of: current, insteadOf: before, keys: keys)
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

    /// Returns the clients with warnings, and the dangers of each: for every start, and for the people who look after a
    /// server. The oldest first.
    ///
    /// Cost: one query.
    public func warned() async throws -> [(client: ClientRecord, warnings: [ClientWarning])] {
        try await self.store.clients().map { (client: $0, warnings: ClientWarning.all(of: $0)) }.filter {
            !$0.warnings.isEmpty
        }
    }

    private func warn(of client: ClientRecord) {
        for warning in ClientWarning.all(of: client) {
            self.choices.note(
                ClientMisfit(client: client.id, setting: warning.setting, advice: warning.sentence))
        }
    }

    /// Reports a client's misfit to the operator, within the budget of such reports.
    func note(_ client: ClientRecord, _ setting: String, _ advice: String) {
        guard self.notes.spend(client.id, at: self.time.now()) == nil else { return }
        self.choices.note(ClientMisfit(client: client.id, setting: setting, advice: advice))
    }

    /// Gives a client a new secret. Returns the client and the secret; `nil` if the client is unknown.
    ///
    /// The previous secret works for `overlap` longer (`nil` for the usual time), so that the service can take over the
    /// new secret in its own time. A still older secret ends at once.
    ///
    /// - Throws: `OAuthError` `invalid_request` for an overlap of more than ``Limits/clientSecretOverlap``, or less
    ///   than nothing, and for a client that shares no secret with the server.
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

    /// Deletes a client with all of its grants and tokens. Returns `true` if the client existed.
    ///
    /// - Parameter operator: The operator, for the audit trail.
    public func delete(_ id: String, by operator: String? = nil) async throws -> Bool {
        let event = AuditEvent(.clientDeleted, at: self.time.now(), actor: `operator`, detail: id)
        return try await self.store.deleteClient(id, audit: event)
    }

    /// Throws `OAuthError` `invalid_request` if another client owns one of these resources. The store enforces the rule
    /// in the step itself, but has no message for the administrator.
    ///
    /// Cost: one query for each resource.
    func checkOwner(of resources: [String], client: String) async throws {
        for resource in resources {
            guard let owner = try await self.store.client(owning: resource), !owner.id.hasSameBytes(as: client) else {
                continue
            }
            throw OAuthError(.invalidRequest, "Another client owns the resource \(resource): \(owner.id).")
        }
    }

    /// Returns the subject as ``Keys/subject(ofAccount:of:)``, for the client of an identifier. Cost: one query more.
    public func subject(ofAccount account: String, ofClient id: String) async throws -> String {
        guard let client = try await self.store.client(id) else {
            return self.keys.subject(ofAccount: account, client: id)
        }
        return self.keys.subject(ofAccount: account, of: client)
    }

    /// `true` if scripts of an origin's pages may read a client's answers. Without a client, any client that has
    /// registered the origin is enough.
    ///
    /// Cost: one query.
    public func answersScripts(ofOrigin origin: String, client: String?) async throws -> Bool {
        try await self.store.hasOrigin(origin, client: client)
    }

    /// Returns a client's origin, as people see it: of its first redirect address. Throws `OAuthError` `invalid_client`
    /// if the client has none.
    static func origin(of client: ClientRecord) throws -> String {
        guard let address = client.redirectURIs.first else {
            throw OAuthError(
                .invalidClient, "The client did not authenticate.",
                detail: "it has no redirect address, and people could not be told who asks")
        }
        return try client.settings.redirectURI(address).origin
    }
}

/// A request in a client's name that does not fit the client's registration, or a dangerous setting of a client. The
/// report is for the operator, who can change the registration or ask the client's developer to change the request.
public struct ClientMisfit: Sendable, Equatable {
    /// The client's identifier.
    public let client: String
    /// The setting, by its name on the command line.
    public let setting: String
    /// The problem, and the remedy.
    public let advice: String
}

extension AuditEvent.Kind {
    /// A client was registered; the detail is its identifier.
    static let clientAdded = Self(rawValue: "client-added")
    /// A client was deleted; the detail is its identifier.
    static let clientDeleted = Self(rawValue: "client-deleted")
}
