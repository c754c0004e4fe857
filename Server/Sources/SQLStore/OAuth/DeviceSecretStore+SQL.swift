public import Records
public import _Primitives

private enum DeviceSecretColumn: Int, TableColumn {
    static let table = "oauth_device_secret"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case digest, id, session, client, sharingGroup, scope, isBound, consent, givenAt
}

extension SQLStore: DeviceSecretStore {
    public func setDeviceSecret(digest: [UInt8], ofGrant id: String) async throws -> Bool {
        try await self.step(Step("device-secret.set", guards: [], isolation: .readCommitted)) { db in
            try DeviceSecretRows(db).setDeviceSecret(digest, ofGrant: id)
        }
    }

    public func addDeviceSecret(_ secret: DeviceSecretRecord, ofGrant grant: String) async throws -> Bool {
        let step = Step(
            "device-secret.add",
            guards: [
                .shared(.account, where: .accountOfSession, [secret.session]),
                // A client has one secret in a session.
                .exclusive(.session, id: secret.session), .exclusive(.grant, id: grant),
            ], isolation: .readCommitted)
        return try await self.step(step) { db in
            let isThere = try db.isTrue(
                """
                SELECT EXISTS (
                    SELECT 1 FROM oauth_grant JOIN oauth_session ON oauth_session.id = session
                    WHERE oauth_grant.id = ? AND session = ?)
                """, [grant, secret.session])
            guard isThere, try DeviceSecretRows(db).setDeviceSecret(secret.digest, ofGrant: grant) else { return false }
            try db.run(
                "DELETE FROM oauth_device_secret WHERE session = ? AND client = ?", [secret.session, secret.client])
            try db.insert(
                [
                    DeviceSecretColumn.digest: secret.digest, .id: secret.id, .session: secret.session,
                    .client: secret.client, .sharingGroup: secret.group, .scope: secret.scope,
                    .isBound: secret.isBound, .consent: secret.consent, .givenAt: secret.givenAt.milliseconds,
                ], by: DeviceSecretColumn.insertion)
            return true
        }
    }

    public func deviceSecret(digest: [UInt8]) async throws -> HeldDeviceSecret? {
        try await self.read { [sealing] db in
            let secret = try db.row(
                .composed("SELECT \(DeviceSecretColumn.selection) FROM oauth_device_secret WHERE digest = ?"), [digest]
            ).map { try DeviceSecretRecord($0) }
            return try secret.flatMap { secret in
                try SessionRows(db).session(id: secret.session, sealing).map {
                    HeldDeviceSecret(secret: secret, session: $0)
                }
            }
        }
    }

    public func addGrant(
        _ grant: GrantRecord, byDeviceSecret digest: [UInt8], redirectURI: String, usedAt moment: Timestamp,
        audit: AuditEvent
    ) async throws {
        let step = Step(
            "device-secret.add-grant",
            guards: [
                .shared(.account, where: .accountOfAuthentication, [grant.authentication]),
                .shared(.client, id: grant.client),
                // The step writes the session's last use.
                .exclusive(.session, id: grant.session),
            ], isolation: .readCommitted)
        try await self.step(step) { [sealing] db in
            try db.require(
                "SELECT EXISTS (SELECT 1 FROM oauth_device_secret WHERE digest = ? AND session = ?)",
                [digest, grant.session], orThrow: GrantRequirement.deviceSecret.refusal)
            try GrantRequirement.sharingGroup.check(
                DeviceSecretRows(db).isOfGroup(ofDeviceSecret: digest, client: grant.client))
            let admitted = try GrantRows(db).admit(grant)
            try SessionRows(db).useSession(grant.session, at: moment)
            // Between the check and this write, a database with several writers may have deleted the secret.
            try db.changeOneRow(
                "UPDATE oauth_device_secret SET used_at = ? WHERE digest = ? AND session = ?",
                [moment.milliseconds, digest, grant.session], orThrow: GrantRequirement.deviceSecret.refusal)
            try AuthenticationRows(db).keepAuthentication(grant.authentication, until: grant.expiresAt)
            try GrantRows(db).insert(admitted, redirectURI: redirectURI, sealing)
            try AuditRows(db).appendAudit(audit, sealing)
        }
    }

    public func deleteDeviceSecret(digest: [UInt8], group: String, audit: AuditEvent) async throws -> Bool {
        let step = Step("device-secret.delete", guards: [], isolation: .readCommitted)
        return try await self.step(
            step,
            screenedBy: { db -> Screening<Void, Bool> in
                let isThere = try db.isTrue(
                    "SELECT EXISTS (SELECT 1 FROM oauth_device_secret WHERE digest = ? AND sharing_group = ?)",
                    [digest, group])
                return Screening.step(if: isThere, otherwise: false)
            }
        ) { [sealing] db, _ in
            try db.run("DELETE FROM oauth_device_secret WHERE digest = ? AND sharing_group = ?", [digest, group])
            let ended = EndedRows(db.changesCount, event: audit)
            try AuditRows(db).record(ended.event, sealing)
            return ended.isAny
        }
    }
}

extension DeviceSecretRecord {
    /// Reads a row of the table's columns.
    fileprivate init(_ row: SQLRow) throws {
        self.init(
            digest: try row.bytes(DeviceSecretColumn.digest), id: try row.text(DeviceSecretColumn.id),
            session: try row.text(DeviceSecretColumn.session), client: try row.text(DeviceSecretColumn.client),
            group: try row.text(DeviceSecretColumn.sharingGroup), scope: try row.text(DeviceSecretColumn.scope),
            isBound: try row.flag(DeviceSecretColumn.isBound),
            consent: try row.optionalText(DeviceSecretColumn.consent),
            givenAt: try row.moment(DeviceSecretColumn.givenAt))
    }
}
