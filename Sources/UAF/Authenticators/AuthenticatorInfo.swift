/// The properties of an authenticator that a policy can ask about (AuthenticatorInfo, §2.9, without the members of the
/// ASM's own interface).
public struct AuthenticatorInfo: Hashable, Sendable {
    /// `aaid`
    public var aaid: AAID
    /// The authenticator's version, if known.
    public var authenticatorVersion: UInt16?
    /// `assertionScheme`
    public var assertionScheme: AssertionScheme
    /// `authenticationAlgorithm`
    public var authenticationAlgorithm: SignatureAlgorithm
    /// `attestationTypes`
    public var attestationTypes: [AttestationType]
    /// `userVerification`
    public var userVerification: UserVerification
    /// `keyProtection`
    public var keyProtection: KeyProtection
    /// `matcherProtection`
    public var matcherProtection: MatcherProtection
    /// `attachmentHint`
    public var attachmentHint: AttachmentHint
    /// `tcDisplay`
    public var tcDisplay: TransactionConfirmationDisplay
    /// `tcDisplayContentType`; present if ``tcDisplay`` is not empty.
    public var tcDisplayContentType: Transaction.ContentType?
    /// `tcDisplayPNGCharacteristics`: the pictures that the display can show, beside the content type above.
    public var pngCharacteristics: [DisplayPNGCharacteristics]
    /// `isSecondFactorOnly`
    public var isSecondFactorOnly: Bool

    /// Creates the properties of an authenticator.
    public init(
        aaid: AAID, authenticatorVersion: UInt16? = nil, assertionScheme: AssertionScheme = .uafV1TLV,
        authenticationAlgorithm: SignatureAlgorithm, attestationTypes: [AttestationType],
        userVerification: UserVerification, keyProtection: KeyProtection, matcherProtection: MatcherProtection,
        attachmentHint: AttachmentHint, tcDisplay: TransactionConfirmationDisplay,
        tcDisplayContentType: Transaction.ContentType? = nil,
        pngCharacteristics: [DisplayPNGCharacteristics] = [], isSecondFactorOnly: Bool
    ) {
        self.aaid = aaid
        self.authenticatorVersion = authenticatorVersion
        self.assertionScheme = assertionScheme
        self.authenticationAlgorithm = authenticationAlgorithm
        self.attestationTypes = attestationTypes
        self.userVerification = userVerification
        self.keyProtection = keyProtection
        self.matcherProtection = matcherProtection
        self.attachmentHint = attachmentHint
        self.tcDisplay = tcDisplay
        self.tcDisplayContentType = tcDisplayContentType
        self.pngCharacteristics = pngCharacteristics
        self.isSecondFactorOnly = isSecondFactorOnly
    }

    /// `true` if the authenticator can sign without an action of a person. A silent authenticator never identifies a
    /// person.
    public var isSilent: Bool { self.userVerification.isSilent }
}
