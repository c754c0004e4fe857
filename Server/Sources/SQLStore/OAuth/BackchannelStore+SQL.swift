public import Records
import Sealing
public import _Primitives

private enum BackchannelColumn: Int, TableColumn {
    static let table = "oauth_backchannel_request"
    static let selection = Self.selected()
    static let insertion = Self.inserted()
    static let polled = PolledTable(name: Self.table, selection: Self.selection)

    case id, digest, client, scope, pause, endsAt, expiresAt, askedAt, grantID, details, notification
}

extension SealingPurpose {
    /// The detailed question to a person, bound to the request.
    static let backchannelDetails = SealingPurpose("oauth backchannel details")
    /// The way in which a client is notified, bound to the request.
    static let backchannelNotification = SealingPurpose("oauth backchannel notification")
}

extension SQLStore: BackchannelStore {
    public func addBackchannelRequest(_ request: BackchannelRequestRecord, keptUntil end: Timestamp) async throws {
        let details = try request.details.map {
            try self.sealing.seal($0, purpose: .backchannelDetails, row: request.id)
        }
        let notification = try request.notification.map {
            try self.sealing.seal($0.keptText, purpose: .backchannelNotification, row: request.id)
        }
        try await self.step(Step("backchannel.add", guards: [], isolation: .readCommitted)) { db in
            try db.insert(
                [
                    BackchannelColumn.id: request.id, .digest: request.digest, .client: request.client,
                    .scope: request.scope, .pause: request.interval.milliseconds,
                    .endsAt: request.expiresAt.milliseconds, .expiresAt: end.milliseconds, .details: details,
                    .notification: notification,
                ], by: BackchannelColumn.insertion)
        }
    }

    public func backchannelRequest(_ id: String, at moment: Timestamp) async throws -> NotifiedBackchannelRequest? {
        try await self.read { [sealing] db in
            try db.row(
                .composed("SELECT \(BackchannelColumn.selection) FROM oauth_backchannel_request WHERE id = ?"), [id]
            ).flatMap { row in
                let grant = try row.optionalText(BackchannelColumn.grantID)
                let standing = try grant.flatMap { try GrantRows(db).standingGrant($0, at: moment, sealing) }
                return try NotifiedBackchannelRequest(grant: grant, standing: standing) {
                    try BackchannelRequestRecord(row, sealing)
                }
            }
        }
    }

    public func backchannelAnswer(_ question: PollingQuestion, at moment: Timestamp) async throws -> BackchannelAnswer {
        let step = Step(
            "backchannel.poll",
            guards: [
                // The lock of an account ends the account's grants, so the grant stands for the account as well.
                .exclusive(
                    .grant,
                    where: "id = (SELECT grant_id FROM oauth_backchannel_request WHERE digest = ? AND client = ?)",
                    [question.digest, question.client]),
                .exclusive(
                    .backchannelRequest, where: "digest = ? AND client = ?", [question.digest, question.client]),
            ], isolation: .readCommitted)
        return try await self.poll(
            step, question, in: BackchannelColumn.polled, at: moment,
            read: { row in
                PolledRow(
                    grant: try row.optionalText(BackchannelColumn.grantID),
                    endsAt: try row.moment(BackchannelColumn.endsAt),
                    pause: .milliseconds(try row.integer(BackchannelColumn.pause, as: Int64.self)),
                    askedAt: try row.optionalMoment(BackchannelColumn.askedAt))
            }
        ) { [sealing] row, _ in .open(try BackchannelRequestRecord(row, sealing)) }
    }

    public func grant(_ given: BackchannelGrant, at moment: Timestamp, audit: AuditEvent) async throws {
        let step = Step(
            "backchannel.grant",
            guards: [
                .shared(.account, id: given.session.account), .shared(.client, id: given.grant.client),
                .exclusive(.backchannelRequest, id: given.request),
                .shared(.device, id: given.session.authentication.device),
            ], isolation: .readCommitted)
        try await self.step(step) { [sealing] db in
            let isOpen = try db.isTrue(
                """
                SELECT EXISTS (
                    SELECT 1 FROM oauth_backchannel_request WHERE id = ? AND grant_id IS NULL AND ends_at > ?)
                """, [given.request, moment.milliseconds])
            try AuthorizationRequirement.openBackchannelRequest.check(isOpen)
            // No language is told, so none is kept.
            _ = try SessionRows(db).admit(given.session)
            let admitted = try GrantRows(db).admit(given.grant, by: given.session.authentication)
            try SessionRows(db).begin(given.session, until: given.grant.expiresAt, sealing)
            try GrantRows(db).insert(admitted, redirectURI: given.redirectURI, sealing)
            try db.run(
                "UPDATE oauth_backchannel_request SET grant_id = ? WHERE id = ?", [given.grant.id, given.request])
            try AuditRows(db).appendAudit(audit, sealing)
        }
    }
}

extension BackchannelRequestRecord {
    /// Reads a row of the table's columns.
    fileprivate init(_ row: SQLRow, _ sealing: Sealing) throws {
        let id = try row.text(BackchannelColumn.id)
        self.init(
            id: id, digest: try row.bytes(BackchannelColumn.digest), client: try row.text(BackchannelColumn.client),
            scope: try row.text(BackchannelColumn.scope),
            interval: .milliseconds(try row.integer(BackchannelColumn.pause, as: Int64.self)),
            expiresAt: try row.moment(BackchannelColumn.endsAt),
            details: try row.optionalBytes(BackchannelColumn.details).map {
                try sealing.openText($0, purpose: .backchannelDetails, row: id)
            },
            notification: try row.optionalBytes(BackchannelColumn.notification).map {
                try BackchannelNotification(
                    kept: sealing.openText($0, purpose: .backchannelNotification, row: id))
            })
    }
}
