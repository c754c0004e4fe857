public import Records
import Sealing
public import _Primitives

extension SQLStore: AuthorizationStore {
    public func addRequest(_ request: AuthorizationRequestRecord) async throws {
        try await self.step(Step("request.add", guards: [], isolation: .readCommitted)) { [sealing] db in
            try RequestRows(db).insert(request, sealing)
        }
    }

    private static let requestQuery = SQLText.once(
        "SELECT \(RequestColumn.selection) FROM oauth_request WHERE id = ?")

    public func request(_ id: String) async throws -> AuthorizationRequestRecord? {
        try await self.read { [sealing] db in
            try db.row(Self.requestQuery, [id]).map { row in
                AuthorizationRequestRecord(
                    id: try row.text(RequestColumn.id), browserDigest: try row.bytes(RequestColumn.browserDigest),
                    client: try row.text(RequestColumn.client), redirectURI: try row.text(RequestColumn.redirectURI),
                    scope: try row.text(RequestColumn.scope),
                    resources: try row.resources(RequestColumn.resources),
                    state: try row.optionalText(RequestColumn.state),
                    nonce: try row.optionalText(RequestColumn.nonce),
                    codeChallenge: try AuthorizationRequestRecord.codeChallenge(
                        kept: row.bytes(RequestColumn.codeChallenge)),
                    expectedSubject: try row.optionalText(RequestColumn.expectedSubject),
                    keyThumbprint: try row.optionalText(RequestColumn.keyThumbprint),
                    wishes: try row.optionalBytes(RequestColumn.wishes).map {
                        try sealing.openText($0, purpose: .requestWishes, row: id)
                    },
                    session: try row.optionalText(RequestColumn.session),
                    expiresAt: try row.moment(RequestColumn.expiresAt))
            }
        }
    }

    public func moveRequest(_ id: String, from digest: [UInt8], to next: [UInt8]) async throws -> Bool {
        try await self.step(Step("request.move", guards: [], isolation: .readCommitted)) { db in
            try db.run(
                "UPDATE oauth_request SET browser_digest = ?3 WHERE id = ?1 AND browser_digest = ?2",
                [id, digest, next])
            return db.changesCount == 1
        }
    }

    public func removeRequest(_ id: String) async throws -> Bool {
        try await self.step(Step("request.remove", guards: [], isolation: .readCommitted)) { db in
            try RequestRows(db).removeRequest(id)
        }
    }

    public func finishedSignIns(request: String) async throws -> [FinishedSignInRecord] {
        try await self.read { [sealing] db in
            try FinishedSignInRows(db).finishedSignIns(request: request, sealing)
        }
    }

    public func complete(_ completed: CompletedAuthorization, replacing cookieDigest: [UInt8]?) async throws {
        let step = Step(
            "request.complete",
            guards: [
                // The step may write the account's language.
                .exclusive(.account, id: completed.session.account), .shared(.client, id: completed.grant.client),
                .shared(.provider, where: .providerOfRequest, [completed.request]),
                .exclusive(.session, where: "cookie_digest = ?", [cookieDigest]),
                .shared(.session, where: .sessionOfRequest, [completed.request]),
                .exclusive(.request, id: completed.request),
                .shared(.device, id: completed.session.authentication.device),
            ], isolation: .readCommitted)
        try await self.step(step) { [sealing] db in
            let (session, grant) = (completed.session, completed.grant)
            let person = try RequestRows(db).admit(session, toEnd: completed.request, language: completed.language)
            let admitted = try GrantRows(db).admit(grant, by: session.authentication)
            try RequestRows(db).end(request: completed.request, by: person)
            try SessionRows(db).replace("cookie_digest = ?", cookieDigest, by: session)
            try SessionRows(db).begin(session, until: grant.expiresAt, sealing)
            try GrantRows(db).insert(admitted, redirectURI: completed.code.redirectURI, sealing)
            try CodeRows(db).insert(completed.code, grant: grant.id)
        }
    }

    public func stepUp(_ completed: CompletedAuthorization, from cookieDigest: [UInt8]) async throws {
        let step = Step(
            "request.step-up",
            guards: [
                // The step may write the account's language.
                .exclusive(.account, id: completed.session.account), .shared(.client, id: completed.grant.client),
                .shared(.provider, where: .providerOfRequest, [completed.request]),
                .exclusive(.session, id: completed.session.id),
                .shared(.session, where: .sessionOfRequest, [completed.request]),
                .exclusive(.request, id: completed.request),
                .shared(.device, id: completed.session.authentication.device),
            ], isolation: .readCommitted)
        try await self.step(step) { [sealing] db in
            let (session, grant) = (completed.session, completed.grant)
            let person = try RequestRows(db).admit(session, toEnd: completed.request, language: completed.language)
            let admitted = try GrantRows(db).admit(grant, by: session.authentication)
            try SessionRows(db).stepUp(
                session, from: cookieDigest, until: session.authenticationsEnd(atLeast: grant.expiresAt), sealing)
            try RequestRows(db).end(request: completed.request, by: person)
            try GrantRows(db).insert(admitted, redirectURI: completed.code.redirectURI, sealing)
            try CodeRows(db).insert(completed.code, grant: grant.id)
        }
    }

    public func addGrant(
        _ grant: GrantRecord, code: CodeRecord, usedAt moment: Timestamp, audit: AuditEvent
    ) async throws {
        let step = Step(
            "grant.add",
            guards: [
                .shared(.account, where: .accountOfAuthentication, [grant.authentication]),
                .shared(.client, id: grant.client),
                // The step writes the session's last use.
                .exclusive(.session, id: grant.session),
            ], isolation: .readCommitted)
        try await self.step(step) { [sealing] db in
            let admitted = try GrantRows(db).admit(grant)
            try SessionRows(db).useSession(grant.session, at: moment)
            try AuthenticationRows(db).keepAuthentication(grant.authentication, until: grant.expiresAt)
            try GrantRows(db).insert(admitted, redirectURI: code.redirectURI, sealing)
            try CodeRows(db).insert(code, grant: grant.id)
            try AuditRows(db).appendAudit(audit, sealing)
        }
    }

    public func takeCode(
        digest: [UInt8], at moment: Timestamp, replay: AuditEvent,
        isRight: @escaping @Sendable (CodeRecord, StandingGrant) -> Bool
    ) async throws -> CodeTaking {
        let step = Step(
            "code.take",
            guards: [
                // The lock of an account ends the account's grants, so the grant stands for the account as well.
                .exclusive(.grant, where: "id = (SELECT grant_id FROM oauth_code WHERE digest = ?)", [digest])
            ], isolation: .readCommitted)
        // A client can send invented codes, and codes that it has sent before. A reader looks the code up, and answers
        // if nothing has to be written.
        return try await self.step(
            step,
            screenedBy: { [sealing] db -> Screening<Void, CodeTaking> in
                let held = try CodeRows(db).standingCode(digest: digest, at: moment, sealing)
                return .step(if: CodeStep(held, replay: replay, isRight: isRight).writes, otherwise: .unknown)
            }
        ) { [sealing] db, _ in
            let held = try CodeRows(db).standingCode(digest: digest, at: moment, sealing)
            switch CodeStep(held, replay: replay, isRight: isRight) {
            case .unknown: return .unknown
            case .taken(let code, let standing):
                try CodeRows(db).noteTaken(codeDigest: digest, at: moment)
                return .taken(code, standing)
            case .replayed(let standing, let event):
                _ = try GrantEnds(db).endGrants(where: "id = ?", [standing.grant.id])
                try AuditRows(db).appendAudit(event, sealing)
                return .replayed
            }
        }
    }

    public func account(subject: String, client: String) async throws -> String? {
        try await self.read { db in
            try db.text("SELECT account FROM oauth_subject WHERE client = ? AND subject = ?", [client, subject])
        }
    }

    public func clients(knowingAccount id: String, after client: String?, limit: Int) async throws -> [String] {
        try await self.read { db in
            try db.texts(
                """
                SELECT DISTINCT client FROM oauth_subject WHERE account = ?1 AND (client > ?2 OR ?2 IS NULL)
                ORDER BY client LIMIT ?3
                """, [id, client, limit])
        }
    }

    public func sweepAuthorizations(at moment: Timestamp, idleSince: Timestamp, limit: Int) async throws -> Int {
        try await self.step(Step("authorization.sweep", guards: [], isolation: .readCommitted)) { db in
            func sweep(_ table: String, by name: String) throws -> Int {
                let key = "\(name) IN (SELECT \(name) FROM \(table) WHERE expires_at <= ? LIMIT ?)"
                try db.run(.composed("DELETE FROM \(table) WHERE \(key)"), [moment.milliseconds, limit])
                return db.changesCount
            }
            var count = try sweep("oauth_pushed_request", by: "digest") + sweep("oauth_device_code", by: "digest")
            count += try sweep("oauth_backchannel_request", by: "id")
            count += try RequestRows(db).deleteRequests(
                where: "id IN (SELECT id FROM oauth_request WHERE expires_at <= ? LIMIT ?)",
                [moment.milliseconds, limit])
            count += try GrantEnds(db).deleteSpentGrants(at: moment, limit: limit)
            count += try SessionRows(db).deleteSessions(
                where: "id IN (SELECT id FROM oauth_session WHERE expires_at <= ? LIMIT ?)",
                [moment.milliseconds, limit])
            count += try SessionRows(db).deleteSessions(
                where: "id IN (SELECT id FROM oauth_session WHERE used_at <= ? LIMIT ?)",
                [idleSince.milliseconds, limit])
            // The authentications come after all rows that hold up an authentication.
            for (table, name) in [
                ("oauth_authentication", "id"), ("oauth_revoked_token", "id"), ("oauth_shown", "digest"),
            ] {
                count += try sweep(table, by: name)
            }
            return count
        }
    }
}
