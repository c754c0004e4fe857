import Records
import Sealing
import Settings
import _Primitives

/// The links in mail that bring people back to the server.
///
/// The secret of a link is computed from the link's name and a key that only this server has, whenever the mail is
/// sent. Neither the link nor its secret is ever stored. Mail that is sent twice has the same link, with the time of
/// the later letter.
struct MailedLinks: Sendable {
    let sealing: Sealing
    let random: RandomSource

    /// Makes a new link of an account.
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

    /// Makes a new typed code that confirms a change beside the password, bound to the reference of the change.
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

    /// Returns the typed code of a name: ten letters, 50 bits.
    func code(ofName name: String) -> TypedCode {
        TypedCode(of: self.sealing.code(name, purpose: .mailedCode).prefix(Limits.Fixed.mailedCodeLetters))
    }

    /// Returns the digest of a typed code with the reference of the change that the code confirms.
    func digest(of code: TypedCode, reference: String) -> [UInt8] {
        Sealing.digest(ofSecret: "\(code.letters) \(reference)")
    }

    /// Returns the secret in the link of a name.
    func secret(ofName name: String) -> String {
        Base64URL.encode(self.sealing.code(name, purpose: .mailedLink))
    }

    /// Returns the stored digest of a secret.
    func digest(of secret: String) -> [UInt8] { Sealing.digest(ofSecret: secret) }
}

extension SealingPurpose {
    /// The secret of a link in mail, computed from the link's name.
    fileprivate static let mailedLink = SealingPurpose("mailed link")
    /// A typed code in mail, computed from the code's name.
    fileprivate static let mailedCode = SealingPurpose("mailed code")
}
