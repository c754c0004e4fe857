import Crypto
import Testing
import UAF
import UAFRelyingParty
import X509
import _Primitives

/// One change to an accepted attestation, and its refusal.
struct AppAttestChange: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let refusal: AppAttestationRefusal
    let change: @Sendable (inout AppAttestScene) throws -> Void

    init(
        _ name: String, _ refusal: AppAttestationRefusal,
        _ change: @escaping @Sendable (inout AppAttestScene) throws -> Void
    ) {
        self.testDescription = name
        self.refusal = refusal
        self.change = change
    }
}

@Suite("decision 124, operations 89: attestations of apps")
struct AppAttestationVerifierTests {
    @Test("A key of a listed app is taken, with the counter 0, and newer facts behind the key change nothing")
    func isTaken() throws {
        var scene = try AppAttestScene()
        for facts in [[], bytes(62, 0xA2)] {
            scene.facts = facts
            let key = try scene.verified()
            #expect(key.app == scene.listed[1])
            #expect(key.publicKey == scene.point)
            #expect(key.counter == 0)
        }
    }

    @Test("A development key is taken if the app is listed with that environment, beside its production keys too")
    func developmentIsTaken() throws {
        var scene = try AppAttestScene()
        let own = try AttestedApp(teamID: "ABCDE12345", bundleID: "com.example.bank", environment: .development)
        scene.model = AppAttestScene.development
        scene.listed.append(own)
        #expect(try scene.verified().app == own)
        scene.listed = [own]
        #expect(try scene.verified().app == own)
    }

    static let changes: [AppAttestChange] = [
        AppAttestChange("an app of another team", .foreignApp) { $0.appName = "ABCDE12346.com.example.bank" },
        AppAttestChange("another bundle of the team", .foreignApp) { $0.appName = "ABCDE12345.com.example.bank2" },
        AppAttestChange("an empty list of apps", .foreignApp) { $0.listed = [] },
        AppAttestChange("a development key in production", .otherEnvironment) {
            $0.model = AppAttestScene.development
        },
        AppAttestChange("a key of no environment", .malformed) { $0.model = bytes(16, 0) },
        AppAttestChange("a counter that has begun", .counter) { $0.counter = 1 },
        AppAttestChange("the name of another key in the data", .otherKey) { $0.credentialID = bytes(32) },
        AppAttestChange("a short name of a key in the data", .malformed) { $0.credentialID = bytes(31) },
        AppAttestChange("another key in the data", .malformed) {
            $0.describedKey = P256.Signing.PrivateKey().publicKey
        },
        AppAttestChange("data that announces no key", .malformed) { $0.flags = 0 },
        AppAttestChange("a leaf without a nonce", .otherClientData) { $0.hasNonce = false },
        AppAttestChange("an expired leaf", .untrusted) { $0.draft.leaf.notAfter = Timestamp(seconds: 1_799_999_999) },
        AppAttestChange("a leaf of tomorrow", .untrusted) {
            $0.draft.leaf.notBefore = Timestamp(seconds: 1_800_000_001)
        },
        AppAttestChange("a leaf that may issue", .untrusted) {
            $0.draft.leaf.constraints = .isCertificateAuthority(maxPathLength: nil)
        },
        AppAttestChange("an intermediate that may not issue", .untrusted) {
            $0.draft.intermediate.constraints = .notCertificateAuthority
        },
        AppAttestChange("a leaf that a stranger of the same name issued", .untrusted) {
            $0.draft.leafIssuer = try TestAuthority(.authority("Intermediate"))
        },
    ]

    @Test("Each single change is refused, with its reason", arguments: Self.changes)
    func isRefused(_ change: AppAttestChange) throws {
        var scene = try AppAttestScene()
        try change.change(&scene)
        #expect(throws: change.refusal) { try scene.verified() }
    }

    @Test("An app's own root is refused: beside Apple's root, and beside another root of the same name")
    func ownRoot() throws {
        let scene = try AppAttestScene()
        let object = try scene.attestation().object
        for verifier in [
            try AppAttestationVerifier(apps: scene.listed),
            try AppAttestationVerifier(apps: scene.listed, roots: [try scene.chain()[2]]),
            try AppAttestationVerifier(apps: scene.listed, roots: []),
        ] {
            #expect(throws: AppAttestationRefusal.untrusted) {
                try verifier.verify(
                    attestation: object, keyID: scene.keyID, clientDataHash: scene.clientDataHash,
                    at: AppAttestScene.now)
            }
        }
    }

    @Test("A leaf that is on the list of roots itself attests nothing")
    func listedLeaf() throws {
        let scene = try AppAttestScene()
        let leaf = try scene.chain()[0]
        let object = TestCBOR.attestation([leaf], receipt: [], scene.authenticatorData)
        let verifier = try AppAttestationVerifier(apps: scene.listed, roots: [leaf])
        #expect(throws: AppAttestationRefusal.untrusted) {
            try verifier.verify(
                attestation: object, keyID: scene.keyID, clientDataHash: scene.clientDataHash, at: AppAttestScene.now)
        }
    }

    @Test("An attestation counts for its challenge and its device key alone")
    func otherClientData() throws {
        let scene = try AppAttestScene()
        let (object, verifier) = try scene.attestation()
        for (challenge, key) in [(bytes(32, 3), bytes(65, 2)), (bytes(32, 1), bytes(65, 3))] {
            let hash = AppEvidence.clientDataHash(finalChallengeHash: challenge, signingKey: key)
            #expect(throws: AppAttestationRefusal.otherClientData) {
                try verifier.verify(
                    attestation: object, keyID: scene.keyID, clientDataHash: hash, at: AppAttestScene.now)
            }
        }
        #expect(throws: AppAttestationRefusal.otherKey) {
            try verifier.verify(
                attestation: object, keyID: bytes(32), clientDataHash: scene.clientDataHash, at: AppAttestScene.now)
        }
    }

    @Test("A flipped bit in any byte is refused, except in the receipt, which changes nothing")
    func flippedBits() throws {
        let scene = try AppAttestScene()
        let (object, verifier) = try scene.attestation()
        let genuine = scene.point
        let start = try #require(
            object.indices.first { object[$0...].starts(with: AppAttestScene.receipt) })
        let receipt = start..<(start + AppAttestScene.receipt.count)
        for index in object.indices {
            var changed = object
            changed[index] ^= 1 << UInt8(index % 8)
            let key = try? verifier.verify(
                attestation: changed, keyID: scene.keyID, clientDataHash: scene.clientDataHash, at: AppAttestScene.now)
            #expect(key?.publicKey == (receipt.contains(index) ? genuine : nil), "byte \(index)")
        }
    }

    @Test("The names of an app have Apple's form, and a root is a certificate")
    func names() throws {
        for (team, bundle) in [
            ("ABCDE1234", "com.example"), ("ABCDE123456", "com.example"), ("abcde12345", "com.example"),
            ("ABCDE1234é", "com.example"), ("ABCDE12345", ""), ("ABCDE12345", "com example"),
            ("ABCDE12345", String(repeating: "a", count: 156)), ("ABCDE12345", "com.exämple"),
        ] {
            #expect(throws: UAFError(.invalidValue), "\(team) \(bundle)") {
                try AttestedApp(teamID: team, bundleID: bundle, environment: .production)
            }
        }
        #expect(throws: UAFError(.invalidValue)) { try AppAttestationVerifier(apps: [], roots: [bytes(9)]) }
    }
}

@Suite("decision 124, operations 89: assertions of apps")
struct AppAssertionTests {
    private static let hash = bytes(32, 5)

    @Test("Rising numbers count, and each number counts once")
    func counters() throws {
        let scene = try AppAttestScene()
        var key = try scene.verified()
        for number: UInt32 in [1, 2, 300, .max] {
            key = try key.verify(assertion: scene.assertion(number, over: Self.hash), clientDataHash: Self.hash)
            #expect(key.counter == number)
            for former in [number, number - 1, 0] {
                let assertion = try scene.assertion(former, over: Self.hash)
                #expect(throws: AppAttestationRefusal.counter) {
                    try key.verify(assertion: assertion, clientDataHash: Self.hash)
                }
            }
        }
    }

    @Test("Another app, other data and another key are refused")
    func refusals() throws {
        var scene = try AppAttestScene()
        let key = try scene.verified()
        let genuine = try scene.assertion(1, over: Self.hash)
        #expect(throws: AppAttestationRefusal.signature) {
            try key.verify(assertion: genuine, clientDataHash: bytes(32, 6))
        }
        scene.appName = "ABCDE12345.com.example.bank2"
        let foreign = try scene.assertion(1, over: Self.hash)
        #expect(throws: AppAttestationRefusal.foreignApp) {
            try key.verify(assertion: foreign, clientDataHash: Self.hash)
        }
        scene = try AppAttestScene()
        // The signature is judged before the number, so nobody learns the number.
        for number: UInt32 in [0, 1] {
            let stranger = try scene.assertion(number, over: Self.hash)
            #expect(throws: AppAttestationRefusal.signature) {
                try key.verify(assertion: stranger, clientDataHash: Self.hash)
            }
        }
    }

    @Test("A flipped bit in any byte is refused, and so are bytes that are missing or too many")
    func flippedBits() throws {
        let scene = try AppAttestScene()
        let key = try scene.verified()
        let assertion = try scene.assertion(1, over: Self.hash)
        for index in assertion.indices {
            var changed = assertion
            changed[index] ^= 1 << UInt8(index % 8)
            #expect(throws: AppAttestationRefusal.self, "byte \(index)") {
                try key.verify(assertion: changed, clientDataHash: Self.hash)
            }
            #expect(throws: AppAttestationRefusal.malformed) {
                try key.verify(assertion: Array(assertion[..<index]), clientDataHash: Self.hash)
            }
        }
        for surplus in [assertion + [0], assertion + bytes(8192)] {
            #expect(throws: AppAttestationRefusal.malformed) {
                try key.verify(assertion: surplus, clientDataHash: Self.hash)
            }
        }
    }

    @Test("A stored key goes on from its number, and bytes that are no point are no key")
    func storage() throws {
        let scene = try AppAttestScene()
        let key = try AttestedAppKey(app: scene.listed[1], publicKey: scene.point, counter: 7)
        #expect(try key.verify(assertion: scene.assertion(8, over: Self.hash), clientDataHash: Self.hash).counter == 8)
        let former = try scene.assertion(7, over: Self.hash)
        #expect(throws: AppAttestationRefusal.counter) {
            try key.verify(assertion: former, clientDataHash: Self.hash)
        }
        for point in [[], Array(scene.point.dropLast()), [4] + bytes(64, 0xFF)] {
            #expect(throws: UAFError(.invalidKey)) {
                try AttestedAppKey(app: scene.listed[1], publicKey: point, counter: 0)
            }
        }
    }
}
