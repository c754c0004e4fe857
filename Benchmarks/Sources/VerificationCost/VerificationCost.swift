import Crypto
import CryptoExtras
import Foundation
import Secp256k1TestKeys
import UAF
import UAFRelyingParty
import _Primitives

/// The second table of `make bench`: the number of responses that one core verifies in a second, from the bytes of the
/// message to the verdict. Beside it stands the bare signature check with key and signature at hand. Both are measured
/// in turns, so that the machine's other work affects both.
@main
struct VerificationCost {
    private static let names: [SignatureAlgorithm: String] = [
        .p256Raw: "1, ECDSA P-256, raw", .p256DER: "2, ECDSA P-256, DER", .rsaPSSRaw: "3, RSASSA-PSS, raw",
        .rsaPSSDER: "4, RSASSA-PSS, DER", .secp256k1Raw: "5, ECDSA secp256k1, raw",
        .secp256k1DER: "6, ECDSA secp256k1, DER", .rsaPKCS1Raw: "8, RSA PKCS#1 v1.5, raw",
        .rsaPKCS1DER: "9, RSA PKCS#1 v1.5, DER",
    ]

    static func main() throws {
        print("| Algorithm | Bare signature | Registration | Authentication | On top of the signature |")
        print("|---|---|---|---|---|")
        for algorithm in SignatureVerification.algorithms.sorted(by: { $0.rawValue < $1.rawValue }) {
            let operations = try Operations(algorithm)
            let times = Self.inTurns([operations.bare, operations.register, operations.authenticate])
            let rates = times.map { String(format: "%.0f/s", 1e6 / $0) }
            let onTop = times.dropFirst().map { String(format: "%.0f %%", ($0 / times[0] - 1) * 100) }
            print(
                "| \(Self.names[algorithm] ?? "\(algorithm)") | \(rates.joined(separator: " | "))"
                    + " | \(onTop.joined(separator: ", ")) |")
        }
        print()
        for row in try FailureTimes().report() { print(row) }
    }

    /// Returns the microseconds of each body: the fastest of many short chunks that run in turns. The fastest chunk is
    /// the least disturbed by the machine's other work.
    private static func inTurns(_ bodies: [() -> Bool]) -> [Double] {
        let (chunks, rounds) = (400, 10)
        var times = bodies.map { _ in [Double]() }
        for _ in 0..<chunks {
            for (index, body) in bodies.enumerated() {
                let elapsed = ContinuousClock().measure {
                    for _ in 0..<rounds { precondition(body(), "a response that must be accepted is not") }
                }
                let (seconds, attoseconds) = elapsed.components
                times[index].append((Double(seconds) * 1e6 + Double(attoseconds) / 1e12) / Double(rounds))
            }
        }
        return times.compactMap { $0.min() }
    }
}

/// The three measured operations for one algorithm.
private struct Operations {
    let bare: () -> Bool
    let register: () -> Bool
    let authenticate: () -> Bool

    init(_ algorithm: SignatureAlgorithm) throws {
        let key = try Key(algorithm)
        var catalog = try MetadataCatalog.builtIn()
        let aaid = AuthenticatorModel(factor: .pin, keyStore: .file).aaid
        guard var statement = catalog[aaid] else { throw UAFError(.missingMember, "metadata") }
        statement.authenticationAlgorithm = algorithm
        catalog.add(statement)
        let configuration = RelyingPartyConfiguration(
            metadata: catalog, trustedFacets: [try FacetID("linux:program:countersign-phone")])

        let appID = "https://uaf.example/uaf/1.1/facets"
        let challenge = Challenge(random: .system)
        let serverData = Base64URL.encode(RandomSource.system.bytes(200))
        let policy = Policy(accepted: [[MatchCriteria(aaid: [aaid])]])
        let parameters = FinalChallengeParams(
            appID: appID, challenge: challenge, facetID: try FacetID("linux:program:countersign-phone")
        ).encoded
        let hash = FinalChallengeParams.hash(ofEncoded: parameters)
        let keyID = try KeyID(RandomSource.system.bytes(32))

        let signed = try SignedData(
            aaid: aaid, authenticatorVersion: 1, mode: .userVerified, signatureAlgorithm: algorithm,
            nonce: RandomSource.system.bytes(32), finalChallengeHash: hash, keyID: keyID, signCounter: 2)
        let signature = try key.signature(signed.signedBytes)
        self.bare = try key.bareVerification(signature, signed.signedBytes)

        let new = try KeyRegistrationData(
            aaid: aaid, authenticatorVersion: 1, signatureAlgorithm: algorithm, publicKeyFormat: key.format,
            finalChallengeHash: hash, keyID: keyID, signCounter: 0, registrationCounter: 1, publicKey: key.publicKey)
        let registration = RegistrationResponse(
            header: OperationHeader(operation: .registration, appID: appID, serverData: serverData),
            fcParams: parameters,
            assertions: [
                EncodedAssertion(
                    bytes: try RegistrationAssertion(
                        keyRegistrationData: new,
                        attestation: Attestation(type: .basicSurrogate, signature: try key.signature(new.signedBytes))
                    ).serialized())
            ]
        ).serialized
        let registrations = RegistrationVerifier(configuration)
        let expectedRegistration = ExpectedRegistration(
            challenge: challenge, appID: appID, username: "account", policy: policy, serverData: serverData)
        let now = TimeSource.system.now()
        self.register = {
            guard let response = try? UnverifiedRegistration(parsing: registration) else { return false }
            return (try? registrations.verify(response, expected: expectedRegistration, existing: [], at: now)) != nil
        }

        let authentication = AuthenticationResponse(
            header: OperationHeader(operation: .authentication, appID: appID, serverData: serverData),
            fcParams: parameters,
            assertions: [
                EncodedAssertion(
                    bytes: try AuthenticationAssertion(signedData: signed, signature: signature).serialized())
            ]
        ).serialized
        let authentications = AuthenticationVerifier(configuration)
        let expectedAuthentication = ExpectedAuthentication(
            challenge: challenge, appID: appID, policy: policy, serverData: serverData, account: "account")
        let credentials = [
            RegisteredCredential(
                id: CredentialID(aaid: aaid, keyID: keyID), publicKey: key.publicKey, publicKeyFormat: key.format,
                signatureAlgorithm: algorithm, signCounter: 1, account: "account", deviceRegistration: "device")
        ]
        self.authenticate = {
            guard let response = try? UnverifiedAuthentication(parsing: authentication) else { return false }
            return
                (try? authentications.verify(response, expected: expectedAuthentication, credentials: credentials))
                != nil
        }
    }
}

/// A key of the algorithm's kind.
private enum Key {
    case p256(P256.Signing.PrivateKey, SignatureAlgorithm)
    case secp256k1(Secp256k1TestKey, SignatureAlgorithm)
    case rsa(_RSA.Signing.PrivateKey, SignatureAlgorithm)

    init(_ algorithm: SignatureAlgorithm) throws {
        self =
            switch algorithm.keyKind {
            case .p256: .p256(P256.Signing.PrivateKey(), algorithm)
            case .secp256k1: .secp256k1(Secp256k1TestKey(), algorithm)
            case .rsa: .rsa(try _RSA.Signing.PrivateKey(keySize: .bits2048), algorithm)
            case nil: throw UAFError(.unsupportedAlgorithm, "\(algorithm)")
            }
    }

    var format: PublicKeyFormat {
        switch self {
        case .p256, .secp256k1: .eccX962Raw
        case .rsa: .rsa2048DER
        }
    }

    var publicKey: [UInt8] {
        switch self {
        case .p256(let key, _): Array(key.publicKey.x963Representation)
        case .secp256k1(let key, _): key.point
        case .rsa(let key, _): Array(key.publicKey.pkcs1DERRepresentation)
        }
    }

    private static func padding(_ algorithm: SignatureAlgorithm) -> _RSA.Signing.Padding {
        [.rsaPSSRaw, .rsaPSSDER].contains(algorithm) ? .PSS : .insecurePKCS1v1_5
    }

    /// Returns the bytes before an RSA signature: the head of an OCTET STRING, or nothing.
    private static func head(_ algorithm: SignatureAlgorithm) -> [UInt8] {
        [.rsaPSSDER, .rsaPKCS1DER].contains(algorithm) ? [0x04, 0x82, 0x01, 0x00] : []
    }

    func signature(_ bytes: [UInt8]) throws -> [UInt8] {
        switch self {
        case .p256(let key, let algorithm):
            try P256Encoding.bytes(of: key.signature(for: bytes), algorithm: algorithm)
        case .secp256k1(let key, let algorithm): key.signature(bytes, algorithm)
        case .rsa(let key, let algorithm):
            Self.head(algorithm)
                + Array(try key.signature(for: bytes, padding: Self.padding(algorithm)).rawRepresentation)
        }
    }

    /// Returns a verification with nothing left to read.
    func bareVerification(_ signature: [UInt8], _ bytes: [UInt8]) throws -> () -> Bool {
        switch self {
        case .p256(let key, let algorithm):
            let publicKey = key.publicKey
            let signature = try P256Encoding.signature(signature, algorithm: algorithm)
            return { publicKey.isValidSignature(signature, for: bytes) }
        case .secp256k1(let key, let algorithm):
            return try key.bareVerification(signature, algorithm, over: bytes)
        case .rsa(let key, let algorithm):
            let publicKey = key.publicKey
            let raw = _RSA.Signing.RSASignature(
                rawRepresentation: signature.dropFirst(Self.head(algorithm).count))
            return { publicKey.isValidSignature(raw, for: bytes, padding: Self.padding(algorithm)) }
        }
    }
}
