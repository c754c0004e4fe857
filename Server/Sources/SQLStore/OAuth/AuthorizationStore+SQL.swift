public import Records
import Sealing
public import _Primitives

extension SealingPurpose {
    /// The wishes of a request for the sign-in, bound to the request.
    static let requestWishes = SealingPurpose("oauth request wishes")
}

extension SQLStore: AuthorizationStore {
    public func addRequest(_ request: AuthorizationRequestRecord) async throws {
        try await self.step(Step("request.add", guards: [], isolation: .readCommitted)) { [sealing] db in
            try db.insert(request, sealing)
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
            try db.removeRequest(id)
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
            try db.end(request: completed.request, by: session, language: completed.language)
            try db.replace("cookie_digest = ?", cookieDigest, by: session)
            try db.begin(session, until: grant.expiresAt, sealing)
            try db.insert(grant, redirectURI: completed.code.redirectURI, sealing)
            try db.insert(completed.code, grant: grant.id)
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
            try db.end(request: completed.request, by: session, language: completed.language)
            try db.insert(session.authentication, until: session.authenticationsEnd(atLeast: grant.expiresAt), sealing)
            try db.stepUp(session, from: cookieDigest)
            try db.insert(grant, redirectURI: completed.code.redirectURI, sealing)
            try db.insert(completed.code, grant: grant.id)
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
            try db.useSession(grant.session, at: moment)
            try db.keepAuthentication(grant.authentication, until: grant.expiresAt)
            try db.insert(grant, redirectURI: code.redirectURI, sealing)
            try db.insert(code, grant: grant.id)
            try db.appendAudit(audit, sealing)
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
                let held = try db.standingCode(digest: digest, at: moment, sealing)
                return .step(if: CodeStep(held, replay: replay, isRight: isRight).writes, otherwise: .unknown)
            }
        ) { [sealing] db, _ in
            let held = try db.standingCode(digest: digest, at: moment, sealing)
            switch CodeStep(held, replay: replay, isRight: isRight) {
            case .unknown: return .unknown
            case .taken(let code, let standing):
                try db.noteTaken(codeDigest: digest, at: moment)
                return .taken(code, standing)
            case .replayed(let standing, let event):
                _ = try db.endGrants(where: "id = ?", [standing.grant.id])
                try db.appendAudit(event, sealing)
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
            count += try db.deleteRequests(
                where: "id IN (SELECT id FROM oauth_request WHERE expires_at <= ? LIMIT ?)",
                [moment.milliseconds, limit])
            for (table, name) in [
                ("oauth_grant", "id"), ("oauth_session", "id"), ("oauth_authentication", "id"),
                ("oauth_revoked_token", "id"), ("oauth_shown", "digest"),
            ] {
                count += try sweep(table, by: name)
            }
            let idle = "id IN (SELECT id FROM oauth_session WHERE used_at <= ? LIMIT ?)"
            try db.run(.composed("DELETE FROM oauth_session WHERE \(idle)"), [idleSince.milliseconds, limit])
            return count + db.changesCount
        }
    }
}

extension SQLConnection {
    /// Removes a request within the present step. Returns `true` if the request existed.
    func removeRequest(_ id: String) throws -> Bool { try self.deleteRequests(where: "id = ?", [id]) > 0 }

    /// Deletes the requests chosen by a condition on `oauth_request`. A device that waits for one of the requests is
    /// denied: the request has ended without a grant. Returns the number of requests.
    ///
    /// Every end of a request goes through this function, except for ends that delete the devices' codes too:
    /// a restore, and the end of a client.
    func deleteRequests(where condition: String, _ values: SQLValues) throws -> Int {
        let ended = try self.rows(.composed("DELETE FROM oauth_request WHERE \(condition) RETURNING id"), values) {
            try $0.text("id")
        }
        for id in ended {
            try self.run("UPDATE oauth_device_code SET is_denied = 1, request = NULL WHERE request = ?", [id])
        }
        return ended.count
    }

    /// Ends a request with a sign-in that is to begin within the present step.
    ///
    /// Throws ``StoreError/Code/notFound`` if the request or its session is gone; if the sign-in by password, or the
    /// link to the provider, was ended since; or if the person may not sign in any more (``admit(_:language:)``).
    func end(request: String, by session: SessionRecord, language: String?) throws {
        try self.checkSessionStands(ofRequest: request)
        try self.check(session.authentication.evidence, of: session, request: request)
        try AuthorizationRequirement.request.check(self.removeRequest(request))
        try self.admit(session, language: language)
    }

    /// Checks the evidence for the authentication of a request. Throws ``StoreError/Code/notFound`` if the evidence does
    /// not exist any more.
    func check(_ evidence: AuthenticationRecord.Evidence?, of session: SessionRecord, request: String) throws {
        switch evidence {
        case .password: try self.checkPasswordStands(of: session, request: request)
        case .link(let provider): try self.checkLinkStands(to: provider, of: session, request: request)
        case nil: break
        }
    }

    /// Checks the sign-in by password of a request. Throws ``StoreError/Code/notFound`` if the sign-in does not exist
    /// any more: another password, a second factor or a lock has ended the sign-in since it was read.
    private func checkPasswordStands(of session: SessionRecord, request: String) throws {
        let stands = try self.isTrue(
            """
            SELECT EXISTS (
                SELECT 1 FROM password_sign_in
                WHERE request = ? AND account_id = ? AND finished_at IS NOT NULL)
            """, [request, session.account])
        try AuthorizationRequirement.passwordSignIn.check(stands)
    }

    /// Checks the session of a request. Throws ``StoreError/Code/notFound`` if the session has ended: the person's acts
    /// for an ended session begin no other session.
    func checkSessionStands(ofRequest id: String) throws {
        let stands = try self.isTrue(
            """
            SELECT NOT EXISTS (
                SELECT 1 FROM oauth_request WHERE id = ? AND session IS NOT NULL
                AND session NOT IN (SELECT oauth_session.id FROM oauth_session))
            """, [id])
        try AuthorizationRequirement.sessionOfRequest.check(stands)
    }

    /// Admits the person of a session, whose account gets the language. An account keeps its language nearly always,
    /// and nothing is written then.
    ///
    /// Throws ``StoreError/Code/notFound`` if the person may not sign in any more: the device is gone or inactive, or
    /// the account is gone, is locked, or was locked since the authentication.
    func admit(_ session: SessionRecord, language: String? = nil) throws {
        try AuthorizationRequirement.device.check(self.isActiveDevice(session.authentication.device))
        let former = try AuthorizationRequirement.account.found(
            self.row(
                """
                SELECT language FROM account
                WHERE id = ? AND is_locked = 0 AND (locked_at IS NULL OR locked_at < ?)
                """, [session.account, session.authentication.at.milliseconds])
        ).optionalText("language")
        try AccountRecord.languageToWrite(language, former: former).map {
            try self.run("UPDATE account SET language = ? WHERE id = ?", [$0, session.account])
        }
    }

    /// Ends the session chosen by a condition on `oauth_session`, because a browser's new session replaces the old
    /// session. The session of another person ends, and clients are told. The same person's session goes on under
    /// another name, and no client is told. A condition on `nil` chooses no session, as NULL equals nothing.
    func replace(_ condition: String, _ value: (any SQLBindable)?, by session: SessionRecord) throws {
        _ = try self.endSessions(
            where: "\(condition) AND account <> ?", [value, session.account], at: session.usedAt)
        try self.run(.composed("DELETE FROM oauth_session WHERE \(condition)"), [value])
    }

    /// Keeps a new session with its authentications, which stay until `end` at least.
    func begin(_ session: SessionRecord, until end: Timestamp, _ sealing: Sealing) throws {
        for authentication in session.authentications {
            try self.insert(authentication, until: session.authenticationsEnd(atLeast: end), sealing)
        }
        try self.insert(session)
    }

    /// Keeps a request within the present step.
    func insert(_ request: AuthorizationRequestRecord, _ sealing: Sealing) throws {
        let wishes = try request.wishes.map { try sealing.seal($0, purpose: .requestWishes, row: request.id) }
        try self.insert(
            [
                RequestColumn.id: request.id, .browserDigest: request.browserDigest, .client: request.client,
                .redirectURI: request.redirectURI, .scope: request.scope, .state: request.state,
                .nonce: request.nonce, .codeChallenge: (request.codeChallenge ?? []),
                .expiresAt: request.expiresAt.milliseconds, .expectedSubject: request.expectedSubject,
                .keyThumbprint: request.keyThumbprint, .wishes: wishes, .session: request.session,
                .resources: request.resources.joined(separator: " "),
            ], by: RequestColumn.insertion)
    }
}

private enum RequestColumn: Int, TableColumn {
    static let table = "oauth_request"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case id, browserDigest, client, redirectURI, scope, state, nonce, codeChallenge, expiresAt, expectedSubject
    case keyThumbprint, wishes, resources, session
}
