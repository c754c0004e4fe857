public import Records
import Sealing
import _Primitives

extension SQLStore {
    public func deregister(
        _ selection: CredentialSelection, accountID: String, asker: DeregistrationAsker, audit: AuditEvent,
        notice: NoticeRecord?, ending: @escaping SessionEnding
    ) async throws -> DeregistrationOutcome {
        try await self.step(
            Step("credential.deregister", guards: [.exclusive(.account, id: accountID)], isolation: .readCommitted)
        ) { [sealing] db in
            let account = try db.account(id: accountID, sealing)
            let isActive = try asker.device.map { try db.mayAsk($0, as: asker, ofAccount: accountID) }
            if let refusal = asker.refusal(isAccountLocked: account?.isLocked, isActiveDevice: isActive) {
                return refusal
            }
            let gone = try db.deregister(
                selection, accountID: accountID, asker: asker, at: audit.at, sealing, ending)
            let report = DeregistrationReach.report(ofDeleted: gone, audit: audit, notice: notice)
            try db.record(report.audit, notice: report.notice, sealing)
            return .deregistered(credentials: gone.count)
        }
    }

    public func deleteDevice(id: String, audit: AuditEvent, ending: @escaping SessionEnding) async throws -> Bool {
        try await self.step(
            Step("device.delete", guards: [.exclusive(accountOfDevice: id)], isolation: .readCommitted),
            on: { db in try db.text("SELECT account_id FROM device WHERE id = ?", [id]) }
        ) { [sealing] db, account in
            try db.revokeDevice(id: id, accountID: account, at: audit.at, sealing, ending)
            var audit = audit
            audit.accountID = account
            return audit
        }
    }

    public func account(id: String, ofDevice device: String) async throws -> AccountRecord? {
        try await self.read { [sealing] db in
            try db.row(
                .composed(
                    """
                    SELECT \(AccountRecord.columns) FROM account WHERE id = ?1
                    AND EXISTS (
                        SELECT 1 FROM device LEFT JOIN activation ON device_id = device.id
                        WHERE device.id = ?2 AND account_id = ?1 AND \(SQLConnection.deviceMayAuthenticate))
                    """), [id, device]
            ).map { try AccountRecord($0, sealing) }
        }
    }
}

extension StepGuard {
    /// Locks the account of a device, and with it the device.
    static func exclusive(accountOfDevice id: String) -> Self {
        .exclusive(.account, where: "id = (SELECT account_id FROM device WHERE id = ?)", [id])
    }
}

extension SQLConnection {
    /// Deletes keys of an account, and the devices whose last key is deleted. Returns the names of the deleted keys. If
    /// `asker` is a device, only keys of devices with the same signing key are deleted. Otherwise
    /// ``CredentialSelection/all`` also deletes the account's authentications, and the devices that had no key before.
    func deregister(
        _ selection: CredentialSelection, accountID: String, asker: DeregistrationAsker = .anybody, at now: Timestamp,
        _ sealing: Sealing, _ ending: SessionEnding
    ) throws -> [CredentialSelection.Name] {
        let reach = DeregistrationReach(of: selection, by: asker)
        let deleted = try selection.patterns.flatMap { pattern in
            try self.rows(
                """
                DELETE FROM credential WHERE account_id = ?1
                AND (aaid = ?2 OR ?2 IS NULL) AND (key_id = ?3 OR ?3 IS NULL) AND (device_id IN (
                    SELECT device_id FROM device_identity
                    WHERE signing_code = (SELECT signing_code FROM device_identity WHERE device_id = ?4)) OR ?4 IS NULL)
                RETURNING aaid, key_id, device_id
                """, [accountID, pattern.aaid, pattern.keyID, reach.phone]
            ) { row in
                let name = CredentialSelection.Name(aaid: try row.text("aaid"), keyID: try row.bytes("key_id"))
                return (name: name, device: try row.text("device_id"))
            }
        }
        // This also deletes authentications without a known device.
        if reach.isWholeAccount { try self.deleteAuthentications(of: .account(accountID), at: now) }
        let emptied = reach.emptied(deleted.map(\.device))
        try self.revoke(emptied, accountID: accountID, at: now, sealing, ending)
        return deleted.map(\.name)
    }

    /// Keeps the names of the keys that a ceremony has deleted, in their order.
    func note(deregistered names: [CredentialSelection.Name], ceremonyID: String) throws {
        for name in names {
            try self.run(
                "INSERT INTO deregistered_key (ceremony_id, aaid, key_id) VALUES (?, ?, ?)",
                [ceremonyID, name.aaid, name.keyID])
        }
    }

    /// Returns the keys that a ceremony has deleted, the newest first.
    func deregistered(ceremonyID: String) throws -> [CredentialSelection.Name] {
        try self.rows(
            "SELECT aaid, key_id FROM deregistered_key WHERE ceremony_id = ? ORDER BY number DESC", [ceremonyID]
        ) { CredentialSelection.Name(aaid: try $0.text("aaid"), keyID: try $0.bytes("key_id")) }
    }

    /// Deletes the keys that a device replaces, and devices without any keys left. Returns the devices that lost keys.
    func replaceKeys(
        by successor: String, accountID: String, at now: Timestamp, _ sealing: Sealing, _ ending: SessionEnding
    ) throws -> [String] {
        let devices = try self.texts(
            """
            SELECT DISTINCT device_id FROM credential JOIN replaced_credential ON credential_id = credential.id
            WHERE successor_id = ? AND account_id = ? AND device_id <> successor_id
            """, [successor, accountID])
        try self.run(
            """
            DELETE FROM credential WHERE account_id = ? AND device_id <> ?
            AND id IN (SELECT credential_id FROM replaced_credential WHERE successor_id = ?)
            """, [accountID, successor, successor])
        try self.revoke(.only(devices), accountID: accountID, at: now, sealing, ending)
        return devices
    }

    /// Revokes those of the devices that have no key left.
    fileprivate func revoke(
        _ devices: EmptiedDevices, accountID: String, at now: Timestamp, _ sealing: Sealing, _ ending: SessionEnding
    ) throws {
        let empty = try self.texts(
            """
            SELECT id FROM device WHERE account_id = ?
            AND NOT EXISTS (SELECT 1 FROM credential WHERE device_id = device.id)
            """, [accountID])
        for id in devices.revoked(among: empty) {
            try self.revokeDevice(id: id, accountID: accountID, at: now, sealing, ending)
        }
    }

    /// Deletes a device with its keys and sessions, and ends the device's open ceremonies: an unconfirmed enrolment, or
    /// a sign-in before the browser has taken up the result. The account's history gets an entry for each open session
    /// of an identity on the device.
    func revokeDevice(
        id: String, accountID: String, at now: Timestamp, _ sealing: Sealing, _ ending: SessionEnding
    ) throws {
        try self.noteEnds(of: id, accountID: accountID, sealing, ending)
        _ = try self.deleteDevice(id: id)
        try self.endIdentity(ofDevice: id, at: now)
        try self.deleteAuthentications(of: .device(id), at: now)
        try self.endCeremonies(
            as: .cancelled,
            where: """
                account_id = ? AND device_id = ?
                AND (\(CeremonyRecord.isOpen) OR (outcome = ? AND reference IS NOT NULL AND is_consumed = 0))
                """,
            [accountID, id, CeremonyRecord.Outcome.succeeded.rawValue], at: now)
    }

    /// The condition for a device, joined with its activation, that may authenticate. A device whose activation is
    /// disabled may not authenticate: wrong factors have disabled the activation, or a disowned change has added the
    /// activation. While the activation's last attempt is being judged, the device may authenticate, because the attempt
    /// can be right.
    static let deviceMayAuthenticate =
        "is_active = 1 AND (is_permanent IS DISTINCT FROM 1 OR reserved_at IS NOT NULL)"

    /// Returns `true` if a device may authenticate, and for `nil`.
    func isActiveDevice(_ device: String?) throws -> Bool {
        try device.map { device in
            try self.isTrue(
                .composed(
                    """
                    SELECT EXISTS (
                        SELECT 1 FROM device LEFT JOIN activation ON device_id = device.id
                        WHERE device.id = ? AND \(Self.deviceMayAuthenticate))
                    """), [device])
        } ?? true
    }

    /// Returns `true` if the device is an active device of the account, and its activation is not disabled, should the
    /// asker need the activation.
    fileprivate func mayAsk(_ device: String, as asker: DeregistrationAsker, ofAccount account: String) throws -> Bool {
        try self.isTrue(
            .composed(
                """
                SELECT EXISTS (
                    SELECT 1 FROM device LEFT JOIN activation ON device_id = device.id
                    WHERE device.id = ?1 AND account_id = ?2
                    AND is_active = 1 AND (?3 = 0 OR \(Self.deviceMayAuthenticate)))
                """), [device, account, asker.needsActivation])
    }
}
