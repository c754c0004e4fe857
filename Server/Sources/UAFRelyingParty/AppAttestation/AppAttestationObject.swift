/// The parts of an attestation that App Attest made for a key of an app ("Validating apps that connect to your server",
/// Apple Developer Documentation). The parts are read and not judged: ``AppAttestationVerifier`` judges them.
public struct AppAttestationObject: Hashable, Sendable {
    /// The certificates of the key, DER, leaf first: 1 to 6.
    public let certificates: [[UInt8]]
    /// The receipt, with which a server could ask Apple for the risk of fraud. Nothing else of the object signs the
    /// receipt, and the verifier passes it over.
    public let receipt: [UInt8]
    /// The data that the leaf's extension names by hash.
    public let authenticatorData: [UInt8]

    /// Reads an attestation: a map of `fmt`, `attStmt` and `authData` in CBOR (RFC 8949), in the order and with the
    /// lengths of the canonical form.
    ///
    /// Throws `malformed` for everything else, bytes after the map included, and for more than 8,192 bytes.
    public init(encoded: [UInt8]) throws(AppAttestationRefusal) {
        guard encoded.count <= VerificationLimits.appAttestationBytes else { throw .malformed }
        var reader = CBORReader(encoded)
        try reader.expect(.map, of: 3)
        try reader.expect("fmt")
        try reader.expect("apple-appattest")
        try reader.expect("attStmt")
        try reader.expect(.map, of: 2)
        try reader.expect("x5c")
        let count = try reader.count(of: .array)
        guard (1...VerificationLimits.chainCertificates).contains(count) else { throw .malformed }
        var certificates: [[UInt8]] = []
        for _ in 0..<count { certificates.append(try reader.byteString()) }
        self.certificates = certificates
        try reader.expect("receipt")
        self.receipt = try reader.byteString()
        try reader.expect("authData")
        self.authenticatorData = try reader.byteString()
        try reader.expectEnd()
    }
}

/// The parts of an assertion that an app made with its attested key.
struct AppAssertionObject {
    /// ECDSA on P-256, DER.
    let signature: [UInt8]
    let authenticatorData: [UInt8]

    init(encoded: [UInt8]) throws(AppAttestationRefusal) {
        guard encoded.count <= VerificationLimits.appAttestationBytes else { throw .malformed }
        var reader = CBORReader(encoded)
        try reader.expect(.map, of: 2)
        try reader.expect("signature")
        self.signature = try reader.byteString()
        try reader.expect("authenticatorData")
        self.authenticatorData = try reader.byteString()
        try reader.expectEnd()
    }
}

/// The authenticator data of both objects (WebAuthn Level 3, section 6.1), with Apple's meaning of the fields.
struct AppAuthenticatorData {
    private static let headLength = 37

    /// SHA-256 of team and bundle.
    let appHash: [UInt8]
    let counter: UInt32
    /// `true` if the data announces the description of a key.
    let hasCredential: Bool
    /// The bytes after the counter.
    let tail: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) throws(AppAttestationRefusal) {
        guard bytes.count >= Self.headLength else { throw .malformed }
        self.appHash = Array(bytes[..<32])
        self.hasCredential = bytes[32] & 0x40 != 0
        self.counter = bytes[33..<Self.headLength].reduce(0) { $0 << 8 | UInt32($1) }
        self.tail = bytes[Self.headLength...]
    }

    /// Returns the environment and the name of the key that an attestation describes. The key itself has to be this
    /// point on P-256, 65 bytes. Newer systems add facts about the app after the key; the leaf's extension covers those
    /// facts too, and nothing here needs them.
    func credential(
        of point: [UInt8]
    ) throws(AppAttestationRefusal) -> (environment: AttestedApp.Environment, keyID: [UInt8]) {
        guard self.hasCredential else { throw .malformed }
        let model = self.tail.prefix(16)
        guard let environment = AttestedApp.Environment.allCases.first(where: { model.elementsEqual($0.model) }) else {
            throw .malformed
        }
        let (length, rest) = (self.tail.dropFirst(16).prefix(2), self.tail.dropFirst(18))
        guard length.elementsEqual([0, 32]), rest.dropFirst(32).starts(with: Self.coseKey(point)) else {
            throw .malformed
        }
        return (environment, Array(rest.prefix(32)))
    }

    /// The key as COSE has it (RFC 9053, section 7.1.1), in the canonical form: EC2, ES256, P-256, both numbers.
    private static func coseKey(_ point: [UInt8]) -> [UInt8] {
        [0xA5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20] + point[1..<33] + [0x22, 0x58, 0x20] + point[33...]
    }
}
