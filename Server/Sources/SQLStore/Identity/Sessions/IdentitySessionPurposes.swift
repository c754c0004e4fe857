package import Sealing

extension SealingPurpose {
    static let activationSigningKey = SealingPurpose("activation signing key", isOpenedOften: true)
    static let activationEncryptionKey = SealingPurpose("activation encryption key", isOpenedOften: true)
    static let offeredPinKey = SealingPurpose("offered activation pin key")
    static let offeredName = SealingPurpose("offered activation name")
    static let offeredLetter = SealingPurpose("offered activation letter")
    static let identityAnswer = SealingPurpose("identity answer")
    package static let identityRoot = SealingPurpose("identity root")
    static let identitySealingKey = SealingPurpose("identity sealing key")
}
