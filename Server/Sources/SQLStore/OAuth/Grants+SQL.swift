import Records
import Sealing
import _Primitives

extension SealingPurpose {
    /// The claims that a client has named, bound to the grant.
    static let grantClaims = SealingPurpose("oauth grant claims")
}

private enum GrantColumn: Int, TableColumn {
    static let table = "oauth_grant"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case id, client, subject, authentication, session, scope, expiresAt, isLasting, keyThumbprint, resources, claims
    case consent, details, deviceSecret, origin, lastingSince, lastingNumber
}

private enum CodeColumn: Int, TableColumn {
    static let table = "oauth_code"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case digest, grantID, redirectURI, nonce, challenge, expiresAt, takenAt, keyThumbprint, acr
}

/// The lifetime of a grant whose family begins together with the grant.
struct GrantBeginning {
    let family: RefreshFamilyStart
    let at: Timestamp
    /// The grant's number among the lasting grants of its client and its person.
    let number: Int64
}

extension SQLConnection {
    /// A condition on `oauth_grant`: the grant has no session to end with, or its session still exists at the moment
    /// `?2`.
    static let isHeldBySession = """
        (is_lasting = 1 OR session IS NULL OR EXISTS (
            SELECT 1 FROM oauth_session WHERE oauth_session.id = session AND oauth_session.expires_at > ?2))
        """

    /// A condition on `oauth_grant`: its client is not switched off.
    private static let isOfServedClient = """
        NOT EXISTS (SELECT 1 FROM oauth_client WHERE oauth_client.id = oauth_grant.client AND is_disabled = 1)
        """

    /// Keeps a grant within the present step, with the subject by which its client knows the account. For a grant with
    /// a session, notes the service that the session has signed in to.
    ///
    /// - Parameters:
    ///   - consent: The consent that replaces the grant's own consent.
    ///   - lasting: The grant's lifetime, if its family begins in the same step.
    ///
    /// Throws ``StoreError/Code/notFound`` if the consent has been withdrawn. Throws the same if the client is a
    /// service of personalised identities and the authentication was not for this service: no way to a grant bypasses
    /// the service's requirements of people.
    func insert(
        _ grant: GrantRecord, redirectURI: String, consent: String? = nil,
        lasting: GrantBeginning? = nil, _ sealing: Sealing
    ) throws {
        let consent = consent ?? grant.consent
        try GrantRequirement.consent.check(consent.map(self.hasConsent) ?? true)
        try GrantRequirement.service.check(self.takes(grant))
        let (end, key) =
            lasting.map { ($0.family.end, $0.family.keyThumbprint) } ?? (grant.expiresAt, grant.keyThumbprint)
        let claims = try grant.claims.map { try sealing.seal($0, purpose: .grantClaims, row: grant.id) }
        let details = try grant.details.map { try sealing.seal($0, purpose: .authorizationDetails, row: grant.id) }
        try self.insert(
            [
                GrantColumn.id: grant.id, .client: grant.client, .subject: grant.subject,
                .authentication: grant.authentication, .session: grant.session, .scope: grant.scope,
                .expiresAt: end.milliseconds, .isLasting: grant.isLasting, .keyThumbprint: key,
                .resources: grant.resources.joined(separator: " "),
                .claims: claims, .consent: consent,
                .details: details, .deviceSecret: grant.deviceSecret, .origin: grant.origin,
                .lastingSince: lasting?.at.milliseconds, .lastingNumber: lasting?.number,
            ], by: GrantColumn.insertion)
        try self.run(
            """
            INSERT INTO oauth_subject (client, subject, account)
            SELECT ?, ?, account FROM oauth_authentication WHERE id = ? ON CONFLICT DO NOTHING
            """, [grant.client, grant.subject, grant.authentication])
        try self.noteService(grant.client, redirectURI: redirectURI, session: grant.session)
    }

    /// Returns `true` if a grant's client is no service of personalised identities, or if the authentication was for
    /// this service.
    private func takes(_ grant: GrantRecord) throws -> Bool {
        try self.isTrue(
            """
            SELECT NOT EXISTS (SELECT 1 FROM service WHERE id = ?1)
                OR EXISTS (SELECT 1 FROM oauth_authentication WHERE id = ?2 AND service = ?1)
            """, [grant.client, grant.authentication])
    }

    /// Keeps a code of a grant within the present step.
    func insert(_ code: CodeRecord, grant: String) throws {
        try self.insert(
            [
                CodeColumn.digest: code.digest, .grantID: grant, .redirectURI: code.redirectURI,
                .nonce: code.nonce, .challenge: code.challenge, .expiresAt: code.expiresAt.milliseconds,
                .keyThumbprint: code.keyThumbprint, .acr: code.acr,
            ], by: CodeColumn.insertion)
    }

    /// Returns a grant as ``heldGrant(_:at:_:)`` does, with its authentication and the lock of its account. Throws
    /// `corrupt` if the authentication is missing.
    func standingGrant(_ id: String, at moment: Timestamp, _ sealing: Sealing) throws -> StandingGrant? {
        try self.heldGrant(id, at: moment, sealing).map { grant in
            try StandingGrant(grant: grant, found: self.standingAuthentication(grant.authentication, sealing))
        }
    }

    private static let heldGrantQuery = SQLText.once(
        """
        SELECT \(GrantColumn.selection) FROM oauth_grant
        WHERE id = ?1 AND \(SQLConnection.isHeldBySession) AND \(SQLConnection.isOfServedClient)
        """)

    /// Returns a grant; `nil` if the session that holds the grant is over at `moment`, or the grant's client is
    /// switched off. The function does not look at the grant's own end. Without `sealing` the named claims and the
    /// agreed details stay closed.
    func heldGrant(_ id: String, at moment: Timestamp, _ sealing: Sealing? = nil) throws -> GrantRecord? {
        try self.row(Self.heldGrantQuery, [id, moment.milliseconds]).map { try GrantRecord($0, id: id, sealing) }
    }

    private static let codeQuery = SQLText.once(
        "SELECT \(CodeColumn.selection) FROM oauth_code WHERE digest = ?")

    /// Returns a code, whether expired or not, with its grant, and `true` if the code has been taken; `nil` if the
    /// grant is not valid at `moment` (``heldGrant(_:at:_:)``).
    func standingCode(digest: [UInt8], at moment: Timestamp, _ sealing: Sealing) throws
        -> (code: CodeRecord, standing: StandingGrant, isTaken: Bool)?
    {
        try self.row(Self.codeQuery, [digest]).flatMap {
            row in
            try self.standingGrant(row.text(CodeColumn.grantID), at: moment, sealing).map { standing in
                (try CodeRecord(row), standing, try row.optionalMoment(CodeColumn.takenAt) != nil)
            }
        }
    }

    /// Notes that a code has been taken.
    func noteTaken(codeDigest digest: [UInt8], at moment: Timestamp) throws {
        try self.run("UPDATE oauth_code SET taken_at = ? WHERE digest = ?", [moment.milliseconds, digest])
    }

    // MARK: Ending

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
            try self.run("DELETE FROM oauth_device_secret WHERE digest = ?", [digest])
            ended.add(secrets: self.changesCount)
            ended.add(try self.deleteGrants(gotBy: digest, inSession: secret.session))
        }
        return ended.count
    }

    /// Ends the device secrets chosen by a condition on `oauth_device_secret`, with the grants made by them. Returns
    /// the number of secrets and grants.
    func endDeviceSecrets(where condition: String, _ values: SQLValues) throws -> Int {
        let ended = try self.rows(
            .composed("DELETE FROM oauth_device_secret WHERE \(condition) RETURNING digest, session"), values
        ) { (digest: try $0.bytes("digest"), session: try $0.text("session")) }
        return try ended.reduce(ended.count) { count, secret in
            try count + self.deleteGrants(gotBy: secret.digest, inSession: secret.session).count
        }
    }

    /// Deletes the grants chosen by a condition on `oauth_grant`, and returns the data from which other grants came.
    private func deleteGrants(where condition: String, _ values: SQLValues) throws
        -> [EndedGrant]
    {
        try self.rows(
            .composed(
                """
                DELETE FROM oauth_grant WHERE \(condition)
                RETURNING id, authentication, session, device_secret, origin
                """), values
        ) { row in
            EndedGrant(
                id: try row.text("id"), authentication: try row.text("authentication"),
                session: try row.optionalText("session"), deviceSecret: try row.optionalBytes("device_secret"),
                origin: try row.optionalText("origin"))
        }
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
}

extension GrantRecord {
    /// Reads a row of the table's columns. Without `sealing` the named claims and the agreed details stay closed.
    fileprivate init(_ row: SQLRow, id: String, _ sealing: Sealing?) throws {
        self.init(
            id: try row.text(GrantColumn.id), client: try row.text(GrantColumn.client),
            subject: try row.text(GrantColumn.subject), authentication: try row.text(GrantColumn.authentication),
            session: try row.optionalText(GrantColumn.session), isLasting: try row.flag(GrantColumn.isLasting),
            scope: try row.text(GrantColumn.scope), resources: try row.resources(GrantColumn.resources),
            claims: try row.optionalBytes(GrantColumn.claims).flatMap {
                try sealing?.openText($0, purpose: .grantClaims, row: id)
            },
            consent: try row.optionalText(GrantColumn.consent),
            details: try row.optionalBytes(GrantColumn.details).flatMap {
                try sealing?.openText($0, purpose: .authorizationDetails, row: id)
            },
            keyThumbprint: try row.optionalText(GrantColumn.keyThumbprint),
            deviceSecret: try row.optionalBytes(GrantColumn.deviceSecret),
            origin: try row.optionalText(GrantColumn.origin),
            expiresAt: try row.moment(GrantColumn.expiresAt))
    }
}

extension CodeRecord {
    /// Reads a row of the table's columns.
    fileprivate init(_ row: SQLRow) throws {
        self.init(
            digest: try row.bytes(CodeColumn.digest), redirectURI: try row.text(CodeColumn.redirectURI),
            nonce: try row.optionalText(CodeColumn.nonce), challenge: try row.optionalBytes(CodeColumn.challenge),
            keyThumbprint: try row.optionalText(CodeColumn.keyThumbprint),
            acr: try row.optionalText(CodeColumn.acr), expiresAt: try row.moment(CodeColumn.expiresAt))
    }
}

extension SQLRow {
    /// Returns identifiers of resources, which contain no space.
    func resources(_ column: some TableColumn) throws -> [String] {
        try self.text(column).splitBytes(at: " ").filter { !$0.isEmpty }.map(String.init)
    }
}
