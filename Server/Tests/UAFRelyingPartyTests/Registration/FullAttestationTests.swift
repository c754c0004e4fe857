import Crypto
import Foundation
import SwiftASN1
import Testing
import UAF
import UAFRelyingParty
import X509
import _Primitives

/// One change to the drafts of an accepted chain. All are refused with 1496.
struct ChainChange: CustomTestStringConvertible, Sendable {
    let name: String
    let change: @Sendable (inout AttestationDraft) throws -> Void

    init(_ name: String, _ change: @escaping @Sendable (inout AttestationDraft) throws -> Void) {
        self.name = name
        self.change = change
    }

    var testDescription: String { self.name }
}

@Suite("uaf-sections §8.2 step 14, §13: basic full attestation")
struct FullAttestationTests {
    private static func expectRefusal(_ scene: Scene, _ code: UAFStatusCode = .unacceptableAttestation) {
        let step: VerificationStep = code == .revokedAuthenticator ? .revocation : .attestation
        Refused("attestation", code, step) { _ in }.expect { _ = try scene.verifyRegistration() }
    }

    @Test("A chain of two below the metadata's root is accepted for every algorithm", arguments: SignatureAlgorithm.all)
    func isAccepted(algorithm: SignatureAlgorithm) throws {
        let (scene, chain) = try Scene.fullAttestation(algorithm: algorithm)
        let key = try scene.verifyRegistration().keys[0]
        #expect(key.attestationType == .basicFull)
        #expect(key.attestationCertificates == [chain[2].der, chain[1].der])
        // What may be revoked later: every certificate of the path, the root too, which was not sent.
        #expect(try key.attestation.stored == chain.reversed().flatMap { try [1, 77] + $0.keyDigest })
        #expect(try key.publicKey == scene.keys[0].privateKey.publicKey(algorithm.formats[0]))
    }

    @Test(
        "The root may be sent too, and the intermediate or the leaf itself may be what the metadata lists (§18, row 19)"
    )
    func anchors() throws {
        var (scene, chain) = try Scene.fullAttestation()
        scene.keys[0].certificates.append(chain[0].der)
        #expect(throws: Never.self) { try scene.verifyRegistration() }
        // What stands behind the certificate that is listed is surplus.
        for (index, listed) in [chain[2].der, chain[1].der].enumerated() {
            try scene.changeStatement { $0.attestationRootCertificates = [bytes(9), listed] }
            scene.keys[0].certificates = [chain[2].der, chain[1].der, chain[0].der]
            Self.expectRefusal(scene)
            scene.keys[0].certificates.removeLast(2 - index)
            #expect(throws: Never.self) { try scene.verifyRegistration() }
        }
    }

    @Test("A leaf that may issue is taken where it is listed itself, and never below a root (§18, row 19)")
    func issuingLeaf() throws {
        var draft = AttestationDraft()
        draft.leaf.constraints = .isCertificateAuthority(maxPathLength: 0)
        draft.leaf.usage = KeyUsage(digitalSignature: true, keyCertSign: true)
        var (scene, chain) = try Scene.fullAttestation(draft)
        Self.expectRefusal(scene)
        let leaf = chain[2].der
        try scene.changeStatement { $0.attestationRootCertificates = [leaf] }
        scene.keys[0].certificates = [leaf]
        #expect(throws: Never.self) { try scene.verifyRegistration() }
    }

    static let changes: [ChainChange] = [
        ChainChange("an expired leaf") { $0.leaf.notAfter = Timestamp(seconds: 1_799_999_999) },
        ChainChange("a leaf that is not valid yet") { $0.leaf.notBefore = Timestamp(seconds: 1_800_000_001) },
        ChainChange("an expired intermediate") { $0.intermediate.notAfter = Timestamp(seconds: 1_799_999_999) },
        ChainChange("an expired root") { $0.root.notAfter = Timestamp(seconds: 1_799_999_999) },
        ChainChange("an intermediate that may not issue") { $0.intermediate.constraints = .notCertificateAuthority },
        ChainChange("an intermediate that does not say that it may issue") { $0.intermediate.constraints = nil },
        ChainChange("a root that does not say that it may issue") { $0.root.constraints = nil },
        ChainChange("an intermediate of X.509 version 1") {
            $0.intermediate.version = .v1
            $0.intermediate.constraints = nil
            $0.intermediate.usage = nil
        },
        ChainChange("a path longer than the root allows") {
            $0.root.constraints = .isCertificateAuthority(maxPathLength: 0)
        },
        ChainChange("an intermediate whose key may not issue") {
            $0.intermediate.usage = KeyUsage(digitalSignature: true)
        },
        ChainChange("a root whose key may not issue") { $0.root.usage = KeyUsage(cRLSign: true) },
        ChainChange("a leaf that may not sign") { $0.leaf.usage = KeyUsage(keyEncipherment: true) },
        ChainChange("an unknown critical extension in the leaf") {
            $0.leaf.others = [Certificate.Extension(oid: [1, 2, 3], critical: true, value: [5, 0])]
        },
        ChainChange("an unknown critical extension in the intermediate") {
            $0.intermediate.others = [Certificate.Extension(oid: [1, 2, 3], critical: true, value: [5, 0])]
        },
        ChainChange("name constraints, which are not computed") {
            $0.intermediate.others = [
                Certificate.Extension(oid: .X509ExtensionID.nameConstraints, critical: true, value: [0x30, 0])
            ]
        },
        ChainChange("name constraints that do not say that they are critical") {
            $0.intermediate.others = [
                Certificate.Extension(oid: .X509ExtensionID.nameConstraints, critical: false, value: [0x30, 0])
            ]
        },
        ChainChange("a leaf with a serial number of 21 bytes") {
            $0.leaf.serialNumber = Certificate.SerialNumber(bytes: bytes(21))
        },
        ChainChange("an intermediate with a serial number of 21 bytes") {
            $0.intermediate.serialNumber = Certificate.SerialNumber(bytes: bytes(21))
        },
        ChainChange("constraints that are no DER") {
            $0.intermediate.constraints = nil
            $0.intermediate.others = [
                Certificate.Extension(oid: .X509ExtensionID.basicConstraints, critical: true, value: [1])
            ]
        },
        ChainChange("a leaf by another key of the intermediate's name") {
            $0.leafIssuer = try TestAuthority(.authority("Intermediate"))
        },
        ChainChange("a leaf by another name") { $0.leafIssuer = try TestAuthority(.authority("Other")) },
        ChainChange("an intermediate of another root") {
            $0.intermediateIssuer = try TestAuthority(.authority("Other"))
        },
        ChainChange("an intermediate by another key of the root's name") {
            $0.intermediateIssuer = try TestAuthority(.authority("Root"))
        },
        ChainChange("a leaf that names another signature algorithm than it has") {
            $0.leaf.namesAnotherAlgorithm = true
        },
        ChainChange("an intermediate that names another signature algorithm than it has") {
            $0.intermediate.namesAnotherAlgorithm = true
        },
        ChainChange("a root that names another signature algorithm than it has") {
            $0.root.namesAnotherAlgorithm = true
        },
        ChainChange("a leaf for another model") { $0.leaf.aaid = Array("C516#0003".utf8) },
        ChainChange("a model that is none") { $0.leaf.aaid = Array("C516-0001".utf8) },
        ChainChange("a model that is no string") { $0.leaf.aaid = [0x30, 0x09] + Array("C516#0001".utf8) },
        ChainChange("a model with a letter too many") { $0.leaf.aaid = Array("C516#00010".utf8) },
    ]

    @Test("A chain changed in one thing is refused with 1496", arguments: changes)
    func isRefused(change: ChainChange) throws {
        var draft = AttestationDraft()
        try change.change(&draft)
        Self.expectRefusal(try Scene.fullAttestation(draft).scene)
    }

    static let edges: [ChainChange] = [
        ChainChange("no change") { _ in },
        ChainChange("a leaf in its last second") { $0.leaf.notAfter = Timestamp(seconds: 1_800_000_000) },
        ChainChange("a leaf in its first second") { $0.leaf.notBefore = Timestamp(seconds: 1_800_000_000) },
        ChainChange("a root that allows one intermediate") {
            $0.root.constraints = .isCertificateAuthority(maxPathLength: 1)
        },
        ChainChange("an intermediate that allows none") {
            $0.intermediate.constraints = .isCertificateAuthority(maxPathLength: 0)
        },
        ChainChange("a leaf without key usage") { $0.leaf.usage = nil },
        ChainChange("a leaf with a serial number of 20 bytes") {
            $0.leaf.serialNumber = Certificate.SerialNumber(bytes: bytes(20, 0x80))
        },
        ChainChange("a leaf without constraints") { $0.leaf.constraints = nil },
        ChainChange("a leaf of X.509 version 1") {
            $0.leaf.version = .v1
            $0.leaf.constraints = nil
            $0.leaf.usage = nil
        },
        ChainChange("an intermediate without key usage") { $0.intermediate.usage = nil },
        ChainChange("a root of X.509 version 1") {
            $0.root.version = .v1
            $0.root.constraints = nil
            $0.root.usage = nil
        },
        ChainChange("an unknown extension that is not critical") {
            $0.leaf.others = [Certificate.Extension(oid: [1, 2, 3], critical: false, value: [5, 0])]
        },
        ChainChange("the leaf's model, bare") { $0.leaf.aaid = Array("C516#0001".utf8) },
        ChainChange("the leaf's model in small letters") { $0.leaf.aaid = Array("c516#0001".utf8) },
        ChainChange("the leaf's model as a UTF8String") { $0.leaf.aaid = [0x0C, 9] + Array("C516#0001".utf8) },
        ChainChange("the leaf's model as an OCTET STRING") { $0.leaf.aaid = [0x04, 9] + Array("C516#0001".utf8) },
        // Years from 2050 on are written otherwise.
        ChainChange("a leaf until 2096") { $0.leaf.notAfter = Timestamp(seconds: 4_000_000_000) },
    ]

    @Test("What is right at the edges is accepted", arguments: edges)
    func isAccepted(change: ChainChange) throws {
        var draft = AttestationDraft()
        try change.change(&draft)
        let scene = try Scene.fullAttestation(draft).scene
        #expect(throws: Never.self) { try scene.verifyRegistration() }
    }

    @Test("Certificates in another order, missing, surplus or damaged are refused with 1496")
    func order() throws {
        let (scene, chain) = try Scene.fullAttestation()
        let (root, intermediate, leaf) = (chain[0].der, chain[1].der, chain[2].der)
        var damaged = intermediate
        damaged[damaged.count - 1] ^= 1
        let other = try TestAuthority(.authority("Other")).der
        for certificates in [
            [leaf], [intermediate, leaf], [leaf, root], [leaf, other], [leaf, intermediate, other],
            [leaf, intermediate, intermediate], [leaf, damaged], [leaf, bytes(20)], [leaf + [0], intermediate],
            [Array(leaf.dropLast()), intermediate], [root], [[UInt8](repeating: 0x30, count: 40)],
        ] {
            var changed = scene
            changed.keys[0].certificates = certificates
            Self.expectRefusal(changed)
        }
    }

    @Test("At most six certificates are looked at")
    func count() throws {
        var (scene, chain) = try Scene.fullAttestation()
        // Every one issues itself, so that only the number is wrong.
        let root = chain[0].der
        scene.keys[0].certificates = [chain[2].der, chain[1].der] + Array(repeating: root, count: 4)
        #expect(throws: Never.self) { try scene.verifyRegistration() }
        scene.keys[0].certificates.append(root)
        Self.expectRefusal(scene)
    }

    @Test("A signature that is not the leaf's is refused with 1496", arguments: SignatureAlgorithm.all)
    func signature(algorithm: SignatureAlgorithm) throws {
        var (scene, _) = try Scene.fullAttestation(algorithm: algorithm)
        scene.keys[0].signingKey = scene.keys[0].privateKey
        Self.expectRefusal(scene)
        (scene, _) = try Scene.fullAttestation(algorithm: algorithm)
        scene.keys[0].signature = bytes(64)
        Self.expectRefusal(scene)
    }

    @Test(
        "A leaf whose key is not of the model's algorithm is refused with 1496, though it has signed",
        arguments: SignatureAlgorithm.all)
    func leafKey(algorithm: SignatureAlgorithm) throws {
        var (scene, chain) = try Scene.fullAttestation(algorithm: algorithm)
        for other in [SignatureAlgorithm.p256Raw, .secp256k1Raw, .rsaPSSRaw] where other.keyKind != algorithm.keyKind {
            let key = SigningKey(for: other)
            scene.keys[0].signingKey = key
            scene.keys[0].certificates[0] = try TestAuthority(.leaf(), issuer: chain[1], key: key).der
            Self.expectRefusal(scene)
        }
    }

    @Test(
        "Authorities may have keys on secp256k1 too, whose signatures count as others' do",
        arguments: [
            SignatureAlgorithm.secp256k1DER, .p256Raw, .rsaPSSDER,
        ])
    func secp256k1Authorities(algorithm: SignatureAlgorithm) throws {
        var draft = AttestationDraft()
        draft.authorityKey = { SigningKey(for: .secp256k1Raw) }
        let (scene, _) = try Scene.fullAttestation(draft, algorithm: algorithm)
        #expect(throws: Never.self) { try scene.verifyRegistration() }
        for number in 0..<2 {
            var changed = scene
            // The last byte of an issuer's signature.
            changed.keys[0].certificates[number][changed.keys[0].certificates[number].count - 1] ^= 1
            Self.expectRefusal(changed)
        }
        let stranger = try TestAuthority(.authority("Intermediate"), key: SigningKey(for: .secp256k1Raw))
        var forged = scene
        forged.keys[0].certificates[0] = try TestAuthority(
            .leaf(), issuer: stranger, key: try #require(scene.keys[0].signingKey)
        ).der
        Self.expectRefusal(forged)
    }

    @Test(
        "Full attestation of a model without roots is refused with 1496, whatever certificates it brings",
        arguments: [[.basicFull], [.basicFull, .basicSurrogate]] as [[AttestationType]])
    func noRoots(types: [AttestationType]) throws {
        var (scene, chain) = try Scene.fullAttestation()
        try scene.changeStatement {
            $0.attestationRootCertificates = []
            $0.attestationTypes = types
        }
        Self.expectRefusal(scene)
        // With the root, which then stands for itself alone.
        scene.keys[0].certificates.append(chain[0].der)
        Self.expectRefusal(scene)
        // A certificate that the new key made for itself.
        scene.keys[0].signingKey = nil
        scene.keys[0].certificates = [try TestAuthority(.leaf(), key: scene.keys[0].privateKey).der]
        Self.expectRefusal(scene)
        // One that cannot be read is no root either.
        try scene.changeStatement { $0.attestationRootCertificates = [bytes(9)] }
        Self.expectRefusal(scene)
        let own = scene.keys[0].certificates[0]
        try scene.changeStatement { $0.attestationRootCertificates = [own] }
        #expect(throws: Never.self, "listed, it is one") { try scene.verifyRegistration() }
    }

    @Test("Surrogate attestation of a model with roots is refused with 1496, even where it has that type")
    func surrogateWithRoots() throws {
        var (scene, _) = try Scene.fullAttestation()
        try scene.changeStatement { $0.attestationTypes = [.basicFull, .basicSurrogate] }
        scene.keys[0].attestationType = .basicSurrogate
        scene.keys[0].certificates = []
        scene.keys[0].signingKey = nil
        Self.expectRefusal(scene)
    }

    @Test("Where models have a root in common, the leaf must name its own")
    func sharedRoot() throws {
        var (scene, chain) = try Scene.fullAttestation()
        let root = chain[0].der
        var other = try #require(scene.configuration.metadata[Names.fingerprint])
        other.attestationRootCertificates = [root]
        scene.configuration.metadata.add(other)
        Self.expectRefusal(scene)
        scene.keys[0].certificates[0] = try TestAuthority(
            .leaf(Names.pin), issuer: chain[1], key: try #require(scene.keys[0].signingKey)
        ).der
        #expect(throws: Never.self) { try scene.verifyRegistration() }
        // And no more, once the other model has another root.
        scene.keys[0].certificates[0] = chain[2].der
        other.attestationRootCertificates = [bytes(9)]
        scene.configuration.metadata.add(other)
        #expect(throws: Never.self) { try scene.verifyRegistration() }
    }

    @Test("An authority is another model's too, whichever of its certificates that lists, and wherever it stands")
    func sharedAuthority() throws {
        var (scene, chain) = try Scene.fullAttestation()
        let (root, intermediate) = (chain[0].der, chain[1].der)
        // Another certificate of the same key.
        func reissued(_ index: Int, as subject: String) throws -> [UInt8] {
            var draft = TestAuthority.Draft.authority(subject)
            draft.serialNumber = Certificate.SerialNumber(78)
            return try TestAuthority(draft, key: chain[index].key).der
        }
        let leafOfModel = try TestAuthority(
            .leaf(Names.pin), issuer: chain[1], key: try #require(scene.keys[0].signingKey)
        ).der
        var other = try #require(scene.configuration.metadata[Names.fingerprint])
        for (own, listed) in [
            (root, intermediate), (root, try reissued(0, as: "Root")), (root, try reissued(0, as: "Root 2")),
            (root, try reissued(1, as: "Intermediate")), (intermediate, root),
        ] {
            try scene.changeStatement { $0.attestationRootCertificates = [own] }
            other.attestationRootCertificates = [bytes(9), listed]
            scene.configuration.metadata.add(other)
            scene.keys[0].certificates = own == root ? [chain[2].der, intermediate] : [chain[2].der]
            Self.expectRefusal(scene)
            scene.keys[0].certificates[0] = leafOfModel
            #expect(throws: Never.self) { try scene.verifyRegistration() }
        }
    }

    @Test("An authority that is another's by its name alone is not shared")
    func sameName() throws {
        var (scene, chain) = try Scene.fullAttestation()
        var other = try #require(scene.configuration.metadata[Names.fingerprint])
        other.attestationRootCertificates = [
            try TestAuthority(.authority("Root")).der, try TestAuthority(.authority("Intermediate")).der,
        ]
        scene.configuration.metadata.add(other)
        #expect(throws: Never.self) { try scene.verifyRegistration() }
        let intermediate = chain[1].der
        try scene.changeStatement { $0.attestationRootCertificates = [intermediate] }
        scene.keys[0].certificates.removeLast()
        #expect(throws: Never.self) { try scene.verifyRegistration() }
    }

    @Test("A revoked certificate or key is refused with 1493, wherever it stands in the chain", arguments: 0..<3)
    func revocation(index: Int) throws {
        var draft = AttestationDraft()
        draft.root.serialNumber = Certificate.SerialNumber(bytes: [10])
        draft.intermediate.serialNumber = Certificate.SerialNumber(bytes: [11])
        draft.leaf.serialNumber = Certificate.SerialNumber(bytes: [0x80, 12])
        let (scene, chain) = try Scene.fullAttestation(draft)
        var changed = scene
        changed.configuration.metadata.revoke(RevocationList(keys: [try chain[index].keyDigest]))
        Self.expectRefusal(changed, .revokedAuthenticator)
        let serialNumber: [UInt8] = [[10], [0, 11], [0x80, 12]][index]
        changed = scene
        changed.configuration.metadata.revoke(
            RevocationList(certificates: [.init(aaid: Names.pin, serialNumber: serialNumber)]))
        Self.expectRefusal(changed, .revokedAuthenticator)
        changed = scene
        changed.configuration.metadata.revoke(
            RevocationList(certificates: [.init(aaid: Names.fingerprint, serialNumber: serialNumber)]))
        #expect(throws: Never.self) { try changed.verifyRegistration() }
    }

    @Test("A revoked key of a person is refused with 1493, new or registered", arguments: SignatureAlgorithm.all)
    func revokedKey(algorithm: SignatureAlgorithm) throws {
        for operation in [UAF.Operation.registration, .authentication] {
            for format in algorithm.formats {
                var key = try SoftwareKey(Names.pin, algorithm: algorithm)
                key.format = format
                var scene = try Scene(operation, [key])
                try scene.changeStatement { $0.authenticationAlgorithm = algorithm }
                scene.configuration.metadata.revoke(RevocationList(keys: [bytes(32)]))
                let verify = { (scene: Scene) throws -> Void in
                    if operation == .registration {
                        _ = try scene.verifyRegistration()
                    } else {
                        _ = try scene.verifyAuthentication()
                    }
                }
                #expect(throws: Never.self) { try verify(scene) }
                let digest = Array(SHA256.hash(data: try scene.keys[0].privateKey.subjectPublicKeyInfo))
                scene.configuration.metadata.revoke(RevocationList(keys: [digest]))
                Refused("key", .revokedAuthenticator, .revocation) { _ in }.expect { try verify(scene) }
            }
        }
    }

    @Test("Expired certificates are accepted by the reading of §18, row 18, alone")
    func expiredCertificates() throws {
        for change: (inout AttestationDraft) -> Void in [
            { $0.leaf.notAfter = Timestamp(seconds: 1_799_999_999) },
            { $0.root.notAfter = Timestamp(seconds: 1_799_999_999) },
            { $0.leaf.notBefore = Timestamp(seconds: 1_800_000_001) },
        ] {
            var draft = AttestationDraft()
            change(&draft)
            var (scene, _) = try Scene.fullAttestation(draft)
            scene.configuration.lenientReadings.row20UnmarkedIssuers = true
            Self.expectRefusal(scene)
            scene.configuration.lenientReadings = LenientReadings()
            scene.configuration.lenientReadings.row18ExpiredCertificates = true
            #expect(throws: Never.self) { try scene.verifyRegistration() }
        }
    }

    @Test("Issuers that do not say that they are any are accepted by the reading of §18, row 20, alone")
    func unmarkedIssuers() throws {
        for change: (inout AttestationDraft) -> Void in [
            { $0.intermediate.constraints = nil }, { $0.root.constraints = nil },
            {
                $0.intermediate.version = .v1
                $0.intermediate.constraints = nil
                $0.intermediate.usage = nil
            },
        ] {
            var draft = AttestationDraft()
            change(&draft)
            var (scene, _) = try Scene.fullAttestation(draft)
            scene.configuration.lenientReadings.row18ExpiredCertificates = true
            Self.expectRefusal(scene)
            scene.configuration.lenientReadings = LenientReadings()
            scene.configuration.lenientReadings.row20UnmarkedIssuers = true
            #expect(throws: Never.self) { try scene.verifyRegistration() }
        }
        // One that says that it is none stays none.
        var draft = AttestationDraft()
        draft.intermediate.constraints = .notCertificateAuthority
        var (scene, _) = try Scene.fullAttestation(draft)
        scene.configuration.lenientReadings.row20UnmarkedIssuers = true
        Self.expectRefusal(scene)
    }
}
