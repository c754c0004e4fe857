package import Records
package import Sealing
import _Primitives

extension SealingPurpose {
    static let attestation = SealingPurpose("attestation")
    static let pictureDisplays = SealingPurpose("picture displays")
    static let usernameCode = SealingPurpose("user name code")
    /// Takes the place of ``usernameCode`` for an account whose name another account has in another spelling.
    static let exactUsernameCode = SealingPurpose("exact user name code")
    package static let username = SealingPurpose("user name")
    /// Takes the place of a name's code in an account without a user name.
    static let noUsername = SealingPurpose("no user name")
    static let displayName = SealingPurpose("display name")
    package static let email = SealingPurpose("e-mail address")
    package static let deviceName = SealingPurpose("device name", isOpenedOften: true)
    /// The purpose of public keys before ``boundPublicKey``.
    package static let publicKey = SealingPurpose("public key")
    package static let boundPublicKey = SealingPurpose("public key of an account", isOpenedOften: true)
    static let phone = SealingPurpose("telephone number")
    static let postalAddress = SealingPurpose("postal address")
    static let profile = SealingPurpose("profile of a person")
    static let deviceSigningKey = SealingPurpose("device signing key")
    static let deviceEncryptionKey = SealingPurpose("device encryption key")
    static let deviceKeyCode = SealingPurpose("device key code")
    static let pushAddress = SealingPurpose("push address")
    static let auditChain = SealingPurpose("audit chain")
    static let auditAddress = SealingPurpose("audit address")
    static let noticeSubject = SealingPurpose("notice subject")
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
    /// A network from which a person has signed in, with the account.
    static let knownNetwork = SealingPurpose("known network")
}

/// The stored forms of an account's values, and the codes by which its user name is found.
extension Sealing {
    /// Returns the code by which a user name is found, in all spellings.
    package func usernameCode(_ username: AccountName) -> [UInt8] { self.code(username.key, purpose: .usernameCode) }

    /// Returns the code for a user name that another account has in another spelling.
    package func exactUsernameCode(_ username: AccountName) -> [UInt8] {
        self.code(username.text, purpose: .exactUsernameCode)
    }

    /// Returns the two codes by which an account may be found, in the order of ``AccountRecord/hasName``. At most one
    /// account has either code: if names collide, no account has the code of all spellings.
    func usernameCodes(_ username: AccountName) -> [[UInt8]] {
        [self.exactUsernameCode(username), self.usernameCode(username)]
    }

    /// Returns the code by which a user name of this spelling is found.
    package func usernameCode(_ username: AccountName, _ spelling: AccountNameSpelling) -> [UInt8] {
        switch spelling {
        case .any: self.usernameCode(username)
        case .exact: self.exactUsernameCode(username)
        }
    }

    /// Returns the code by which an account is found among names. An account without a user name has a code that no
    /// name has.
    func usernameCode(_ username: AccountName?, account: String) -> [UInt8] {
        username.map(self.usernameCode) ?? self.code(account, purpose: .noUsername)
    }

    /// Returns a user name in its stored form; empty if the account has no user name.
    func username(_ username: AccountName?, account: String) throws -> [UInt8] {
        try username.map { try self.seal($0.text, purpose: .username, row: account) } ?? []
    }

    /// Reads a stored user name; `nil` if the account has no user name.
    func openUsername(_ sealed: [UInt8], account: String) throws -> AccountName? {
        guard !sealed.isEmpty else { return nil }
        return AccountName(stored: try self.openText(sealed, purpose: .username, row: account))
    }

    /// Returns the place of a public key, to which the key is bound: row, account, device, AAID and key identifier.
    /// None of the parts contains a space.
    package static func place(
        ofKey id: String, account: String, device: String, aaid: String, keyID: [UInt8]
    ) -> String {
        "\(id) \(account) \(device) \(aaid) \(Base64URL.encode(keyID))"
    }

    /// Returns an account's e-mail address in its stored form.
    func email(_ email: AccountEmail?, account: String) throws -> [UInt8]? {
        try email.map { try self.seal($0.address, purpose: .email, row: account) }
    }

    /// Returns an account's telephone number in its stored form.
    func phone(_ phone: AccountPhone?, account: String) throws -> [UInt8]? {
        try phone.map { try self.seal($0.number, purpose: .phone, row: account) }
    }

    /// Returns an account's address in its stored form.
    func postalAddress(_ address: PostalAddress?, account: String) throws -> [UInt8]? {
        try address.map { try self.seal(JSON.object($0.parts).text, purpose: .postalAddress, row: account) }
    }

    /// Returns an account's profile in its stored form.
    func profile(_ profile: PersonProfile?, account: String) throws -> [UInt8]? {
        try profile.map { try self.seal(JSON.object($0.claims).text, purpose: .profile, row: account) }
    }

    /// Reads a stored profile.
    func openProfile(_ sealed: [UInt8], account: String) throws -> PersonProfile {
        try PersonProfile(stored: self.openText(sealed, purpose: .profile, row: account))
    }

    /// Reads a stored address.
    func openPostalAddress(_ sealed: [UInt8], account: String) throws -> PostalAddress {
        try PostalAddress(stored: self.openText(sealed, purpose: .postalAddress, row: account))
    }

    /// Returns bytes of a key in their stored form; `nil` for no bytes.
    func sealUnlessEmpty(_ bytes: [UInt8], purpose: SealingPurpose, row: String) throws -> [UInt8]? {
        guard !bytes.isEmpty else { return nil }
        return try self.seal(bytes, purpose: purpose, row: row)
    }

    /// Returns the code by which a device's key is found.
    func deviceKeyCode(_ name: String) -> [UInt8] { self.code(name, purpose: .deviceKeyCode) }

    /// Returns the code of an entry (``AuditEvent/chained(at:after:)``).
    func auditCode(_ bytes: [UInt8]) -> [UInt8] { self.code(bytes, purpose: .auditChain) }

    /// Returns the code by which an e-mail address is found. The case of its letters does not matter.
    package func emailCode(_ address: String) -> [UInt8] { self.code(address.asciiLowercased, purpose: .emailCode) }

    /// Returns the place of a person's value, to which the value is bound: row, account and attribute. None of the
    /// parts contains a space.
    static func place(ofValue id: String, account: String, attribute: String) -> String {
        "\(id) \(account) \(attribute)"
    }

    /// Returns the stored code of a network from which a person has signed in to an account: no two accounts have the
    /// same code.
    func networkCode(_ network: String, accountID: String) -> [UInt8] {
        self.code(Array(accountID.utf8) + [0] + Array(network.utf8), purpose: .knownNetwork)
    }
}
