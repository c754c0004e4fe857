import _Primitives

/// Something that follows if an account has another first e-mail address, or the same with another confirmation.
package enum FirstAddressEffect: Sendable, Equatable {
    /// The links that were mailed to the account end, except questions about changes.
    case endLinks
    /// Values of the address are verified no longer, unless the account still has the address confirmed.
    case withdraw(String)

    /// Returns the effects of a first address in place of the former first address.
    ///
    /// Links end with another address, and with the confirmation of the address: the mailbox may be a stranger's. The
    /// confirmation of the present address ends no link.
    package static func effects(of email: AccountEmail?, after former: AccountEmail?) -> [Self] {
        guard let former else { return [.endLinks] }
        let isKept = email.map { email in
            email.address.hasSameBytes(as: former.address) && (email.isVerified || !former.isVerified)
        }
        return (isKept == true ? [] : [.endLinks]) + [.withdraw(former.address)]
    }
}

/// The address that a mailed link confirms.
package enum ConfirmedAddress: Sendable, Equatable {
    /// The first address of an account, verified from now on.
    case first(AccountEmail, account: String)
    /// A further address of an account, by its identifier.
    case further(String, account: String)

    /// Judges a link. `nil` if the link is spent, its time is over, its account is gone or locked, or the account has no
    /// first address any more.
    ///
    /// - Parameters:
    ///   - link: The link that was shown; `nil` if no such link is valid.
    ///   - account: The link's account; `nil` if the account is gone.
    package init?(by link: MailedLinkRecord?, of account: AccountRecord?) {
        guard let link, let account, !account.isLocked else { return nil }
        if let address = link.about {
            self = .further(address, account: account.id)
        } else if let email = account.email {
            self = .first(AccountEmail(address: email.address, isVerified: true), account: account.id)
        } else {
            return nil
        }
    }
}
