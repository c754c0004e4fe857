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
    let certificate: Certificate
    let key: Certificate.PrivateKey
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
    init(
        _ draft: Draft, issuer: TestAuthority? = nil,
        key: Certificate.PrivateKey = .init(P256.Signing.PrivateKey())
    ) throws {
        func name(_ text: String) throws -> DistinguishedName { try DistinguishedName { CommonName(text) } }
        self.key = key
        self.name = draft.subject
        let certificate = try Certificate(
            version: draft.version, serialNumber: draft.serialNumber, publicKey: key.publicKey,
            notValidBefore: Date(timeIntervalSince1970: Double(draft.notBefore.seconds)),
            notValidAfter: Date(timeIntervalSince1970: Double(draft.notAfter.seconds)),
            issuer: try name(issuer?.name ?? draft.subject), subject: try name(draft.subject),
            extensions: try draft.extensions(), issuerPrivateKey: issuer?.key ?? key)
        self.certificate =
            draft.namesAnotherAlgorithm
            ? try Self.namingAnotherAlgorithm(certificate, signedBy: issuer?.key ?? key) : certificate
    }

    private static func namingAnotherAlgorithm(_ certificate: Certificate, signedBy key: Certificate.PrivateKey)
        throws -> Certificate
    {
        var body = Array(certificate.tbsCertificateBytes)
        let name: [UInt8] = [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02]
        guard let start = body.indices.first(where: { body[$0...].starts(with: name) }) else {
            throw UAFError(.invalidValue, "not of ECDSA with SHA-256")
        }
        body[start + 9] = 0x03
        let signature = try key.sign(bytes: body, signatureAlgorithm: .ecdsaWithSHA256).rawRepresentation
        var serializer = DER.Serializer()
        try serializer.appendConstructedNode(identifier: .sequence) { parts in
            parts.serializeRawBytes(body)
            parts.serializeRawBytes([0x30, 0x0A] + name)
            try parts.serialize(ASN1BitString(bytes: signature[...]))
        }
        return try Certificate(derEncoded: serializer.serializedBytes)
    }

    var der: [UInt8] {
        get throws {
            var serializer = DER.Serializer()
            try serializer.serialize(self.certificate)
            return serializer.serializedBytes
        }
    }

    /// SHA-256 of the key, as a revocation names it.
    var keyDigest: [UInt8] {
        get throws {
            var serializer = DER.Serializer()
            try serializer.serialize(self.certificate.publicKey)
            return Array(SHA256.hash(data: serializer.serializedBytes))
        }
    }
}

/// A chain of root, intermediate and leaf with the drafts that it is made from.
struct AttestationDraft {
    var root = TestAuthority.Draft.authority("Root")
    var intermediate = TestAuthority.Draft.authority("Intermediate")
    var leaf = TestAuthority.Draft.leaf()
    /// What signs in place of the one above.
    var intermediateIssuer: TestAuthority?
    var leafIssuer: TestAuthority?

    /// Root, intermediate and leaf; the leaf's key is the one that attests.
    func chain(_ leafKey: SigningKey) throws -> [TestAuthority] {
        let root = try TestAuthority(self.root)
        let intermediate = try TestAuthority(self.intermediate, issuer: self.intermediateIssuer ?? root)
        let leaf = try TestAuthority(
            self.leaf, issuer: self.leafIssuer ?? intermediate, key: try leafKey.certificateKey)
        return [root, intermediate, leaf]
    }
}

extension SigningKey {
    var certificateKey: Certificate.PrivateKey {
        get throws {
            switch self {
            case .p256(let key): Certificate.PrivateKey(key)
            case .rsa(let key): Certificate.PrivateKey(key)
            }
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
        scene.keys[0].certificates = [try chain[2].der, try chain[1].der]
        scene.keys[0].signingKey = leafKey
        let root = try chain[0].der
        try scene.changeStatement {
            $0.attestationTypes = [.basicFull]
            $0.attestationRootCertificates = [root]
        }
        return (scene, chain)
    }
}
