/// A new key with its attestation: TAG_UAFV1_REG_ASSERTION (§3.2).
///
/// The key registration data must be the first item, unless ``LenientReadings/row3SignedDataAnywhere`` is on. The items
/// within the data and the attestation may have any order (§18, row 3).
public struct RegistrationAssertion: Hashable, Sendable {
    /// The data that the attestation signs.
    public let keyRegistrationData: KeyRegistrationData
    /// The signature over the key registration data.
    public let attestation: Attestation
    /// Extensions outside the signed data.
    public let extensions: [AssertionExtension]

    /// Creates an assertion from its parts.
    public init(
        keyRegistrationData: KeyRegistrationData, attestation: Attestation, extensions: [AssertionExtension] = []
    ) {
        self.keyRegistrationData = keyRegistrationData
        self.attestation = attestation
        self.extensions = extensions
    }

    /// Reads an assertion that fills `bytes` exactly. Rows 3 and 21 of the readings apply.
    public init(parsing bytes: [UInt8], reading: LenientReadings = LenientReadings()) throws(UAFError) {
        let items = try TLVComposite(
            assertion: bytes, .registrationAssertion, signed: .keyRegistrationData, others: Attestation.tags, reading)
        self.keyRegistrationData = try KeyRegistrationData(try items.required(.keyRegistrationData), reading)
        self.attestation = try Attestation(items, reading)
        self.extensions = try AssertionExtension.list(items)
    }

    /// The assertion's bytes.
    public func serialized() throws(UAFError) -> [UInt8] {
        var writer = TLVWriter()
        try writer.append(.registrationAssertion) { (inner) throws(UAFError) in
            inner.append(encoded: self.keyRegistrationData.signedBytes)
            try self.attestation.append(to: &inner)
            for entry in self.extensions { try entry.append(to: &inner) }
        }
        return writer.bytes
    }
}

/// The data that a registration signs: TAG_UAFV1_KRD (§3.2).
public struct KeyRegistrationData: Hashable, Sendable {
    /// Tag, length and value exactly as received or made. The signature covers these bytes.
    public let signedBytes: [UInt8]
    /// The authenticator's model.
    public let aaid: AAID
    /// The authenticator's version.
    public let authenticatorVersion: UInt16
    /// The action of the person.
    public let mode: AuthenticationMode
    /// The algorithm of the attestation's signature.
    public let signatureAlgorithm: SignatureAlgorithm
    /// The format of ``publicKey``.
    public let publicKeyFormat: PublicKeyFormat
    /// SHA-256 of the text of the final challenge parameters: 32 bytes.
    public let finalChallengeHash: [UInt8]
    /// The new key's name.
    public let keyID: KeyID
    /// The number of signatures by the new key; 0 if the key has not signed yet, or if the authenticator does not
    /// count.
    public let signCounter: UInt32
    /// The number of registrations by the authenticator; 0 if the authenticator does not count.
    public let registrationCounter: UInt32
    /// The new public key, in ``publicKeyFormat``.
    public let publicKey: [UInt8]
    /// Extensions within the signed data.
    public let extensions: [AssertionExtension]
    /// The biometric record that was used (UVI), if the authenticator reports the record.
    public let userVerificationIndex: [UInt8]?
    /// The set of enrolled records (UVS), if the authenticator reports the set.
    public let userVerificationState: [UInt8]?

    /// Creates the data and its bytes. Throws ``UAFError/Code/invalidLength`` for a hash that is not 32 bytes, or for
    /// a public key outside 1 to 1024 bytes.
    public init(
        aaid: AAID, authenticatorVersion: UInt16, mode: AuthenticationMode = .userVerified,
        signatureAlgorithm: SignatureAlgorithm, publicKeyFormat: PublicKeyFormat, finalChallengeHash: [UInt8],
        keyID: KeyID, signCounter: UInt32, registrationCounter: UInt32, publicKey: [UInt8],
        extensions: [AssertionExtension] = []
    ) throws(UAFError) {
        var writer = TLVWriter()
        try writer.append(.keyRegistrationData) { (inner) throws(UAFError) in
            try inner.append(.aaid, aaid.text.utf8)
            try inner.append(
                .assertionInfo,
                authenticatorVersion.littleEndianBytes + [mode.rawValue]
                    + signatureAlgorithm.rawValue.littleEndianBytes + publicKeyFormat.rawValue.littleEndianBytes)
            try inner.append(.finalChallengeHash, finalChallengeHash)
            try inner.append(.keyID, keyID.bytes)
            try inner.append(.counters, signCounter.littleEndianBytes + registrationCounter.littleEndianBytes)
            try inner.append(.publicKey, publicKey)
            for entry in extensions { try entry.append(to: &inner) }
        }
        var reader = TLVReader(writer.bytes[...])
        try self.init(try reader.readField(expecting: .keyRegistrationData), LenientReadings())
        try reader.finish()
    }

    private static let tags: [TLVTag] = [
        .aaid, .assertionInfo, .finalChallengeHash, .keyID, .counters, .publicKey, .userVerificationIndex,
        .userVerificationState,
    ]

    init(_ field: TLVField, _ reading: LenientReadings) throws(UAFError) {
        let items = try TLVComposite(
            field.value, single: Self.tags, repeatable: AssertionExtension.tags, skipping: reading.row21VendorTags)
        self.signedBytes = Array(field.encoded)
        self.aaid = try AAID(ascii: try items.requiredValue(.aaid, 9...9))
        let info = try items.requiredValue(.assertionInfo, 7...7)
        self.authenticatorVersion = info.littleEndian(at: 0)
        self.mode = AuthenticationMode(rawValue: info[info.startIndex + 2])
        self.signatureAlgorithm = SignatureAlgorithm(rawValue: info.littleEndian(at: 3))
        self.publicKeyFormat = PublicKeyFormat(rawValue: info.littleEndian(at: 5))
        self.finalChallengeHash = Array(try items.requiredValue(.finalChallengeHash, 32...32))
        self.keyID = try KeyID(try items.requiredValue(.keyID, 32...2048))
        let counters = try items.requiredValue(.counters, 8...8)
        self.signCounter = counters.littleEndian(at: 0)
        self.registrationCounter = counters.littleEndian(at: 4)
        self.publicKey = Array(try items.requiredValue(.publicKey, 1...1024))
        self.extensions = try AssertionExtension.list(items)
        self.userVerificationIndex = try items.value(.userVerificationIndex, 1...32).map { Array($0) }
        self.userVerificationState = try items.value(.userVerificationState, 1...32).map { Array($0) }
    }
}

/// The signature over key registration data, with the data to verify the signature (§3.2, §13).
public struct Attestation: Hashable, Sendable {
    /// The type of the attestation.
    public let type: AttestationType
    /// The signature, in the encoding that the key registration data announces.
    public let signature: [UInt8]
    /// The certificates of basic full attestation, DER, leaf first.
    public let certificates: [[UInt8]]

    /// Creates an attestation from its parts.
    public init(type: AttestationType, signature: [UInt8], certificates: [[UInt8]] = []) {
        self.type = type
        self.signature = signature
        self.certificates = certificates
    }

    static let tags: [TLVTag] = [.attestationBasicFull, .attestationBasicSurrogate, .attestationECDAA]

    /// Reads the single attestation among the items of an assertion.
    init(_ items: TLVComposite, _ reading: LenientReadings) throws(UAFError) {
        let found = items.fields.filter { Self.tags.contains($0.tag) }
        guard let field = found.first else { throw UAFError(.missingTag, "attestation") }
        guard found.count == 1 else { throw UAFError(.duplicateTag, "attestation") }
        let isFull = field.tag == .attestationBasicFull
        let parts = try TLVComposite(
            field.value, single: [.signature], repeatable: isFull ? [.attestationCertificate] : [],
            skipping: reading.row21VendorTags)
        self.type = AttestationType(rawValue: field.tag.rawValue)
        self.signature = Array(try parts.requiredValue(.signature, 1...1024))
        self.certificates = parts.fields.filter { $0.tag == .attestationCertificate }.map { Array($0.value) }
        guard !isFull || !self.certificates.isEmpty else {
            throw UAFError(.missingTag, "\(TLVTag.attestationCertificate)")
        }
    }

    func append(to writer: inout TLVWriter) throws(UAFError) {
        try writer.append(TLVTag(rawValue: self.type.rawValue)) { (inner) throws(UAFError) in
            try inner.append(.signature, self.signature)
            for certificate in self.certificates { try inner.append(.attestationCertificate, certificate) }
        }
    }
}

extension TLVComposite {
    /// Reads the items of an assertion that fills `bytes` exactly. `signed` must be the first item, unless the readings
    /// accept any place.
    init(
        assertion bytes: [UInt8], _ root: TLVTag, signed: TLVTag, others: [TLVTag], _ reading: LenientReadings
    ) throws(UAFError) {
        var reader = TLVReader(bytes[...])
        let value = try reader.readField(expecting: root).value
        try reader.finish()
        if !reading.row3SignedDataAnywhere {
            var inner = TLVReader(value)
            _ = try inner.readField(expecting: signed)
        }
        try self.init(
            value, single: [signed] + others, repeatable: AssertionExtension.tags, skipping: reading.row21VendorTags)
    }
}

/// An extension within an assertion: TAG_EXTENSION (§3.1, §15).
public struct AssertionExtension: Hashable, Sendable {
    /// The id, UTF-8, 1 to 32 characters.
    public let id: String
    /// The data.
    public let data: [UInt8]
    /// `true` if a receiver that does not know the id must refuse the message.
    public let isCritical: Bool

    /// Creates an extension.
    public init(id: String, data: [UInt8], isCritical: Bool) {
        self.id = id
        self.data = data
        self.isCritical = isCritical
    }

    static let tags: [TLVTag] = [.criticalExtension, .extension]

    static func list(_ items: TLVComposite) throws(UAFError) -> [AssertionExtension] {
        var extensions: [AssertionExtension] = []
        for field in items.fields where self.tags.contains(field.tag) {
            let parts = try TLVComposite(field.value, single: [.extensionID, .extensionData])
            let name = try parts.requiredValue(.extensionID, 1...128)
            guard let id = String(validating: name, as: UTF8.self), id.unicodeScalars.count <= 32 else {
                throw UAFError(.invalidValue, "an extension's id")
            }
            extensions.append(
                AssertionExtension(
                    id: id, data: Array(try parts.requiredValue(.extensionData, 0...4096)),
                    isCritical: field.tag == .criticalExtension))
        }
        return extensions
    }

    func append(to writer: inout TLVWriter) throws(UAFError) {
        try writer.append(self.isCritical ? .criticalExtension : .extension) { (inner) throws(UAFError) in
            try inner.append(.extensionID, self.id.utf8)
            try inner.append(.extensionData, self.data)
        }
    }
}
