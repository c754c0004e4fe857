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

    /// A condition on `upstream_provider`: a person has come back from the provider for the request. Removing the
    /// provider ends the sign-ins by the provider.
    static let providerOfRequest: Self = "id IN (SELECT provider FROM upstream_arrival WHERE request = ?)"
}
