import Records
import Sealing
import _Primitives

extension SealingPurpose {
    /// The wishes of a request for the sign-in, bound to the request.
    static let requestWishes = SealingPurpose("oauth request wishes")
}

enum RequestColumn: Int, TableColumn {
    static let table = "oauth_request"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case id, browserDigest, client, redirectURI, scope, state, nonce, codeChallenge, expiresAt, expectedSubject
    case keyThumbprint, wishes, resources, session
}

/// The rows of authorization requests.
struct RequestRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Keeps a request within the present step.
    func insert(_ request: AuthorizationRequestRecord, _ sealing: Sealing) throws {
        let wishes = try request.wishes.map { try sealing.seal($0, purpose: .requestWishes, row: request.id) }
        try self.db.insert(
            [
                RequestColumn.id: request.id, .browserDigest: request.browserDigest, .client: request.client,
                .redirectURI: request.redirectURI, .scope: request.scope, .state: request.state,
                .nonce: request.nonce, .codeChallenge: (request.codeChallenge ?? []),
                .expiresAt: request.expiresAt.milliseconds, .expectedSubject: request.expectedSubject,
                .keyThumbprint: request.keyThumbprint, .wishes: wishes, .session: request.session,
                .resources: request.resources.joined(separator: " "),
            ], by: RequestColumn.insertion)
    }

    /// Begins the request of a browser that comes with a row of another table, unless another request waits because of
    /// the row. `note` writes the new request into the row. Returns the identifier of the request that waits in the
    /// browser; `nil` if none does.
    ///
    /// - Parameter row: The request that waits because of the row already: its identifier as `id`, and the digest of
    ///   its browser as `browser_digest`.
    func begin(
        _ request: AuthorizationRequestRecord, because row: SQLRow?, _ sealing: Sealing, note: () throws -> Void
    ) throws -> String? {
        switch RequestBeginning(request, of: try row.map(WaitingRequest.init)) {
        case .answered(let id): return id
        case .begins:
            try self.insert(request, sealing)
            try note()
            return request.id
        }
    }

    /// Removes a request within the present step. Returns `true` if the request existed.
    func removeRequest(_ id: String) throws -> Bool { try self.deleteRequests(where: "id = ?", [id]) > 0 }

    /// Deletes the requests chosen by a condition on `oauth_request`. A device that waits for one of the requests is
    /// denied: the request has ended without a grant. Returns the number of requests.
    ///
    /// Every end of a request goes through this function, except for ends that delete the devices' codes too:
    /// a restore, and the end of a client.
    func deleteRequests(where condition: String, _ values: SQLValues) throws -> Int {
        let ended = try self.db.rows(.composed("DELETE FROM oauth_request WHERE \(condition) RETURNING id"), values) {
            try $0.text("id")
        }
        for id in ended {
            try self.db.run("UPDATE oauth_device_code SET is_denied = 1, request = NULL WHERE request = ?", [id])
        }
        return ended.count
    }

    /// Admits the person whose sign-in is to end a request within the present step.
    ///
    /// Throws ``StoreError/Code/notFound`` if the request or its session is gone; if the finished sign-in was ended since;
    /// or if the person may not sign in any more (``SessionRows/admit(_:language:)``).
    func admit(_ session: SessionRecord, toEnd request: String, language: String?) throws -> AdmittedPerson {
        try self.checkSessionStands(ofRequest: request)
        try self.check(session.authentication.evidence, request: request)
        return try SessionRows(self.db).admit(session, language: language)
    }

    /// Ends a request with the sign-in of a person who was admitted to the end of the request.
    func end(request: String, by person: AdmittedPerson) throws {
        _ = try self.removeRequest(request)
        try SessionRows(self.db).keepLanguage(of: person)
    }

    /// Checks the evidence for the authentication of a request, if the authentication needs evidence. Throws
    /// ``StoreError/Code/notFound`` if the evidence does not exist any more.
    func check(_ evidence: AuthenticationRecord.Evidence?, request: String) throws {
        try evidence.map { try FinishedSignInRows(self.db).checkStands($0, request: request) }
    }

    /// Checks a request and its session, and returns the session; `nil` if the request waits in no session. Throws
    /// ``StoreError/Code/notFound`` if the request is gone, or if the session has ended: the person's acts for an ended
    /// session begin no other session.
    @discardableResult
    func checkSessionStands(ofRequest id: String) throws -> String? {
        let row = try AuthorizationRequirement.request.found(
            self.db.row(
                """
                SELECT session, session IS NULL OR EXISTS (
                    SELECT 1 FROM oauth_session WHERE oauth_session.id = oauth_request.session) AS stands
                FROM oauth_request WHERE id = ?
                """, [id]))
        try AuthorizationRequirement.sessionOfRequest.check(row.flag("stands"))
        return try row.optionalText("session")
    }
}

extension WaitingRequest {
    init(_ row: SQLRow) throws {
        self.init(id: try row.optionalText("id"), browserDigest: try row.optionalBytes("browser_digest"))
    }
}
