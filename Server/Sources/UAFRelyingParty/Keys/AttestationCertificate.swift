import Foundation
import SwiftASN1
import UAF
import X509
import _Primitives

/// A certificate of an attestation, with the fields for the path rules of RFC 5280 §6.1.
///
/// swift-certificates refuses to read a certificate whose signature it cannot check. A certificate with SHA-1 is an
/// example: a metadata statement may still list such a certificate as the very certificate to trust (§13). A
/// certificate of a key on secp256k1 is another example. This type reads the necessary fields of such certificates.
/// swift-certificates checks the signatures, except signatures of secp256k1, which libsecp256k1 checks.
struct AttestationCertificate: Sendable {
    /// The certificate, DER.
    let der: [UInt8]
    /// The version: 1 or 3.
    let version: Int
    /// The INTEGER's bytes without the zero byte for the sign.
    let serialNumber: [UInt8]
    /// The names, DER. Two names are equal if their bytes are equal.
    let issuer: [UInt8]
    let subject: [UInt8]
    let notBefore: Timestamp
    let notAfter: Timestamp
    /// The public key, DER.
    let subjectPublicKeyInfo: [UInt8]
    let extensions: Certificate.Extensions
    /// The signed part, DER.
    private let signedBytes: [UInt8]
    /// The algorithm of the signature; `nil` for an algorithm that does not count, such as an algorithm with SHA-1.
    private let signatureAlgorithm: Certificate.SignatureAlgorithm?
    private let signature: [UInt8]

    /// id-fido-gen-ce-aaid: the model that a certificate attests (§8.2 step 14).
    static let aaidExtension: ASN1ObjectIdentifier = [1, 3, 6, 1, 4, 1, 45724, 1, 1, 1]

    /// Reads a certificate. Throws `invalidValue` if the bytes are no X.509 certificate of version 1 or 3.
    init(_ der: [UInt8]) throws(UAFError) {
        do { self = try Self(reading: der) } catch { throw UAFError(.invalidValue, "no X.509 certificate") }
    }

    private init(reading der: [UInt8]) throws {
        self = try DER.sequence(try DER.parse(der), identifier: .sequence) { parts in
            guard let body = parts.next(), let algorithm = parts.next(), let signature = parts.next() else {
                throw UAFError(.invalidValue, "too few parts")
            }
            return try Self(
                der: der, body: body, algorithm: algorithm, signature: try ASN1BitString(derEncoded: signature))
        }
    }

    private init(der: [UInt8], body: ASN1Node, algorithm: ASN1Node, signature: ASN1BitString) throws {
        guard signature.paddingBits == 0 else { throw UAFError(.invalidValue, "a signature of no whole bytes") }
        self = try DER.sequence(body, identifier: .sequence) { fields in
            let version = try DER.decodeDefaultExplicitlyTagged(
                &fields, tagNumber: 0, tagClass: .contextSpecific, defaultValue: 0
            ) { try Int(derEncoded: $0) }
            let serialNumber = try ArraySlice<UInt8>(derEncoded: &fields)
            // RFC 5280 §4.1.1.2: the signed algorithm and the algorithm of the signature must be equal.
            guard fields.next()?.encodedBytes == algorithm.encodedBytes else {
                throw UAFError(.invalidValue, "two signature algorithms")
            }
            guard let issuer = fields.next(), let validity = fields.next() else {
                throw UAFError(.invalidValue, "too few fields")
            }
            let (notBefore, notAfter) = try DER.sequence(validity, identifier: .sequence) { times in
                (try Self.time(times.next()), try Self.time(times.next()))
            }
            guard let subject = fields.next(), let key = fields.next() else {
                throw UAFError(.invalidValue, "too few fields")
            }
            for number: UInt in [1, 2] {
                _ = DER.optionalImplicitlyTagged(&fields, tagNumber: number, tagClass: .contextSpecific) { _ in true }
            }
            let extensions = try DER.optionalExplicitlyTagged(&fields, tagNumber: 3, tagClass: .contextSpecific) {
                try DER.sequence(of: Certificate.Extension.self, identifier: .sequence, rootNode: $0)
            }
            guard version == 2 || version == 0 && extensions == nil else {
                throw UAFError(.invalidValue, "of another version")
            }
            return Self(
                der: der, version: version + 1, serialNumber: Array(serialNumber),
                issuer: Array(issuer.encodedBytes), subject: Array(subject.encodedBytes),
                notBefore: notBefore, notAfter: notAfter, subjectPublicKeyInfo: Array(key.encodedBytes),
                extensions: try Certificate.Extensions(extensions ?? []), signedBytes: Array(body.encodedBytes),
                signatureAlgorithm: Self.signatureAlgorithms[Array(algorithm.encodedBytes)],
                signature: Array(signature.bytes))
        }
    }

    private init(
        der: [UInt8], version: Int, serialNumber: [UInt8], issuer: [UInt8], subject: [UInt8],
        notBefore: Timestamp, notAfter: Timestamp, subjectPublicKeyInfo: [UInt8], extensions: Certificate.Extensions,
        signedBytes: [UInt8], signatureAlgorithm: Certificate.SignatureAlgorithm?, signature: [UInt8]
    ) {
        self.der = der
        self.version = version
        self.serialNumber = serialNumber
        self.issuer = issuer
        self.subject = subject
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.subjectPublicKeyInfo = subjectPublicKeyInfo
        self.extensions = extensions
        self.signedBytes = signedBytes
        self.signatureAlgorithm = signatureAlgorithm
        self.signature = signature
    }

    /// Reads a UTCTime or GeneralizedTime.
    private static func time(_ node: ASN1Node?) throws -> Timestamp {
        guard let node else { throw UAFError(.invalidValue, "no time") }
        var parts = DateComponents()
        if let time = try? UTCTime(derEncoded: node) {
            (parts.year, parts.month, parts.day) = (time.year, time.month, time.day)
            (parts.hour, parts.minute, parts.second) = (time.hours, time.minutes, time.seconds)
        } else {
            let time = try GeneralizedTime(derEncoded: node)
            (parts.year, parts.month, parts.day) = (time.year, time.month, time.day)
            (parts.hour, parts.minute, parts.second) = (time.hours, time.minutes, time.seconds)
        }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        guard let date = calendar.date(from: parts) else { throw UAFError(.invalidValue, "no time") }
        return Timestamp(seconds: Int64(date.timeIntervalSince1970))
    }

    // MARK: - Rules

    /// The algorithms whose signatures count, by their DER. Algorithms with SHA-1 do not count.
    private static let signatureAlgorithms: [[UInt8]: Certificate.SignatureAlgorithm] = {
        // 1.3.101.112
        var algorithms: [[UInt8]: Certificate.SignatureAlgorithm] = [
            [0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70]: .ed25519
        ]
        // Under 1.2.840.10045.4.3.
        for (last, algorithm) in [
            (2, .ecdsaWithSHA256), (3, .ecdsaWithSHA384), (4, .ecdsaWithSHA512),
        ] as [(UInt8, Certificate.SignatureAlgorithm)] {
            algorithms[[0x30, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, last]] = algorithm
        }
        // Under 1.2.840.113549.1.1, followed by a NULL, which some issuers leave out.
        for (last, algorithm) in [
            (11, .sha256WithRSAEncryption), (12, .sha384WithRSAEncryption), (13, .sha512WithRSAEncryption),
        ] as [(UInt8, Certificate.SignatureAlgorithm)] {
            let identifier: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, last]
            algorithms[[0x30, 0x0D] + identifier + [0x05, 0x00]] = algorithm
            algorithms[[0x30, 0x0B] + identifier] = algorithm
        }
        return algorithms
    }()

    /// Returns `true` if the other certificate's name and key issued this certificate. Signatures with SHA-1 do not
    /// count.
    func isIssued(by other: AttestationCertificate) -> Bool {
        guard self.issuer == other.subject, let algorithm = self.signatureAlgorithm else { return false }
        if let key = try? Secp256k1Key(other.subjectPublicKeyInfo, format: .eccX962DER) {
            return algorithm == .ecdsaWithSHA256
                && key.isValid(self.signature, algorithm: .secp256k1DER, over: self.signedBytes)
        }
        guard let key = try? Certificate.PublicKey(derEncoded: other.subjectPublicKeyInfo) else { return false }
        return key.isValidSignature(self.signature, for: self.signedBytes, signatureAlgorithm: algorithm)
    }

    /// `true` if the certificate has a critical extension that these rules do not know (RFC 5280 §4.2).
    ///
    /// Name constraints count as critical whatever their mark says: RFC 5280 §4.2.1.10 requires the mark, and an issuer
    /// that wrote name constraints meant to be bound.
    var hasUnknownCriticalExtension: Bool {
        let known: [ASN1ObjectIdentifier] = [
            .X509ExtensionID.basicConstraints, .X509ExtensionID.keyUsage, Self.aaidExtension,
        ]
        return self.extensions.contains {
            ($0.critical || $0.oid == .X509ExtensionID.nameConstraints) && !known.contains($0.oid)
        }
    }

    /// Returns the model that the certificate names; `nil` if the certificate names no model.
    ///
    /// The standard does not define the encoding of the AAID. The function accepts the nine letters, bare or in a
    /// string of DER. Throws `invalidValue` for anything else.
    func attestedModel() throws(UAFError) -> AAID? {
        guard let value = self.extensions[oid: Self.aaidExtension]?.value else { return nil }
        if value.count == 9 { return try AAID(ascii: value) }
        guard let node = try? DER.parse(value), case .primitive(let letters) = node.content,
            [.octetString, .utf8String, .printableString, .ia5String].contains(node.identifier)
        else { throw UAFError(.invalidValue, "an AAID extension") }
        return try AAID(ascii: letters)
    }
}
