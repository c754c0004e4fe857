import Crypto
import CryptoExtras
import Secp256k1TestKeys
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
    /// The models of a factor that a policy by factors names.
    static let pins = models(of: .pin)
    static let fingerprints = models(of: .fingerprint)
    static let silents = models(of: .devicePossession)

    private static func models(of factor: AuthenticatorModel.Factor) -> [AAID] {
        [.file, .tpm, .secureEnclave].map { AuthenticatorModel(factor: factor, keyStore: $0).aaid }
    }
}

/// Two RSA keys for all tests: making one takes long.
enum RSAKeys {
    private static let made = (0..<2).compactMap { _ in try? _RSA.Signing.PrivateKey(keySize: .bits2048) }
    static var one: _RSA.Signing.PrivateKey { self.made[0] }
    static var other: _RSA.Signing.PrivateKey { self.made[1] }
}

/// What a signature of the registry may be made with.
enum SigningKey {
    case p256(P256.Signing.PrivateKey)
    case secp256k1(Secp256k1TestKey)
    case rsa(_RSA.Signing.PrivateKey)

    /// A key that can make signatures of that algorithm, P-256 where the algorithm is unknown.
    init(for algorithm: SignatureAlgorithm) {
        self =
            switch algorithm.keyKind {
            case .p256, nil: .p256(P256.Signing.PrivateKey())
            case .secp256k1: .secp256k1(Secp256k1TestKey())
            case .rsa: .rsa(RSAKeys.one)
            }
    }

    /// Another key of the same kind.
    var other: SigningKey {
        switch self {
        case .p256: .p256(P256.Signing.PrivateKey())
        case .secp256k1: .secp256k1(Secp256k1TestKey())
        case .rsa: .rsa(RSAKeys.other)
        }
    }

    /// The public key as DER SubjectPublicKeyInfo.
    var subjectPublicKeyInfo: [UInt8] {
        get throws {
            switch self {
            case .p256(let key): Array(key.publicKey.derRepresentation)
            case .secp256k1(let key): try key.publicKey(.eccX962DER)
            case .rsa(let key): Array(key.publicKey.derRepresentation)
            }
        }
    }

    /// The public key in a format; one that is not of its kind in the raw format of its kind.
    func publicKey(_ format: PublicKeyFormat) throws -> [UInt8] {
        switch self {
        case .p256(let key):
            return try P256Encoding.bytes(
                of: key.publicKey, format: format == .eccX962DER ? .eccX962DER : .eccX962Raw)
        case .secp256k1(let key): return try key.publicKey(format == .eccX962DER ? .eccX962DER : .eccX962Raw)
        case .rsa(let key):
            if format == .rsa2048DER { return Array(key.publicKey.pkcs1DERRepresentation) }
            let numbers = try key.publicKey.getKeyPrimitives()
            return Array(numbers.modulus + numbers.publicExponent)
        }
    }

    /// A signature of that algorithm; of one that is not of its kind in the raw encoding of its kind.
    func signature(_ bytes: [UInt8], _ algorithm: SignatureAlgorithm) throws -> [UInt8] {
        switch self {
        case .p256(let key):
            return try P256Encoding.bytes(
                of: try key.signature(for: bytes), algorithm: algorithm == .p256DER ? .p256DER : .p256Raw)
        case .secp256k1(let key): return key.signature(bytes, algorithm)
        case .rsa(let key):
            let padding: _RSA.Signing.Padding =
                [.rsaPKCS1Raw, .rsaPKCS1DER].contains(algorithm) ? .insecurePKCS1v1_5 : .PSS
            let raw = Array(try key.signature(for: bytes, padding: padding).rawRepresentation)
            return [.rsaPSSDER, .rsaPKCS1DER].contains(algorithm) ? [0x04, 0x82, 0x01, 0x00] + raw : raw
        }
    }
}

extension SignatureAlgorithm {
    /// All that the server works with, in the order of their numbers.
    static let all = SignatureVerification.algorithms.sorted { $0.rawValue < $1.rawValue }

    /// Those of elliptic curves.
    static let ecdsa = Self.all.filter { !$0.isRSA }

    var isRSA: Bool { self.keyKind == .rsa }
    /// The same algorithm, written otherwise.
    var otherEncoding: SignatureAlgorithm {
        SignatureAlgorithm(rawValue: self.isDER ? self.rawValue - 1 : self.rawValue + 1)
    }
    /// Zeros alone, in the form of its signatures.
    var signatureOfZeros: [UInt8] {
        switch self {
        case .p256Raw, .secp256k1Raw: bytes(64, 0)
        case .p256DER, .secp256k1DER: [0x30, 0x06, 0x02, 0x01, 0x00, 0x02, 0x01, 0x00]
        default: (self.isDER ? [0x04, 0x82, 0x01, 0x00] : []) + bytes(256, 0)
        }
    }
    /// The formats that its keys may have.
    var formats: [PublicKeyFormat] { self.isRSA ? [.rsa2048Raw, .rsa2048DER] : [.eccX962Raw, .eccX962DER] }
}

/// The two numbers of an ECDSA signature where one at least is not from 1 to below the order n of the group: 0 and n are
/// what a verifier that computes without looking takes for anybody's.
enum ECDSANumbers: CaseIterable {
    case zeroAndZero, zeroAndN, nAndZero, nAndN, zeroAndS, rAndZero, nAndS, rAndN

    /// n, of the algorithm's curve.
    static func order(_ algorithm: SignatureAlgorithm) -> [UInt8] {
        guard algorithm.keyKind == .secp256k1 else {
            return bytes(4, 0xFF) + bytes(4, 0) + bytes(8, 0xFF) + [
                0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
            ]
        }
        return bytes(15, 0xFF) + [
            0xFE, 0xBA, 0xAE, 0xDC, 0xE6, 0xAF, 0x48, 0xA0, 0x3B, 0xBF, 0xD2, 0x5E, 0x8C, 0xD0, 0x36, 0x41, 0x41,
        ]
    }

    /// n - s, which is as good as s.
    static func negated(_ s: some Collection<UInt8>, _ algorithm: SignatureAlgorithm) -> [UInt8] {
        var borrow = 0
        return zip(Self.order(algorithm), s).reversed().map { n, s in
            let difference = Int(n) - Int(s) - borrow
            borrow = difference < 0 ? 1 : 0
            return UInt8(difference + 256 * borrow)
        }.reversed()
    }

    /// Two numbers of 32 bytes, written as the algorithm wants it.
    static func written(_ numbers: [[UInt8]], _ algorithm: SignatureAlgorithm) -> [UInt8] {
        guard algorithm.isDER else { return Array(numbers.joined()) }
        let content = numbers.flatMap { number -> [UInt8] in
            var short = Array(number.drop { $0 == 0 })
            if short.first ?? 0xFF >= 0x80 { short.insert(0, at: 0) }
            return [0x02, UInt8(short.count)] + short
        }
        return [0x30, UInt8(content.count)] + content
    }

    /// Written as the algorithm wants it; what is in range is that of a right signature.
    func signature(_ algorithm: SignatureAlgorithm, besides right: [UInt8]) throws -> [UInt8] {
        let raw = try ECDSAEncoding.numbers(right, algorithm: algorithm)
        let (zero, n, r, s) = (bytes(32, 0), Self.order(algorithm), Array(raw[..<32]), Array(raw[32...]))
        let numbers =
            switch self {
            case .zeroAndZero: [zero, zero]
            case .zeroAndN: [zero, n]
            case .nAndZero: [n, zero]
            case .nAndN: [n, n]
            case .zeroAndS: [zero, s]
            case .rAndZero: [r, zero]
            case .nAndS: [n, s]
            case .rAndN: [r, n]
            }
        return Self.written(numbers, algorithm)
    }
}

/// A key of a software authenticator, with all that goes into its assertions. Each member can be made wrong.
struct SoftwareKey {
    var privateKey: SigningKey
    var aaid: AAID
    var keyID: KeyID
    var authenticatorVersion: UInt16 = 1
    var mode = AuthenticationMode.userVerified
    var algorithm: SignatureAlgorithm
    var format: PublicKeyFormat
    var signCounter: UInt32 = 1
    var registrationCounter: UInt32 = 1
    var scheme = AssertionScheme.uafV1TLV
    var attestationType = AttestationType.basicSurrogate
    /// Of basic full attestation, DER, leaf first.
    var certificates: [[UInt8]] = []
    var signedExtensions: [AssertionExtension] = []
    var unsignedExtensions: [AssertionExtension] = []
    var messageExtensions: [Extension] = []
    var transactionContentHash: [UInt8] = []
    /// In place of the true values.
    var finalChallengeHash: [UInt8]?
    var publicKey: [UInt8]?
    var signature: [UInt8]?
    /// What signs in place of the key.
    var signingKey: SigningKey?
    /// A last change to the assertion's bytes.
    var finish: (([UInt8]) -> [UInt8])?

    init(_ aaid: AAID, _ keyID: UInt8 = 1, algorithm: SignatureAlgorithm = .p256Raw) throws {
        self.privateKey = SigningKey(for: algorithm)
        self.algorithm = algorithm
        self.format = algorithm.formats[0]
        self.aaid = aaid
        self.keyID = try KeyID(bytes(32, keyID))
    }

    private func sign(_ bytes: [UInt8]) throws -> [UInt8] {
        try self.signature ?? (self.signingKey ?? self.privateKey).signature(bytes, self.algorithm)
    }

    func registration(_ hash: [UInt8]) throws -> EncodedAssertion {
        let data = try KeyRegistrationData(
            aaid: self.aaid, authenticatorVersion: self.authenticatorVersion, mode: self.mode,
            signatureAlgorithm: self.algorithm, publicKeyFormat: self.format,
            finalChallengeHash: self.finalChallengeHash ?? hash, keyID: self.keyID, signCounter: self.signCounter,
            registrationCounter: self.registrationCounter,
            publicKey: self.publicKey ?? (try self.privateKey.publicKey(self.format)),
            extensions: self.signedExtensions)
        let assertion = RegistrationAssertion(
            keyRegistrationData: data,
            attestation: Attestation(
                type: self.attestationType, signature: try self.sign(data.signedBytes),
                certificates: self.certificates),
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
            publicKey: try self.privateKey.publicKey(self.format),
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
    var now = Timestamp(seconds: 1_800_000_000)
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

    /// A registration or authentication of a model of that algorithm, with everything as its statement says.
    init(_ operation: UAF.Operation, algorithm: SignatureAlgorithm) throws {
        try self.init(operation, [try SoftwareKey(Names.pin, algorithm: algorithm)])
        try self.changeStatement { $0.authenticationAlgorithm = algorithm }
    }

    /// Changes what the metadata says of the first key's model.
    mutating func changeStatement(_ change: (inout MetadataStatement) -> Void) throws {
        guard var statement = self.configuration.metadata[self.keys[0].aaid] else { throw UAFError(.missingMember) }
        change(&statement)
        self.configuration.metadata.add(statement)
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

    /// What assertions must sign.
    var hash: [UInt8] { FinalChallengeParams.hash(ofEncoded: self.sentParams) }

    func registrationMessage() throws -> [UInt8] {
        let message = RegistrationResponse(
            header: self.header, fcParams: self.sentParams,
            assertions: try self.keys.map { try $0.registration(self.hash) }
        ).serialized
        return self.finish?(message) ?? message
    }

    func authenticationMessage() throws -> [UInt8] {
        let message = AuthenticationResponse(
            header: self.header, fcParams: self.sentParams,
            assertions: try self.keys.map { try $0.authentication(self.hash) }
        ).serialized
        return self.finish?(message) ?? message
    }

    func verifyRegistration() throws -> VerifiedRegistration {
        try RegistrationVerifier(self.configuration).verify(
            try UnverifiedRegistration(
                parsing: try self.registrationMessage(), reading: self.configuration.lenientReadings),
            expected: ExpectedRegistration(
                challenge: self.challenge, appID: self.appID, username: "alice", policy: self.policy,
                serverData: self.serverData), existing: self.existing, at: self.now)
    }

    func verifyAuthentication() throws -> VerifiedAuthentication {
        try AuthenticationVerifier(self.configuration).verify(
            try UnverifiedAuthentication(
                parsing: try self.authenticationMessage(), reading: self.configuration.lenientReadings),
            expected: ExpectedAuthentication(
                challenge: self.challenge, appID: self.appID, policy: self.policy, transaction: self.transaction,
                serverData: self.serverData, account: self.account), credentials: self.credentials)
    }
}
