import Crypto
import UAF
import X509
import _Primitives

/// The certificates of a basic full attestation (§13), leaf first.
///
/// Each certificate must be issued by the next certificate. The path ends at the last certificate if this is a root of
/// the metadata, or otherwise at the root that issued it. Nothing is searched for, so the number of certificates bounds
/// the work. Every certificate that was sent is checked against the rules.
struct AttestationChain {
    private let certificates: [AttestationCertificate]

    /// Reads the certificates. Throws ``UAFRefusal`` 1496 for too many certificates, and for bytes that are no
    /// certificate.
    init(_ certificates: [[UInt8]]) throws(UAFRefusal) {
        guard (1...VerificationLimits.chainCertificates).contains(certificates.count) else {
            throw Self.refusal("\(certificates.count) certificates")
        }
        do throws(UAFError) {
            self.certificates = try certificates.map { (der) throws(UAFError) in try AttestationCertificate(der) }
        } catch { throw Self.refusal(error.reason) }
    }

    private static func refusal(_ reason: String) -> UAFRefusal {
        UAFRefusal(.unacceptableAttestation, .attestation, reason)
    }

    /// The leaf's extensions.
    var leafExtensions: Certificate.Extensions { self.certificates[0].extensions }

    /// The leaf's public key, as DER SubjectPublicKeyInfo.
    var subjectPublicKeyInfo: [UInt8] { self.certificates[0].subjectPublicKeyInfo }

    /// Checks the path to a root of the model against RFC 5280 §6.1 and the revocations of the catalog. Returns the
    /// path: leaf first, the root of the metadata last, also if the root was not sent.
    ///
    /// Throws ``UAFRefusal``: 1496 for an invalid path, 1493 for a path with a revoked certificate.
    func validate(
        for entry: MetadataCatalog.Entry, in catalog: MetadataCatalog, readings: LenientReadings, at now: Timestamp
    ) throws(UAFRefusal) -> [AttestationCertificate] {
        let path = try self.validPath(to: entry.roots, readings: readings, at: now)
        for (index, certificate) in path.enumerated() {
            guard !catalog.isRevoked(certificate, of: entry.statement.aaid) else {
                throw UAFRefusal(.revokedAuthenticator, .revocation, "certificate \(index)")
            }
        }
        let aaid = entry.statement.aaid
        try self.checkModel(aaid, isShared: catalog.isShared(path, of: aaid))
        return path
    }

    /// Checks the path to a root against RFC 5280 §6.1. Returns the path: leaf first, the root last, also if the root
    /// was not sent. Throws ``UAFRefusal`` 1496 for an invalid path.
    func validPath(
        to roots: [AttestationCertificate], readings: LenientReadings, at now: Timestamp
    ) throws(UAFRefusal) -> [AttestationCertificate] {
        let path = try self.path(to: roots)
        for (index, certificate) in path.enumerated() {
            if !readings.row18ExpiredCertificates {
                guard certificate.notBefore <= now, now <= certificate.notAfter else {
                    throw Self.refusal("certificate \(index) is not valid at this time")
                }
            }
            guard !certificate.hasUnknownCriticalExtension else {
                throw Self.refusal("certificate \(index) has an unknown critical extension")
            }
            // RFC 5280 §4.1.2.2. A list of revocations could not name a longer number.
            guard certificate.serialNumber.count <= VerificationLimits.serialNumberBytes else {
                throw Self.refusal("certificate \(index) has too long a serial number")
            }
        }
        // A listed leaf is a root itself (§18, row 19). Any other leaf must not be able to issue leaves.
        if !roots.contains(where: { $0.der == path[0].der }) { try self.checkLeaf(path[0]) }
        try self.checkUsage(path, readings)
        return path
    }

    /// Returns the certificates from the leaf to a root of the metadata.
    private func path(to roots: [AttestationCertificate]) throws(UAFRefusal) -> [AttestationCertificate] {
        for (index, (certificate, issuer)) in zip(self.certificates, self.certificates.dropFirst()).enumerated() {
            guard certificate.isIssued(by: issuer) else {
                throw Self.refusal("certificate \(index) is not issued by the next")
            }
        }
        let last = self.certificates[self.certificates.count - 1]
        if roots.contains(where: { $0.der == last.der }) { return self.certificates }
        guard let root = roots.first(where: last.isIssued(by:)) else {
            throw Self.refusal("no root of the metadata issued the chain")
        }
        return self.certificates + [root]
    }

    /// Checks that a leaf is no issuer: attestation keys sign keys, and a key that could sign certificates would stand
    /// above others.
    private func checkLeaf(_ leaf: AttestationCertificate) throws(UAFRefusal) {
        do {
            guard case .isCertificateAuthority = try leaf.extensions.basicConstraints else { return }
        } catch { throw Self.refusal("a malformed extension") }
        throw Self.refusal("a leaf that may issue")
    }

    /// Checks that the issuers may issue (RFC 5280 §6.1.4 k to n), and that the leaf may sign.
    private func checkUsage(_ path: [AttestationCertificate], _ readings: LenientReadings) throws(UAFRefusal) {
        do {
            if let usage = try path[0].extensions.keyUsage, !usage.digitalSignature {
                throw Self.refusal("the leaf may not sign")
            }
            // The number of certificates between the leaf and this issuer, which counts against the issuer's path
            // length.
            var between = 0
            for (index, issuer) in path.enumerated().dropFirst() {
                switch try issuer.extensions.basicConstraints {
                case .isCertificateAuthority(let maximum):
                    guard between <= maximum ?? .max else { throw Self.refusal("a path too long for \(index)") }
                case .notCertificateAuthority: throw Self.refusal("certificate \(index) may not issue")
                case nil:
                    // A certificate of version 1 has no such mark. The metadata identifies a root; other certificates
                    // of version 1 do not count as issuers.
                    let isKnownRoot = issuer.version == 1 && index == path.count - 1
                    guard isKnownRoot || readings.row20UnmarkedIssuers else {
                        throw Self.refusal("certificate \(index) does not say that it may issue")
                    }
                }
                if let usage = try issuer.extensions.keyUsage, !usage.keyCertSign {
                    throw Self.refusal("the key of certificate \(index) may not issue")
                }
                if issuer.issuer != issuer.subject { between += 1 }
            }
        } catch let refusal as UAFRefusal {
            throw refusal
        } catch { throw Self.refusal("a malformed extension") }
    }

    /// Checks the model that the leaf names. The leaf must name its model if several models share an authority, and
    /// must never name another model (§8.2 step 14).
    private func checkModel(_ aaid: AAID, isShared: @autoclosure () -> Bool) throws(UAFRefusal) {
        let attested: AAID?
        do { attested = try self.certificates[0].attestedModel() } catch { throw Self.refusal(error.reason) }
        guard let attested else {
            guard !isShared() else {
                throw Self.refusal("the leaf does not say which of its authority's models it is for")
            }
            return
        }
        guard attested == aaid else { throw Self.refusal("the leaf is for another model") }
    }
}
