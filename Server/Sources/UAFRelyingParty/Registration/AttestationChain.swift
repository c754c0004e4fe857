import Crypto
import UAF
import X509
import _Primitives

/// The certificates of a basic full attestation (§13), leaf first.
///
/// Each certificate must be issued by the next. The path ends at the last, where that is a root of the metadata, or at
/// the root that issued it; nothing is searched for, so the work is bounded by the number of certificates. None is left
/// over: whatever was sent is held against the rules.
struct AttestationChain {
    private let certificates: [AttestationCertificate]

    /// Throws ``UAFRefusal`` 1496 for too many, and for what is no certificate.
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

    /// The leaf's public key, as DER SubjectPublicKeyInfo.
    var subjectPublicKeyInfo: [UInt8] { self.certificates[0].subjectPublicKeyInfo }

    /// Holds the path to a root of the model against RFC 5280 §6.1 and the revocations of the catalog, and gives it:
    /// leaf first, the root of the metadata last, also where it was not sent.
    ///
    /// Throws ``UAFRefusal``: 1496 for a path that is not good, 1493 for one with a revoked certificate.
    func validate(
        for entry: MetadataCatalog.Entry, in catalog: MetadataCatalog, readings: LenientReadings, at now: Timestamp
    ) throws(UAFRefusal) -> [AttestationCertificate] {
        let path = try self.path(to: entry.roots)
        for (index, certificate) in path.enumerated() {
            if !readings.row18ExpiredCertificates {
                guard certificate.notBefore <= now, now <= certificate.notAfter else {
                    throw Self.refusal("certificate \(index) is not valid at this time")
                }
            }
            guard !certificate.hasUnknownCriticalExtension else {
                throw Self.refusal("certificate \(index) has an unknown critical extension")
            }
            // RFC 5280 §4.1.2.2; a list of revocations could not name a longer one.
            guard certificate.serialNumber.count <= VerificationLimits.serialNumberBytes else {
                throw Self.refusal("certificate \(index) has too long a serial number")
            }
            guard !catalog.isRevoked(certificate, of: entry.statement.aaid) else {
                throw UAFRefusal(.revokedAuthenticator, .revocation, "certificate \(index)")
            }
        }
        // A listed leaf is a root of its own (§18, row 19); any other must not be one that could make leaves.
        if !entry.roots.contains(where: { $0.der == path[0].der }) { try self.checkLeaf(path[0]) }
        try self.checkUsage(path, readings)
        let aaid = entry.statement.aaid
        try self.checkModel(aaid, isShared: catalog.isShared(path, of: aaid))
        return path
    }

    /// The certificates from the leaf to a root of the metadata.
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

    /// That a leaf is no issuer: attestation keys sign keys, and one that could sign certificates would stand above
    /// others.
    private func checkLeaf(_ leaf: AttestationCertificate) throws(UAFRefusal) {
        do {
            guard case .isCertificateAuthority = try leaf.extensions.basicConstraints else { return }
        } catch { throw Self.refusal("a malformed extension") }
        throw Self.refusal("a leaf that may issue")
    }

    /// Who may issue (RFC 5280 §6.1.4 k to n), and that the leaf may sign.
    private func checkUsage(_ path: [AttestationCertificate], _ readings: LenientReadings) throws(UAFRefusal) {
        do {
            if let usage = try path[0].extensions.keyUsage, !usage.digitalSignature {
                throw Self.refusal("the leaf may not sign")
            }
            // How many certificates between the leaf and this issuer count against its path length.
            var between = 0
            for (index, issuer) in path.enumerated().dropFirst() {
                switch try issuer.extensions.basicConstraints {
                case .isCertificateAuthority(let maximum):
                    guard between <= maximum ?? .max else { throw Self.refusal("a path too long for \(index)") }
                case .notCertificateAuthority: throw Self.refusal("certificate \(index) may not issue")
                case nil:
                    // Version 1 cannot say it: a root is known to be one by the metadata, others are not.
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

    /// The leaf names its model where several have an authority in common, and never another one (§8.2 step 14).
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
