public import Records
import Sealing
import Settings
public import _Primitives

extension SealingPurpose {
    /// The claims that a person granted a client by name, bound to the consent.
    static let consentClaims = SealingPurpose("oauth consent claims")
    /// The browser in which a consent was given, bound to the consent.
    static let consentBrowser = SealingPurpose("oauth consent browser")
    /// The network address from which a consent was given, bound to the consent.
    static let consentAddress = SealingPurpose("oauth consent address")
}

private enum ConsentColumn: Int, TableColumn {
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

extension SQLStore: ConsentStore {
    public func consent(account: String, client: String, content: [UInt8]) async throws -> ConsentRecord? {
        try await self.read { [sealing] db in
            try db.row(
                .composed(
                    """
                    SELECT \(ConsentColumn.selection) FROM oauth_consent
                    WHERE account = ? AND client = ? AND content = ?
                    """), [account, client, content]
            ).map { try ConsentRecord($0, sealing) }
        }
    }

    public func consents(account: String, limit: Int) async throws -> [ConsentRecord] {
        try await self.read { [sealing] db in
            try db.rows(
                .composed(
                    """
                    SELECT \(ConsentColumn.selection) FROM oauth_consent WHERE account = ?
                    ORDER BY granted_at DESC, id LIMIT ?
                    """), [account, limit]
            ) { try ConsentRecord($0, sealing) }
        }
    }

    public func endConsent(_ id: String, account: String, audit: AuditEvent) async throws -> Bool {
        // No grant that rests on the consent begins meanwhile.
        let step = Step("consent.end", guards: [.exclusive(.account, id: account)], isolation: .readCommitted)
        return try await self.step(step) { [sealing] db in
            let count = try db.endConsents(where: "id = ? AND account = ?", [id, account])
            return try db.appendAudit(audit, if: count > 0, sealing)
        }
    }

    public func authenticate(_ authenticated: AuthenticatedRequest, replacing cookieDigest: [UInt8]?) async throws {
        let step = Step(
            "request.authenticate",
            guards: [
                // The step may write the account's language.
                .exclusive(.account, id: authenticated.session.account),
                .shared(.provider, where: .providerOfRequest, [authenticated.request]),
                .exclusive(.session, id: authenticated.session.id),
                .exclusive(.session, where: .sessionByCookieOrRequest, [cookieDigest, authenticated.request]),
                .exclusive(.request, id: authenticated.request),
                .shared(.device, id: authenticated.session.authentication.device),
            ], isolation: .readCommitted)
        try await self.step(step) { [sealing] db in
            let session = authenticated.session
            let former = try AuthorizationRequirement.request.found(
                db.row("SELECT session FROM oauth_request WHERE id = ?", [authenticated.request])
            ).optionalText("session")
            try db.checkSessionStands(ofRequest: authenticated.request)
            try db.check(
                authenticated.evidence(waitingIn: former), of: session, request: authenticated.request)
            try db.admit(session, language: authenticated.language)
            try db.insert(session.authentication, until: session.expiresAt, sealing)
            switch authenticated.effect(replacing: cookieDigest, waitingIn: former) {
            case .stepUp(from: let cookieDigest): try db.stepUp(session, from: cookieDigest)
            case .begins(replacing: let cookieDigest, waitingIn: let former):
                try db.replace("cookie_digest = ?", cookieDigest, by: session)
                try db.replace("id = ?", former, by: session)
                try db.insert(session)
            }
            try db.run("UPDATE oauth_request SET session = ? WHERE id = ?", [session.id, authenticated.request])
        }
    }

    public func consent(_ consented: ConsentedAuthorization, usedAt moment: Timestamp, audit: AuditEvent) async throws {
        // A stranger's client can be deleted because it has no consents (``addStranger(_:limit:unusedSince:audit:)``).
        let step = Step(
            "request.consent",
            guards: [
                // The step counts the account's consents, and writes the session's last use.
                .exclusive(.account, id: consented.consent.account), .shared(.client, id: consented.grant.client),
                .exclusive(.session, id: consented.grant.session),
            ], isolation: .serializable)
        try await self.step(step) { [sealing] db in
            let (given, grant) = (consented.consent, consented.grant)
            try AuthorizationRequirement.request.check(db.removeRequest(consented.request))
            try db.useSession(grant.session, at: moment)
            let kept = try db.keep(given, sealing)
            try db.keepAuthentication(grant.authentication, until: grant.expiresAt)
            try db.insert(grant, redirectURI: consented.code.redirectURI, consent: kept, sealing)
            try db.insert(consented.code, grant: grant.id)
            try db.appendAudit(audit, sealing)
        }
    }
}

extension SQLConnection {
    /// Ends the consents chosen by a condition on `oauth_consent`, with the grants and device secrets resting on the
    /// consents, and all consequences. Returns the number of consents.
    func endConsents(where condition: String, _ arguments: SQLValues) throws -> Int {
        let ended = try self.texts(
            .composed("SELECT oauth_consent.id FROM oauth_consent WHERE \(condition)"), arguments)
        for id in ended {
            _ = try self.endGrants(where: "consent = ?", [id])
            _ = try self.endDeviceSecrets(where: "consent = ?", [id])
            try self.run("DELETE FROM oauth_consent WHERE id = ?", [id])
        }
        return ended.count
    }

    /// Keeps a consent within the present step. Returns the consent's identifier: the former identifier if the person
    /// had agreed to the same content before. Ends the person's oldest consents for the client beyond
    /// ``Limits/Fixed/consentsPerClient``.
    fileprivate func keep(_ consent: ConsentRecord, _ sealing: Sealing) throws -> String {
        let row =
            try self.text(
                "SELECT id FROM oauth_consent WHERE account = ? AND client = ? AND content = ?",
                [consent.account, consent.client, consent.content]) ?? consent.id
        let browser = try consent.session?.browser.map {
            try sealing.seal($0, purpose: .consentBrowser, row: row)
        }
        let address = try consent.session?.address.map {
            try sealing.seal($0, purpose: .consentAddress, row: row)
        }
        let claims = try consent.claims.map { try sealing.seal($0, purpose: .consentClaims, row: row) }
        try self.insert(
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

    /// Notes that a session was used. Throws ``StoreError/Code/notFound`` if the session has ended.
    func useSession(_ id: String?, at moment: Timestamp) throws {
        try self.run(
            "UPDATE oauth_session SET used_at = greatest(used_at, ?) WHERE id = ?", [moment.milliseconds, id])
        try AuthorizationRequirement.session.check(self.changesCount > 0)
    }

    /// Returns `true` if the consent exists.
    func hasConsent(_ id: String) throws -> Bool {
        try self.isTrue("SELECT EXISTS (SELECT 1 FROM oauth_consent WHERE id = ?)", [id])
    }
}

extension ConsentRecord {
    fileprivate init(_ row: SQLRow, _ sealing: Sealing) throws {
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
