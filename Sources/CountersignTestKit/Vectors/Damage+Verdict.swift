public import UAF

extension Damage {
    /// The verdict (§5.1).
    public var status: UAFStatusCode {
        switch self {
        case .noDictionary, .twoDictionaries, .otherOperation, .noHeader, .noParameters, .noAssertionsMember,
            .noScheme, .nullMember:
            .badRequest
        case .foreignServerData, .lostServerData, .otherChallenge: .invalidRequest
        case .otherChannel: .channelBindingRefused
        case .unknownAAID: .unknownAAID
        case .revokedAAID, .revokedKey, .revokedCertificate, .revokedAttestationKey: .revokedAuthenticator
        case .existingKey, .otherKeyFormat, .keyOffCurve, .keyAtInfinity, .longModulus, .evenExponent,
            .smallExponent:
            .unacceptableKey
        case .unknownKey: .unknownKeyID
        case .foreignKey: .unauthorized
        case .outsidePolicy, .disallowed, .unreadableBan, .bannedVersion, .silentAlone: .unacceptableAuthenticator
        case .otherAlgorithm: .unacceptableAlgorithm
        case .ecdaa, .otherAttestation, .notPreferredAttestation, .surrogateWithRoots, .fullWithoutRoots,
            .otherRoot, .missingIntermediate, .reversedChain, .expiredLeaf, .futureLeaf, .otherModelsCertificate,
            .intermediateIsNoAuthority, .forgedLeaf, .brokenCertificate, .fullSignedByNewKey, .brokenAttestation,
            .attestedByOtherKey, .issuingLeaf, .nameConstraints, .longSerialNumber, .sharedAuthority, .sharedRoot,
            .twoSignatureAlgorithms, .surplusCertificate:
            .unacceptableAttestation
        default: .unacceptableContent
        }
    }

    /// The rule that refuses the damage, by the names of this product's server.
    public var step: String {
        switch self {
        case .otherVersion: "version"
        case .unknownMessageExtension: "messageExtensions"
        case .foreignServerData, .lostServerData: "serverData"
        case .unreadableParameters: "finalChallengeParams"
        case .otherAppID: "appID"
        case .untrustedFacet, .malformedOrigin: "facetID"
        case .otherChannel: "channelBinding"
        case .otherChallenge: "challenge"
        case .noAssertion, .paddedAssertion, .truncatedAssertion, .trailingByte, .swappedAssertion, .duplicateTag,
            .missingTag,
            .longCounters, .unknownCriticalTag, .shortNonce, .signatureFirst:
            "assertion"
        case .unknownAAID: "metadata"
        case .revokedAAID, .revokedKey, .revokedCertificate, .revokedAttestationKey: "revocation"
        case .otherScheme: "assertionScheme"
        case .existingKey, .unknownKey: "credential"
        case .foreignKey: "account"
        case .outsidePolicy, .disallowed, .unreadableBan, .bannedVersion, .silentAlone: "policy"
        case .otherHash, .hashOfDecoded: "finalChallengeHash"
        case .outdated: "authenticatorVersion"
        case .unknownMode, .transactionMode: "authenticationMode"
        case .otherAlgorithm: "signatureAlgorithm"
        case .otherKeyFormat, .keyOffCurve, .keyAtInfinity, .longModulus, .evenExponent, .smallExponent: "publicKey"
        case .ecdaa, .otherAttestation, .notPreferredAttestation, .surrogateWithRoots, .fullWithoutRoots,
            .otherRoot, .missingIntermediate, .reversedChain, .expiredLeaf, .futureLeaf, .otherModelsCertificate,
            .intermediateIsNoAuthority, .forgedLeaf, .brokenCertificate, .fullSignedByNewKey, .brokenAttestation,
            .attestedByOtherKey, .issuingLeaf, .nameConstraints, .longSerialNumber, .sharedAuthority, .sharedRoot,
            .twoSignatureAlgorithms, .surplusCertificate:
            "attestation"
        case .noTransactionHash, .otherTransaction, .notConfirmed, .withoutDisplay, .unexpectedTransaction,
            .hashWithoutConfirmation:
            "transaction"
        case .unknownSignedExtension, .unknownUnsignedExtension: "assertionExtensions"
        case .brokenSignature, .signedByOtherKey, .changedAfterSigning, .shortSignature, .longSignature, .longForm,
            .otherEncoding:
            "signature"
        case .replayed, .lowerCounter, .zeroCounter: "signCounter"
        default: "message"
        }
    }

    /// The operations in which the damage can occur.
    public var operations: Set<UAF.Operation> {
        switch self {
        case .shortNonce, .unknownKey, .foreignKey, .noTransactionHash, .otherTransaction, .notConfirmed,
            .withoutDisplay,
            .unexpectedTransaction, .hashWithoutConfirmation, .brokenSignature, .signedByOtherKey, .changedAfterSigning,
            .shortSignature, .longSignature, .longForm, .otherEncoding, .replayed, .lowerCounter, .zeroCounter:
            [.authentication]
        case .existingKey, .transactionMode, .otherKeyFormat, .keyOffCurve, .keyAtInfinity, .longModulus,
            .evenExponent, .smallExponent, .ecdaa, .otherAttestation, .notPreferredAttestation, .surrogateWithRoots,
            .fullWithoutRoots, .otherRoot, .missingIntermediate, .reversedChain, .expiredLeaf, .futureLeaf,
            .otherModelsCertificate, .intermediateIsNoAuthority, .forgedLeaf, .brokenCertificate, .fullSignedByNewKey,
            .brokenAttestation, .attestedByOtherKey, .issuingLeaf, .nameConstraints, .longSerialNumber,
            .sharedAuthority, .sharedRoot, .twoSignatureAlgorithms, .surplusCertificate, .revokedCertificate,
            .revokedAttestationKey:
            [.registration]
        default: [.registration, .authentication]
        }
    }

    /// Returns `true` if the damage can occur with keys of this algorithm.
    public func applies(to algorithm: SignatureAlgorithm) -> Bool {
        let isRSA = ![.p256Raw, .p256DER].contains(algorithm)
        return switch self {
        case .keyOffCurve, .keyAtInfinity: !isRSA
        case .longModulus, .evenExponent, .smallExponent: isRSA
        case .longForm: [.p256DER, .rsaPSSDER, .rsaPKCS1DER].contains(algorithm)
        default: true
        }
    }

    /// `true` if the damage gives different results for each algorithm, not only for each kind of key.
    var isOfAlgorithm: Bool {
        switch self {
        case .otherAlgorithm, .otherKeyFormat, .keyOffCurve, .keyAtInfinity, .longModulus, .evenExponent,
            .smallExponent, .forgedLeaf, .fullSignedByNewKey, .brokenAttestation, .attestedByOtherKey,
            .brokenSignature, .signedByOtherKey, .changedAfterSigning, .shortSignature, .longSignature, .longForm,
            .otherEncoding, .revokedKey:
            true
        default: false
        }
    }

    /// The damages that are also applied to one of two assertions. The other assertion does not repair a damaged
    /// assertion.
    static let besideCompanion: [Damage] = [
        .truncatedAssertion, .revokedAAID, .existingKey, .unknownKey, .foreignKey, .disallowed, .otherHash, .outdated,
        .otherAlgorithm, .brokenAttestation, .unknownSignedExtension, .signedByOtherKey, .lowerCounter,
    ]

    /// `true` if the damage needs a full attestation.
    var isOfChain: Bool {
        switch self {
        case .fullWithoutRoots, .otherRoot, .missingIntermediate, .reversedChain, .expiredLeaf, .futureLeaf,
            .otherModelsCertificate, .intermediateIsNoAuthority, .forgedLeaf, .brokenCertificate, .fullSignedByNewKey,
            .issuingLeaf, .nameConstraints, .longSerialNumber, .sharedAuthority, .sharedRoot, .twoSignatureAlgorithms,
            .surplusCertificate, .revokedCertificate,
            .revokedAttestationKey:
            true
        default: false
        }
    }

    /// `true` if the damage needs a transaction.
    var needsTransaction: Bool {
        switch self {
        case .noTransactionHash, .otherTransaction, .notConfirmed, .withoutDisplay: true
        default: false
        }
    }
}
