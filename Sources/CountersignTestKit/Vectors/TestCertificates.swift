public import UAF
public import _Primitives

/// A root, an intermediate authority and an attestation key with their X.509 certificates, for tests (§13).
///
/// ``init(rsa:aaid:random:flaw:)`` creates right certificates, or certificates with one flaw.
public struct TestCertificates: Sendable {
    /// A flaw of a chain.
    public enum Flaw: String, CaseIterable, Sendable {
        /// The leaf expired before the vectors' time.
        case expiredLeaf
        /// The leaf becomes valid after the vectors' time.
        case futureLeaf
        /// The leaf's AAID extension names another model.
        case otherModel
        /// The intermediate certificate does not belong to an authority.
        case intermediateIsNoAuthority
        /// The leaf's signature was not made by the intermediate.
        case forgedLeaf
        /// The leaf is marked as an issuer.
        case issuingLeaf
        /// The intermediate certificate has name constraints without the critical mark.
        case nameConstraints
        /// The leaf's serial number has 21 bytes.
        case longSerialNumber
        /// The leaf does not name a model.
        case noModel
        /// The leaf's signed part names SHA-384, but its signature uses SHA-256.
        case twoSignatureAlgorithms
    }

    /// The root's certificate, DER, for the metadata.
    public let root: [UInt8]
    /// Another certificate with the root's name and key, DER.
    public let reissuedRoot: [UInt8]
    /// The certificates of an assertion: leaf and intermediate, DER.
    public let chain: [[UInt8]]
    /// The attestation key, with the leaf as its certificate.
    public let leafKey: TestKeyPair
    /// The keys of the root certificate and the intermediate certificate.
    public let rootKey: TestKeyPair, intermediateKey: TestKeyPair

    /// `id-fido-gen-ce-aaid`, 1.3.6.1.4.1.45724.1.1.1.
    private static let aaidExtension = DER.identifier(0x2B, 6, 1, 4, 1, 45724, 1, 1, 1)

    /// Creates a chain for a model.
    ///
    /// With `rsa`, root and leaf have RSA keys and the intermediate has a P-256 key, so a verifier meets both kinds in
    /// one chain. Without `rsa`, all keys are on P-256.
    public init(rsa: Bool, aaid: AAID, random: RandomSource, flaw: Flaw? = nil) throws {
        self.rootKey = rsa ? try TestKeyPair(rsa: .authority) : try TestKeyPair(p256: random)
        self.intermediateKey = try TestKeyPair(p256: random)
        self.leafKey = rsa ? try TestKeyPair(rsa: .second) : try TestKeyPair(p256: random)
        let extensionData = flaw == .otherModel ? "FFFF#FFFF" : aaid.text
        self.root = try Self.certificate(
            [1], subject: "Test root", key: rootKey, issuer: "Test root", signedBy: rootKey,
            extensions: Self.authority(true))
        self.reissuedRoot = try Self.certificate(
            [9], subject: "Test root", key: rootKey, issuer: "Test root", signedBy: rootKey,
            extensions: Self.authority(true))
        let intermediate = try Self.certificate(
            [2], subject: "Test attestation authority", key: intermediateKey, issuer: "Test root", signedBy: rootKey,
            extensions: Self.authority(flaw != .intermediateIsNoAuthority)
                + (flaw == .nameConstraints ? [Self.nameConstraints] : []))
        let leaf = try Self.certificate(
            flaw == .longSerialNumber ? [1] + [UInt8](repeating: 0, count: 20) : [3], subject: "Test attestation key",
            key: self.leafKey, issuer: "Test attestation authority",
            signedBy: flaw == .forgedLeaf ? rootKey : intermediateKey,
            from: flaw == .futureLeaf ? "400101000000Z" : "260101000000Z",
            until: flaw == .expiredLeaf ? "260201000000Z" : "460101000000Z",
            extensions: [
                // keyUsage: digitalSignature
                DER.sequence(
                    DER.identifier(0x55, 29, 15), DER.yes, DER.octetString(DER.bitString([0x80], unusedBits: 7)))
            ]
                + (flaw == .noModel
                    ? [] : [DER.sequence(Self.aaidExtension, DER.octetString(DER.utf8String(extensionData)))])
                + (flaw == .issuingLeaf ? [Self.authority(true)[0]] : []),
            namesSHA384: flaw == .twoSignatureAlgorithms)
        self.chain = [leaf, intermediate]
    }

    /// The extension nameConstraints, with names of a single host. No name in these certificates is such a name.
    private static let nameConstraints = DER.sequence(
        DER.identifier(0x55, 29, 30),
        DER.octetString(
            DER.sequence(DER.explicit(0, DER.sequence(DER.item(0x82, Array("host.example".utf8)))))))

    /// Returns basicConstraints and keyUsage of an authority, or of another subject without these rights.
    static func authority(_ isAuthority: Bool) -> [[UInt8]] {
        [
            DER.sequence(
                DER.identifier(0x55, 29, 19), DER.yes,
                DER.octetString(isAuthority ? DER.sequence(DER.yes) : DER.sequence())),
            DER.sequence(
                DER.identifier(0x55, 29, 15), DER.yes,
                DER.octetString(
                    isAuthority
                        ? DER.bitString([0x04], unusedBits: 2) : DER.bitString([0x80], unusedBits: 7))),
        ]
    }

    private static func name(_ text: String) -> [UInt8] {
        DER.sequence(DER.set(DER.sequence(DER.identifier(0x55, 4, 3), DER.utf8String(text))))
    }

    /// Creates a certificate of a key pair.
    static func certificate(
        _ serial: [UInt8], subject: String, key: TestKeyPair, issuer: String, signedBy signer: TestKeyPair,
        from: String = "260101000000Z", until: String = "460101000000Z", extensions: [[UInt8]],
        namesSHA384: Bool = false
    ) throws -> [UInt8] {
        try self.certificate(
            serial, subject: subject, subjectPublicKeyInfo: try key.subjectPublicKeyInfo, issuer: issuer,
            signedBy: signer, from: from, until: until, extensions: extensions, namesSHA384: namesSHA384)
    }

    /// Creates a certificate of a public key.
    static func certificate(
        _ serial: [UInt8], subject: String, subjectPublicKeyInfo: [UInt8], issuer: String,
        signedBy signer: TestKeyPair, from: String = "260101000000Z", until: String = "460101000000Z",
        extensions: [[UInt8]], namesSHA384: Bool = false
    ) throws -> [UInt8] {
        func algorithm(isSHA384: Bool) -> [UInt8] {
            signer.isRSA
                ? DER.sequence(DER.identifier(0x2A, 840, 113_549, 1, 1, isSHA384 ? 12 : 11), DER.null)
                : DER.sequence(DER.identifier(0x2A, 840, 10_045, 4, 3, isSHA384 ? 3 : 2))
        }
        let content = DER.sequence(
            DER.explicit(0, DER.integer(2)), DER.item(0x02, serial), algorithm(isSHA384: namesSHA384),
            self.name(issuer),
            DER.sequence(DER.utcTime(from), DER.utcTime(until)), self.name(subject), subjectPublicKeyInfo,
            DER.explicit(3, DER.item(0x30, Array(extensions.joined()))))
        let signature = try signer.sign(content, signer.isRSA ? .rsaPKCS1Raw : .p256DER)
        return DER.sequence(content, algorithm(isSHA384: false), DER.bitString(signature))
    }
}
