/// What a policy asks about an authenticator (AuthenticatorInfo, §2.9, without the members of the ASM's own interface).
public struct AuthenticatorInfo: Hashable, Sendable {
    /// `aaid`
    public var aaid: AAID
    /// The authenticator's version, where it is known.
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
    /// `tcDisplayContentType`; there where ``tcDisplay`` is not empty.
    public var tcDisplayContentType: Transaction.ContentType?
    /// `tcDisplayPNGCharacteristics`: the pictures that can be shown, beside the content type above.
    public var pngCharacteristics: [DisplayPNGCharacteristics]
    /// `isSecondFactorOnly`
    public var isSecondFactorOnly: Bool

    /// Describes an authenticator.
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

    /// Whether the authenticator signs without anybody's doing: it never says who somebody is.
    public var isSilent: Bool { self.userVerification.isSilent }
}
