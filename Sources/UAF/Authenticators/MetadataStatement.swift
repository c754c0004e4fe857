import _Primitives

/// The metadata of a model of authenticators (MetadataStatement, §16).
///
/// The server judges by the metadata alone. The statements of clients about themselves are only hints.
public struct MetadataStatement: Hashable, Sendable {
    /// `aaid`
    public var aaid: AAID
    /// `description`
    public var description: String
    /// `authenticatorVersion`: the lowest trusted version.
    public var authenticatorVersion: UInt16
    /// `upv`: the protocol versions of the model.
    public var versions: [Version]
    /// `assertionScheme`
    public var assertionScheme: AssertionScheme
    /// `authenticationAlgorithm`
    public var authenticationAlgorithm: SignatureAlgorithm
    /// `publicKeyAlgAndEncoding`
    public var publicKeyFormat: PublicKeyFormat
    /// `attestationTypes`
    public var attestationTypes: [AttestationType]
    /// `userVerificationDetails`: alternatives, each a list of methods that apply together.
    public var userVerificationDetails: [[UserVerification]]
    /// `keyProtection`
    public var keyProtection: KeyProtection
    /// `matcherProtection`
    public var matcherProtection: MatcherProtection
    /// `attachmentHint`
    public var attachmentHint: AttachmentHint
    /// `isSecondFactorOnly`
    public var isSecondFactorOnly: Bool
    /// `isKeyRestricted`: `true` if the authenticator alone decides the content that the key signs, or if the statement
    /// does not have the member.
    public var isKeyRestricted: Bool
    /// `isFreshUserVerificationRequired`: `true` if every signature needs a new verification of the user, or if the
    /// statement does not have the member. If `false`, an earlier verification can count.
    public var isFreshUserVerificationRequired: Bool
    /// `tcDisplay`
    public var tcDisplay: TransactionConfirmationDisplay
    /// `tcDisplayContentType`; present if ``tcDisplay`` is not empty.
    public var tcDisplayContentType: Transaction.ContentType?
    /// The ids of `supportedExtensions`.
    public var supportedExtensionIDs: [String]
    /// `attestationRootCertificates`, DER; empty for surrogate attestation.
    public var attestationRootCertificates: [[UInt8]]

    /// Reads a statement's JSON object of at most 256 KiB.
    ///
    /// The initializer reads both spellings of the registry's values: numbers, and the names of later versions of
    /// metadata, in lists. It ignores members that this product does not use. `isSecondFactorOnly` may be a string, as
    /// in the standard's example (§18, row 22).
    ///
    /// From schema 3 of metadata on, as written by the metadata service of FIDO, `assertionScheme`,
    /// `isSecondFactorOnly` and `attachmentHint` are optional. Their default values are UAFV1TLV, no, and unknown.
    public init(parsing bytes: some Collection<UInt8>) throws(UAFError) {
        try self.init(try MemberReader(body: bytes, "metadata", limits: JSONLimits(bytes: 262_144)))
    }

    init(_ members: MemberReader) throws(UAFError) {
        guard try members.string("protocolFamily") ?? "uaf" == "uaf" else {
            throw UAFError(.invalidValue, "metadata.protocolFamily")
        }
        self.aaid = try AAID(try members.requiredString("aaid"))
        self.description = try members.requiredString("description", 1...200)
        self.authenticatorVersion = try members.requiredInteger("authenticatorVersion")
        self.versions = try members.requiredList("upv") { (element) throws(UAFError) in try Version(element) }
        // Statements from schema 3 on have neither the scheme nor the second factor, and the attachment is optional. A
        // statement without the attachment meets no criterion about the attachment.
        let isLater = try members.integer("schema", as: UInt16.self) ?? 0 >= 3
        self.assertionScheme = AssertionScheme(
            rawValue: isLater
                ? try members.string("assertionScheme") ?? AssertionScheme.uafV1TLV.rawValue
                : try members.requiredString("assertionScheme"))
        self.authenticationAlgorithm = SignatureAlgorithm(
            rawValue: try members.registryValue("authenticationAlgorithm", RegistryNames.signatureAlgorithms))
        self.publicKeyFormat = PublicKeyFormat(
            rawValue: try members.registryValue("publicKeyAlgAndEncoding", RegistryNames.publicKeyFormats))
        self.attestationTypes = try members.registryValues("attestationTypes", RegistryNames.attestationTypes)
            .map(AttestationType.init(rawValue:))
        guard let alternatives = try members.values("userVerificationDetails") else {
            throw UAFError(.missingMember, "metadata.userVerificationDetails")
        }
        self.userVerificationDetails = try Self.details(alternatives)
        self.keyProtection = KeyProtection(
            rawValue: try members.registryFlags("keyProtection", RegistryNames.keyProtections))
        self.matcherProtection = MatcherProtection(
            rawValue: try members.registryFlags("matcherProtection", RegistryNames.matcherProtections))
        let saysWhereAttached = !isLater || members.object["attachmentHint"] != nil
        self.attachmentHint = AttachmentHint(
            rawValue: saysWhereAttached
                ? try members.registryFlags("attachmentHint", RegistryNames.attachmentHints) : 0)
        guard let isSecondFactorOnly = try Self.flag(members, "isSecondFactorOnly") ?? (isLater ? false : nil) else {
            throw UAFError(.missingMember, "metadata.isSecondFactorOnly")
        }
        self.isSecondFactorOnly = isSecondFactorOnly
        self.isKeyRestricted = try Self.flag(members, "isKeyRestricted") ?? true
        self.isFreshUserVerificationRequired = try Self.flag(members, "isFreshUserVerificationRequired") ?? true
        self.tcDisplay = TransactionConfirmationDisplay(
            rawValue: try members.registryFlags("tcDisplay", RegistryNames.transactionConfirmationDisplays))
        self.tcDisplayContentType =
            try members.string("tcDisplayContentType").map(Transaction.ContentType.init(rawValue:))
        guard self.tcDisplay.isEmpty || self.tcDisplayContentType != nil else {
            throw UAFError(.missingMember, "metadata.tcDisplayContentType")
        }
        self.supportedExtensionIDs =
            try members.list("supportedExtensions", allowsEmpty: true) { (element) throws(UAFError) in
                try element.requiredString("id", 1...32)
            } ?? []
        guard let roots = try members.values("attestationRootCertificates", allowsEmpty: true) else {
            throw UAFError(.missingMember, "metadata.attestationRootCertificates")
        }
        self.attestationRootCertificates = try Self.certificates(roots)
    }

    /// The methods as one value: alternatives of one method each, or one alternative of several methods.
    ///
    /// `nil` if the methods are mixed, because no single value can express a mixture (§2.2). A policy can name such a
    /// model by its AAID only.
    public var userVerification: UserVerification? {
        let details = self.userVerificationDetails
        if details.allSatisfy({ $0.count == 1 }) { return details.reduce(into: []) { $0.formUnion($1[0]) } }
        guard details.count == 1 else { return nil }
        return details[0].reduce(into: .all) { $0.formUnion($1) }
    }

    /// The properties for a policy.
    ///
    /// Mixed methods appear as all methods at once, and only a criterion with the AAID should rely on such a model. A
    /// model is silent if one of its alternatives verifies nobody, even if the methods are mixed.
    public var info: AuthenticatorInfo {
        let isSilent = self.userVerificationDetails.joined().contains(where: \.isSilent)
        return AuthenticatorInfo(
            aaid: self.aaid, authenticatorVersion: self.authenticatorVersion, assertionScheme: self.assertionScheme,
            authenticationAlgorithm: self.authenticationAlgorithm, attestationTypes: self.attestationTypes,
            userVerification: self.userVerification ?? (isSilent ? [.all, .none] : .all),
            keyProtection: self.keyProtection, matcherProtection: self.matcherProtection,
            attachmentHint: self.attachmentHint, tcDisplay: self.tcDisplay,
            tcDisplayContentType: self.tcDisplayContentType, isSecondFactorOnly: self.isSecondFactorOnly)
    }

    private static func details(_ alternatives: [JSON]) throws(UAFError) -> [[UserVerification]] {
        var details: [[UserVerification]] = []
        for alternative in alternatives {
            let members = MemberReader(["methods": alternative], "metadata.userVerificationDetails")
            details.append(
                try members.requiredList("methods") { (method) throws(UAFError) in
                    // Later statements have another name for the member, and names for the methods.
                    let name = method.object["userVerification"] == nil ? "userVerificationMethod" : "userVerification"
                    return UserVerification(rawValue: try method.registryValue(name, RegistryNames.userVerifications))
                })
        }
        return details
    }

    private static func flag(_ members: MemberReader, _ name: String) throws(UAFError) -> Bool? {
        switch members.object[name] {
        case .string("true"): true
        case .string("false"): false
        default: try members.bool(name)
        }
    }

    /// Reads certificates in standard base64, possibly with padding and line breaks.
    private static func certificates(_ values: [JSON]) throws(UAFError) -> [[UInt8]] {
        var certificates: [[UInt8]] = []
        for value in values {
            guard case .string(let text) = value else { throw UAFError(.wrongType, "metadata: a root certificate") }
            guard let bytes = LenientReadings.anyBase64(text), !bytes.isEmpty else {
                throw UAFError(.invalidValue, "metadata: a root certificate")
            }
            certificates.append(bytes)
        }
        return certificates
    }
}
