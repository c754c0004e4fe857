public import Crypto
public import UAF
public import _Primitives

/// An authenticator, ASM and client in one, which can break the standard on request.
///
/// The authenticator builds complete UAF responses, for tests of verifiers. ``behaviour`` lists its departures from the
/// standard. Without a departure its answers are right.
public struct SoftwareAuthenticator: Sendable {
    /// Departures from the standard. `nil` means the right behaviour.
    public struct Behaviour: Sendable {
        /// Another model than the authenticator's own.
        public var aaid: AAID?
        /// Another version than the model's.
        public var authenticatorVersion: UInt16?
        /// Another protocol version in the header.
        public var version: Version?
        /// Another AppID in the header.
        public var headerAppID: String?
        /// Another AppID in the final challenge parameters.
        public var appID: String?
        /// Another challenge in the final challenge parameters.
        public var challenge: Challenge?
        /// Another facet in the final challenge parameters.
        public var facetID: FacetID?
        /// Other server data than the request's; empty for none.
        public var serverData: String?
        /// Another hash of the final challenge parameters.
        public var finalChallengeHash: [UInt8]?
        /// Another mode.
        public var mode: AuthenticationMode?
        /// Another hash of the transaction's content; empty for none.
        public var transactionContentHash: [UInt8]?
        /// Another key's name.
        public var keyID: KeyID?
        /// Another signature counter.
        public var signCounter: UInt32?
        /// Another registration counter.
        public var registrationCounter: UInt32?
        /// Another announced algorithm. The signature has this algorithm's encoding if possible.
        public var signatureAlgorithm: SignatureAlgorithm?
        /// Another announced key format. The key has this format if possible.
        public var publicKeyFormat: PublicKeyFormat?
        /// Other bytes for the public key.
        public var publicKey: [UInt8]?
        /// Another attestation.
        public var attestationType: AttestationType?
        /// Certificates beside the attestation's signature.
        public var certificates: [[UInt8]] = []
        /// Another signing key.
        public var signingKey: P256.Signing.PrivateKey?
        /// `true` if the signature's last bit is flipped.
        public var breaksSignature = false
        /// Another assertion scheme.
        public var assertionScheme: AssertionScheme?
        /// Extensions within the signed data.
        public var extensions: [AssertionExtension] = []

        /// Creates a behaviour without a departure.
        public init() {}
    }

    /// The model of the authenticator.
    public let model: AuthenticatorModel
    /// The calling app.
    public let facetID: FacetID
    /// The key.
    public let privateKey: P256.Signing.PrivateKey
    /// The key's name.
    public let keyID: KeyID
    /// The number of answered authentication requests.
    public private(set) var signCounter: UInt32 = 0
    /// The departures from the standard, from now on.
    public var behaviour = Behaviour()
    private let random: RandomSource

    /// Creates an authenticator with a new key.
    public init(
        model: AuthenticatorModel, facetID: FacetID, random: RandomSource = .system,
        privateKey: P256.Signing.PrivateKey = P256.Signing.PrivateKey()
    ) throws {
        self.model = model
        self.facetID = facetID
        self.privateKey = privateKey
        self.random = random
        self.keyID = try KeyID(random.bytes(32))
    }

    /// Answers a registration request.
    public func register(_ request: RegistrationRequest) throws -> RegistrationResponse {
        let behaviour = self.behaviour
        let (header, fcParams, hash) = self.begin(request.header, request.challenge)
        let algorithm = behaviour.signatureAlgorithm ?? self.model.info.authenticationAlgorithm
        let format = behaviour.publicKeyFormat ?? AuthenticatorModel.publicKeyFormat
        let key = try? P256Encoding.bytes(of: self.privateKey.publicKey, format: format)
        let data = try KeyRegistrationData(
            aaid: behaviour.aaid ?? self.model.aaid,
            authenticatorVersion: behaviour.authenticatorVersion ?? AuthenticatorModel.authenticatorVersion,
            mode: behaviour.mode ?? .userVerified, signatureAlgorithm: algorithm, publicKeyFormat: format,
            finalChallengeHash: hash, keyID: behaviour.keyID ?? self.keyID, signCounter: behaviour.signCounter ?? 0,
            registrationCounter: behaviour.registrationCounter ?? 1,
            publicKey: behaviour.publicKey ?? key ?? Array(self.privateKey.publicKey.x963Representation),
            extensions: behaviour.extensions)
        let attestation = Attestation(
            type: behaviour.attestationType ?? .basicSurrogate, signature: try self.sign(data.signedBytes, algorithm),
            certificates: behaviour.certificates)
        let assertion = RegistrationAssertion(keyRegistrationData: data, attestation: attestation)
        return RegistrationResponse(
            header: header, fcParams: fcParams, assertions: [try self.encoded(assertion.serialized())])
    }

    /// Answers an authentication request. If the request has a transaction, the answer confirms its first rendering,
    /// unless the model is silent.
    public mutating func authenticate(_ request: AuthenticationRequest) throws -> AuthenticationResponse {
        let behaviour = self.behaviour
        let (header, fcParams, hash) = self.begin(request.header, request.challenge)
        let algorithm = behaviour.signatureAlgorithm ?? self.model.info.authenticationAlgorithm
        self.signCounter += 1
        let confirmed = self.model.info.isSilent ? nil : request.transaction.first
        let data = try SignedData(
            aaid: behaviour.aaid ?? self.model.aaid,
            authenticatorVersion: behaviour.authenticatorVersion ?? AuthenticatorModel.authenticatorVersion,
            mode: behaviour.mode ?? (confirmed == nil ? .userVerified : .transactionConfirmed),
            signatureAlgorithm: algorithm, nonce: self.random.bytes(32), finalChallengeHash: hash,
            transactionContentHash: behaviour.transactionContentHash ?? confirmed?.contentHash ?? [],
            keyID: behaviour.keyID ?? self.keyID, signCounter: behaviour.signCounter ?? self.signCounter,
            extensions: behaviour.extensions)
        let assertion = AuthenticationAssertion(
            signedData: data, signature: try self.sign(data.signedBytes, algorithm))
        return AuthenticationResponse(
            header: header, fcParams: fcParams, assertions: [try self.encoded(assertion.serialized())])
    }

    private func begin(_ requested: OperationHeader, _ challenge: Challenge) -> (OperationHeader, String, [UInt8]) {
        let behaviour = self.behaviour
        var header = requested
        if header.appID.isEmpty { header.appID = self.facetID.text }
        let parameters = FinalChallengeParams(
            appID: behaviour.appID ?? header.appID, challenge: behaviour.challenge ?? challenge,
            facetID: behaviour.facetID ?? self.facetID)
        header.version = behaviour.version ?? header.version
        header.appID = behaviour.headerAppID ?? header.appID
        if let serverData = behaviour.serverData { header.serverData = serverData.isEmpty ? nil : serverData }
        let encoded = parameters.encoded
        return (header, encoded, behaviour.finalChallengeHash ?? FinalChallengeParams.hash(ofEncoded: encoded))
    }

    private func sign(_ bytes: [UInt8], _ algorithm: SignatureAlgorithm) throws -> [UInt8] {
        let signature = try (self.behaviour.signingKey ?? self.privateKey).signature(for: bytes)
        var encoded =
            (try? P256Encoding.bytes(of: signature, algorithm: algorithm)) ?? Array(signature.rawRepresentation)
        if self.behaviour.breaksSignature { encoded[encoded.count - 1] ^= 1 }
        return encoded
    }

    private func encoded(_ bytes: [UInt8]) -> EncodedAssertion {
        EncodedAssertion(scheme: self.behaviour.assertionScheme ?? .uafV1TLV, bytes: bytes)
    }
}
