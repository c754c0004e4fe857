public import UAF

/// The UAF client (UAF Protocol 1.1 §3.4 to §3.6). The client reads a server's message, decides if and with which
/// authenticators an answer is possible, and has the module make the answer.
///
/// Client, module and authenticators are one program and know no extension. The client refuses an extension that must
/// be understood, before it asks a person.
public struct MessageClient: Sendable {
    /// The protocol versions that a client accepts by default.
    package static let supportedVersions: Set<Version> = [.uaf11]

    /// The authenticators.
    public let module: AuthenticatorModule
    let versions: Set<Version>
    private let facetID: FacetID
    private let facets: FacetAuthorization

    /// Creates a client for the app of this facet. Each message fetches the facet list.
    public init(module: AuthenticatorModule, facetID: FacetID, fetchFacets: @escaping FacetAuthorization.Fetch) {
        self.init(module: module, facetID: facetID, cache: nil, fetchFacets: fetchFacets)
    }

    /// Creates a client for the app of this facet, for messages of the given protocol versions.
    ///
    /// Pass the same `cache` to all clients of an app. Without a cache each message fetches the facet list.
    package init(
        module: AuthenticatorModule, facetID: FacetID, versions: Set<Version> = Self.supportedVersions,
        cache: FacetListCache? = nil, fetchFacets: @escaping FacetAuthorization.Fetch
    ) {
        self.module = module
        self.facetID = facetID
        self.versions = versions
        self.facets = FacetAuthorization(facetID: facetID, cache: cache, fetch: fetchFacets)
    }

    /// Reads any request: checks the version (§9.1), the parts and the facet (§7.2), and chooses the transaction
    /// content to show.
    ///
    /// `channel` is the TLS channel of the message as seen by the transport; the answer binds to this channel. Throws
    /// ``OperationFailure``: `protocolError`, `unsupportedVersion`, `untrustedFacetID`, `invalidTransactionContent`.
    /// Also throws `CancellationError`.
    public func prepare(_ message: some Collection<UInt8>, channel: ChannelBinding = ChannelBinding()) async throws
        -> PreparedRequest
    {
        let request: UAFRequest?
        do { request = try RequestMessage(parsing: message).request(among: self.versions) } catch {
            throw OperationFailure(.protocolError, "\(error)")
        }
        guard let request else { throw OperationFailure(.unsupportedVersion, "no version in common") }
        if request.header.extensions.contains(where: \.failIfUnknown) {
            throw OperationFailure(.protocolError, "an extension that must be understood")
        }
        // A criterion of `accepted` with such an extension only matches nothing. A ban that the client does not
        // understand must hold.
        if request.disallowed.contains(where: { $0.extensions.contains(where: \.failIfUnknown) }) {
            throw OperationFailure(.protocolError, "a ban with an extension that must be understood")
        }
        // The answer's header has the AppID filled in and no extensions.
        var header = request.header
        header.appID = try await self.facets.authorize(appID: header.appID, version: header.version)
        header.extensions = []
        func finalChallenge(_ challenge: Challenge) -> String {
            FinalChallengeParams(
                appID: header.appID, challenge: challenge, facetID: self.facetID, channelBinding: channel
            ).encoded
        }
        switch request {
        case .registration(let request):
            return .registration(
                PreparedRegistration(
                    client: self, request: request, header: header, finalChallenge: finalChallenge(request.challenge)))
        case .authentication(let request):
            return .authentication(
                PreparedAuthentication(
                    client: self, request: request, header: header, finalChallenge: finalChallenge(request.challenge),
                    transaction: try self.rendering(of: request.transaction),
                    registered: await self.module.registrations(appID: header.appID).map(\.name)))
        case .deregistration(let request):
            return .deregistration(PreparedDeregistration(module: self.module, request: request, appID: header.appID))
        }
    }

    /// Reads a message that must be a registration, otherwise as ``prepare(_:channel:)``. Another message is a
    /// `protocolError`.
    package func prepareRegistration(
        _ message: some Collection<UInt8>, channel: ChannelBinding = ChannelBinding()
    ) async throws -> PreparedRegistration {
        guard case .registration(let prepared) = try await self.prepare(message, channel: channel) else {
            throw OperationFailure(.protocolError, "not a registration")
        }
        return prepared
    }

    /// Reads a message that must be an authentication, otherwise as ``prepare(_:channel:)``. Another message is a
    /// `protocolError`.
    package func prepareAuthentication(
        _ message: some Collection<UInt8>, channel: ChannelBinding = ChannelBinding()
    ) async throws -> PreparedAuthentication {
        guard case .authentication(let prepared) = try await self.prepare(message, channel: channel) else {
            throw OperationFailure(.protocolError, "not an authentication")
        }
        return prepared
    }

    /// Reads a message that must be a deregistration, otherwise as ``prepare(_:channel:)``. Another message is a
    /// `protocolError`.
    package func prepareDeregistration(_ message: some Collection<UInt8>) async throws -> PreparedDeregistration {
        guard case .deregistration(let prepared) = try await self.prepare(message) else {
            throw OperationFailure(.protocolError, "not a deregistration")
        }
        return prepared
    }

    /// Returns the content to show (§14): a text before a picture, and a picture only if the app shows pictures of this
    /// kind.
    private func rendering(of transaction: [Transaction]) throws -> Transaction? {
        guard !transaction.isEmpty else { return nil }
        let displays = self.module.configuration.pictureDisplays
        guard
            let shown = transaction.first(where: \.isText)
                ?? transaction.first(where: { $0.isPicture(for: displays) })
        else { throw OperationFailure(.invalidTransactionContent, "no content that can be shown") }
        return shown
    }
}

extension UAFRequest {
    /// The criteria that the policy bans; empty for a deregistration.
    fileprivate var disallowed: [MatchCriteria] {
        switch self {
        case .registration(let request): request.policy.disallowed
        case .authentication(let request): request.policy.disallowed
        case .deregistration: []
        }
    }
}

/// A request that can be answered: the result of ``MessageClient/prepare(_:channel:)`` for programs without an app.
public enum PreparedRequest: Sendable {
    case registration(PreparedRegistration)
    case authentication(PreparedAuthentication)
    case deregistration(PreparedDeregistration)
}

/// A registration request that can be answered.
public struct PreparedRegistration: Sendable {
    let client: MessageClient
    /// The server's message.
    public let request: RegistrationRequest
    let header: OperationHeader
    let finalChallenge: String

    /// The AppID of the new keys.
    public var appID: String { self.header.appID }
    /// SHA-256 of the final challenge parameters that the answer has.
    package var finalChallengeHash: [UInt8] { FinalChallengeParams.hash(ofEncoded: self.finalChallenge) }

    /// Returns all ways to meet the policy with the given authenticators, the server's preference first; empty if no
    /// way exists. All authenticators of a way are used together.
    ///
    /// An authenticator that holds a key named by the server takes no part (§9.2 step 2), unless the key is in `spent`:
    /// a spent key cannot answer any more, and the new key replaces it.
    public func selections(among models: [AuthenticatorModel], passingOver spent: [KeyName] = []) async
        -> [[AuthenticatorModel]]
    {
        let keys = await self.client.module.registrations(appID: self.appID).map(\.name).filter { !spent.contains($0) }
        let candidates = models.map { model in
            PolicyCandidate(info: model.info, keyIDs: Set(keys.filter { $0.aaid == model.aaid }.map(\.keyID)))
        }
        return PolicyMatcher(self.request.policy).selections(among: candidates).map { selection in
            selection.candidates.map { models[$0] }
        }
    }

    /// Creates a key with each authenticator, and the message for the server. Keys of finger or face end when other
    /// fingers or faces are enrolled.
    ///
    /// Throws ``OperationFailure``, `CancellationError` and ``StorageError``; no key remains then.
    public func register(_ models: [AuthenticatorModel], verification: any UserInteraction) async throws
        -> PreparedAnswer
    {
        try await self.register(
            models, announcing: .nobody, options: BiometricOptions(), verification: verification)
    }

    /// Creates a key with each authenticator, and the message for the server.
    ///
    /// The first key announces the `device`, and is a key that a person unlocks. ``PreparedAnswer/device`` says if the
    /// key announced the device.
    ///
    /// Throws ``OperationFailure``, `CancellationError` and ``StorageError``; no key remains then.
    package func register(
        _ models: [AuthenticatorModel], announcing device: AnnouncedDevice,
        options: BiometricOptions, verification: any UserInteraction
    ) async throws -> PreparedAnswer {
        var keys: [RegisteredKey] = []
        do {
            for model in models.sorted(by: { !$0.info.isSilent && $1.info.isSilent }) {
                keys.append(
                    try await self.client.module.register(
                        model, appID: self.appID, username: self.request.username, finalChallenge: self.finalChallenge,
                        attestationType: self.attestationType(of: model, among: models),
                        announcing: keys.isEmpty ? device : .nobody, options: options, verification: verification))
            }
        } catch {
            self.client.module.forgetIfNew(keys.first?.device, of: device)
            for key in keys { try? await self.client.module.notify(key.name, .requestTimeout) }
            throw error
        }
        let response = RegistrationResponse(
            header: self.header, fcParams: self.finalChallenge, assertions: keys.map(\.assertion))
        return PreparedAnswer(message: response.serialized, keys: keys.map(\.name), device: keys.first?.device)
    }

    /// Returns the attestation type for an authenticator: the type of the criterion that the authenticator meets, in
    /// the server's first way to use these authenticators together (§9.2 step 6).
    private func attestationType(of model: AuthenticatorModel, among models: [AuthenticatorModel]) -> AttestationType {
        let selection = PolicyMatcher(self.request.policy)
            .selection(needing: models.map { PolicyCandidate(info: $0.info) })
        let criterion = selection.flatMap { selection in
            selection.candidates.firstIndex { models[$0] == model }
                .map { self.request.policy.accepted[selection.alternative][$0] }
        }
        return (criterion ?? MatchCriteria()).attestationType(of: model.info) ?? .basicSurrogate
    }
}

/// An authentication request that can be answered.
public struct PreparedAuthentication: Sendable {
    let client: MessageClient
    /// The server's message.
    public let request: AuthenticationRequest
    let header: OperationHeader
    let finalChallenge: String
    /// The content for the person to confirm, in a rendering that can be shown; `nil` if the request has no
    /// transaction.
    public let transaction: Transaction?
    /// All keys of the AppID at the arrival of the request, including keys that the request does not ask for.
    public let registered: [KeyName]

    /// The AppID of the keys.
    public var appID: String { self.header.appID }

    /// `true` if the server knows the account that it asks: every alternative names keys.
    package var namesKeys: Bool {
        self.request.policy.accepted.allSatisfy { $0.contains { $0.keyIDs != nil } }
    }

    /// Returns all ways to meet the policy with the given keys, the server's preference first; empty if no way exists.
    ///
    /// A second factor alone is not a way, because a second factor says nothing about a person. Two keys of one
    /// authenticator are not a way either, because each criterion requires another authenticator. Later keys in the
    /// list are preferred, because they are newer. An authenticator that holds a disallowed key does not take part with
    /// its other keys either (§2.2).
    public func selections(among keys: [KeyName]) -> [[KeyName]] {
        let matcher = PolicyMatcher(self.request.policy)
        let known = keys.reversed().compactMap { key in AuthenticatorModel(aaid: key.aaid).map { (key, $0.info) } }
            .filter { key, info in
                let held = (self.registered + keys).filter { $0.aaid == key.aaid }.map(\.keyID)
                return matcher.allows(PolicyCandidate(info: info, keyIDs: Set(held)))
            }
        let candidates = known.map { PolicyCandidate(info: $0.1, keyIDs: [$0.0.keyID]) }
        // Few ways are refused: the ways of second factors alone, of which a device has one for each key store.
        return matcher.selections(amongKeys: candidates) { way in
            way.contains { !known[$0].1.isSecondFactorOnly }
        }.map { selection in selection.candidates.map { known[$0].0 } }
    }

    /// Signs with each key and creates the message for the server. Every key that a person unlocks confirms the
    /// transaction.
    ///
    /// Throws ``OperationFailure``, with `noSuitableAuthenticator` if no key is a key that a person unlocks. Also
    /// throws `CancellationError` and ``StorageError``.
    public func authenticate(_ keys: [KeyName], verification: any UserInteraction) async throws -> PreparedAnswer {
        try await self.authenticate(keys, announcing: nil, verification: verification)
    }

    /// Signs as ``authenticate(_:verification:)``. The first key announces the `device` as in a registration, if the
    /// device's keys sign, and signs the `number` that the person has typed. The person unlocks the first key.
    package func authenticate(
        _ keys: [KeyName], announcing device: DeviceIdentityKeys?, number: String? = nil,
        verification: any UserInteraction
    ) async throws -> PreparedAnswer {
        func isSilent(_ key: KeyName) -> Bool { AuthenticatorModel(aaid: key.aaid)?.info.isSilent ?? false }
        guard keys.contains(where: { !isSilent($0) }) else {
            throw OperationFailure(.noSuitableAuthenticator, "no key that a person unlocks")
        }
        var assertions: [EncodedAssertion] = []
        // The person answers first. If the person does not answer, no silent key has counted.
        for key in keys.sorted(by: { !isSilent($0) && isSilent($1) }) {
            assertions.append(
                try await self.client.module.authenticate(
                    key, appID: self.appID, finalChallenge: self.finalChallenge,
                    transaction: isSilent(key) ? nil : self.transaction,
                    announcing: assertions.isEmpty ? device : nil, number: assertions.isEmpty ? number : nil,
                    verification: verification))
        }
        let response = AuthenticationResponse(
            header: self.header, fcParams: self.finalChallenge, assertions: assertions)
        return PreparedAnswer(message: response.serialized, keys: keys, device: device)
    }
}

/// A message for the server, with the keys of the message, for the sender.
public struct PreparedAnswer: Sendable {
    /// The message, UTF-8.
    public let message: [UInt8]
    /// The keys that were made or that have signed.
    public let keys: [KeyName]
    /// The device that the message announces; `nil` if the message announces none. In an authentication, this is the
    /// device to announce, even if its key could not sign and the message announces none. The server's answer says if
    /// the server accepted the device's keys.
    package let device: DeviceIdentityKeys?
}
