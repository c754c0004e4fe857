package import Records
package import Sealing
import _Primitives

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
}
