public import Records
import Sealing
public import _Primitives

extension SealingPurpose {
    /// The code that a person types for a device. The code is found by its HMAC.
    static let deviceUserCode = SealingPurpose("oauth device user code")
    /// The same code for display, bound to the device's own code.
    static let shownDeviceUserCode = SealingPurpose("oauth device user code shown")
}

private enum DeviceCodeColumn: Int, TableColumn {
    static let table = "oauth_device_code"
    static let selection = Self.selected()
    static let insertion = Self.inserted()
    static let polled = PolledTable(name: Self.table, selection: Self.selection)

    case digest, userCode, shownCode, client, scope, pause, endsAt, expiresAt, askedAt, isDenied, request, grantID
    case takenAt
}

extension SQLStore: DeviceCodeStore {
    public func addDeviceCode(_ code: DeviceCodeRecord, keptUntil end: Timestamp) async throws {
        let found = self.sealing.code(code.userCode.letters, purpose: .deviceUserCode)
        let shown = try self.sealing.seal(
            code.userCode.letters, purpose: .shownDeviceUserCode, row: Base64URL.encode(code.digest))
        // A constraint of the table keeps two codes from being the same.
        try await self.step(Step("device-code.add", guards: [], isolation: .readCommitted)) { db in
            let isUnused = try db.isTrue(
                "SELECT NOT EXISTS (SELECT 1 FROM oauth_device_code WHERE user_code = ?)", [found])
            try AuthorizationRequirement.unusedUserCode.check(isUnused)
            try db.insert(
                [
                    DeviceCodeColumn.digest: code.digest, .userCode: found, .shownCode: shown,
                    .client: code.client, .scope: code.scope, .pause: code.interval.milliseconds,
                    .endsAt: code.expiresAt.milliseconds, .expiresAt: end.milliseconds, .isDenied: false,
                ], by: DeviceCodeColumn.insertion)
        }
    }

    public func deviceCode(userCode: TypedCode) async throws -> DeviceCodeRecord? {
        let found = self.sealing.code(userCode.letters, purpose: .deviceUserCode)
        return try await self.read { [sealing] db in
            try db.row(
                .composed("SELECT \(DeviceCodeColumn.selection) FROM oauth_device_code WHERE user_code = ?"), [found]
            )
            .map { try DeviceCodeRecord($0, sealing) }
        }
    }

    public func deviceCode(request: String) async throws -> DeviceCodeRecord? {
        try await self.read { [sealing] db in
            try db.row(
                .composed("SELECT \(DeviceCodeColumn.selection) FROM oauth_device_code WHERE request = ?"), [request]
            ).map {
                try DeviceCodeRecord($0, sealing)
            }
        }
    }

    public func begin(_ request: AuthorizationRequestRecord, userCode: TypedCode) async throws -> String? {
        let found = self.sealing.code(userCode.letters, purpose: .deviceUserCode)
        let step = Step(
            "device-code.begin", guards: [.exclusive(.deviceCode, where: "user_code = ?", [found])],
            isolation: .readCommitted)
        return try await self.step(step) { [sealing] db in
            let row = try db.row(
                """
                SELECT oauth_request.id, oauth_request.browser_digest FROM oauth_device_code
                LEFT JOIN oauth_request ON oauth_request.id = request
                WHERE user_code = ? AND is_denied = 0 AND grant_id IS NULL
                """, [found])
            return try RequestRows(db).begin(request, because: row, sealing) {
                try db.run("UPDATE oauth_device_code SET request = ? WHERE user_code = ?", [request.id, found])
            }
        }
    }

    public func confirm(_ confirmed: ConfirmedDevice, audit: AuditEvent) async throws {
        let step = Step(
            "device-code.confirm",
            guards: [
                // The step may write the account's language.
                .exclusive(.account, id: confirmed.session.account), .shared(.client, id: confirmed.grant.client),
                .shared(.provider, where: .providerOfRequest, [confirmed.request]),
                .shared(.session, where: .sessionOfRequest, [confirmed.request]),
                .exclusive(.request, id: confirmed.request),
                .exclusive(.deviceCode, where: "request = ?", [confirmed.request]),
                .shared(.device, id: confirmed.session.authentication.device),
            ], isolation: .readCommitted)
        try await self.step(step) { [sealing] db in
            let digest = try AuthorizationRequirement.waitingDevice.found(
                db.bytes("SELECT digest FROM oauth_device_code WHERE request = ?", [confirmed.request]))
            let person = try RequestRows(db).admit(
                confirmed.session, toEnd: confirmed.request, language: confirmed.language)
            let admitted = try GrantRows(db).admit(confirmed.grant, by: confirmed.session.authentication)
            // This comes first, so that the end of the request is no denial.
            try db.run("UPDATE oauth_device_code SET request = NULL WHERE digest = ?", [digest])
            try RequestRows(db).end(request: confirmed.request, by: person)
            try SessionRows(db).begin(confirmed.session, until: confirmed.grant.expiresAt, sealing)
            try GrantRows(db).insert(admitted, redirectURI: confirmed.redirectURI, sealing)
            try db.run("UPDATE oauth_device_code SET grant_id = ? WHERE digest = ?", [confirmed.grant.id, digest])
            try AuditRows(db).appendAudit(audit, sealing)
        }
    }

    public func answer(_ question: PollingQuestion, at moment: Timestamp) async throws -> DeviceAnswer {
        let step = Step(
            "device-code.poll",
            guards: [
                // The lock of an account ends the account's grants, so the grant stands for the account as well.
                .exclusive(
                    .grant, where: "id = (SELECT grant_id FROM oauth_device_code WHERE digest = ? AND client = ?)",
                    [question.digest, question.client]),
                .exclusive(.deviceCode, where: "digest = ? AND client = ?", [question.digest, question.client]),
            ], isolation: .readCommitted)
        return try await self.poll(
            step, question, in: DeviceCodeColumn.polled, at: moment,
            read: { row in
                PolledRow(
                    grant: try row.optionalText(DeviceCodeColumn.grantID),
                    takenAt: try row.optionalMoment(DeviceCodeColumn.takenAt),
                    isDenied: try row.flag(DeviceCodeColumn.isDenied),
                    endsAt: try row.moment(DeviceCodeColumn.endsAt),
                    pause: .milliseconds(try row.integer(DeviceCodeColumn.pause, as: Int64.self)),
                    askedAt: try row.optionalMoment(DeviceCodeColumn.askedAt))
            }
        ) { [sealing] row, db in
            let grant = try row.optionalText(DeviceCodeColumn.grantID)
            let standing = try grant.flatMap { try GrantRows(db).standingGrant($0, at: moment, sealing) }
            let answer = DeviceAnswer(grant: grant, standing: standing)
            // An answer without a grant finds no row, as NULL equals nothing.
            try db.run(
                "UPDATE oauth_device_code SET taken_at = ? WHERE digest = ? AND grant_id = ?",
                [moment.milliseconds, question.digest, answer.takenGrant])
            return answer
        }
    }
}

extension DeviceCodeRecord {
    /// Reads a row of the table's columns.
    fileprivate init(_ row: SQLRow, _ sealing: Sealing) throws {
        let digest = try row.bytes(DeviceCodeColumn.digest)
        let letters = try sealing.openText(
            row.bytes(DeviceCodeColumn.shownCode), purpose: .shownDeviceUserCode, row: Base64URL.encode(digest))
        self.init(
            digest: digest, userCode: try Self.userCode(kept: letters),
            client: try row.text(DeviceCodeColumn.client), scope: try row.text(DeviceCodeColumn.scope),
            interval: .milliseconds(try row.integer(DeviceCodeColumn.pause, as: Int64.self)),
            expiresAt: try row.moment(DeviceCodeColumn.endsAt))
    }
}
