/// The single damage of a scenario: a list of the errors that a server must refuse (§21), with the consequences of each
/// error.
public enum Damage: String, CaseIterable, Sendable {
    /// A message without a dictionary.
    case noDictionary = "no-dictionary"
    /// A message of two dictionaries.
    case twoDictionaries = "two-dictionaries"
    /// A header of the other operation.
    case otherOperation = "other-operation"
    /// A protocol version that no product speaks.
    case otherVersion = "other-version"
    /// No header.
    case noHeader = "no-header"
    /// No final challenge parameters.
    case noParameters = "no-parameters"
    /// No list of assertions.
    case noAssertionsMember = "no-assertions-member"
    /// An assertion without its scheme.
    case noScheme = "no-scheme"
    /// A member that is null.
    case nullMember = "null-member"
    /// Base64url with padding.
    case paddedAssertion = "padded-assertion"
    /// An unknown extension of the message that must be understood.
    case unknownMessageExtension = "unknown-message-extension"
    /// Another server's data.
    case foreignServerData = "foreign-server-data"
    /// The server's data lost.
    case lostServerData = "lost-server-data"
    /// Parameters that are not base64url.
    case unreadableParameters = "unreadable-parameters"
    /// Another application.
    case otherAppID = "other-app-id"
    /// An untrusted facet.
    case untrustedFacet = "untrusted-facet"
    /// A facet that begins like the AppID's origin but is another origin.
    case malformedOrigin = "malformed-origin"
    /// Another TLS channel than the server's.
    case otherChannel = "other-channel"
    /// Another challenge.
    case otherChallenge = "other-challenge"
    /// No assertion.
    case noAssertion = "no-assertion"
    /// An assertion without its last byte.
    case truncatedAssertion = "truncated-assertion"
    /// A byte after the assertion.
    case trailingByte = "trailing-byte"
    /// The tag of the other operation's assertion.
    case swappedAssertion = "swapped-assertion"
    /// A KeyID twice.
    case duplicateTag = "duplicate-tag"
    /// No KeyID.
    case missingTag = "missing-tag"
    /// Counters of eight bytes each.
    case longCounters = "long-counters"
    /// An unknown tag that is critical.
    case unknownCriticalTag = "unknown-critical-tag"
    /// A nonce of seven bytes.
    case shortNonce = "short-nonce"
    /// Signature or attestation before what it signs.
    case signatureFirst = "signature-first"
    /// A model without metadata.
    case unknownAAID = "unknown-aaid"
    /// A revoked model.
    case revokedAAID = "revoked-aaid"
    /// A person's revoked key.
    case revokedKey = "revoked-key"
    /// A revoked certificate of an authority.
    case revokedCertificate = "revoked-certificate"
    /// A revoked attestation key.
    case revokedAttestationKey = "revoked-attestation-key"
    /// Another scheme than the metadata's.
    case otherScheme = "other-scheme"
    /// A key that is already registered.
    case existingKey = "existing-key"
    /// An unregistered key.
    case unknownKey = "unknown-key"
    /// A key of another person.
    case foreignKey = "foreign-key"
    /// A model that the policy does not accept.
    case outsidePolicy = "outside-policy"
    /// A model that the policy disallows.
    case disallowed
    /// A disallowed criterion with an extension that must be understood.
    case unreadableBan = "unreadable-ban"
    /// A version that the policy disallows and that the metadata does not contain.
    case bannedVersion = "banned-version"
    /// A model alone that verifies nobody in one of its ways.
    case silentAlone = "silent-alone"
    /// Another hash of the parameters.
    case otherHash = "other-hash"
    /// The hash of the decoded parameters.
    case hashOfDecoded = "hash-of-decoded"
    /// An authenticator older than its metadata.
    case outdated
    /// An unknown mode.
    case unknownMode = "unknown-mode"
    /// A registration in the mode of transactions.
    case transactionMode = "transaction-mode"
    /// Another algorithm than the algorithm of the model or the key.
    case otherAlgorithm = "other-algorithm"
    /// A key in another format than announced.
    case otherKeyFormat = "other-key-format"
    /// A point that is not on the curve.
    case keyOffCurve = "key-off-curve"
    /// The point at infinity.
    case keyAtInfinity = "key-at-infinity"
    /// A modulus of 3072 bits.
    case longModulus = "long-modulus"
    /// An even exponent.
    case evenExponent = "even-exponent"
    /// The exponent 3.
    case smallExponent = "small-exponent"
    /// ECDAA attestation.
    case ecdaa
    /// An attestation that the model does not have.
    case otherAttestation = "other-attestation"
    /// Another attestation than the preferred attestation.
    case notPreferredAttestation = "not-preferred-attestation"
    /// Surrogate attestation of a model with roots.
    case surrogateWithRoots = "surrogate-with-roots"
    /// Full attestation of a model without roots.
    case fullWithoutRoots = "full-without-roots"
    /// A chain to another root.
    case otherRoot = "other-root"
    /// No intermediate certificate.
    case missingIntermediate = "missing-intermediate"
    /// A chain with the leaf last.
    case reversedChain = "reversed-chain"
    /// An expired certificate.
    case expiredLeaf = "expired-leaf"
    /// A certificate that is not yet valid.
    case futureLeaf = "future-leaf"
    /// A certificate of another model.
    case otherModelsCertificate = "other-models-certificate"
    /// An intermediate certificate that does not belong to an authority.
    case intermediateIsNoAuthority = "intermediate-is-no-authority"
    /// A leaf that the intermediate did not sign.
    case forgedLeaf = "forged-leaf"
    /// A leaf that may issue.
    case issuingLeaf = "issuing-leaf"
    /// Name constraints without the critical mark.
    case nameConstraints = "name-constraints"
    /// A serial number of 21 bytes.
    case longSerialNumber = "long-serial-number"
    /// A leaf that names no model, under an authority that another model lists.
    case sharedAuthority = "shared-authority"
    /// A leaf that names no model, under a root with another certificate in another model's list.
    case sharedRoot = "shared-root"
    /// A certificate that names another signature algorithm than the algorithm of its signature.
    case twoSignatureAlgorithms = "two-signature-algorithms"
    /// A certificate after the certificate in the metadata.
    case surplusCertificate = "surplus-certificate"
    /// A certificate that cannot be read.
    case brokenCertificate = "broken-certificate"
    /// Full attestation signed by the new key.
    case fullSignedByNewKey = "full-signed-by-new-key"
    /// A changed bit in the attestation's signature.
    case brokenAttestation = "broken-attestation"
    /// An attestation by another key.
    case attestedByOtherKey = "attested-by-other-key"
    /// A confirmation without the content's hash.
    case noTransactionHash = "no-transaction-hash"
    /// The hash of another content.
    case otherTransaction = "other-transaction"
    /// Mode 1 for a transaction.
    case notConfirmed = "not-confirmed"
    /// A confirmation by a model without a display.
    case withoutDisplay = "without-display"
    /// A confirmation that the server did not request.
    case unexpectedTransaction = "unexpected-transaction"
    /// A content's hash in mode 1.
    case hashWithoutConfirmation = "hash-without-confirmation"
    /// An unknown critical extension that is signed.
    case unknownSignedExtension = "unknown-signed-extension"
    /// An unknown critical extension that is not signed.
    case unknownUnsignedExtension = "unknown-unsigned-extension"
    /// A changed bit in the signature.
    case brokenSignature = "broken-signature"
    /// A signature by another key.
    case signedByOtherKey = "signed-by-other-key"
    /// Signed data with a later change.
    case changedAfterSigning = "changed-after-signing"
    /// A signature without its last byte.
    case shortSignature = "short-signature"
    /// A signature with an additional byte.
    case longSignature = "long-signature"
    /// A signature with a length that is not in its shortest form.
    case longForm = "long-form"
    /// A signature in the encoding of a sibling algorithm.
    case otherEncoding = "other-encoding"
    /// The counter of the last signature: a replay.
    case replayed
    /// A lower counter.
    case lowerCounter = "lower-counter"
    /// A counter of zero after others.
    case zeroCounter = "zero-counter"

    /// A description of the damage in words.
    public var words: String {
        switch self {
        case .noDictionary: "a message without a dictionary"
        case .twoDictionaries: "a message of two dictionaries"
        case .otherOperation: "a header of the other operation"
        case .otherVersion: "a version of the protocol that nobody speaks"
        case .noHeader: "no header"
        case .noParameters: "no final challenge parameters"
        case .noAssertionsMember: "no list of assertions"
        case .noScheme: "an assertion without its scheme"
        case .nullMember: "a member that is null"
        case .paddedAssertion: "base64url with padding"
        case .unknownMessageExtension: "an unknown extension of the message that must be known"
        case .foreignServerData: "another server's data"
        case .lostServerData: "the server's data lost"
        case .unreadableParameters: "parameters that are not base64url"
        case .otherAppID: "another application"
        case .untrustedFacet: "a facet that nobody trusts"
        case .malformedOrigin: "a facet that begins like the AppID's origin and is none"
        case .otherChannel: "another TLS channel than the server's"
        case .otherChallenge: "another challenge"
        case .noAssertion: "no assertion"
        case .truncatedAssertion: "an assertion without its last byte"
        case .trailingByte: "a byte after the assertion"
        case .swappedAssertion: "the tag of the other operation's assertion"
        case .duplicateTag: "a KeyID twice"
        case .missingTag: "no KeyID"
        case .longCounters: "counters of eight bytes each"
        case .unknownCriticalTag: "an unknown tag that is critical"
        case .shortNonce: "a nonce of seven bytes"
        case .signatureFirst: "signature or attestation before what it signs"
        case .unknownAAID: "a model without metadata"
        case .revokedAAID: "a revoked model"
        case .revokedKey: "a revoked key of a person"
        case .revokedCertificate: "a revoked certificate of an authority"
        case .revokedAttestationKey: "a revoked attestation key"
        case .otherScheme: "another scheme than the metadata's"
        case .existingKey: "a key that is registered already"
        case .unknownKey: "a key that nobody registered"
        case .foreignKey: "a key of somebody else"
        case .outsidePolicy: "a model that the policy does not accept"
        case .disallowed: "a model that the policy disallows"
        case .unreadableBan: "a disallowed criterion with an extension that must be understood"
        case .bannedVersion: "a version that the policy disallows, and that the metadata does not tell"
        case .silentAlone: "a model that in one of its ways verifies nobody, alone"
        case .otherHash: "another hash of the parameters"
        case .hashOfDecoded: "the hash of the decoded parameters"
        case .outdated: "an authenticator older than its metadata"
        case .unknownMode: "a mode that nobody knows"
        case .transactionMode: "a registration in the mode of transactions"
        case .otherAlgorithm: "another algorithm than the model's or key's"
        case .otherKeyFormat: "another format of the key than it says"
        case .keyOffCurve: "a point that is not on the curve"
        case .keyAtInfinity: "the point at infinity"
        case .longModulus: "a modulus of 3072 bits"
        case .evenExponent: "an even exponent"
        case .smallExponent: "the exponent 3"
        case .ecdaa: "ECDAA attestation"
        case .otherAttestation: "an attestation that the model does not have"
        case .notPreferredAttestation: "another attestation than the preferred one"
        case .surrogateWithRoots: "surrogate attestation of a model with roots"
        case .fullWithoutRoots: "full attestation of a model without roots"
        case .otherRoot: "a chain to another root"
        case .missingIntermediate: "no intermediate certificate"
        case .reversedChain: "the leaf last"
        case .expiredLeaf: "an expired certificate"
        case .futureLeaf: "a certificate that is not valid yet"
        case .otherModelsCertificate: "a certificate of another model"
        case .intermediateIsNoAuthority: "an intermediate certificate that is no authority's"
        case .forgedLeaf: "a leaf that the intermediate did not sign"
        case .issuingLeaf: "a leaf that may issue"
        case .nameConstraints: "name constraints that do not say that they are critical"
        case .longSerialNumber: "a serial number of 21 bytes"
        case .sharedAuthority: "a leaf that names no model, under an authority that another model lists"
        case .sharedRoot: "a leaf that names no model, under a root of which another model lists another certificate"
        case .twoSignatureAlgorithms: "a certificate that names another signature algorithm than it has"
        case .surplusCertificate: "a certificate behind the one that the metadata lists"
        case .brokenCertificate: "a certificate that cannot be read"
        case .fullSignedByNewKey: "full attestation signed by the new key"
        case .brokenAttestation: "a changed bit in the attestation's signature"
        case .attestedByOtherKey: "an attestation by another key"
        case .noTransactionHash: "a confirmation without the content's hash"
        case .otherTransaction: "the hash of another content"
        case .notConfirmed: "mode 1 for a transaction"
        case .withoutDisplay: "a confirmation by a model that shows nothing"
        case .unexpectedTransaction: "a confirmation that nobody asked for"
        case .hashWithoutConfirmation: "a content's hash in mode 1"
        case .unknownSignedExtension: "an unknown critical extension that is signed"
        case .unknownUnsignedExtension: "an unknown critical extension that is not signed"
        case .brokenSignature: "a changed bit in the signature"
        case .signedByOtherKey: "a signature by another key"
        case .changedAfterSigning: "signed data that were changed afterwards"
        case .shortSignature: "a signature without its last byte"
        case .longSignature: "a signature with a byte behind it"
        case .longForm: "a signature whose length is not in its shortest form"
        case .otherEncoding: "a signature in the encoding of a sibling algorithm"
        case .replayed: "the counter of the last signature: a replay"
        case .lowerCounter: "a lower counter"
        case .zeroCounter: "a counter of zero after others"
        }
    }
}
