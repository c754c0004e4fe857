public import Records
import Sealing
import _Primitives

extension SealingPurpose {
    /// The parameters of a pushed request, bound to its digest.
    static let pushedRequest = SealingPurpose("oauth pushed request")
}

private enum PushedRequestColumn: Int, TableColumn {
    static let table = "oauth_pushed_request"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case digest, client, parameters, expiresAt
}

extension SQLStore: PushedRequestStore {
    public func addPushedRequest(_ request: PushedRequestRecord) async throws {
        let sealed = try self.sealing.seal(
            request.parameters, purpose: .pushedRequest, row: Base64URL.encode(request.digest))
        try await self.step(Step("pushed-request.add", guards: [], isolation: .readCommitted)) { db in
            try db.insert(
                [
                    PushedRequestColumn.digest: request.digest, .client: request.client, .parameters: sealed,
                    .expiresAt: request.expiresAt.milliseconds,
                ], by: PushedRequestColumn.insertion)
        }
    }

    public func pushedRequest(digest: [UInt8]) async throws -> PushedRequestRecord? {
        try await self.read { [sealing] db in
            try db.row(
                .composed(
                    """
                    SELECT \(PushedRequestColumn.selection), oauth_request.browser_digest FROM oauth_pushed_request
                    LEFT JOIN oauth_request ON oauth_request.id = request WHERE digest = ?
                    """), [digest]
            ).map { row in
                let parameters = try sealing.openText(
                    row.bytes(PushedRequestColumn.parameters), purpose: .pushedRequest, row: Base64URL.encode(digest))
                return PushedRequestRecord(
                    digest: try row.bytes(PushedRequestColumn.digest), client: try row.text(PushedRequestColumn.client),
                    parameters: parameters,
                    browserDigest: try row.optionalBytes("browser_digest"),
                    expiresAt: try row.moment(PushedRequestColumn.expiresAt))
            }
        }
    }

    public func begin(_ request: AuthorizationRequestRecord, pushed digest: [UInt8]) async throws -> String? {
        let step = Step(
            "pushed-request.begin", guards: [.exclusive(.pushedRequest, where: "digest = ?", [digest])],
            isolation: .readCommitted)
        return try await self.step(step) { [sealing] db in
            let row = try db.row(
                """
                SELECT oauth_request.id, oauth_request.browser_digest FROM oauth_pushed_request
                LEFT JOIN oauth_request ON oauth_request.id = request WHERE digest = ?
                """, [digest])
            return try RequestRows(db).begin(request, because: row, sealing) {
                try db.run(
                    "UPDATE oauth_pushed_request SET request = ?, expires_at = least(expires_at, ?) WHERE digest = ?",
                    [request.id, request.expiresAt.milliseconds, digest])
            }
        }
    }

    public func endPushedRequest(digest: [UInt8], browserDigest: [UInt8]) async throws -> Bool {
        let step = Step(
            "pushed-request.end",
            guards: [
                .exclusive(
                    .request, where: "id = (SELECT request FROM oauth_pushed_request WHERE digest = ?)", [digest]),
                .exclusive(.pushedRequest, where: "digest = ?", [digest]),
            ], isolation: .readCommitted)
        return try await self.step(step) { db in
            // The waiting request deletes the pushed request with itself.
            let waiting = try RequestRows(db).deleteRequests(
                where: "browser_digest = ? AND id = (SELECT request FROM oauth_pushed_request WHERE digest = ?)",
                [browserDigest, digest])
            try db.run("DELETE FROM oauth_pushed_request WHERE digest = ? AND request IS NULL", [digest])
            return waiting + db.changesCount > 0
        }
    }
}
