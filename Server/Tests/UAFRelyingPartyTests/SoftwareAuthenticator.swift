import Crypto
import UAF
import UAFRelyingParty
import _Primitives

func bytes(_ count: Int, _ value: UInt8 = 7) -> [UInt8] { [UInt8](repeating: value, count: count) }

/// Fixed names of the tests.
enum Names {
    static let appID = "https://uaf.example/uaf/1.1/facets"
    static let facet = "linux:program:countersign-phone"
    static let account = "account-1"
    static let device = "device-1"
    static let pin = AuthenticatorModel(factor: .pin, keyStore: .file).aaid
    static let fingerprint = AuthenticatorModel(factor: .fingerprint, keyStore: .file).aaid
    static let silent = AuthenticatorModel(factor: .devicePossession, keyStore: .file).aaid
}

/// A key of a software authenticator, with all that goes into its assertions. Each member can be made wrong.
struct SoftwareKey {
    var privateKey = P256.Signing.PrivateKey()
    var aaid: AAID
    var keyID: KeyID
    var authenticatorVersion: UInt16 = 1
    var mode = AuthenticationMode.userVerified
    var algorithm = SignatureAlgorithm.p256Raw
    var format = PublicKeyFormat.eccX962Raw
    var signCounter: UInt32 = 1
    var scheme = AssertionScheme.uafV1TLV
    var attestationType = AttestationType.basicSurrogate
    var signedExtensions: [AssertionExtension] = []
    var unsignedExtensions: [AssertionExtension] = []
    var messageExtensions: [Extension] = []
    var transactionContentHash: [UInt8] = []
    /// In place of the true values.
    var finalChallengeHash: [UInt8]?
    var publicKey: [UInt8]?
    var signature: [UInt8]?
    /// What signs in place of the key.
    var signingKey: P256.Signing.PrivateKey?
    /// A last change to the assertion's bytes.
    var finish: (([UInt8]) -> [UInt8])?

    init(_ aaid: AAID, _ keyID: UInt8 = 1) throws {
        self.aaid = aaid
        self.keyID = try KeyID(bytes(32, keyID))
    }

    private func sign(_ bytes: [UInt8]) throws -> [UInt8] {
        if let signature { return signature }
        let signature = try (self.signingKey ?? self.privateKey).signature(for: bytes)
        return try P256Encoding.bytes(of: signature, algorithm: self.algorithm == .p256DER ? .p256DER : .p256Raw)
    }

    func registration(_ hash: [UInt8]) throws -> EncodedAssertion {
        let key = try P256Encoding.bytes(
            of: self.privateKey.publicKey, format: self.format == .eccX962DER ? .eccX962DER : .eccX962Raw)
        let data = try KeyRegistrationData(
            aaid: self.aaid, authenticatorVersion: self.authenticatorVersion, mode: self.mode,
            signatureAlgorithm: self.algorithm, publicKeyFormat: self.format,
            finalChallengeHash: self.finalChallengeHash ?? hash, keyID: self.keyID, signCounter: self.signCounter,
            registrationCounter: 1, publicKey: self.publicKey ?? key, extensions: self.signedExtensions)
        let assertion = RegistrationAssertion(
            keyRegistrationData: data,
            attestation: Attestation(
                type: self.attestationType, signature: try self.sign(data.signedBytes),
                certificates: self.attestationType == .basicFull ? [bytes(10)] : []),
            extensions: self.unsignedExtensions)
        return self.encoded(try assertion.serialized())
    }

    func authentication(_ hash: [UInt8]) throws -> EncodedAssertion {
        let data = try SignedData(
            aaid: self.aaid, authenticatorVersion: self.authenticatorVersion, mode: self.mode,
            signatureAlgorithm: self.algorithm, nonce: bytes(8), finalChallengeHash: self.finalChallengeHash ?? hash,
            transactionContentHash: self.transactionContentHash, keyID: self.keyID, signCounter: self.signCounter,
            extensions: self.signedExtensions)
        let assertion = AuthenticationAssertion(
            signedData: data, signature: try self.sign(data.signedBytes), extensions: self.unsignedExtensions)
        return self.encoded(try assertion.serialized())
    }

    private func encoded(_ bytes: [UInt8]) -> EncodedAssertion {
        EncodedAssertion(
            scheme: self.scheme, bytes: self.finish?(bytes) ?? bytes, extensions: self.messageExtensions)
    }

    /// What a store would have of the key before it signs.
    func credential(counter: UInt32 = 0) throws -> RegisteredCredential {
        RegisteredCredential(
            id: CredentialID(aaid: self.aaid, keyID: self.keyID),
            publicKey: try P256Encoding.bytes(of: self.privateKey.publicKey, format: self.format),
            publicKeyFormat: self.format, signatureAlgorithm: self.algorithm, signCounter: counter,
            account: Names.account, deviceRegistration: Names.device)
    }
}

/// An operation on both ends: what the server expects and what the client answers. As made it is accepted; a test
/// changes one thing.
struct Scene {
    var configuration: RelyingPartyConfiguration
    var keys: [SoftwareKey]
    var header: OperationHeader
    var params: FinalChallengeParams
    /// In place of the encoded ``params``.
    var fcParams: String?
    /// A last change to the message's bytes.
    var finish: (([UInt8]) -> [UInt8])?

    // What the server expects.
    var policy: Policy
    var challenge: Challenge
    var appID = Names.appID
    var serverData: String? = "state"
    // Of a registration.
    var existing: Set<CredentialID> = []
    // Of an authentication.
    var transaction: [Transaction] = []
    var account: String? = Names.account
    var credentials: [RegisteredCredential] = []

    init(_ operation: UAF.Operation, _ keys: [SoftwareKey]) throws {
        self.configuration = RelyingPartyConfiguration(
            metadata: try MetadataCatalog.builtIn(), trustedFacets: [try FacetID(Names.facet)])
        self.keys = keys
        self.challenge = try Challenge(Base64URL.encode(bytes(32, 1)))
        self.header = OperationHeader(operation: operation, appID: Names.appID, serverData: "state")
        self.params = FinalChallengeParams(
            appID: Names.appID, challenge: self.challenge, facetID: try FacetID(Names.facet))
        self.policy = Policy(accepted: [keys.map { MatchCriteria(aaid: [$0.aaid]) }])
        self.credentials = try keys.map { try $0.credential() }
    }

    static func registration(_ keys: SoftwareKey...) throws -> Scene {
        try Scene(.registration, keys.isEmpty ? [try SoftwareKey(Names.pin)] : keys)
    }

    static func authentication(_ keys: SoftwareKey...) throws -> Scene {
        try Scene(.authentication, keys.isEmpty ? [try SoftwareKey(Names.pin)] : keys)
    }

    /// An authentication in which the PIN authenticator confirms a payment.
    static func confirmation(beside others: SoftwareKey...) throws -> Scene {
        var pin = try SoftwareKey(Names.pin)
        let transaction = Transaction(content: Array("Pay 10 EUR".utf8))
        pin.mode = .transactionConfirmed
        pin.transactionContentHash = transaction.contentHash
        var scene = try Scene(.authentication, [pin] + others)
        scene.transaction = [transaction]
        return scene
    }

    private var sentParams: String { self.fcParams ?? self.params.encoded }

    func registrationMessage() throws -> [UInt8] {
        let hash = FinalChallengeParams.hash(ofEncoded: self.sentParams)
        let message = RegistrationResponse(
            header: self.header, fcParams: self.sentParams, assertions: try self.keys.map { try $0.registration(hash) }
        ).serialized
        return self.finish?(message) ?? message
    }

    func authenticationMessage() throws -> [UInt8] {
        let hash = FinalChallengeParams.hash(ofEncoded: self.sentParams)
        let message = AuthenticationResponse(
            header: self.header, fcParams: self.sentParams,
            assertions: try self.keys.map { try $0.authentication(hash) }
        ).serialized
        return self.finish?(message) ?? message
    }

    func verifyRegistration() throws -> VerifiedRegistration {
        try RegistrationVerifier(self.configuration).verify(
            try UnverifiedRegistration(parsing: try self.registrationMessage()),
            expected: ExpectedRegistration(
                challenge: self.challenge, appID: self.appID, username: "alice", policy: self.policy,
                serverData: self.serverData), existing: self.existing)
    }

    func verifyAuthentication() throws -> VerifiedAuthentication {
        try AuthenticationVerifier(self.configuration).verify(
            try UnverifiedAuthentication(parsing: try self.authenticationMessage()),
            expected: ExpectedAuthentication(
                challenge: self.challenge, appID: self.appID, policy: self.policy, transaction: self.transaction,
                serverData: self.serverData, account: self.account), credentials: self.credentials)
    }
}
