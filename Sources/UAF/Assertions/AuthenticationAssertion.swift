/// A signature by a registered key: TAG_UAFV1_AUTH_ASSERTION (§3.3).
///
/// The signed data must be the first item, unless ``LenientReadings/row3SignedDataAnywhere`` is on. The items within
/// the signed data may have any order (§18, row 3).
public struct AuthenticationAssertion: Hashable, Sendable {
    /// The data that the key signs.
    public let signedData: SignedData
    /// The signature over the signed data, in the encoding that the signed data announces.
    public let signature: [UInt8]
    /// Extensions outside the signed data.
    public let extensions: [AssertionExtension]

    /// Creates an assertion from its parts.
    public init(signedData: SignedData, signature: [UInt8], extensions: [AssertionExtension] = []) {
        self.signedData = signedData
        self.signature = signature
        self.extensions = extensions
    }

    /// Reads an assertion that fills `bytes` exactly. Rows 3, 21 and 26 of the readings apply.
    public init(parsing bytes: [UInt8], reading: LenientReadings = LenientReadings()) throws(UAFError) {
        let items = try TLVComposite(
            assertion: bytes, .authenticationAssertion, signed: .signedData, others: [.signature], reading)
        self.signedData = try SignedData(try items.required(.signedData), reading)
        self.signature = Array(try items.requiredValue(.signature, 1...1024))
        self.extensions = try AssertionExtension.list(items)
    }

    /// The assertion's bytes.
    public func serialized() throws(UAFError) -> [UInt8] {
        var writer = TLVWriter()
        try writer.append(.authenticationAssertion) { (inner) throws(UAFError) in
            inner.append(encoded: self.signedData.signedBytes)
            try inner.append(.signature, self.signature)
            for entry in self.extensions { try entry.append(to: &inner) }
        }
        return writer.bytes
    }
}

/// The data that an authentication signs: TAG_UAFV1_SIGNED_DATA (§3.3).
public struct SignedData: Hashable, Sendable {
    /// Tag, length and value exactly as received or made. The signature covers these bytes.
    public let signedBytes: [UInt8]
    /// The authenticator's model.
    public let aaid: AAID
    /// The authenticator's version.
    public let authenticatorVersion: UInt16
    /// The action of the person.
    public let mode: AuthenticationMode
    /// The algorithm of the signature.
    public let signatureAlgorithm: SignatureAlgorithm
    /// The authenticator's random bytes, at least 8; fewer are possible with ``LenientReadings/row26ShortNonces``.
    public let nonce: [UInt8]
    /// SHA-256 of the text of the final challenge parameters: 32 bytes.
    public let finalChallengeHash: [UInt8]
    /// SHA-256 of the confirmed content: 32 bytes; empty if nothing was confirmed.
    public let transactionContentHash: [UInt8]
    /// The key's name.
    public let keyID: KeyID
    /// The number of signatures by the key, including this signature; 0 if the authenticator does not count.
    public let signCounter: UInt32
    /// Extensions within the signed data.
    public let extensions: [AssertionExtension]
    /// The biometric record that was used (UVI), if the authenticator reports the record.
    public let userVerificationIndex: [UInt8]?
    /// The set of enrolled records (UVS), if the authenticator reports the set.
    public let userVerificationState: [UInt8]?

    /// Creates the data and its bytes. Throws ``UAFError/Code/invalidLength`` for hashes and nonces of a wrong length.
    public init(
        aaid: AAID, authenticatorVersion: UInt16, mode: AuthenticationMode, signatureAlgorithm: SignatureAlgorithm,
        nonce: [UInt8], finalChallengeHash: [UInt8], transactionContentHash: [UInt8] = [], keyID: KeyID,
        signCounter: UInt32, extensions: [AssertionExtension] = []
    ) throws(UAFError) {
        var writer = TLVWriter()
        try writer.append(.signedData) { (inner) throws(UAFError) in
            try inner.append(.aaid, aaid.text.utf8)
            try inner.append(
                .assertionInfo,
                authenticatorVersion.littleEndianBytes + [mode.rawValue]
                    + signatureAlgorithm.rawValue.littleEndianBytes)
            try inner.append(.authenticatorNonce, nonce)
            try inner.append(.finalChallengeHash, finalChallengeHash)
            try inner.append(.transactionContentHash, transactionContentHash)
            try inner.append(.keyID, keyID.bytes)
            try inner.append(.counters, signCounter.littleEndianBytes)
            for entry in extensions { try entry.append(to: &inner) }
        }
        var reader = TLVReader(writer.bytes[...])
        try self.init(try reader.readField(expecting: .signedData), LenientReadings())
        try reader.finish()
    }

    private static let tags: [TLVTag] = [
        .aaid, .assertionInfo, .authenticatorNonce, .finalChallengeHash, .transactionContentHash, .keyID, .counters,
        .userVerificationIndex, .userVerificationState,
    ]

    init(_ field: TLVField, _ reading: LenientReadings) throws(UAFError) {
        let items = try TLVComposite(
            field.value, single: Self.tags, repeatable: AssertionExtension.tags, skipping: reading.row21VendorTags)
        self.signedBytes = Array(field.encoded)
        self.aaid = try AAID(ascii: try items.requiredValue(.aaid, 9...9))
        let info = try items.requiredValue(.assertionInfo, 5...5)
        self.authenticatorVersion = info.littleEndian(at: 0)
        self.mode = AuthenticationMode(rawValue: info[info.startIndex + 2])
        self.signatureAlgorithm = SignatureAlgorithm(rawValue: info.littleEndian(at: 3))
        self.nonce = Array(try items.requiredValue(.authenticatorNonce, (reading.row26ShortNonces ? 0 : 8)...1024))
        self.finalChallengeHash = Array(try items.requiredValue(.finalChallengeHash, 32...32))
        self.transactionContentHash = Array(try items.requiredValue(.transactionContentHash, 0...32))
        guard [0, 32].contains(self.transactionContentHash.count) else {
            throw UAFError(.invalidLength, "\(TLVTag.transactionContentHash)")
        }
        self.keyID = try KeyID(try items.requiredValue(.keyID, 32...2048))
        self.signCounter = try items.requiredValue(.counters, 4...4).littleEndian(at: 0)
        self.extensions = try AssertionExtension.list(items)
        self.userVerificationIndex = try items.value(.userVerificationIndex, 1...32).map { Array($0) }
        self.userVerificationState = try items.value(.userVerificationState, 1...32).map { Array($0) }
    }
}
