import CountersignTestKit
import UAF
import UAFRelyingParty
import _Primitives

/// One judgement of the server on input from outside, beyond the parsers that client and server share.
///
/// The judgement must accept or refuse, whatever the bytes are. The judgement must accept nothing without a signature
/// by the available keys.
public enum ServerFuzzTarget: String, CaseIterable, Sendable {
    case registrationVerdict = "registration-verdict"
    case authenticationVerdict = "authentication-verdict"
    case certificateChain = "certificate-chain"
    case registeredKey = "registered-key"
    case revocationList = "revocation-list"
    case appAttestation = "app-attestation"
    case password
    case passwordHash = "password-hash"
    case breachedPasswordList = "breached-password-list"
    case breachedPasswordText = "breached-password-text"
    case recoveryCode = "recovery-code"
    case timeBasedCode = "time-based-code"
    case paymentFields = "payment-fields"
    case keyDistribution = "key-distribution"
    case replacementClaim = "replacement-claim"
    case cookies
    case forwardedFor = "forwarded-for"
    case requestHead = "request-head"

    /// Judges `bytes`. Returns `false` if the bytes were accepted and must not have been.
    public func holds(_ bytes: [UInt8]) -> Bool {
        switch self {
        case .registrationVerdict: Self.surrogate.map { !$0.accepts(registration: bytes) } ?? false
        case .authenticationVerdict: Self.signed.map { !$0.accepts(authentication: bytes, key: nil) } ?? false
        case .certificateChain: Self.chain(bytes)
        case .registeredKey: Self.registeredKey(bytes)
        case .revocationList: Self.revocationList(bytes)
        case .appAttestation: AppAttestationTarget.holds(bytes)
        case .password: PasswordFuzzing.password(bytes)
        case .passwordHash: PasswordFuzzing.hash(bytes)
        case .breachedPasswordList: PasswordFuzzing.list(bytes)
        case .breachedPasswordText: PasswordFuzzing.listText(bytes)
        case .recoveryCode: PasswordFuzzing.recoveryCode(bytes)
        case .timeBasedCode: PasswordFuzzing.timeBasedCode(bytes)
        case .paymentFields: EngineTargets.paymentFields(bytes)
        case .keyDistribution: EngineTargets.keyDistribution(bytes)
        case .replacementClaim: EngineTargets.replacementClaim(bytes)
        case .cookies: HeadTargets.cookies(bytes)
        case .forwardedFor: HeadTargets.forwardedFor(bytes)
        case .requestHead: HeadTargets.requestHead(bytes)
        }
    }

    // The scenes: a server's knowledge, with challenges that no seed answers.
    private static let surrogate = Scene(.registration(.p256Raw, .x962Raw))
    private static let full = Scene(.registration(.p256DER, .x962DER, attestation: .basicFull))
    private static let signed = Scene(.authentication(.p256Raw, .x962Raw))
    private static let signedByRSA = Scene(.authentication(.rsaPSSRaw, .rsaRaw))

    /// Judges the certificates of an otherwise right attestation, as TLV items. Only the true chain may be accepted.
    private static func chain(_ bytes: [UInt8]) -> Bool {
        var certificates: [[UInt8]] = []
        var reader = TLVReader(bytes[...])
        while let item = try? reader.readNext(), certificates.count < 10 { certificates.append(Array(item.value)) }
        _ = consume reader
        guard let full else { return false }
        guard let response = full.response(certificates: certificates) else { return true }
        return !full.accepts(registration: response) || certificates.first == full.certificates.first
    }

    /// Checks an operator's list: everything in the list is refused from then on, and can occur.
    private static func revocationList(_ bytes: [UInt8]) -> Bool {
        guard let list = try? RevocationList(parsing: bytes) else { return true }
        var catalog = MetadataCatalog()
        catalog.revoke(list)
        return list.models.allSatisfy(catalog.isRevoked) && list.keys.allSatisfy { $0.count == 32 }
            && list.certificates.allSatisfy { $0.serialNumber.count <= 20 && $0.serialNumber.first != 0 }
    }

    /// Judges a stored key, of each format, that is said to have made a true signature. Only the true key may be
    /// accepted.
    private static func registeredKey(_ bytes: [UInt8]) -> Bool {
        for (scene, formats) in [
            (Self.signed, [PublicKeyFormat.eccX962Raw, .eccX962DER]), (Self.signedByRSA, [.rsa2048Raw, .rsa2048DER]),
        ] {
            guard let scene else { return false }
            for format in formats {
                guard !scene.accepts(authentication: scene.response, key: (bytes, format)) || scene.isKey(bytes) else {
                    return false
                }
            }
        }
        return true
    }
}

/// An operation under way at the server, and the right answer.
private struct Scene {
    private let vector: TestVector
    private let configuration: RelyingPartyConfiguration
    private let registration: RegistrationRequest?
    private let authentication: AuthenticationRequest?
    let certificates: [[UInt8]]

    init?(_ scenario: UAFScenario) {
        guard let vector = try? scenario.vector(random: .repeatable("fuzz")),
            let statements = try? vector.metadata.map({ try MetadataStatement(parsing: JSON.object($0).serialized) }),
            let facets = try? vector.trustedFacets.map({ try FacetID($0) })
        else { return nil }
        self.vector = vector
        self.configuration = RelyingPartyConfiguration(
            metadata: MetadataCatalog(statements), trustedFacets: Set(facets))
        let request = JSON.array([.object(vector.request)]).serialized
        self.registration = try? RegistrationRequest(parsing: request)
        self.authentication = try? AuthenticationRequest(parsing: request)
        let response = try? RegistrationResponse(parsing: vector.response.utf8)
        let assertion = response.flatMap { try? RegistrationAssertion(parsing: $0.assertions[0].bytes) }
        self.certificates = assertion?.attestation.certificates ?? []
    }

    /// The right answer.
    var response: [UInt8] { Array(self.vector.response.utf8) }

    /// Returns the right answer with other certificates.
    func response(certificates: [[UInt8]]) -> [UInt8]? {
        guard var response = try? RegistrationResponse(parsing: self.vector.response.utf8),
            let assertion = try? RegistrationAssertion(parsing: response.assertions[0].bytes),
            let bytes = try? RegistrationAssertion(
                keyRegistrationData: assertion.keyRegistrationData,
                attestation: Attestation(
                    type: .basicFull, signature: assertion.attestation.signature, certificates: certificates)
            ).serialized()
        else { return nil }
        response.assertions[0].bytes = bytes
        return response.serialized
    }

    /// Returns `true` if bytes are the registered key's, in any of its formats.
    func isKey(_ bytes: [UInt8]) -> Bool {
        // Each format contains the modulus, or the point without its first byte.
        let raw = self.vector.registered[0].publicKey
        let number = raw.count == 65 ? Array(raw.dropFirst()) : Array(raw.prefix(256))
        return bytes.firstRange(of: number) != nil
    }

    func accepts(registration bytes: [UInt8]) -> Bool {
        guard let registration, let response = try? UnverifiedRegistration(parsing: bytes) else { return false }
        return
            (try? RegistrationVerifier(self.configuration).verify(
                response, expected: ExpectedRegistration(registration), existing: [],
                at: Timestamp(seconds: 1_780_000_000))) != nil
    }

    func accepts(authentication bytes: [UInt8], key: (bytes: [UInt8], format: PublicKeyFormat)?) -> Bool {
        guard let authentication, let response = try? UnverifiedAuthentication(parsing: bytes) else { return false }
        let keys = self.vector.registered.map {
            RegisteredCredential(
                id: CredentialID(aaid: $0.aaid, keyID: $0.keyID), publicKey: key?.bytes ?? $0.publicKey,
                publicKeyFormat: key?.format ?? $0.publicKeyFormat, signatureAlgorithm: $0.signatureAlgorithm,
                signCounter: $0.signCounter, account: $0.account, deviceRegistration: "device")
        }
        return
            (try? AuthenticationVerifier(self.configuration).verify(
                response, expected: ExpectedAuthentication(authentication, account: self.vector.account),
                credentials: keys)) != nil
    }
}
