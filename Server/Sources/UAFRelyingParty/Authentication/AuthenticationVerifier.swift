public import UAF
import _Primitives

/// The contents of an authentication request that the server keeps until the response comes.
public struct ExpectedAuthentication: Sendable {
    /// The challenge. The caller consumes the challenge once, before the caller accepts anything.
    public var challenge: Challenge
    /// The AppID of the request; if empty, the caller's facetID takes its place.
    public var appID: String
    /// The policy of the request.
    public var policy: Policy
    /// The content to be confirmed, in all renderings that were sent; empty if the request had no transaction.
    public var transaction: [Transaction]
    /// The server data of the request.
    public var serverData: String?
    /// The account whose keys must sign; `nil` if any account may answer, so that the keys in the response determine
    /// the account.
    public var account: String?

    /// Keeps the contents of a request.
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

    /// Keeps the contents of `request`, for one account, or for any account if `account` is `nil`.
    public init(_ request: AuthenticationRequest, account: String?) {
        self.init(
            challenge: request.challenge, appID: request.header.appID, policy: request.policy,
            transaction: request.transaction, serverData: request.header.serverData, account: account)
    }
}

/// A registered key, in the form of the store.
public struct RegisteredCredential: Hashable, Sendable {
    /// AAID and KeyID.
    public var id: CredentialID
    /// The public key in ``publicKeyFormat``.
    public var publicKey: [UInt8]
    /// The format of the public key.
    public var publicKeyFormat: PublicKeyFormat
    /// The algorithm of the registration.
    public var signatureAlgorithm: SignatureAlgorithm
    /// The highest accepted counter; 0 if no counter was accepted yet, or if counters are not supported.
    public var signCounter: UInt32
    /// The account of the key, in the caller's naming.
    public var account: String
    /// The device registration of the key, in the caller's naming.
    public var deviceRegistration: String
    /// The attestation of the key.
    public var attestation: AttestationEvidence
    /// The pictures that the authenticator can show, as reported at the registration.
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

    /// Returns `true` if the authenticator shows a content. For a picture, the registration must have reported such
    /// pictures. Every other content gives `true`, because the model decides, and the caller checks the model.
    public func shows(_ content: Transaction) -> Bool {
        guard content.contentType == .imagePNG else { return true }
        guard let picture = content.pngCharacteristics else { return false }
        return self.pictureDisplays.contains { $0.shows(picture) }
    }
}

/// An authentication that satisfied every rule. Only ``AuthenticationVerifier`` makes a value of this type.
public struct VerifiedAuthentication: Hashable, Sendable {
    /// The account that signed.
    public let account: String
    /// The device registration that signed.
    public let deviceRegistration: String
    /// The signatures. The caller stores all new counters, each only if the stored counter is still the old counter.
    public let signatures: [Signature]
    /// The index of the satisfied alternative of the policy, from 0.
    public let alternative: Int
    /// The SHA-256 of the confirmed content; `nil` if the request had no transaction.
    public let confirmedContentHash: [UInt8]?
    /// The caller of the client: a web origin or an app.
    public let facetID: FacetID
    /// The keys with which the device proves its own identity, if a registered key of the device has signed their
    /// announcement.
    public let deviceKeys: DeviceKeyAnnouncement?
    /// `true` if the key that signed the announcement verifies its person: the key is not silent, and asks for more
    /// than a person's presence or place. `false` without an announcement.
    public let areDeviceKeysByPerson: Bool
    /// The number that the person has typed on the phone, signed by a key that verifies its person; `nil` if no such
    /// key has signed a number.
    public let number: NumberAnswer?

    /// The signature of one key.
    public struct Signature: Hashable, Sendable {
        /// AAID and KeyID.
        public let id: CredentialID
        /// The counter that was compared with the new counter.
        public let oldSignCounter: UInt32
        /// The new counter, which the caller stores.
        public let newSignCounter: UInt32
        /// The person's action.
        public let mode: AuthenticationMode
        /// The authenticator's version.
        public let authenticatorVersion: UInt16
        /// The ways in which the model verifies its user, according to its metadata.
        public let userVerification: UserVerification
        /// The ways in which the authenticator verified its user, according to the signed data; empty if the signed
        /// data does not say.
        public let userVerificationMethods: [UserVerificationMethod]
        let model: ModelAssurance
        let isAttested: Bool

        /// The assurance of this signature, together with the attestation from the registration.
        public var assurance: SignatureAssurance {
            SignatureAssurance(model: self.model, isAttested: self.isAttested, told: self.userVerificationMethods)
        }
    }

    /// The methods and the level of the person's authentication.
    public var assurance: AuthenticationAssurance { AuthenticationAssurance(self.signatures.map(\.assurance)) }
}

/// An authentication response that satisfies every rule that needs no keys. Only ``AuthenticationVerifier`` makes a
/// value of this type.
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
    /// The settings of acceptance.
    public let configuration: RelyingPartyConfiguration

    /// Makes a verifier with `configuration`.
    public init(_ configuration: RelyingPartyConfiguration) { self.configuration = configuration }

    /// Checks a response against every rule. The first broken rule refuses the whole response. Does the same as
    /// ``check(_:expected:)`` followed by ``verify(_:credentials:)``.
    public func verify(
        _ response: UnverifiedAuthentication, expected: ExpectedAuthentication,
        credentials: some Sequence<RegisteredCredential>
    ) throws(UAFRefusal) -> VerifiedAuthentication {
        try self.verify(self.check(response, expected: expected), credentials: credentials)
    }

    /// Checks a response against the rules that need no key. If a response is refused here, its keys need not be looked
    /// up.
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

        // A response has few keys, so comparing them costs less than hashing them.
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

    /// Checks a checked response against its keys, and verifies its signatures.
    ///
    /// `credentials` are the registered keys among the response's ``UnverifiedAuthentication/credentials``.
    public func verify(_ checked: CheckedAuthentication, credentials: some Sequence<RegisteredCredential>)
        throws(UAFRefusal) -> VerifiedAuthentication
    {
        let (response, expected, candidates) = (checked.response, checked.expected, checked.candidates)

        // 3 and 4: the keys, of one account and one device.
        let keys = try self.keys(of: response, among: credentials, account: expected.account)

        // 1: the policy, by metadata. This step follows the keys, so that a deleted key is reported as deleted and not
        // as a wrong model.
        let selection = try PolicyMatcher(expected.policy).selection(requiring: candidates)

        // 7 to 9: each assertion. Step 5 comes last: a counter means something only under a valid signature.
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
                && announcing.allSatisfy { candidates[$0].info.userVerification.verifiesPerson },
            number: try .init(
                signed: response.assertions.indices.filter { candidates[$0].info.userVerification.verifiesPerson }
                    .flatMap { response.assertions[$0].signedData.extensions },
                finalChallengeHash: checked.finalChallengeHash))
    }

    /// Returns the stored key of each assertion, in the order of the assertions.
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
        // 7: the shown content is the signed content.
        try self.checkTransaction(
            data, info: info, contentHashes: contentHashes, isTransaction: isTransaction)
        // 8: the registered algorithm. The message never chooses the algorithm.
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
        // Only a holder of the key learns that the key is registered, and that it is revoked.
        guard !self.configuration.metadata.isRevoked(key: verification.subjectPublicKeyInfo) else {
            throw UAFRefusal(.revokedAuthenticator, .revocation, "the key")
        }
        guard !self.configuration.metadata.isRevoked(key.attestation, of: key.id.aaid) else {
            throw UAFRefusal(.revokedAuthenticator, .revocation, "a certificate that attested the key")
        }
        // 5: if both counters are 0, counters are not supported; otherwise the counter must grow.
        guard data.signCounter == 0 && key.signCounter == 0 || data.signCounter > key.signCounter else {
            throw UAFRefusal(
                .unacceptableContent, .signCounter, "\(data.signCounter) after \(key.signCounter): a cloned key?")
        }
    }

    /// - Parameter contentHashes: The hashes of the contents that the authenticator shows.
    private func checkTransaction(
        _ data: SignedData, info: AuthenticatorInfo, contentHashes: [[UInt8]], isTransaction: Bool
    ) throws(UAFRefusal) {
        switch data.mode {
        case .userVerified:
            guard data.transactionContentHash.isEmpty else {
                throw UAFRefusal(.unacceptableContent, .transaction, "a content hash without confirmation")
            }
            // A silent authenticator only reports its presence, beside an authenticator that confirms.
            guard !isTransaction || info.isSilent else {
                throw UAFRefusal(.unacceptableContent, .transaction, "the transaction was not confirmed")
            }
        case .transactionConfirmed:
            guard !info.isSilent else {
                throw UAFRefusal(.unacceptableContent, .transaction, "a silent authenticator cannot confirm")
            }
            // This rule holds whatever the policy required of the model: nobody confirms a content that was not shown.
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
    /// `true` if every way to unlock such a key distinguishes its person from others: no way is silent, only a person's
    /// presence, or only a place.
    fileprivate var verifiesPerson: Bool {
        let others: Self = [.presence, .location, .none]
        // All methods are used together, so one distinguishing method is enough.
        guard !self.contains(.all) else {
            return !self.contains(.none) && !self.subtracting(others.union(.all)).isEmpty
        }
        return !self.isEmpty && self.isDisjoint(with: others)
    }
}
