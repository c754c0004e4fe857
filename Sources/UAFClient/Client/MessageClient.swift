public import UAF

/// The UAF client (UAF Protocol 1.1, sections 3.4 and 3.5): reads a server's message, decides whether and with what it
/// can be answered, and has the module answer it.
public struct MessageClient: Sendable {
    /// The authenticators.
    public let module: AuthenticatorModule
    private let facetID: FacetID
    private let facets: FacetAuthorization

    /// A client for the app of this facet.
    public init(module: AuthenticatorModule, facetID: FacetID, fetchFacets: @escaping FacetAuthorization.Fetch) {
        self.module = module
        self.facetID = facetID
        self.facets = FacetAuthorization(facetID: facetID, fetch: fetchFacets)
    }

    /// Reads a registration request: version, parts, facet.
    ///
    /// Throws ``OperationFailure``: `protocolError`, `unsupportedVersion`, `untrustedFacetID`.
    public func prepareRegistration(_ message: some Collection<UInt8>) async throws -> PreparedRegistration {
        let request: RegistrationRequest
        do { request = try RegistrationRequest(parsing: message) } catch {
            throw OperationFailure(.protocolError, "\(error)")
        }
        let (header, parameters) = try await self.accept(request.header, request.challenge)
        return PreparedRegistration(client: self, request: request, header: header, finalChallenge: parameters.encoded)
    }

    /// Reads an authentication request: version, parts, facet, and which transaction content can be shown.
    ///
    /// Throws ``OperationFailure``: `protocolError`, `unsupportedVersion`, `untrustedFacetID`,
    /// `invalidTransactionContent`.
    public func prepareAuthentication(_ message: some Collection<UInt8>) async throws -> PreparedAuthentication {
        let request: AuthenticationRequest
        do { request = try AuthenticationRequest(parsing: message) } catch {
            throw OperationFailure(.protocolError, "\(error)")
        }
        let (header, parameters) = try await self.accept(request.header, request.challenge)
        let transaction = request.transaction.first { $0.contentType == .textPlain }
        guard transaction != nil || request.transaction.isEmpty else {
            throw OperationFailure(.invalidTransactionContent, "no rendering as text")
        }
        return PreparedAuthentication(
            client: self, request: request, header: header, finalChallenge: parameters.encoded, transaction: transaction
        )
    }

    /// The header of the answer, its AppID filled in, and what the answer binds to.
    private func accept(_ header: OperationHeader, _ challenge: Challenge) async throws
        -> (OperationHeader, FinalChallengeParams)
    {
        guard header.version == .uaf11 else { throw OperationFailure(.unsupportedVersion, "\(header.version)") }
        if let unknown = header.extensions.first(where: \.failIfUnknown) {
            throw OperationFailure(.protocolError, "the extension \(unknown.id.prefix(32)) must be understood")
        }
        var answer = header
        answer.appID = try await self.facets.authorize(appID: header.appID, version: header.version)
        answer.extensions = []
        return (answer, FinalChallengeParams(appID: answer.appID, challenge: challenge, facetID: self.facetID))
    }
}

/// A registration request that can be answered.
public struct PreparedRegistration: Sendable {
    let client: MessageClient
    /// The server's message.
    public let request: RegistrationRequest
    let header: OperationHeader
    let finalChallenge: String

    /// The AppID that the keys are made for.
    public var appID: String { self.header.appID }

    /// All ways to meet the policy with the given authenticators, the server's preference first; empty where there is
    /// none. Within one way all authenticators are used together.
    public func selections(among models: [AuthenticatorModel]) async -> [[AuthenticatorModel]] {
        let keys = await self.client.module.registrations(appID: self.appID).map(\.name)
        let candidates = models.map { model in
            PolicyCandidate(info: model.info, keyIDs: Set(keys.filter { $0.aaid == model.aaid }.map(\.keyID)))
        }
        return PolicyMatcher(self.request.policy).selections(among: candidates).map { selection in
            selection.candidates.map { models[$0] }
        }
    }

    /// Makes a key with each authenticator and the message for the server.
    ///
    /// Throws ``OperationFailure``, `CancellationError` and ``StorageError``; no key is left then.
    public func register(
        _ models: [AuthenticatorModel], options: BiometricOptions = BiometricOptions(),
        verification: any UserInteraction
    ) async throws -> PreparedAnswer {
        var keys: [RegisteredKey] = []
        do {
            for model in models.sorted(by: { !$0.info.isSilent && $1.info.isSilent }) {
                let preferred = self.request.policy.accepted.joined().lazy
                    .filter { $0.matches(PolicyCandidate(info: model.info)) }
                    .compactMap { $0.attestationTypes?.first { model.info.attestationTypes.contains($0) } }.first
                keys.append(
                    try await self.client.module.register(
                        model, appID: self.appID, username: self.request.username, finalChallenge: self.finalChallenge,
                        attestationType: preferred ?? model.info.attestationTypes[0], options: options,
                        verification: verification))
            }
        } catch {
            for key in keys { try? await self.client.module.notify(key.name, .requestTimeout) }
            throw error
        }
        let response = RegistrationResponse(
            header: self.header, fcParams: self.finalChallenge, assertions: keys.map(\.assertion))
        return PreparedAnswer(message: response.serialized, keys: keys.map(\.name))
    }
}

/// An authentication request that can be answered.
public struct PreparedAuthentication: Sendable {
    let client: MessageClient
    /// The server's message.
    public let request: AuthenticationRequest
    let header: OperationHeader
    let finalChallenge: String
    /// What the person is to confirm, in the rendering that can be shown; `nil` where there is nothing.
    public let transaction: Transaction?

    /// The AppID that the keys were made for.
    public var appID: String { self.header.appID }

    /// Whether the server knows whom it asks: every alternative names keys.
    public var namesKeys: Bool {
        self.request.policy.accepted.allSatisfy { $0.contains { $0.keyIDs != nil } }
    }

    /// All ways to meet the policy with the given keys, the server's preference first; empty where there is none.
    ///
    /// A silent key alone is no way: it says nothing about a person. Later keys in the list are preferred, as they are
    /// newer.
    public func selections(among keys: [KeyName]) -> [[KeyName]] {
        let known = keys.reversed().compactMap { key in AuthenticatorModel(aaid: key.aaid).map { (key, $0.info) } }
        let candidates = known.map { PolicyCandidate(info: $0.1, keyIDs: [$0.0.keyID]) }
        return PolicyMatcher(self.request.policy).selections(among: candidates).map(\.candidates)
            .filter { $0.contains { !known[$0].1.isSilent } }.map { $0.map { known[$0].0 } }
    }

    /// Signs with each key and makes the message for the server. What is to be confirmed is confirmed with every key
    /// that a person unlocks.
    ///
    /// Throws ``OperationFailure``, `CancellationError` and ``StorageError``.
    public func authenticate(_ keys: [KeyName], verification: any UserInteraction) async throws -> PreparedAnswer {
        func isSilent(_ key: KeyName) -> Bool { AuthenticatorModel(aaid: key.aaid)?.info.isSilent ?? false }
        guard keys.contains(where: { !isSilent($0) }) else {
            throw OperationFailure(.noSuitableAuthenticator, "no key that a person unlocks")
        }
        var assertions: [EncodedAssertion] = []
        // The person answers first: where they do not, no silent key has counted.
        for key in keys.sorted(by: { !isSilent($0) && isSilent($1) }) {
            assertions.append(
                try await self.client.module.authenticate(
                    key, appID: self.appID, finalChallenge: self.finalChallenge,
                    transaction: isSilent(key) ? nil : self.transaction, verification: verification))
        }
        let response = AuthenticationResponse(
            header: self.header, fcParams: self.finalChallenge, assertions: assertions)
        return PreparedAnswer(message: response.serialized, keys: keys)
    }
}

/// A message for the server and the keys that it is about.
public struct PreparedAnswer: Sendable {
    /// The message, UTF-8.
    public let message: [UInt8]
    /// The keys that were made or have signed.
    public let keys: [KeyName]
}
