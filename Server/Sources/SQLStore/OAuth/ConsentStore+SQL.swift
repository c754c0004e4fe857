public import Records
import Sealing
public import _Primitives

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
            let count = try ConsentRows(db).endConsents(where: "id = ? AND account = ?", [id, account])
            return try AuditRows(db).appendAudit(audit, if: count > 0, sealing)
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
            let former = try RequestRows(db).checkSessionStands(ofRequest: authenticated.request)
            try RequestRows(db).check(authenticated.evidence(waitingIn: former), request: authenticated.request)
            let person = try SessionRows(db).admit(session, language: authenticated.language)
            switch authenticated.effect(replacing: cookieDigest, waitingIn: former) {
            case .stepUp(from: let cookieDigest):
                try SessionRows(db).stepUp(session, from: cookieDigest, until: session.expiresAt, sealing)
            case .begins(replacing: let cookieDigest, waitingIn: let former):
                try AuthenticationRows(db).insert(session.authentication, until: session.expiresAt, sealing)
                try SessionRows(db).replace("cookie_digest = ?", cookieDigest, by: session)
                try SessionRows(db).replace("id = ?", former, by: session)
                try SessionRows(db).insert(session)
            }
            try SessionRows(db).keepLanguage(of: person)
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
            try AuthorizationRequirement.request.check(
                IdentifiedRows(db).exists(RequestColumn.table, id: consented.request))
            let admitted = try GrantRows(db).admitConsented(grant)
            try SessionRows(db).useSession(grant.session, at: moment)
            _ = try RequestRows(db).removeRequest(consented.request)
            let kept = try ConsentRows(db).keep(given, sealing)
            try AuthenticationRows(db).keepAuthentication(grant.authentication, until: grant.expiresAt)
            try GrantRows(db).insert(admitted, redirectURI: consented.code.redirectURI, consent: kept, sealing)
            try CodeRows(db).insert(consented.code, grant: grant.id)
            try AuditRows(db).appendAudit(audit, sealing)
        }
    }
}
