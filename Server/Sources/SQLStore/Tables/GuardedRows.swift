import Records

/// The conditions by which steps guard a row that they know through another row.
extension SQLText {
    /// A condition on `account`: the account was authenticated by this authentication.
    static let accountOfAuthentication: Self = "id = (SELECT account FROM oauth_authentication WHERE id = ?)"
    /// A condition on `account`: the account has this session.
    static let accountOfSession: Self = "id = (SELECT account FROM oauth_session WHERE id = ?)"
    /// A condition on `account`: the account has given this grant.
    static let accountOfGrant: Self = """
        id = (
            SELECT account FROM oauth_authentication
            WHERE id = (SELECT authentication FROM oauth_grant WHERE id = ?))
        """

    /// A condition on `oauth_session`: the grant was given in the session.
    static let sessionOfGrant: Self = "id = (SELECT session FROM oauth_grant WHERE id = ?)"
    /// A condition on `oauth_session`: the request waits in the session.
    static let sessionOfRequest: Self = "id = (SELECT session FROM oauth_request WHERE id = ?)"
    /// A condition on `oauth_session`: the session is replaced, by its cookie `?` or because the request `?` waits in
    /// the session.
    static let sessionByCookieOrRequest: Self = """
        cookie_digest = ? OR id = (SELECT session FROM oauth_request WHERE id = ?)
        """

    /// A condition on `upstream_provider`: the request has a finished sign-in by the provider. Removing the provider
    /// ends the sign-ins by the provider.
    static let providerOfRequest: Self = """
        'provider:' || id IN (SELECT method FROM finished_sign_in WHERE request = ?)
        """
}

/// The guards of rows that several features know through another row.
extension StepGuard {
    /// Locks the account of a device, and with it the device.
    static func exclusive(accountOfDevice id: String) -> Self {
        .exclusive(.account, where: "id = (SELECT account_id FROM device WHERE id = ?)", [id])
    }

    /// Locks the open invitations that match a condition.
    static func exclusive(invites condition: String, _ values: SQLValues) -> Self {
        .exclusive(.invite, where: .composed("\(condition) AND \(InviteRecord.isOpen)"), values)
    }

    /// Locks the accounts that were made for the open invitations that match a condition. Nobody enrols there
    /// meanwhile.
    static func exclusive(accountsOfInvites condition: String, _ values: SQLValues) -> Self {
        .exclusive(
            .account,
            where: .composed(
                """
                id IN (
                    SELECT provisional_account_id FROM invite WHERE \(condition) AND \(InviteRecord.isOpen))
                """), values)
    }

    /// Locks the account that a mailed link was sent to. If two steps show one link, the later step finds the link
    /// spent.
    static func exclusive(accountOfLink digest: [UInt8]) -> Self {
        .exclusive(.account, where: "id = (SELECT account_id FROM mailed_link WHERE digest = ?)", [digest])
    }
}
