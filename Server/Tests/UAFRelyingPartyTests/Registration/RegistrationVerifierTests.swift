import Crypto
import Testing
import UAF
import UAFRelyingParty
import _Primitives

private func p256(_ scene: Scene) throws -> P256.Signing.PrivateKey {
    guard case .p256(let key) = scene.keys[0].privateKey else { throw UAFError(.invalidKey) }
    return key
}

@Suite("uaf-sections §8.2: registration response")
struct RegistrationVerifierTests {
    /// A scene whose model is known with one change to its statement.
    private static func scene(_ change: (inout MetadataStatement) -> Void) throws -> Scene {
        var scene = try Scene.registration()
        try scene.changeStatement(change)
        return scene
    }

    @Test("A verified key has everything that a store needs")
    func verifiedKey() throws {
        var scene = try Scene.registration()
        scene.keys[0].signCounter = 5
        let verified = try scene.verifyRegistration()
        let key = try #require(verified.keys.first)
        #expect(key.id == CredentialID(aaid: Names.pin, keyID: scene.keys[0].keyID))
        #expect(try key.publicKey == Array(p256(scene).publicKey.x963Representation))
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
        "Every algorithm of the metadata is accepted with every format of its keys", arguments: SignatureAlgorithm.all)
    func algorithms(algorithm: SignatureAlgorithm) throws {
        for format in algorithm.formats {
            var scene = try Scene(.registration, algorithm: algorithm)
            scene.keys[0].format = format
            let key = try scene.verifyRegistration().keys[0]
            #expect(key.publicKeyFormat == format && key.signatureAlgorithm == algorithm)
            #expect(try key.publicKey == scene.keys[0].privateKey.publicKey(format))
        }
    }

    /// What breaks a registration whatever its algorithm is.
    static let changesOfEveryAlgorithm: [Refused] = [
        Refused("an attestation by another key", .unacceptableAttestation, .attestation) {
            $0.keys[0].signingKey = $0.keys[0].privateKey.other
        },
        Refused("a signature of other bytes", .unacceptableAttestation, .attestation) {
            $0.keys[0].signature = try $0.keys[0].privateKey.signature(bytes(3), $0.keys[0].algorithm)
        },
        Refused("a signature in the other encoding", .unacceptableAttestation, .attestation) { scene in
            let made = try RegistrationAssertion(parsing: try scene.keys[0].registration(scene.hash).bytes)
            scene.keys[0].signature = try scene.keys[0].privateKey.signature(
                made.keyRegistrationData.signedBytes, scene.keys[0].algorithm.otherEncoding)
        },
        Refused("a signature of zeros", .unacceptableAttestation, .attestation) {
            $0.keys[0].signature = $0.keys[0].algorithm.signatureOfZeros
        },
        Refused("a signature with a byte behind it", .unacceptableAttestation, .attestation) { scene in
            let made = try RegistrationAssertion(parsing: try scene.keys[0].registration(scene.hash).bytes)
            scene.keys[0].signature = made.attestation.signature + [0]
        },
        Refused("a bit of the signed data changed", .unacceptableAttestation, .attestation) { scene in
            // The last bytes of the key registration data are the public key; its counters stand before it.
            scene.keys[0].finish = { bytes in
                var bytes = bytes
                let counters = bytes.indices.first { bytes[$0...].starts(with: [0x0D, 0x2E, 0x08, 0x00]) }
                if let counters { bytes[counters + 4] ^= 1 }
                return bytes
            }
        },
        Refused("a key of another format than it says", .unacceptableKey, .publicKey) {
            $0.keys[0].publicKey = try $0.keys[0].privateKey.publicKey($0.keys[0].algorithm.formats[1])
        },
        Refused("a key format that is not of the algorithm", .unacceptableKey, .publicKey) {
            $0.keys[0].format = $0.keys[0].algorithm.isRSA ? .eccX962Raw : .rsa2048Raw
        },
        Refused("a key format that nobody knows", .unacceptableKey, .publicKey) {
            $0.keys[0].format = PublicKeyFormat(rawValue: 0x0104)
        },
        Refused("an algorithm that is not the metadata's", .unacceptableAlgorithm, .signatureAlgorithm) {
            let algorithm = $0.keys[0].algorithm.otherEncoding
            try $0.changeStatement { $0.authenticationAlgorithm = algorithm }
        },
    ]

    @Test(
        "A registration of any algorithm that is changed in one thing is refused", arguments: SignatureAlgorithm.all,
        changesOfEveryAlgorithm)
    func isRefused(algorithm: SignatureAlgorithm, refused: Refused) throws {
        var scene = try Scene(.registration, algorithm: algorithm)
        try refused.change(&scene)
        refused.expect { _ = try scene.verifyRegistration() }
    }

    @Test(
        "An ECDSA attestation whose numbers are out of range is refused",
        arguments: SignatureAlgorithm.ecdsa, ECDSANumbers.allCases)
    func outOfRange(algorithm: SignatureAlgorithm, numbers: ECDSANumbers) throws {
        var scene = try Scene(.registration, algorithm: algorithm)
        let made = try RegistrationAssertion(parsing: try scene.keys[0].registration(scene.hash).bytes)
        scene.keys[0].signature = try numbers.signature(algorithm, besides: made.attestation.signature)
        Refused("\(numbers)", .unacceptableAttestation, .attestation) { _ in }.expect {
            _ = try scene.verifyRegistration()
        }
    }

    static let changes: [Refused] = [
        Refused("a mode of transactions", .unacceptableContent, .authenticationMode) {
            $0.keys[0].mode = .transactionConfirmed
        },
        Refused("a key off the curve", .unacceptableKey, .publicKey) { scene in
            var key = Array(try p256(scene).publicKey.x963Representation)
            key[64] ^= 1
            scene.keys[0].publicKey = key
        },
        Refused("a key at infinity", .unacceptableKey, .publicKey) { $0.keys[0].publicKey = [0x00] },
        Refused("a key at infinity, as SubjectPublicKeyInfo", .unacceptableKey, .publicKey) { scene in
            scene.keys[0].format = .eccX962DER
            // The same but for the lengths, with one byte for the point.
            let info = try scene.keys[0].privateKey.subjectPublicKeyInfo
            scene.keys[0].publicKey = [0x30, 0x19] + info[2..<24] + [0x02, 0x00, 0x00]
        },
        Refused("a key of zeros", .unacceptableKey, .publicKey) { $0.keys[0].publicKey = [0x04] + bytes(64, 0) },
        Refused("a compressed key", .unacceptableKey, .publicKey) {
            $0.keys[0].publicKey = Array(try p256($0).publicKey.compressedRepresentation)
        },
        Refused("ECDAA attestation", .unacceptableAttestation, .attestation) {
            $0.keys[0].attestationType = .ecdaa
            try $0.changeStatement { $0.attestationTypes = [.ecdaa] }
        },
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

    @Test("Attested as a later alternative prefers is attested as preferred (step 9)")
    func preferredOfLaterAlternative() throws {
        var scene = try Self.scene { $0.attestationTypes = [.basicSurrogate, .basicFull] }
        scene.policy.accepted = [AttestationType.basicFull, .basicSurrogate].map { type in
            var criteria = MatchCriteria()
            criteria.authenticationAlgorithms = [.p256Raw]
            criteria.assertionSchemes = [.uafV1TLV]
            criteria.attestationTypes = [type]
            return [criteria]
        }
        #expect(try scene.verifyRegistration().alternative == 1)
        scene.policy.accepted.removeLast()
        Refused("preferred", .unacceptableAttestation, .attestation) { _ in }.expect {
            _ = try scene.verifyRegistration()
        }
    }

    @Test("Metadata decides, not what the assertion claims: a model that is silent by metadata stays so")
    func metadataDecides() throws {
        for details: [[UserVerification]] in [[[.none]], [[.fingerprint, .passcode], [.none]]] {
            let scene = try Self.scene { $0.userVerificationDetails = details }
            Refused("silent", .unacceptableAuthenticator, .policy) { _ in }.expect {
                _ = try scene.verifyRegistration()
            }
        }
    }

    @Test("The refusal of ECDAA says what it is, and why it is refused")
    func directAnonymousAttestation() throws {
        var scene = try Self.scene { $0.attestationTypes = [.ecdaa] }
        scene.keys[0].attestationType = .ecdaa
        #expect {
            _ = try scene.verifyRegistration()
        } throws: { error in
            guard let refusal = error as? UAFRefusal else { return false }
            return refusal.statusCode == .unacceptableAttestation && refusal.reason.contains("ECDAA: no library")
        }
    }

    @Test(
        "An algorithm that is not there is refused with 1495, even if the metadata names it",
        arguments: [0, 7, 10, 65535])
    func algorithmWithoutCode(number: UInt16) throws {
        var scene = try Self.scene { $0.authenticationAlgorithm = SignatureAlgorithm(rawValue: number) }
        scene.keys[0].algorithm = SignatureAlgorithm(rawValue: number)
        Refused("\(number)", .unacceptableAlgorithm, .signatureAlgorithm) { _ in }.expect {
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
