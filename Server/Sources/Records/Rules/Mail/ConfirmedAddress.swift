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
