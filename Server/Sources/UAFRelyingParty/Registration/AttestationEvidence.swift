import Crypto
public import UAF
import _Primitives

/// The stored data about the certificates that attested a key: serial numbers and digests of keys, the root included.
/// With this data, a later revocation stops keys that were registered before (uaf-sections §8.2 step 14).
///
/// The data contains no secret, and does not identify the device: a batch of devices shares its certificates.
public struct AttestationEvidence: Hashable, Sendable {
    /// One certificate, leaf first.
    struct Certificate: Hashable, Sendable {
        /// The number's bytes, at most 255.
        let serialNumber: [UInt8]
        /// SHA-256 of the key as DER SubjectPublicKeyInfo.
        let keyDigest: [UInt8]
    }

    let certificates: [Certificate]

    /// Makes empty evidence: surrogate attestation.
    public init() { self.certificates = [] }

    /// `true` if certificates vouched for the key: a basic full attestation with a verified path.
    public var isFull: Bool { !self.certificates.isEmpty }

    /// Makes the evidence of a verified attestation path, with the root at which the path ends. Devices do not send the
    /// root, and an operator revokes the root if a maker's authority is compromised.
    init(_ path: [AttestationCertificate]) {
        self.certificates = path.map {
            Certificate(
                serialNumber: Array($0.serialNumber.suffix(255)),
                keyDigest: Array(SHA256.hash(data: $0.subjectPublicKeyInfo)))
        }
    }

    /// The bytes for a store: for each certificate the length of its number, the number, and the key's digest. Empty
    /// without certificates.
    public var stored: [UInt8] {
        self.certificates.flatMap { [UInt8($0.serialNumber.count)] + $0.serialNumber + $0.keyDigest }
    }

    /// Reads the bytes of ``stored``. Throws ``UAF/UAFError/Code/invalidValue`` for any other bytes.
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
    /// Returns `true` if a certificate that attested a key of the model is refused by now: the certificate itself or
    /// its key.
    func isRevoked(_ evidence: AttestationEvidence, of aaid: AAID) -> Bool {
        evidence.certificates.contains { certificate in
            self.isRevoked(serialNumber: certificate.serialNumber, keyDigest: certificate.keyDigest, of: aaid)
        }
    }
}
