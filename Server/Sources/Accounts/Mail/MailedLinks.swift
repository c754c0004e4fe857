import Store
import _Primitives

/// The links that bring people back from their mailboxes.
///
/// What a link opens is made anew, of its name and a key that only this server has, whenever its mail is sent: neither the
/// link nor what opens it is ever stored, and mail that is sent twice has one link, whose time begins with the later.
struct MailedLinks: Sendable {
    let sealing: Sealing
    let random: RandomSource

    /// A new link of an account.
    func make(
        _ purpose: MailedLinkRecord.Purpose, accountID: String, about: String? = nil, until expiry: Timestamp
    ) -> (name: String, record: MailedLinkRecord) {
        let name = self.random.token()
        return (
            name,
            MailedLinkRecord(
                digest: self.digest(of: self.secret(ofName: name)), accountID: accountID, purpose: purpose,
                about: about, expiresAt: expiry)
        )
    }

    /// A new typed code that confirms a change beside the password, bound to the reference of the change.
    func makeCode(accountID: String, reference: String, until expiry: Timestamp) -> (
        name: String, record: MailedLinkRecord
    ) {
        let name = self.random.token()
        return (
            name,
            MailedLinkRecord(
                digest: self.digest(of: self.code(ofName: name), reference: reference), accountID: accountID,
                purpose: .changeCode, about: reference, expiresAt: expiry)
        )
    }

    /// The typed code of this name: ten letters, 50 bits.
    func code(ofName name: String) -> TypedCode {
        TypedCode(of: self.sealing.code(name, purpose: .mailedCode).prefix(Limits.Fixed.mailedCodeLetters))
    }

    /// The digest of a typed code with the reference of the change that the code confirms.
    func digest(of code: TypedCode, reference: String) -> [UInt8] {
        Sealing.digest(ofSecret: "\(code.letters) \(reference)")
    }

    /// What stands in the link of this name.
    func secret(ofName name: String) -> String {
        Base64URL.encode(self.sealing.code(name, purpose: .mailedLink))
    }

    /// What is kept of it.
    func digest(of secret: String) -> [UInt8] { Sealing.digest(ofSecret: secret) }
}

extension SealingPurpose {
    /// The secret of a link in mail, of the link's name.
    fileprivate static let mailedLink = SealingPurpose("mailed link")
    /// A typed code in mail, of the code's name.
    fileprivate static let mailedCode = SealingPurpose("mailed code")
}
