import Crypto
import CryptoExtras
import Foundation
import SwiftASN1
import UAF
import UAFRelyingParty
import X509
import _Primitives

/// A certificate of an attestation chain with its key; what makes it can be made wrong.
struct TestAuthority: Sendable {
    let der: [UInt8]
    let key: SigningKey
    let name: String

    /// What a certificate is made of; as it is, it is good.
    struct Draft {
        var version = Certificate.Version.v3
        var serialNumber = Certificate.SerialNumber(77)
        var subject: String
        var notBefore = Timestamp(seconds: 1_700_000_000)
        var notAfter = Timestamp(seconds: 1_900_000_000)
        var constraints: BasicConstraints? = .isCertificateAuthority(maxPathLength: nil)
        var usage: KeyUsage?
        var aaid: [UInt8]?
        var others: [Certificate.Extension] = []
        /// What is signed names ECDSA with SHA-384; the signature is with SHA-256, and says so.
        var namesAnotherAlgorithm = false

        /// One that may issue.
        static func authority(_ subject: String) -> Draft {
            Draft(subject: subject, usage: KeyUsage(keyCertSign: true))
        }

        /// One that attests keys of a model.
        static func leaf(_ aaid: AAID? = nil) -> Draft {
            Draft(
                subject: "Attestation", constraints: .notCertificateAuthority,
                usage: KeyUsage(digitalSignature: true), aaid: aaid.map { Array($0.text.utf8) })
        }

        fileprivate func extensions() throws -> Certificate.Extensions {
            var extensions = Certificate.Extensions()
            if let constraints { try extensions.append(Certificate.Extension(constraints, critical: true)) }
            if let usage { try extensions.append(Certificate.Extension(usage, critical: true)) }
            if let aaid {
                try extensions.append(
                    Certificate.Extension(oid: [1, 3, 6, 1, 4, 1, 45724, 1, 1, 1], critical: false, value: aaid[...]))
            }
            for other in self.others { try extensions.append(other) }
            return extensions
        }
    }

    /// A certificate that `issuer` signs; its own key where there is none.
    init(_ draft: Draft, issuer: TestAuthority? = nil, key: SigningKey = SigningKey(for: .p256Raw)) throws {
        func name(_ text: String) throws -> DistinguishedName { try DistinguishedName { CommonName(text) } }
        self.key = key
        self.name = draft.subject
        let signer = issuer?.key ?? key
        let (ownKey, signingKey) = (key.certificateKey, signer.certificateKey)
        let certificate = try Certificate(
            version: draft.version, serialNumber: draft.serialNumber, publicKey: ownKey.publicKey,
            notValidBefore: Date(timeIntervalSince1970: Double(draft.notBefore.seconds)),
            notValidAfter: Date(timeIntervalSince1970: Double(draft.notAfter.seconds)),
            issuer: try name(issuer?.name ?? draft.subject), subject: try name(draft.subject),
            extensions: try draft.extensions(), issuerPrivateKey: signingKey)
        var body = Array(certificate.tbsCertificateBytes)
        if draft.namesAnotherAlgorithm { try Self.nameAnotherAlgorithm(&body) }
        if key.isSecp256k1 { body = try Self.withKey(key.subjectPublicKeyInfo, body) }
        self.der = try Self.signed(body, by: signer)
    }

    private static let ecdsaWithSHA256: [UInt8] = [
        0x30, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02,
    ]
    private static let sha256WithRSA: [UInt8] = [
        0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0B, 0x05, 0x00,
    ]

    private static func nameAnotherAlgorithm(_ body: inout [UInt8]) throws {
        guard let start = body.indices.first(where: { body[$0...].starts(with: self.ecdsaWithSHA256) }) else {
            throw UAFError(.invalidValue, "not of ECDSA with SHA-256")
        }
        body[start + self.ecdsaWithSHA256.count - 1] = 0x03
    }

    /// What is to be signed, with another key in the place of the one that the library knows.
    private static func withKey(_ subjectPublicKeyInfo: [UInt8], _ body: [UInt8]) throws -> [UInt8] {
        var fields: [[UInt8]] = []
        try DER.sequence(try DER.parse(body), identifier: .sequence) { nodes in
            while let node = nodes.next() { fields.append(Array(node.encodedBytes)) }
        }
        // A version stands before the number, except in version 1.
        fields[fields[0][0] == 0xA0 ? 6 : 5] = subjectPublicKeyInfo
        var serializer = DER.Serializer()
        serializer.appendConstructedNode(identifier: .sequence) { parts in
            for field in fields { parts.serializeRawBytes(field) }
        }
        return serializer.serializedBytes
    }

    private static func signed(_ body: [UInt8], by key: SigningKey) throws -> [UInt8] {
        let (name, algorithm): ([UInt8], SignatureAlgorithm) =
            switch key {
            case .p256: (self.ecdsaWithSHA256, .p256DER)
            case .secp256k1: (self.ecdsaWithSHA256, .secp256k1DER)
            case .rsa: (self.sha256WithRSA, .rsaPKCS1Raw)
            }
        var serializer = DER.Serializer()
        try serializer.appendConstructedNode(identifier: .sequence) { parts in
            parts.serializeRawBytes(body)
            parts.serializeRawBytes(name)
            try parts.serialize(ASN1BitString(bytes: key.signature(body, algorithm)[...]))
        }
        return serializer.serializedBytes
    }

    /// SHA-256 of the key, as a revocation names it.
    var keyDigest: [UInt8] {
        get throws { Array(SHA256.hash(data: try self.key.subjectPublicKeyInfo)) }
    }
}

/// A chain of root, intermediate and leaf with the drafts that it is made from.
struct AttestationDraft {
    var root = TestAuthority.Draft.authority("Root")
    var intermediate = TestAuthority.Draft.authority("Intermediate")
    var leaf = TestAuthority.Draft.leaf()
    /// The keys of root and intermediate.
    var authorityKey: @Sendable () -> SigningKey = { SigningKey(for: .p256Raw) }
    /// What signs in place of the one above.
    var intermediateIssuer: TestAuthority?
    var leafIssuer: TestAuthority?

    /// Root, intermediate and leaf; the leaf's key is the one that attests.
    func chain(_ leafKey: SigningKey) throws -> [TestAuthority] {
        let root = try TestAuthority(self.root, key: self.authorityKey())
        let intermediate = try TestAuthority(
            self.intermediate, issuer: self.intermediateIssuer ?? root, key: self.authorityKey())
        let leaf = try TestAuthority(self.leaf, issuer: self.leafIssuer ?? intermediate, key: leafKey)
        return [root, intermediate, leaf]
    }
}

extension SigningKey {
    fileprivate var isSecp256k1: Bool {
        if case .secp256k1 = self { true } else { false }
    }

    /// The key as the library of certificates has it; another one in the place of what that does not know.
    fileprivate var certificateKey: Certificate.PrivateKey {
        switch self {
        case .p256(let key): Certificate.PrivateKey(key)
        case .secp256k1: Certificate.PrivateKey(P256.Signing.PrivateKey())
        case .rsa(let key): Certificate.PrivateKey(key)
        }
    }
}

extension Scene {
    /// A registration of a model with one root, attested by a leaf that an intermediate certificate stands above.
    static func fullAttestation(
        _ draft: AttestationDraft = AttestationDraft(), algorithm: SignatureAlgorithm = .p256Raw
    ) throws -> (scene: Scene, chain: [TestAuthority]) {
        var scene = try Scene(.registration, algorithm: algorithm)
        let leafKey = scene.keys[0].privateKey.other
        let chain = try draft.chain(leafKey)
        scene.keys[0].attestationType = .basicFull
        scene.keys[0].certificates = [chain[2].der, chain[1].der]
        scene.keys[0].signingKey = leafKey
        let root = chain[0].der
        try scene.changeStatement {
            $0.attestationTypes = [.basicFull]
            $0.attestationRootCertificates = [root]
        }
        return (scene, chain)
    }
}
