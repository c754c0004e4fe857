import Crypto
import Testing
import UAF
import UAFRelyingParty
import _Primitives

/// What is registered of a personalised identity, on both ends. As made it is accepted.
private struct RegistrationScene {
    var scene: Scene
    var required: Set<AuthenticatorType> = [.device, .pin]
    var optional: Set<AuthenticatorType> = [.biometric]

    init(_ keys: SoftwareKey...) throws {
        self.scene = try Scene(.registration, keys)
        self.scene.header.serverData = nil
        self.scene.serverData = nil
    }

    func verify() throws -> VerifiedFactorRegistration {
        try FactorRegistrationVerifier(self.scene.configuration).verify(
            try UnverifiedRegistration(parsing: try self.scene.registrationMessage()),
            expected: ExpectedFactorRegistration(
                challenge: self.scene.challenge, appID: self.scene.appID, username: "alice", required: self.required,
                optional: self.optional), existing: self.scene.existing, at: self.scene.now)
    }
}

@Suite("uaf-sections §8.2, decision 63: the factors of a new activation")
struct FactorRegistrationVerifierTests {
    private static func device() throws -> SoftwareKey { try SoftwareKey(Names.silent, 1) }
    private static func finger() throws -> SoftwareKey { try SoftwareKey(Names.fingerprint, 3) }

    private static func pin() throws -> SoftwareKey { try FactorScene.pin(P256.Signing.PrivateKey()) }

    private static func expect(
        _ code: UAFStatusCode, _ step: VerificationStep, _ made: RegistrationScene, _ name: Comment? = nil
    ) {
        #expect(name) {
            _ = try made.verify()
        } throws: { error in
            guard let refusal = error as? UAFRefusal else { return false }
            return refusal.statusCode == code && refusal.step == step
        }
    }

    @Test("Device and PIN are taken, and a finger where there is one, each by its type")
    func taken() throws {
        let two = try RegistrationScene(try Self.device(), try Self.quiet(Self.pin())).verify()
        #expect(two.types == [.device, .pin] && two[.biometric] == nil && two.facetID.text == Names.facet)
        #expect(two[.pin]?.id.aaid == ServerPinModel.aaid && two[.pin]?.signCounter == 0)
        let three = try RegistrationScene(try Self.finger(), try Self.quiet(Self.pin()), try Self.device()).verify()
        #expect(three.types == [.device, .pin, .biometric])
        #expect(three[.biometric]?.id.aaid == Names.fingerprint && three[.device]?.id.aaid == Names.silent)
    }

    @Test("A change of the PIN takes it alone, and a new factor comes alone")
    func alone() throws {
        var change = try RegistrationScene(try Self.quiet(Self.pin()))
        (change.required, change.optional) = ([.pin], [])
        #expect(try change.verify().types == [.pin])
        var finger = try RegistrationScene(try Self.finger())
        (finger.required, finger.optional) = ([.biometric], [])
        #expect(try finger.verify().types == [.biometric])
    }

    @Test("Other factors than were asked for are refused: missing, to spare, twice, of no type")
    func others() throws {
        let scenes: [(Comment, RegistrationScene)] = [
            ("no device", try RegistrationScene(try Self.quiet(Self.pin()))),
            ("no PIN", try RegistrationScene(try Self.device(), try Self.finger())),
            ("nothing", try RegistrationScene()),
            (
                "two PINs",
                try RegistrationScene(
                    try Self.device(), try Self.quiet(Self.pin()), try Self.quiet(Self.pin(), keyID: 9))
            ),
            (
                "a PIN that the device verifies",
                try RegistrationScene(try Self.device(), try Self.quiet(Self.pin()), try SoftwareKey(Names.pin, 9))
            ),
        ]
        for (name, scene) in scenes { Self.expect(.unacceptableAuthenticator, .policy, scene, name) }
        var unasked = try RegistrationScene(try Self.device(), try Self.quiet(Self.pin()), try Self.finger())
        unasked.optional = []
        Self.expect(.unacceptableAuthenticator, .policy, unasked, "a finger that was not asked for")
        var silent = try RegistrationScene(try Self.device())
        silent.required = [.device]
        Self.expect(.unacceptableAuthenticator, .policy, silent, "the device alone")
    }

    @Test("A PIN that counts is refused, in either counter")
    func counting() throws {
        var pin = try Self.quiet(Self.pin())
        pin.signCounter = 1
        Self.expect(.unacceptableContent, .signCounter, try RegistrationScene(try Self.device(), pin))
        Self.expect(
            .unacceptableContent, .signCounter, try RegistrationScene(try Self.device(), try Self.pin()),
            "how often it was registered")
    }

    @Test("The rules of every registration hold: challenge, attestation, keys that exist, operations' data")
    func rules() throws {
        var challenge = try RegistrationScene(try Self.device(), try Self.quiet(Self.pin()))
        challenge.scene.challenge = try Challenge(Base64URL.encode(bytes(32, 2)))
        Self.expect(.invalidRequest, .challenge, challenge)
        var attestation = try RegistrationScene(try Self.device(), try Self.quiet(Self.pin()))
        attestation.scene.keys[1].signingKey = attestation.scene.keys[1].privateKey.other
        Self.expect(.unacceptableAttestation, .attestation, attestation)
        var existing = try RegistrationScene(try Self.device(), try Self.quiet(Self.pin()))
        existing.scene.existing = [existing.scene.credentials[1].id]
        Self.expect(.unacceptableKey, .credential, existing)
        var data = try RegistrationScene(try Self.device(), try Self.quiet(Self.pin()))
        data.scene.header.serverData = "state"
        Self.expect(.invalidRequest, .serverData, data)
    }

    /// The same key, which does not say how often it was registered.
    private static func quiet(_ key: SoftwareKey, keyID: UInt8 = 2) throws -> SoftwareKey {
        var key = key
        key.keyID = try KeyID(bytes(32, keyID))
        key.registrationCounter = 0
        return key
    }
}

@Suite("Decision 63: no operation has to do with the PIN that only the server judges")
struct ServerPinInOperationsTests {
    private static func pin() throws -> SoftwareKey { try FactorScene.pin(P256.Signing.PrivateKey()) }

    private static func expectRefusal(_ body: () throws -> Void) {
        #expect {
            try body()
        } throws: { error in
            guard let refusal = error as? UAFRefusal else { return false }
            return refusal.statusCode == .unacceptableAuthenticator && refusal.step == .policy
        }
    }

    private static func expect(_ code: RequestError.Code, _ body: () throws -> Void) {
        #expect {
            try body()
        } throws: { error in (error as? RequestError)?.code == code }
    }

    @Test("An answer with it is refused with 1492 before anything of it is verified, whatever the policy names")
    func answers() throws {
        for others in [[], [try SoftwareKey(Names.fingerprint, 3)]] {
            var registration = try Scene(.registration, others + [try Self.pin()])
            Self.expectRefusal { _ = try registration.verifyRegistration() }
            registration.params.challenge = try Challenge(Base64URL.encode(bytes(32, 2)))
            registration.keys[0].signature = bytes(64)
            Self.expectRefusal { _ = try registration.verifyRegistration() }
            var authentication = try Scene(.authentication, others + [try Self.pin()])
            Self.expectRefusal { _ = try authentication.verifyAuthentication() }
            authentication.params.challenge = try Challenge(Base64URL.encode(bytes(32, 2)))
            authentication.credentials = []
            Self.expectRefusal { _ = try authentication.verifyAuthentication() }
        }
    }

    @Test("A policy cannot name it, and none that asks otherwise means it")
    func policies() throws {
        let builder = RequestBuilder(metadata: try MetadataCatalog.builtIn(), appID: Names.appID)
        Self.expect(.unknownModel) {
            try builder.check(Policy(accepted: [[MatchCriteria(aaid: [ServerPinModel.aaid])]]))
        }
        var criteria = MatchCriteria()
        criteria.userVerification = .passcodeExternal
        criteria.authenticationAlgorithms = [.p256Raw]
        criteria.assertionSchemes = [.uafV1TLV]
        Self.expect(.unmetCriterion) {
            try builder.checkNamed(Policy(accepted: [[criteria]]))
        }
        let everything = Policy(accepted: [[MatchCriteria()]])
        #expect(!builder.models(meeting: MatchCriteria(), in: everything).contains(ServerPinModel.aaid))
        #expect(!builder.canAnswer(everything, with: [ServerPinModel.aaid]))
    }

    @Test("A request names none of its keys, neither to sign nor as one that is there already, and it is not banned")
    func requests() throws {
        var metadata = try MetadataCatalog.builtIn()
        metadata.revoke(ServerPinModel.aaid)
        let builder = RequestBuilder(metadata: metadata, appID: Names.appID)
        let keys = [try Self.pin().credential(), try SoftwareKey(Names.fingerprint, 3).credential()]
        let challenge = Challenge(random: .system)
        let authentication = try builder.authenticationRequest(
            challenge: challenge, policy: Policy(accepted: [[MatchCriteria()]]), credentials: keys, serverData: nil)
        let registration = try builder.registrationRequest(
            challenge: challenge, username: "alice", factors: [[.pin]], existing: keys, serverData: nil)
        let policies = [authentication.policy, registration.policy]
        let named = policies.flatMap { $0.accepted.flatMap { $0 } + $0.disallowed }.flatMap { $0.aaid ?? [] }
        #expect(named.contains(Names.fingerprint) && !named.contains(ServerPinModel.aaid))
        Self.expect(.noSuitableCredential) {
            _ = try builder.authenticationRequest(
                challenge: challenge, policy: Policy(accepted: [[MatchCriteria()]]), credentials: [keys[0]],
                serverData: nil)
        }
    }
}
