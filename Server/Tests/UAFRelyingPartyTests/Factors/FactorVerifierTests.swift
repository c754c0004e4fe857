import Crypto
import Foundation
import Testing
import UAF
import UAFRelyingParty
import _Primitives

/// A change after which the factors are refused.
struct RefusedFactors: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let change: @Sendable (inout FactorScene) throws -> Void

    init(_ name: String, _ change: @escaping @Sendable (inout FactorScene) throws -> Void) {
        self.testDescription = name
        self.change = change
    }
}

@Suite("Founding decision, Strict policies; decision 63: the factors of a personalised identity")
struct FactorVerifierTests {
    @Test("PIN and device are accepted, and say what signed and which counters to store")
    func pinAndDevice() throws {
        var made = try FactorScene()
        made.scene.keys[0].signCounter = 8
        made.scene.credentials[0].signCounter = 7
        guard case .accepted(let verified) = try made.judge() else {
            Issue.record("refused")
            return
        }
        #expect(verified.alternative == 1 && verified.facetID.text == Names.facet)
        #expect(verified.factors.map(\.type) == [.device, .pin])
        #expect(verified.factors.map(\.signature.id) == made.scene.credentials[..<2].map(\.id))
        #expect(verified.factors.map(\.signature.oldSignCounter) == [7, 0])
        #expect(verified.factors.map(\.signature.newSignCounter) == [8, 0])
        #expect(verified.assurance.level == .twoFactor && verified.assurance.methods == ["pin", "swk", "mfa"])
    }

    @Test("Finger and device are accepted, in whatever order they were sent")
    func fingerAndDevice() throws {
        var made = try FactorScene()
        made.signByFinger()
        made.scene.keys.reverse()
        guard case .accepted(let verified) = try made.judge() else {
            Issue.record("refused")
            return
        }
        #expect(verified.alternative == 0 && verified.factors.map(\.type) == [.device, .biometric])
        #expect(verified.assurance.methods == ["fpt", "swk", "mfa"])
    }

    @Test("A role that asks for the PIN alone gets it alone")
    func pinAlone() throws {
        var made = try FactorScene()
        made.matrix = try AuthenticatorMatrix([[.pin]])
        made.scene.keys.removeFirst()
        guard case .accepted = try made.judge() else {
            Issue.record("refused")
            return
        }
    }

    @Test("At a change of the PIN the version counts that signed, if its key is among those that count")
    func versions() throws {
        var made = try FactorScene()
        var other = try FactorScene.pin(P256.Signing.PrivateKey())
        other.keyID = try KeyID(bytes(32, 4))
        made.scene.credentials.append(try other.credential())
        guard case .accepted = try made.judge() else {
            Issue.record("refused")
            return
        }
        made.scene.keys[1] = other
        guard case .accepted = try made.judge() else {
            Issue.record("refused")
            return
        }
        made.scene.credentials.removeLast()
        #expect(try made.judge() == .refused)
    }

    static let structure: [RefusedFactors] = [
        RefusedFactors("the PIN alone (42)") { $0.scene.keys.removeFirst() },
        RefusedFactors("the device alone") { $0.scene.keys.removeLast() },
        RefusedFactors("PIN and finger without the device (43)") { $0.scene.keys[0] = $0.finger },
        RefusedFactors("two alternatives mixed (44)") { $0.scene.keys.append($0.finger) },
        RefusedFactors("an alternative of another role") {
            $0.matrix = try AuthenticatorMatrix([[.biometric, .device]])
        },
        RefusedFactors("one factor twice") { $0.scene.keys.append($0.scene.keys[1]) },
        RefusedFactors("two keys of one type") {
            let other = try SoftwareKey(AuthenticatorModel(factor: .face, keyStore: .file).aaid, 9)
            $0.signByFinger()
            $0.scene.keys.append(other)
            $0.scene.credentials.append(try other.credential())
        },
        RefusedFactors("a PIN that the device verifies, to spare") {
            let other = try SoftwareKey(Names.pin, 9)
            $0.scene.keys.append(other)
            $0.scene.credentials.append(try other.credential())
        },
        RefusedFactors("a finger that the passcode stands in for") {
            let model = AuthenticatorModel(factor: .fingerprint, keyStore: .file, allowsPasscode: true)
            $0.scene.keys[1] = try SoftwareKey(model.aaid, 9)
            $0.scene.credentials.append(try $0.scene.keys[1].credential())
        },
        RefusedFactors("nothing") { $0.scene.keys = [] },
    ]

    static let wrong: [RefusedFactors] = [
        RefusedFactors("a wrong PIN (45)") {
            $0.scene.keys[1].signingKey = .p256(try PinOnBothEnds.shared.key(of: "wrong"))
        },
        RefusedFactors("a signature by another device") {
            $0.scene.keys[0].signingKey = $0.scene.keys[0].privateKey.other
        },
        RefusedFactors("a signature by another finger") {
            $0.signByFinger()
            $0.scene.keys[1].signingKey = $0.scene.keys[1].privateKey.other
        },
        RefusedFactors("both wrong") {
            $0.scene.keys[0].signingKey = $0.scene.keys[0].privateKey.other
            $0.scene.keys[1].signingKey = .p256(try PinOnBothEnds.shared.key(of: "wrong"))
        },
        RefusedFactors("a signature of another length") { $0.scene.keys[1].signature = bytes(63, 1) },
        RefusedFactors("a signature of zeros") { $0.scene.keys[1].signature = bytes(64, 0) },
        RefusedFactors("a PIN that is not registered") { $0.scene.credentials.remove(at: 1) },
        RefusedFactors("a device that is not registered") { $0.scene.credentials.removeFirst() },
        RefusedFactors("a key that the store cannot read") { $0.scene.credentials[1].publicKey = bytes(65) },
        RefusedFactors("keys of two devices") { $0.scene.credentials[0].deviceRegistration = "device-2" },
        RefusedFactors("keys of another device") { made in
            for index in made.scene.credentials.indices {
                made.scene.credentials[index].deviceRegistration = "device-2"
            }
        },
        RefusedFactors("a key of another account") { $0.scene.credentials[1].account = "account-2" },
        RefusedFactors("the device's counter again") { $0.scene.credentials[0].signCounter = 1 },
        RefusedFactors("a PIN that counts") { $0.scene.keys[1].signCounter = 1 },
        RefusedFactors("a hash of other parameters") { $0.scene.keys[1].finalChallengeHash = bytes(32) },
        RefusedFactors("a confirmed transaction") {
            $0.scene.keys[1].mode = .transactionConfirmed
            $0.scene.keys[1].transactionContentHash = bytes(32)
        },
        RefusedFactors("the hash of a content") { $0.scene.keys[1].transactionContentHash = bytes(32) },
        RefusedFactors("another algorithm than was registered") {
            $0.scene.credentials[1].signatureAlgorithm = .p256DER
        },
        RefusedFactors("an older authenticator") { $0.scene.keys[1].authenticatorVersion = 0 },
        RefusedFactors("another scheme") { $0.scene.keys[1].scheme = AssertionScheme(rawValue: "WAV1CBOR") },
        RefusedFactors("a critical extension in what is signed") {
            $0.scene.keys[1].signedExtensions = [AssertionExtension(id: "x", data: [], isCritical: true)]
        },
        RefusedFactors("a critical extension beside it") {
            $0.scene.keys[1].unsignedExtensions = [AssertionExtension(id: "x", data: [], isCritical: true)]
        },
        RefusedFactors("an extension of the message that must be known") {
            $0.scene.keys[1].messageExtensions = [Extension(id: "x", data: "", failIfUnknown: true)]
        },
        RefusedFactors("a revoked model") { $0.scene.configuration.metadata.revoke(ServerPinModel.aaid) },
        RefusedFactors("a revoked key") {
            let point = try P256.Signing.PublicKey(x963Representation: $0.scene.credentials[0].publicKey)
            let digest = SHA256.hash(data: point.derRepresentation).map { String(format: "%02x", $0) }.joined()
            $0.scene.configuration.metadata.revoke(
                try RevocationList(parsing: #"{"models":[],"certificates":[],"keys":["\#(digest)"]}"#.utf8))
        },
    ]

    static let message: [RefusedFactors] = [
        RefusedFactors("another challenge") { $0.scene.challenge = try Challenge(Base64URL.encode(bytes(32, 2))) },
        RefusedFactors("another application") { $0.scene.appID = "https://other.example/facets" },
        RefusedFactors("another app") { $0.scene.params.facetID = try FacetID("linux:program:other") },
        RefusedFactors("data of an operation") { $0.scene.header.serverData = "state" },
        RefusedFactors("another version") { $0.scene.header.version = Version(major: 1, minor: 0) },
    ]

    @Test(
        "What is missing, to spare, wrong or another's is refused, and costs what a right answer does",
        arguments: FactorVerifierTests.structure + FactorVerifierTests.wrong + FactorVerifierTests.message)
    func refused(_ factors: RefusedFactors) throws {
        var made = try FactorScene()
        try factors.change(&made)
        let count = VerificationCount()
        #expect(try made.judge(counting: count) == .refused)
        #expect(count.value == 3)
    }

    @Test("A right answer costs one verification for each type that there is, and so does one that cannot be read")
    func cost() throws {
        let made = try FactorScene()
        let count = VerificationCount()
        guard case .accepted = try made.judge(counting: count) else {
            Issue.record("refused")
            return
        }
        #expect(count.value == 3)
        let verifier = FactorVerifier(made.scene.configuration, isSignature: count.check)
        #expect(verifier.judge(nil, expected: made.expected, keys: made.scene.credentials) == .refused)
        #expect(count.value == 6)
    }

    @Test("A verifier that stops at the first wrong factor is told by its work: the count above can fail")
    func stopping() throws {
        func work(_ factors: RefusedFactors?) throws -> Int {
            var made = try FactorScene()
            try factors?.change(&made)
            let count = VerificationCount()
            let isAccepted = try StoppingFactorVerifier(table: .product, isSignature: count.check).judge(
                try made.scene.authenticationMessage(), matrix: made.matrix, keys: made.scene.credentials)
            #expect(isAccepted == (factors == nil))
            return count.value
        }
        #expect(try work(nil) == 2)
        let costs = Set(try (Self.structure + Self.wrong[..<2]).map { try work($0) })
        #expect(costs == [0, 1, 2])
    }

    @Test("Who has the server's keys of a PIN and not the phone's secret cannot tell a right PIN from a wrong one (47)")
    func storedKey() throws {
        let stored = try FactorScene().scene.credentials[1]
        // Everything that the server has of it, in the place of what it has not.
        let guesses = [
            Array(stored.publicKey[1..<33]), Array(stored.publicKey[33...]), stored.id.keyID.bytes,
            Array(SHA256.hash(data: stored.publicKey)), bytes(32, 0),
        ]
        func isTold(_ pin: String, _ phoneHalf: [UInt8]) throws -> Bool {
            let key = try PinOnBothEnds.key(of: pin, phoneHalf: phoneHalf)
            return Array(key.publicKey.x963Representation) == stored.publicKey
        }
        for guess in guesses { #expect(try !isTold("right", guess) && !isTold("wrong", guess)) }
        // With the phone's secret it can, which is why the two lie apart.
        #expect(try isTold("right", PinOnBothEnds.phoneHalf) && !isTold("wrong", PinOnBothEnds.phoneHalf))
    }
}
