import Crypto
public import UAF
import _Primitives

/// What is kept of the certificates that attested a key, so that what is revoked later stops the keys that were
/// registered under it (§8.2 step 14).
///
/// Nothing of it is secret, and nothing says which device it was: a batch of devices shares its certificates.
public struct AttestationEvidence: Hashable, Sendable {
    /// One certificate, leaf first.
    struct Certificate: Hashable, Sendable {
        /// The number's bytes, at most 255.
        let serialNumber: [UInt8]
        /// SHA-256 of the key as DER SubjectPublicKeyInfo.
        let keyDigest: [UInt8]
    }

    let certificates: [Certificate]

    /// None: surrogate attestation.
    public init() { self.certificates = [] }

    /// Whether certificates vouched for the key: a basic full attestation whose path was verified.
    public var isFull: Bool { !self.certificates.isEmpty }

    /// Of the path of an attestation that was verified, with the root at which it ends: devices do not send that, and
    /// it is what an operator revokes where a maker's authority is compromised.
    init(_ path: [AttestationCertificate]) {
        self.certificates = path.map {
            Certificate(
                serialNumber: Array($0.serialNumber.suffix(255)),
                keyDigest: Array(SHA256.hash(data: $0.subjectPublicKeyInfo)))
        }
    }

    /// The bytes for a store: for each certificate the length of its number, the number, and the key's digest. Empty
    /// where there is none.
    public var stored: [UInt8] {
        self.certificates.flatMap { [UInt8($0.serialNumber.count)] + $0.serialNumber + $0.keyDigest }
    }

    /// Reads the bytes of ``stored``. Throws ``UAF/UAFError/Code/invalidValue`` for any others.
    public init(stored bytes: [UInt8]) throws(UAFError) {
        var certificates: [Certificate] = []
        var rest = bytes[...]
        while let length = rest.popFirst().map(Int.init) {
            guard rest.count >= length + SHA256.byteCount else {
                throw UAFError(.invalidValue, "the evidence of an attestation")
            }
            certificates.append(
                Certificate(
                    serialNumber: Array(rest.prefix(length)),
                    keyDigest: Array(rest.dropFirst(length).prefix(SHA256.byteCount))))
            rest = rest.dropFirst(length + SHA256.byteCount)
        }
        self.certificates = certificates
    }
}

extension MetadataCatalog {
    /// Whether a certificate that attested a key of the model is refused by now, itself or its key.
    func isRevoked(_ evidence: AttestationEvidence, of aaid: AAID) -> Bool {
        evidence.certificates.contains { certificate in
            self.isRevoked(serialNumber: certificate.serialNumber, keyDigest: certificate.keyDigest, of: aaid)
        }
    }
}
