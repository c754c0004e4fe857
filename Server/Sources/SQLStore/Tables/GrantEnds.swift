import Records
import _Primitives

/// Everything that ends with a grant or a device secret.
struct GrantEnds {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Ends the grants chosen by a condition on `oauth_grant`, with all consequences: codes and refresh tokens, the
    /// device secrets given with the grants, and the grants made by a device secret or by passing a session on. Returns
    /// the number of grants and device secrets.
    ///
    /// Every end of a grant goes through this function, except for ends that nobody causes: the grant has run out, or
    /// ends with the session in which it was given.
    ///
    /// Cost: for each grant two look-ups, and three more if a device secret was given with the grant.
    func endGrants(where condition: String, _ values: SQLValues) throws -> Int {
        var ended = EndedGrants(try self.deleteGrants(where: condition, values))
        while let grant = ended.next() {
            // The grants of a passed-on session have the authentication of the first grant, and are found by it.
            ended.add(
                try self.deleteGrants(where: "authentication = ? AND origin = ?", [grant.authentication, grant.id]))
            guard let secret = grant.givenSecret else { continue }
            let digest = secret.digest
            try self.db.run("DELETE FROM oauth_device_secret WHERE digest = ?", [digest])
            ended.add(secrets: self.db.changesCount)
            ended.add(try self.deleteGrants(gotBy: digest, inSession: secret.session))
        }
        return ended.count
    }

    /// Ends the device secrets chosen by a condition on `oauth_device_secret`, with the grants made by them. Returns
    /// the number of secrets and grants.
    func endDeviceSecrets(where condition: String, _ values: SQLValues) throws -> Int {
        let ended = try self.db.rows(
            .composed("DELETE FROM oauth_device_secret WHERE \(condition) RETURNING digest, session"), values
        ) { (digest: try $0.bytes("digest"), session: try $0.text("session")) }
        return try ended.reduce(ended.count) { count, secret in
            try count + self.deleteGrants(gotBy: secret.digest, inSession: secret.session).count
        }
    }

    /// Deletes grants that have run out, at most `limit`. Returns the number of grants.
    func deleteSpentGrants(at moment: Timestamp, limit: Int) throws -> Int {
        try self.deleteGrants(
            where: "id IN (SELECT id FROM oauth_grant WHERE expires_at <= ? LIMIT ?)", [moment.milliseconds, limit]
        ).count
    }

    /// Deletes the grants chosen by a condition on `oauth_grant`, and returns the data from which other grants came. An
    /// authentication ends with its last lasting grant, if no session holds up the authentication.
    ///
    /// Every deletion of a grant goes through this function, except for the deletion of the authentication itself, and
    /// for a restore.
    private func deleteGrants(where condition: String, _ values: SQLValues) throws
        -> [EndedGrant]
    {
        let deleted = try self.db.rows(
            .composed(
                """
                DELETE FROM oauth_grant WHERE \(condition)
                RETURNING id, authentication, session, device_secret, origin, is_lasting
                """), values
        ) { (grant: try EndedGrant($0), isLasting: try $0.flag("is_lasting")) }
        try AuthenticationRows(self.db).endWithGrants(deleted.filter(\.isLasting).map(\.grant.authentication))
        return deleted.map(\.grant)
    }

    /// Deletes the grants that apps have got by a device secret, also by a secret that has ended with its session.
    /// These grants belong to the secret's session. Grants that end with the session rest on an authentication of the
    /// session.
    private func deleteGrants(gotBy digest: [UInt8], inSession session: String) throws -> [EndedGrant] {
        try self.deleteGrants(
            where: """
                id IN (
                    SELECT got.id FROM oauth_grant AS got
                    WHERE got.session = ?1 AND got.is_lasting = 1 AND got.device_secret = ?2 AND got.origin IS NOT NULL
                    UNION ALL SELECT got.id FROM oauth_session_authentication
                    JOIN oauth_grant AS got ON got.authentication = oauth_session_authentication.authentication
                    WHERE oauth_session_authentication.session = ?1 AND got.device_secret = ?2
                        AND got.origin IS NOT NULL)
                """, [session, digest])
    }

    /// Ends the selected grants and device secrets of an account. Returns the number of ended grants and secrets.
    func end(_ selection: GrantSelection, ofAccount account: String) throws -> Int {
        switch selection {
        case .grant(let id):
            let grants = try self.endGrants(where: "\(Self.isGrantOfAccount) AND id = ?2", [account, id])
            // Ending a device secret alone does not end the grants that apps have got by the secret.
            try self.db.run(
                .composed("DELETE FROM oauth_device_secret WHERE \(Self.isSecretOfAccount) AND id = ?2"), [account, id])
            return grants + self.db.changesCount
        case .client(let client):
            return try self.endGrants(where: "\(Self.isGrantOfAccount) AND client = ?2", [account, client])
                + self.endDeviceSecrets(where: "\(Self.isSecretOfAccount) AND client = ?2", [account, client])
        case .all:
            return try self.endGrants(where: Self.isGrantOfAccount, [account])
                + self.endDeviceSecrets(where: Self.isSecretOfAccount, [account])
        }
    }

    /// Returns the sessions of an account that no browser has and in which the selected grants and device secrets were
    /// given.
    func sessions(giving selection: GrantSelection, ofAccount account: String) throws -> [String] {
        let isSelected = "(id = ?2 OR ?2 IS NULL) AND (client = ?3 OR ?3 IS NULL)"
        return try self.db.texts(
            .composed(
                """
                SELECT oauth_session.id FROM oauth_session WHERE account = ?1 AND has_browser = 0 AND (
                    oauth_session.id IN (
                        SELECT session FROM oauth_grant WHERE \(Self.isGrantOfAccount) AND \(isSelected))
                    OR oauth_session.id IN (
                        SELECT session FROM oauth_device_secret WHERE \(Self.isSecretOfAccount) AND \(isSelected)))
                """), [account, selection.grantID, selection.clientID])
    }

    /// A condition on `oauth_grant`: the grant is of the account `?1`.
    private static let isGrantOfAccount = """
        authentication IN (SELECT oauth_authentication.id FROM oauth_authentication WHERE account = ?1)
        """

    /// A condition on `oauth_device_secret`: the secret is of the account `?1`.
    private static let isSecretOfAccount = """
        session IN (SELECT oauth_session.id FROM oauth_session WHERE account = ?1)
        """
}

extension EndedGrant {
    /// Reads a row of the columns from which the end of other grants follows.
    init(_ row: SQLRow) throws {
        self.init(
            id: try row.text("id"), authentication: try row.text("authentication"),
            session: try row.optionalText("session"), deviceSecret: try row.optionalBytes("device_secret"),
            origin: try row.optionalText("origin"))
    }
}
