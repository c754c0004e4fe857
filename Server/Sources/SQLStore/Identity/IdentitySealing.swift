package import Sealing
import _Primitives

extension SealingPurpose {
    /// A value of a person, bound to the account and the attribute.
    static let personalValue = SealingPurpose("personal value")
    /// A person's name for a value, bound to the account and the attribute.
    static let personalAlias = SealingPurpose("personal alias")
    static let invitedEmail = SealingPurpose("invited e-mail address")
    static let additionalEmail = SealingPurpose("further e-mail address")
    static let emailCode = SealingPurpose("e-mail address code")
    static let activationSigningKey = SealingPurpose("activation signing key", isOpenedOften: true)
    static let activationEncryptionKey = SealingPurpose("activation encryption key", isOpenedOften: true)
    static let offeredPinKey = SealingPurpose("offered activation pin key")
    static let offeredName = SealingPurpose("offered activation name")
    static let offeredLetter = SealingPurpose("offered activation letter")
    static let identityAnswer = SealingPurpose("identity answer")
    package static let identityRoot = SealingPurpose("identity root")
    static let identitySealingKey = SealingPurpose("identity sealing key")
}

extension Sealing {
    /// Returns the code by which an e-mail address is found. The case of its letters does not matter.
    package func emailCode(_ address: String) -> [UInt8] { self.code(address.asciiLowercased, purpose: .emailCode) }

    /// Returns the place of a person's value, to which the value is bound: row, account and attribute. None of the
    /// parts contains a space.
    static func place(ofValue id: String, account: String, attribute: String) -> String {
        "\(id) \(account) \(attribute)"
    }
}
