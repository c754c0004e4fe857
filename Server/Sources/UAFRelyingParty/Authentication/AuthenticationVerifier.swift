public import UAF
import _Primitives

/// What an authentication request said, kept by the server until the response comes.
public struct ExpectedAuthentication: Sendable {
    /// The challenge. The caller consumes it, once, before it accepts anything.
    public var challenge: Challenge
    /// The AppID of the request; empty: the caller's facetID stands for it.
    public var appID: String
    /// The policy of the request.
    public var policy: Policy
    /// What was to be confirmed, in all the renderings that were sent; empty where nothing was.
    public var transaction: [Transaction]
    /// The server data of the request.
    public var serverData: String?
    /// Whose keys must sign; `nil` where the response is to say who it is.
    public var account: String?

    /// Keeps what a request said.
    public init(
        challenge: Challenge, appID: String, policy: Policy, transaction: [Transaction] = [], serverData: String?,
        account: String?
    ) {
        self.challenge = challenge
        self.appID = appID
        self.policy = policy
        self.transaction = transaction
        self.serverData = serverData
        self.account = account
    }

    /// Keeps what `request` says, for one account or for whoever answers.
    public init(_ request: AuthenticationRequest, account: String?) {
        self.init(
            challenge: request.challenge, appID: request.header.appID, policy: request.policy,
            transaction: request.transaction, serverData: request.header.serverData, account: account)
    }
}

/// A registered key, as the store has it.
public struct RegisteredCredential: Hashable, Sendable {
    /// AAID and KeyID.
    public var id: CredentialID
    /// The public key in ``publicKeyFormat``.
    public var publicKey: [UInt8]
    /// The format of the public key.
    public var publicKeyFormat: PublicKeyFormat
    /// The algorithm of the registration.
    public var signatureAlgorithm: SignatureAlgorithm
    /// The highest counter that was accepted; 0: none yet, or not supported.
    public var signCounter: UInt32
    /// Whose key it is, as the caller names accounts.
    public var account: String
    /// The registration of a device that the key came with, as the caller names them.
    public var deviceRegistration: String
    /// What attested the key.
    public var attestation: AttestationEvidence
    /// The pictures that the authenticator said at its registration that it shows.
    public var pictureDisplays: [DisplayPNGCharacteristics]

    /// Describes a stored key.
    public init(
        id: CredentialID, publicKey: [UInt8], publicKeyFormat: PublicKeyFormat,
        signatureAlgorithm: SignatureAlgorithm, signCounter: UInt32, account: String, deviceRegistration: String,
        attestation: AttestationEvidence = AttestationEvidence(), pictureDisplays: [DisplayPNGCharacteristics] = []
    ) {
        self.pictureDisplays = pictureDisplays
        self.id = id
        self.publicKey = publicKey
        self.publicKeyFormat = publicKeyFormat
        self.signatureAlgorithm = signatureAlgorithm
        self.signCounter = signCounter
        self.account = account
        self.deviceRegistration = deviceRegistration
        self.attestation = attestation
    }

    /// Whether the authenticator shows a content: a picture where it said that it shows such ones, every other one by its
    /// model.
    public func shows(_ content: Transaction) -> Bool {
        guard content.contentType == .imagePNG else { return true }
        guard let picture = content.pngCharacteristics else { return false }
        return self.pictureDisplays.contains { $0.shows(picture) }
    }
}

/// An authentication whose every rule was checked. Only ``AuthenticationVerifier`` makes one.
public struct VerifiedAuthentication: Hashable, Sendable {
    /// Who signed.
    public let account: String
    /// On which device.
    public let deviceRegistration: String
    /// What signed. The caller stores all new counters, each only if the stored one is still the old one.
    public let signatures: [Signature]
    /// Which alternative of the policy was met, from 0.
    public let alternative: Int
    /// SHA-256 of the content that was confirmed; `nil` where the request had no transaction.
    public let confirmedContentHash: [UInt8]?
    /// Who called the client.
    public let facetID: FacetID
    /// The keys that the device speaks for itself by, where one of its registered keys has signed what it says of them.
    public let deviceKeys: DeviceKeyAnnouncement?
    /// Whether the key that has signed them verifies its person: not one that is silent, or asks for somebody's presence
    /// alone.
    public let areDeviceKeysByPerson: Bool

    /// One key's signature.
    public struct Signature: Hashable, Sendable {
        /// AAID and KeyID.
        public let id: CredentialID
        /// The counter that was compared with.
        public let oldSignCounter: UInt32
        /// The counter to be stored.
        public let newSignCounter: UInt32
        /// What the person did.
        public let mode: AuthenticationMode
        /// The authenticator's version.
        public let authenticatorVersion: UInt16
        /// How the model verifies its user, by its metadata.
        public let userVerification: UserVerification
        /// How it says in what it signed that it verified its user; empty where it does not say it.
        public let userVerificationMethods: [UserVerificationMethod]
        let model: ModelAssurance
        let isAttested: Bool

        /// What that proves, with what attested the key when it was registered.
        public var assurance: SignatureAssurance {
            SignatureAssurance(model: self.model, isAttested: self.isAttested, told: self.userVerificationMethods)
        }
    }

    /// By which methods, and how surely, the person was authenticated.
    public var assurance: AuthenticationAssurance { AuthenticationAssurance(self.signatures.map(\.assurance)) }
}

/// An authentication response that keeps every rule that can be held without its keys. Only ``AuthenticationVerifier``
/// makes one.
public struct CheckedAuthentication: Sendable {
    let response: UnverifiedAuthentication
    let expected: ExpectedAuthentication
    let facetID: FacetID
    let finalChallengeHash: [UInt8]
    let candidates: [PolicyCandidate]
    let models: [ModelAssurance]
}

/// Judges authentication responses (§8.4).
public struct AuthenticationVerifier: Sendable {
    /// What is accepted.
    public let configuration: RelyingPartyConfiguration

    /// Judges by `configuration`.
    public init(_ configuration: RelyingPartyConfiguration) { self.configuration = configuration }

    /// Holds a response against every rule; the first that is broken refuses all of it. As ``check(_:expected:)`` and
    /// ``verify(_:credentials:)`` one after the other.
    public func verify(
        _ response: UnverifiedAuthentication, expected: ExpectedAuthentication,
        credentials: some Sequence<RegisteredCredential>
    ) throws(UAFRefusal) -> VerifiedAuthentication {
        try self.verify(self.check(response, expected: expected), credentials: credentials)
    }

    /// Holds a response against the rules that need no key: what is refused here is not worth a look for its keys.
    public func check(_ response: UnverifiedAuthentication, expected: ExpectedAuthentication) throws(UAFRefusal)
        -> CheckedAuthentication
    {
        try response.credentials.refuseServerPin()
        // The message, as for a registration.
        let (params, hash) = try self.configuration.check(
            response.envelope,
            against: ExpectedMessage(
                challenge: expected.challenge, appID: expected.appID, serverData: expected.serverData))
        guard !response.assertions.isEmpty else {
            throw UAFRefusal(.unacceptableContent, .assertion, "no assertion")
        }

        // 1: the models.
        var candidates: [PolicyCandidate] = []
        var models: [ModelAssurance] = []
        for (assertion, encoded) in zip(response.assertions, response.envelope.assertions) {
            try self.configuration.check(encoded.extensions)
            let data = assertion.signedData
            let model = try self.configuration.model(of: data.aaid, scheme: encoded.scheme)
            // 2: the authenticator's version.
            try self.configuration.check(version: data.authenticatorVersion, of: model.statement)
            candidates.append(model.candidate(version: data.authenticatorVersion, keyID: data.keyID))
            models.append(model.assurance)
        }

        // A response has few keys: comparing them costs less than hashing them.
        for (index, id) in response.credentials.enumerated() where response.credentials[..<index].contains(id) {
            throw UAFRefusal(.unacceptableContent, .credential, "one key twice", credential: id)
        }
        // 6: the hash of the final challenge.
        for (index, assertion) in response.assertions.enumerated() {
            guard constantTimeEqual(assertion.signedData.finalChallengeHash, hash) else {
                throw UAFRefusal(
                    .unacceptableContent, .finalChallengeHash, "another hash", credential: response.credentials[index])
            }
        }
        return CheckedAuthentication(
            response: response, expected: expected, facetID: params.facetID, finalChallengeHash: hash,
            candidates: candidates, models: models)
    }

    /// Holds a checked response against its keys, and verifies its signatures.
    ///
    /// `credentials` are those of the response's ``UnverifiedAuthentication/credentials`` that are registered.
    public func verify(_ checked: CheckedAuthentication, credentials: some Sequence<RegisteredCredential>)
        throws(UAFRefusal) -> VerifiedAuthentication
    {
        let (response, expected, candidates) = (checked.response, checked.expected, checked.candidates)

        // 3 and 4: the keys, of one account and one device.
        let keys = try self.keys(of: response, among: credentials, account: expected.account)

        // 1: the policy, by metadata. After the keys, so that a deleted key is told as such and not as a wrong model.
        let selection = try PolicyMatcher(expected.policy).selection(requiring: candidates)

        // 7 to 9: each assertion. 5 comes last: a counter means something only under a valid signature.
        var signatures: [VerifiedAuthentication.Signature] = []
        var confirmed: [UInt8]?
        for (index, assertion) in response.assertions.enumerated() {
            let info = candidates[index].info
            let contentHashes = expected.transaction.filter(keys[index].shows).map(\.contentHash)
            do {
                try self.check(
                    assertion, key: keys[index], info: info, contentHashes: contentHashes,
                    isTransaction: !expected.transaction.isEmpty)
            } catch { throw error.about(keys[index].id) }
            let data = assertion.signedData
            if data.mode == .transactionConfirmed { confirmed = data.transactionContentHash }
            signatures.append(
                VerifiedAuthentication.Signature(
                    id: keys[index].id, oldSignCounter: keys[index].signCounter, newSignCounter: data.signCounter,
                    mode: data.mode, authenticatorVersion: data.authenticatorVersion,
                    userVerification: info.userVerification,
                    userVerificationMethods: data.extensions.flatMap(\.userVerificationMethods),
                    model: checked.models[index], isAttested: keys[index].attestation.isFull))
        }
        guard expected.transaction.isEmpty || confirmed != nil else {
            throw UAFRefusal(.unacceptableContent, .transaction, "nobody confirmed the transaction")
        }
        let announcing = response.assertions.indices.filter {
            response.assertions[$0].signedData.extensions.contains { $0.id.hasSameBytes(as: DeviceKeyAnnouncement.id) }
        }
        return VerifiedAuthentication(
            account: keys[0].account, deviceRegistration: keys[0].deviceRegistration, signatures: signatures,
            alternative: selection.alternative, confirmedContentHash: confirmed, facetID: checked.facetID,
            deviceKeys: try .init(
                signed: response.assertions.flatMap(\.signedData.extensions),
                finalChallengeHash: checked.finalChallengeHash),
            areDeviceKeysByPerson: !announcing.isEmpty
                && announcing.allSatisfy { candidates[$0].info.userVerification.verifiesPerson })
    }

    /// The stored key of each assertion, in their order.
    private func keys(
        of response: UnverifiedAuthentication, among credentials: some Sequence<RegisteredCredential>, account: String?
    ) throws(UAFRefusal) -> [RegisteredCredential] {
        let known = Array(credentials)
        var keys: [RegisteredCredential] = []
        for id in response.credentials {
            guard let key = known.first(where: { $0.id == id }) else {
                throw UAFRefusal(.unknownKeyID, .credential, "no such key", credential: id)
            }
            keys.append(key)
        }
        guard
            keys.allSatisfy({
                $0.account == (account ?? keys[0].account) && $0.deviceRegistration == keys[0].deviceRegistration
            })
        else { throw UAFRefusal(.unauthorized, .account, "keys of another account or of two devices") }
        return keys
    }

    private func check(
        _ assertion: AuthenticationAssertion, key: RegisteredCredential, info: AuthenticatorInfo,
        contentHashes: [[UInt8]], isTransaction: Bool
    ) throws(UAFRefusal) {
        let data = assertion.signedData
        // 7: what was shown is what was signed.
        try self.checkTransaction(
            data, info: info, contentHashes: contentHashes, isTransaction: isTransaction)
        // 8: the registered algorithm; the message never chooses it.
        guard data.signatureAlgorithm == key.signatureAlgorithm else {
            throw UAFRefusal(.unacceptableAlgorithm, .signatureAlgorithm, "\(data.signatureAlgorithm)")
        }
        try self.configuration.check(data.extensions)
        try self.configuration.check(assertion.extensions)
        // 9: the signature.
        let verification = try SignatureVerification(
            publicKey: key.publicKey, format: key.publicKeyFormat, algorithm: key.signatureAlgorithm)
        guard verification.isValid(assertion.signature, over: data.signedBytes) else {
            throw UAFRefusal(.unacceptableContent, .signature, "the signature is not the key's")
        }
        // Only a holder of the key learns what has become of it, and that it is registered at all.
        guard !self.configuration.metadata.isRevoked(key: verification.subjectPublicKeyInfo) else {
            throw UAFRefusal(.revokedAuthenticator, .revocation, "the key")
        }
        guard !self.configuration.metadata.isRevoked(key.attestation, of: key.id.aaid) else {
            throw UAFRefusal(.revokedAuthenticator, .revocation, "a certificate that attested the key")
        }
        // 5: a counter that both sides have at 0 is not supported; else it must grow.
        guard data.signCounter == 0 && key.signCounter == 0 || data.signCounter > key.signCounter else {
            throw UAFRefusal(
                .unacceptableContent, .signCounter, "\(data.signCounter) after \(key.signCounter): a cloned key?")
        }
    }

    /// - Parameter contentHashes: Of the contents that the authenticator shows.
    private func checkTransaction(
        _ data: SignedData, info: AuthenticatorInfo, contentHashes: [[UInt8]], isTransaction: Bool
    ) throws(UAFRefusal) {
        switch data.mode {
        case .userVerified:
            guard data.transactionContentHash.isEmpty else {
                throw UAFRefusal(.unacceptableContent, .transaction, "a content hash without confirmation")
            }
            // Beside one that confirmed, a silent authenticator only says that it is there.
            guard !isTransaction || info.isSilent else {
                throw UAFRefusal(.unacceptableContent, .transaction, "the transaction was not confirmed")
            }
        case .transactionConfirmed:
            guard !info.isSilent else {
                throw UAFRefusal(.unacceptableContent, .transaction, "a silent authenticator cannot confirm")
            }
            // Whatever the policy asked of the model: what nobody was shown, nobody confirmed.
            guard !info.tcDisplay.isEmpty else {
                throw UAFRefusal(
                    .unacceptableContent, .transaction, "an authenticator without a display cannot confirm")
            }
            guard contentHashes.contains(where: { constantTimeEqual($0, data.transactionContentHash) }) else {
                throw UAFRefusal(.unacceptableContent, .transaction, "another content than was sent, or than it shows")
            }
        default: throw UAFRefusal(.unacceptableContent, .authenticationMode, "\(data.mode)")
        }
    }
}

extension UserVerification {
    /// Whether every way to unlock such a key tells its person from others: none is silent, somebody's presence alone, or a
    /// place.
    fileprivate var verifiesPerson: Bool {
        let others: Self = [.presence, .location, .none]
        // All at once, and so the one that does among them.
        guard !self.contains(.all) else {
            return !self.contains(.none) && !self.subtracting(others.union(.all)).isEmpty
        }
        return !self.isEmpty && self.isDisjoint(with: others)
    }
}
