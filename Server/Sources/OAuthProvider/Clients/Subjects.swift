public import Records

extension Keys {
    /// Returns the subject of an account at a client that is a sector by itself: always the same, and different from
    /// the account's subject at any other client (OpenID Connect Core 1.0, section 8.1). For a client with a
    /// `sector_identifier_uri` use ``subject(ofAccount:of:)``.
    ///
    /// Cost: one HMAC.
    public func subject(ofAccount account: String, client: String) -> String {
        self.signing.pairwise("sub", client: client, of: account)
    }

    /// Returns the subject of an account at a client: always the same, and different from the account's subject in any
    /// other sector.
    ///
    /// Cost: one HMAC.
    public func subject(ofAccount account: String, of client: ClientRecord) -> String {
        guard let sector = client.settings.sector else { return self.subject(ofAccount: account, client: client.id) }
        return self.signing.pairwise("sub of a sector", client: sector, of: account)
    }
}
