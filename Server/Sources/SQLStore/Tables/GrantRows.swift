import Records
import Sealing
import _Primitives

extension SealingPurpose {
    /// The details that a person has agreed to, bound to the grant.
    static let authorizationDetails = SealingPurpose("oauth authorization details")
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

/// The lifetime of a grant whose family begins together with the grant.
struct GrantBeginning {
    let family: RefreshFamilyStart
    let at: Timestamp
    /// The grant's number among the lasting grants of its client and its person.
    let number: Int64
}

/// A grant that meets its requirements: a step admits the grant before the step's first write, and keeps the grant with
/// later writes.
struct AdmittedGrant {
    fileprivate let grant: GrantRecord

    fileprivate init(_ grant: GrantRecord) { self.grant = grant }
}

/// The rows of grants.
struct GrantRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

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

    /// Admits a grant. Throws ``StoreError/Code/notFound`` if the grant's consent has been withdrawn, and as
    /// ``admitConsented(_:)``.
    ///
    /// - Parameter authentication: The grant's authentication, if the step is about to keep the authentication.
    func admit(_ grant: GrantRecord, by authentication: AuthenticationRecord? = nil) throws -> AdmittedGrant {
        try GrantRequirement.consent.check(grant.consent.map(ConsentRows(self.db).hasConsent) ?? true)
        try GrantRequirement.service.check(authentication?.isForService(of: grant) == true || self.takes(grant))
        return AdmittedGrant(grant)
    }

    /// Admits a grant whose consent the step is about to keep. Throws ``StoreError/Code/notFound`` if the client is a
    /// service of personalised identities and the authentication was not for this service: no way to a grant bypasses
    /// the service's requirements of people.
    func admitConsented(_ grant: GrantRecord) throws -> AdmittedGrant {
        try GrantRequirement.service.check(self.takes(grant))
        return AdmittedGrant(grant)
    }

    /// Keeps a grant within the present step, with the subject by which its client knows the account. For a grant with
    /// a session, notes the service that the session has signed in to.
    ///
    /// - Parameters:
    ///   - consent: The consent that replaces the grant's own consent.
    ///   - lasting: The grant's lifetime, if its family begins in the same step.
    func insert(
        _ admitted: AdmittedGrant, redirectURI: String, consent: String? = nil,
        lasting: GrantBeginning? = nil, _ sealing: Sealing
    ) throws {
        let grant = admitted.grant
        let (end, key) =
            lasting.map { ($0.family.end, $0.family.keyThumbprint) } ?? (grant.expiresAt, grant.keyThumbprint)
        let claims = try grant.claims.map { try sealing.seal($0, purpose: .grantClaims, row: grant.id) }
        let details = try grant.details.map { try sealing.seal($0, purpose: .authorizationDetails, row: grant.id) }
        try self.db.insert(
            [
                GrantColumn.id: grant.id, .client: grant.client, .subject: grant.subject,
                .authentication: grant.authentication, .session: grant.session, .scope: grant.scope,
                .expiresAt: end.milliseconds, .isLasting: grant.isLasting, .keyThumbprint: key,
                .resources: grant.resources.joined(separator: " "),
                .claims: claims, .consent: consent ?? grant.consent,
                .details: details, .deviceSecret: grant.deviceSecret, .origin: grant.origin,
                .lastingSince: lasting?.at.milliseconds, .lastingNumber: lasting?.number,
            ], by: GrantColumn.insertion)
        try self.db.run(
            """
            INSERT INTO oauth_subject (client, subject, account)
            SELECT ?, ?, account FROM oauth_authentication WHERE id = ? ON CONFLICT DO NOTHING
            """, [grant.client, grant.subject, grant.authentication])
        try SessionRows(self.db).noteService(grant.client, redirectURI: redirectURI, session: grant.session)
    }

    /// Returns `true` if a grant's client is no service of personalised identities, or if the authentication was for
    /// this service.
    private func takes(_ grant: GrantRecord) throws -> Bool {
        try self.db.isTrue(
            """
            SELECT NOT EXISTS (SELECT 1 FROM service WHERE id = ?1)
                OR EXISTS (SELECT 1 FROM oauth_authentication WHERE id = ?2 AND service = ?1)
            """, [grant.client, grant.authentication])
    }

    /// Returns a grant as ``heldGrant(_:at:_:)`` does, with its authentication and the lock of its account. Throws
    /// `corrupt` if the authentication is missing.
    func standingGrant(_ id: String, at moment: Timestamp, _ sealing: Sealing) throws -> StandingGrant? {
        try self.heldGrant(id, at: moment, sealing).map { grant in
            try StandingGrant(
                grant: grant, found: AuthenticationRows(self.db).standingAuthentication(grant.authentication, sealing))
        }
    }

    private static let heldGrantQuery = SQLText.once(
        """
        SELECT \(GrantColumn.selection) FROM oauth_grant
        WHERE id = ?1 AND \(GrantRows.isHeldBySession) AND \(GrantRows.isOfServedClient)
        """)

    /// Returns a grant; `nil` if the session that holds the grant is over at `moment`, or the grant's client is
    /// switched off. The function does not look at the grant's own end. Without `sealing` the named claims and the
    /// agreed details stay closed.
    func heldGrant(_ id: String, at moment: Timestamp, _ sealing: Sealing? = nil) throws -> GrantRecord? {
        try self.db.row(Self.heldGrantQuery, [id, moment.milliseconds]).map { try GrantRecord($0, id: id, sealing) }
    }

    /// A condition on `oauth_grant`: the grant `?1` belongs to the client `?2`.
    static let isGrantOfClient = "id = ?1 AND client = ?2"

    func isGrant(_ id: String, ofClient client: String) throws -> Bool {
        try self.db.isTrue(
            .composed("SELECT EXISTS (SELECT 1 FROM oauth_grant WHERE \(Self.isGrantOfClient))"), [id, client])
    }

    func isGrant(_ id: String) throws -> Bool {
        try self.db.isTrue("SELECT EXISTS (SELECT 1 FROM oauth_grant WHERE id = ?)", [id])
    }
}

extension GrantRecord {
    /// Reads a row of the table's columns. Without `sealing` the named claims and the agreed details stay closed.
    init(_ row: SQLRow, id: String, _ sealing: Sealing?) throws {
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

extension SQLRow {
    /// Returns identifiers of resources, which contain no space.
    func resources(_ column: some TableColumn) throws -> [String] {
        try self.text(column).splitBytes(at: " ").filter { !$0.isEmpty }.map(String.init)
    }
}
