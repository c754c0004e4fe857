import Crypto
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@Suite("FIDO UAF Protocol 1.1 §8.2: registration response")
struct RegistrationVerifierTests {
    /// A scene whose model is known with one change to its statement.
    private static func scene(_ change: (inout MetadataStatement) -> Void) throws -> Scene {
        var scene = try Scene.registration()
        var statement = try #require(scene.configuration.metadata[Names.pin])
        change(&statement)
        scene.configuration.metadata.add(statement)
        return scene
    }

    @Test("A verified key has everything that a store needs")
    func verifiedKey() throws {
        var scene = try Scene.registration()
        scene.keys[0].signCounter = 5
        let verified = try scene.verifyRegistration()
        let key = try #require(verified.keys.first)
        #expect(key.id == CredentialID(aaid: Names.pin, keyID: scene.keys[0].keyID))
        #expect(key.publicKey == Array(scene.keys[0].privateKey.publicKey.x963Representation))
        #expect(key.publicKeyFormat == .eccX962Raw && key.signatureAlgorithm == .p256Raw)
        #expect(key.signCounter == 5 && key.registrationCounter == 1 && key.authenticatorVersion == 1)
        #expect(key.attestationType == .basicSurrogate && key.userVerification == .passcode)
        #expect(verified.alternative == 0 && verified.facetID.text == Names.facet)
    }

    @Test("Several keys for several criteria are accepted together, in any order")
    func severalKeys() throws {
        var scene = try Scene.registration(try SoftwareKey(Names.pin, 1), try SoftwareKey(Names.silent, 2))
        scene.policy.accepted.insert([MatchCriteria(aaid: [Names.fingerprint])], at: 0)
        scene.keys.reverse()
        let verified = try scene.verifyRegistration()
        #expect(verified.keys.map(\.id.aaid) == [Names.silent, Names.pin])
        #expect(verified.alternative == 1)
    }

    @Test(
        "Algorithm and key format as the metadata says are accepted in every pair",
        arguments: [SignatureAlgorithm.p256Raw, .p256DER], [PublicKeyFormat.eccX962Raw, .eccX962DER])
    func algorithms(algorithm: SignatureAlgorithm, format: PublicKeyFormat) throws {
        var scene = try Self.scene { $0.authenticationAlgorithm = algorithm }
        scene.keys[0].algorithm = algorithm
        scene.keys[0].format = format
        #expect(try scene.verifyRegistration().keys[0].publicKeyFormat == format)
    }

    static let changes: [Refused] = [
        Refused("a mode of transactions", .unacceptableContent, .authenticationMode) {
            $0.keys[0].mode = .transactionConfirmed
        },
        Refused("a key off the curve", .unacceptableKey, .publicKey) { scene in
            var key = Array(scene.keys[0].privateKey.publicKey.x963Representation)
            key[64] ^= 1
            scene.keys[0].publicKey = key
        },
        Refused("a key at infinity", .unacceptableKey, .publicKey) { $0.keys[0].publicKey = [0x04] + bytes(64, 0) },
        Refused("a key of another format than it says", .unacceptableKey, .publicKey) {
            $0.keys[0].publicKey = Array($0.keys[0].privateKey.publicKey.derRepresentation)
        },
        Refused("a key format that is not of the algorithm", .unacceptableKey, .publicKey) {
            $0.keys[0].format = .rsa2048Raw
        },
        Refused("a compressed key", .unacceptableKey, .publicKey) {
            $0.keys[0].publicKey = Array($0.keys[0].privateKey.publicKey.compressedRepresentation)
        },
        Refused("an attestation by another key", .unacceptableAttestation, .attestation) {
            $0.keys[0].signingKey = P256.Signing.PrivateKey()
        },
        Refused("a signature of other bytes", .unacceptableAttestation, .attestation) {
            let signature = try $0.keys[0].privateKey.signature(for: bytes(3))
            $0.keys[0].signature = Array(signature.rawRepresentation)
        },
        Refused("a signature in DER for a raw algorithm", .unacceptableAttestation, .attestation) {
            let signature = try $0.keys[0].privateKey.signature(for: bytes(3))
            $0.keys[0].signature = Array(signature.derRepresentation)
        },
        Refused("a signature of zeros", .unacceptableAttestation, .attestation) { $0.keys[0].signature = bytes(64, 0) },
        Refused("a bit of the signed data changed", .unacceptableAttestation, .attestation) { scene in
            // The last bytes of the key registration data are the public key; its counters stand before it.
            scene.keys[0].finish = { bytes in
                var bytes = bytes
                let counters = bytes.indices.first { bytes[$0...].starts(with: [0x0D, 0x2E, 0x08, 0x00]) }
                if let counters { bytes[counters + 4] ^= 1 }
                return bytes
            }
        },
        Refused("full attestation", .unacceptableAttestation, .attestation) { $0.keys[0].attestationType = .basicFull },
        Refused("ECDAA attestation", .unacceptableAttestation, .attestation) { $0.keys[0].attestationType = .ecdaa },
        Refused("a key that exists", .unacceptableKey, .credential) {
            $0.existing = [CredentialID(aaid: Names.pin, keyID: $0.keys[0].keyID)]
        },
        Refused("a key twice", .unacceptableKey, .credential) {
            $0.keys.append($0.keys[0])
            $0.policy.accepted[0].append(MatchCriteria(aaid: [Names.pin]))
        },
        Refused("a surplus key", .unacceptableAuthenticator, .policy) {
            $0.keys.append(try SoftwareKey(Names.fingerprint, 2))
        },
        Refused("a surplus key of the same model", .unacceptableAuthenticator, .policy) {
            $0.keys.append(try SoftwareKey(Names.pin, 2))
        },
        Refused("a silent key alone, whatever the policy", .unacceptableAuthenticator, .policy) {
            $0.keys = [try SoftwareKey(Names.silent)]
            $0.policy.accepted = [[MatchCriteria(aaid: [Names.silent])]]
        },
        Refused("a second key that is wrong", .unacceptableAttestation, .attestation) {
            $0.keys.append(try SoftwareKey(Names.silent, 2))
            $0.policy.accepted[0].append(MatchCriteria(aaid: [Names.silent]))
            $0.keys[1].signingKey = $0.keys[0].privateKey
        },
    ]

    @Test("A registration changed in one thing is refused", arguments: changes)
    func isRefused(refused: Refused) throws {
        var scene = try Scene.registration()
        try refused.change(&scene)
        refused.expect { _ = try scene.verifyRegistration() }
    }

    @Test("Surrogate attestation of a model with roots is refused (step 14)")
    func surrogateWithRoots() throws {
        let scene = try Self.scene { $0.attestationRootCertificates = [[1, 2, 3]] }
        Refused("roots", .unacceptableAttestation, .attestation) { _ in }.expect { _ = try scene.verifyRegistration() }
    }

    @Test("An attestation that the model does not have is refused (step 9)")
    func attestationNotOfModel() throws {
        let scene = try Self.scene { $0.attestationTypes = [.basicFull] }
        Refused("type", .unacceptableAttestation, .attestation) { _ in }.expect { _ = try scene.verifyRegistration() }
    }

    @Test("The attestation that the criterion prefers must be used, unless that is switched off (step 9)")
    func preferredAttestation() throws {
        var scene = try Self.scene { $0.attestationTypes = [.basicSurrogate, .basicFull] }
        var criteria = MatchCriteria()
        criteria.authenticationAlgorithms = [.p256Raw]
        criteria.assertionSchemes = [.uafV1TLV]
        criteria.attestationTypes = [.basicFull, .basicSurrogate]
        scene.policy.accepted = [[criteria]]
        let refused = Refused("preferred", .unacceptableAttestation, .attestation) { _ in }
        refused.expect { _ = try scene.verifyRegistration() }
        scene.configuration.acceptsLessPreferredAttestation = true
        #expect(throws: Never.self) { try scene.verifyRegistration() }
        scene.configuration.acceptsLessPreferredAttestation = false
        criteria.attestationTypes = [.ecdaa, .basicSurrogate]
        scene.policy.accepted = [[criteria]]
        #expect(throws: Never.self) { try scene.verifyRegistration() }
    }

    @Test("Metadata decides, not what the assertion claims: a model that is silent by metadata stays so")
    func metadataDecides() throws {
        let scene = try Self.scene { $0.userVerificationDetails = [[.none]] }
        Refused("silent", .unacceptableAuthenticator, .policy) { _ in }.expect { _ = try scene.verifyRegistration() }
    }

    @Test("An unknown model of an algorithm that is not there is refused with 1495, even if the metadata names it")
    func algorithmWithoutCode() throws {
        var scene = try Self.scene { $0.authenticationAlgorithm = SignatureAlgorithm(rawValue: 5) }
        scene.keys[0].algorithm = SignatureAlgorithm(rawValue: 5)
        Refused("secp256k1", .unacceptableAlgorithm, .signatureAlgorithm) { _ in }.expect {
            _ = try scene.verifyRegistration()
        }
    }

    @Test("The names of the new keys are there before anything is judged")
    func credentials() throws {
        let scene = try Scene.registration(try SoftwareKey(Names.pin, 1), try SoftwareKey(Names.silent, 2))
        let read = try UnverifiedRegistration(parsing: try scene.registrationMessage())
        #expect(read.credentials.map(\.aaid) == [Names.pin, Names.silent])
        #expect(read.challenge == scene.challenge && !read.isClientFailure)
    }
}
