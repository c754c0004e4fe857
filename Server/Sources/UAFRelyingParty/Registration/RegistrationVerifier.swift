public import UAF
public import _Primitives

/// The contents of a registration request that the server keeps until the response comes.
public struct ExpectedRegistration: Sendable {
    /// The challenge. The caller consumes the challenge once, before the caller accepts anything.
    public var challenge: Challenge
    /// The AppID of the request; if empty, the caller's facetID takes its place.
    public var appID: String
    /// The name of the account at the client.
    public var username: String
    /// The policy of the request.
    public var policy: Policy
    /// The server data of the request.
    public var serverData: String?

    /// Keeps the contents of a request.
    public init(challenge: Challenge, appID: String, username: String, policy: Policy, serverData: String?) {
        self.challenge = challenge
        self.appID = appID
        self.username = username
        self.policy = policy
        self.serverData = serverData
    }

    /// Keeps the contents of `request`.
    public init(_ request: RegistrationRequest) {
        self.init(
            challenge: request.challenge, appID: request.header.appID, username: request.username,
            policy: request.policy, serverData: request.header.serverData)
    }
}

/// A registration that satisfied every rule. Only ``RegistrationVerifier`` makes a value of this type.
public struct VerifiedRegistration: Hashable, Sendable {
    /// The name of the account at the client.
    public let username: String
    /// The new keys. The caller stores all of them or none.
    public let keys: [Key]
    /// The index of the satisfied alternative of the policy, from 0.
    public let alternative: Int
    /// The caller of the client: a web origin or an app.
    public let facetID: FacetID
    /// The keys with which the device proves its own identity, if a new key has signed their announcement.
    public let deviceKeys: DeviceKeyAnnouncement?
    /// SHA-256 of the final challenge parameters that every assertion answers.
    public let finalChallengeHash: [UInt8]

    /// A new key.
    public struct Key: Hashable, Sendable {
        /// AAID and KeyID.
        public let id: CredentialID
        /// The public key in ``publicKeyFormat``.
        public let publicKey: [UInt8]
        /// The format of the public key.
        public let publicKeyFormat: PublicKeyFormat
        /// The algorithm that signatures must have from now on.
        public let signatureAlgorithm: SignatureAlgorithm
        /// The key's counter; 0 if counters are not supported, or not yet used.
        public let signCounter: UInt32
        /// The number of registrations by the authenticator; 0 if this counter is not supported.
        public let registrationCounter: UInt32
        /// The authenticator's version.
        public let authenticatorVersion: UInt16
        /// The type of the key's attestation.
        public let attestationType: AttestationType
        /// The certificates of a basic full attestation, DER, leaf first, as the device sent them.
        public let attestationCertificates: [[UInt8]]
        /// The attestation data, to be stored with the key.
        public let attestation: AttestationEvidence
        /// The ways in which the model verifies its user, according to its metadata.
        public let userVerification: UserVerification
        /// The ways in which the authenticator verified its user, according to the signed data; empty if the signed
        /// data does not say.
        public let userVerificationMethods: [UserVerificationMethod]
        /// The pictures that the authenticator claims to show (§2.7). The key has not signed this claim. The claim
        /// decides which content is offered to the authenticator, and nothing about the contents that count as
        /// confirmed.
        public let pictureDisplays: [DisplayPNGCharacteristics]
    }
}

/// Judges registration responses (§8.2).
public struct RegistrationVerifier: Sendable {
    /// The settings of acceptance.
    public let configuration: RelyingPartyConfiguration
    /// `true` if the PIN that only the server can judge counts as an ordinary model: in ceremonies of personalised
    /// identities.
    private let takesServerPin: Bool

    /// Makes a verifier with `configuration`, for operations.
    public init(_ configuration: RelyingPartyConfiguration) { self.init(configuration, takesServerPin: false) }

    init(_ configuration: RelyingPartyConfiguration, takesServerPin: Bool) {
        self.configuration = configuration
        self.takesServerPin = takesServerPin
    }

    /// Checks a response against every rule. The first broken rule refuses the whole response.
    ///
    /// `existing` are the keys among the response's ``UnverifiedRegistration/credentials`` that are registered already,
    /// for any account. The store must also refuse a second registration of a key, because two responses may come at
    /// once. `now` is the time at which certificates must be valid.
    public func verify(
        _ response: UnverifiedRegistration, expected: ExpectedRegistration, existing: Set<CredentialID>,
        at now: Timestamp
    ) throws(UAFRefusal) -> VerifiedRegistration {
        if !self.takesServerPin { try response.credentials.refuseServerPin() }
        // 1 to 4: the message.
        let (params, hash) = try self.configuration.check(
            response.envelope,
            against: ExpectedMessage(
                challenge: expected.challenge, appID: expected.appID, serverData: expected.serverData))

        // 5: the assertions were read before.
        guard !response.assertions.isEmpty else {
            throw UAFRefusal(.unacceptableContent, .assertion, "no assertion")
        }

        // 6: the models.
        var models: [MetadataCatalog.Entry] = []
        for (assertion, encoded) in zip(response.assertions, response.envelope.assertions) {
            try self.configuration.check(encoded.extensions)
            models.append(
                try self.configuration.model(
                    of: assertion.keyRegistrationData.aaid, scheme: encoded.scheme))
        }

        // Keys that exist already, or occur twice in the response.
        var seen = existing
        for id in response.credentials where !seen.insert(id).inserted {
            throw UAFRefusal(.unacceptableKey, .credential, "a key that exists", credential: id)
        }

        // 7: the policy, by metadata.
        let candidates = zip(response.assertions, models).map { assertion, model in
            let data = assertion.keyRegistrationData
            return model.candidate(version: data.authenticatorVersion, keyID: data.keyID)
        }
        let matcher = PolicyMatcher(expected.policy)
        var selection = try matcher.selection(requiring: candidates)

        // 9: the attestation that the criterion prefers. The client may have satisfied any alternative.
        if !self.configuration.acceptsLessPreferredAttestation {
            let preferring = matcher.selection(needing: candidates) { criterion, index in
                guard let preferred = criterion.attestationTypes else { return true }
                return preferred.first(where: models[index].statement.attestationTypes.contains)
                    == response.assertions[index].attestation.type
            }
            guard let preferring else {
                throw UAFRefusal(.unacceptableAttestation, .attestation, "not the preferred type")
            }
            selection = preferring
        }

        // 8 to 15: each assertion.
        var keys: [VerifiedRegistration.Key] = []
        for (index, assertion) in response.assertions.enumerated() {
            let id = response.credentials[index]
            let evidence: AttestationEvidence
            do {
                evidence = try self.check(assertion, model: models[index], finalChallengeHash: hash, at: now)
            } catch { throw error.about(id) }
            let data = assertion.keyRegistrationData
            keys.append(
                VerifiedRegistration.Key(
                    id: id, publicKey: data.publicKey, publicKeyFormat: data.publicKeyFormat,
                    signatureAlgorithm: data.signatureAlgorithm, signCounter: data.signCounter,
                    registrationCounter: data.registrationCounter, authenticatorVersion: data.authenticatorVersion,
                    attestationType: assertion.attestation.type,
                    attestationCertificates: assertion.attestation.certificates, attestation: evidence,
                    userVerification: candidates[index].info.userVerification,
                    userVerificationMethods: data.extensions.flatMap(\.userVerificationMethods),
                    pictureDisplays: response.envelope.assertions[index].pngCharacteristics))
        }
        return VerifiedRegistration(
            username: expected.username, keys: keys, alternative: selection.alternative, facetID: params.facetID,
            deviceKeys: try .init(
                signed: response.assertions.flatMap(\.keyRegistrationData.extensions), finalChallengeHash: hash),
            finalChallengeHash: hash)
    }

    private func check(
        _ assertion: RegistrationAssertion, model: MetadataCatalog.Entry, finalChallengeHash: [UInt8], at now: Timestamp
    ) throws(UAFRefusal) -> AttestationEvidence {
        let data = assertion.keyRegistrationData
        let statement = model.statement
        // 8 and 10: SHA-256 is the hash of every algorithm that is accepted here.
        guard constantTimeEqual(data.finalChallengeHash, finalChallengeHash) else {
            throw UAFRefusal(.unacceptableContent, .finalChallengeHash, "another hash")
        }
        // 9: an attestation that the model has and this server supports.
        let type = assertion.attestation.type
        guard [.basicFull, .basicSurrogate].contains(type), statement.attestationTypes.contains(type) else {
            throw UAFRefusal(
                .unacceptableAttestation, .attestation,
                type == .ecdaa ? "\(type), ECDAA: no library of this server has its pairings" : "\(type)")
        }
        // 11: the authenticator's version.
        try self.configuration.check(version: data.authenticatorVersion, of: statement)
        // 13: mode, algorithm, key.
        guard data.mode == .userVerified else {
            throw UAFRefusal(.unacceptableContent, .authenticationMode, "\(data.mode)")
        }
        guard data.signatureAlgorithm == statement.authenticationAlgorithm else {
            throw UAFRefusal(.unacceptableAlgorithm, .signatureAlgorithm, "\(data.signatureAlgorithm)")
        }
        let key = try SignatureVerification(
            publicKey: data.publicKey, format: data.publicKeyFormat, algorithm: data.signatureAlgorithm)
        guard !self.configuration.metadata.isRevoked(key: key.subjectPublicKeyInfo) else {
            throw UAFRefusal(.revokedAuthenticator, .revocation, "the key")
        }
        // 15: the extensions come before the signature, which costs most.
        try self.configuration.check(data.extensions)
        try self.configuration.check(assertion.extensions)
        // 14: the attestation.
        return try self.checkAttestation(assertion, key: key, model: model, at: now)
    }

    /// Checks the attestation. The key of a certificate signs a full attestation, and a root of the model must vouch
    /// for the certificate. A model without roots cannot have a full attestation. The new key itself signs a surrogate
    /// attestation; a model with roots must not use a surrogate attestation.
    private func checkAttestation(
        _ assertion: RegistrationAssertion, key: SignatureVerification, model: MetadataCatalog.Entry, at now: Timestamp
    ) throws(UAFRefusal) -> AttestationEvidence {
        let data = assertion.keyRegistrationData
        guard assertion.attestation.type == .basicFull else {
            guard model.statement.attestationRootCertificates.isEmpty else {
                throw UAFRefusal(.unacceptableAttestation, .attestation, "surrogate attestation of a model with roots")
            }
            guard key.isValid(assertion.attestation.signature, over: data.signedBytes) else {
                throw UAFRefusal(.unacceptableAttestation, .attestation, "the signature is not the new key's")
            }
            return AttestationEvidence()
        }
        let chain = try AttestationChain(assertion.attestation.certificates)
        let path = try chain.validate(
            for: model, in: self.configuration.metadata, readings: self.configuration.lenientReadings, at: now)
        guard let leaf = try? SignatureVerification(leafKey: chain.subjectPublicKeyInfo, data.signatureAlgorithm),
            leaf.isValid(assertion.attestation.signature, over: data.signedBytes)
        else { throw UAFRefusal(.unacceptableAttestation, .attestation, "the signature is not the certificate's") }
        return AttestationEvidence(path)
    }
}

extension PolicyMatcher {
    /// Returns the first selection that needs exactly these candidates, at least one of them not silent. Throws 1492.
    func selection(requiring candidates: [PolicyCandidate]) throws(UAFRefusal) -> Selection {
        guard candidates.allSatisfy({ self.allows($0) }) else {
            throw UAFRefusal(.unacceptableAuthenticator, .policy, "a disallowed authenticator")
        }
        guard let selection = self.selection(needing: candidates) else {
            throw UAFRefusal(.unacceptableAuthenticator, .policy, "no alternative is met exactly")
        }
        guard candidates.contains(where: { !$0.info.isSilent }) else {
            throw UAFRefusal(.unacceptableAuthenticator, .policy, "silent authenticators alone")
        }
        return selection
    }
}
