import Records
import Sealing
import Settings
import _Primitives

extension SealingPurpose {
    /// The claims that a person granted a client by name, bound to the consent.
    static let consentClaims = SealingPurpose("oauth consent claims")
    /// The browser in which a consent was given, bound to the consent.
    static let consentBrowser = SealingPurpose("oauth consent browser")
    /// The network address from which a consent was given, bound to the consent.
    static let consentAddress = SealingPurpose("oauth consent address")
}

enum ConsentColumn: Int, TableColumn {
    static let table = "oauth_consent"
    static let selection = Self.selected()
    /// Adds a consent, or renews the consent that has the row already: only the time and the place are written.
    static let insertionOrRenewal = Self.inserted(
        """
        ON CONFLICT (id) DO UPDATE SET granted_at = excluded.granted_at,
            session = excluded.session, browser = excluded.browser, address = excluded.address
        """)

    case id, account, client, content, scope, claims, resources, grantedAt, session, browser, address
}

/// The rows of consents to clients.
struct ConsentRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Ends the consents chosen by a condition on `oauth_consent`, with the grants and device secrets resting on the
    /// consents, and all consequences. Returns the number of consents.
    func endConsents(where condition: String, _ arguments: SQLValues) throws -> Int {
        let ended = try self.db.texts(
            .composed("SELECT oauth_consent.id FROM oauth_consent WHERE \(condition)"), arguments)
        for id in ended {
            _ = try GrantEnds(self.db).endGrants(where: "consent = ?", [id])
            _ = try GrantEnds(self.db).endDeviceSecrets(where: "consent = ?", [id])
            try self.db.run("DELETE FROM oauth_consent WHERE id = ?", [id])
        }
        return ended.count
    }

    /// Keeps a consent within the present step. Returns the consent's identifier: the former identifier if the person
    /// had agreed to the same content before. Ends the person's oldest consents for the client beyond
    /// ``Limits/Fixed/consentsPerClient``.
    func keep(_ consent: ConsentRecord, _ sealing: Sealing) throws -> String {
        let row =
            try self.db.text(
                "SELECT id FROM oauth_consent WHERE account = ? AND client = ? AND content = ?",
                [consent.account, consent.client, consent.content]) ?? consent.id
        let browser = try consent.session?.browser.map {
            try sealing.seal($0, purpose: .consentBrowser, row: row)
        }
        let address = try consent.session?.address.map {
            try sealing.seal($0, purpose: .consentAddress, row: row)
        }
        let claims = try consent.claims.map { try sealing.seal($0, purpose: .consentClaims, row: row) }
        try self.db.insert(
            [
                ConsentColumn.id: row, .account: consent.account, .client: consent.client,
                .content: consent.content, .scope: consent.scope, .claims: claims,
                .resources: consent.resources.joined(separator: " "),
                .grantedAt: consent.grantedAt.milliseconds, .session: consent.session?.id, .browser: browser,
                .address: address,
            ], by: ConsentColumn.insertionOrRenewal)
        _ = try self.endConsents(
            where: """
                account = ?1 AND client = ?2 AND id <> ?3 AND id NOT IN (
                    SELECT id FROM oauth_consent WHERE account = ?1 AND client = ?2
                    ORDER BY granted_at DESC, id = ?3 DESC LIMIT ?4)
                """, [consent.account, consent.client, row, Limits.Fixed.consentsPerClient])
        return row
    }

    /// Returns `true` if the consent exists.
    func hasConsent(_ id: String) throws -> Bool {
        try self.db.isTrue("SELECT EXISTS (SELECT 1 FROM oauth_consent WHERE id = ?)", [id])
    }
}

extension ConsentRecord {
    init(_ row: SQLRow, _ sealing: Sealing) throws {
        let id = try row.text(ConsentColumn.id)
        self.init(
            id: id, account: try row.text(ConsentColumn.account), client: try row.text(ConsentColumn.client),
            content: try row.bytes(ConsentColumn.content), scope: try row.text(ConsentColumn.scope),
            claims: try row.optionalBytes(ConsentColumn.claims).map {
                try sealing.openText($0, purpose: .consentClaims, row: id)
            }, resources: try row.resources(ConsentColumn.resources),
            session: try row.optionalText(ConsentColumn.session).map { session in
                GivingSession(
                    id: session,
                    browser: try row.optionalBytes(ConsentColumn.browser).map {
                        try sealing.openText($0, purpose: .consentBrowser, row: id)
                    },
                    address: try row.optionalBytes(ConsentColumn.address).map {
                        try sealing.openText($0, purpose: .consentAddress, row: id)
                    })
            }, grantedAt: try row.moment(ConsentColumn.grantedAt))
    }
}
