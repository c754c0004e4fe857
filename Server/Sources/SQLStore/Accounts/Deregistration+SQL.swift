public import Records
import Sealing
import _Primitives

extension SQLStore: DeregistrationStore {
    public func deregister(
        _ selection: CredentialSelection, accountID: String, asker: DeregistrationAsker, audit: AuditEvent,
        notice: NoticeRecord?, ending: @escaping SessionEnding
    ) async throws -> DeregistrationOutcome {
        try await self.step(
            Step("credential.deregister", guards: [.exclusive(.account, id: accountID)], isolation: .readCommitted)
        ) { [sealing] db in
            let account = try AccountRows(db).account(id: accountID, sealing)
            let isActive = try asker.device.map { try DeviceRows(db).mayAsk($0, as: asker, ofAccount: accountID) }
            if let refusal = asker.refusal(isAccountLocked: account?.isLocked, isActiveDevice: isActive) {
                return refusal
            }
            let gone = try DeviceEnds(db).deregister(
                selection, accountID: accountID, asker: asker, at: audit.at, sealing, ending)
            let report = DeregistrationReach.report(ofDeleted: gone, audit: audit, notice: notice)
            try AuditRows(db).record(report.audit, notice: report.notice, sealing)
            return .deregistered(credentials: gone.count)
        }
    }

    public func deleteDevice(id: String, audit: AuditEvent, ending: @escaping SessionEnding) async throws -> Bool {
        try await self.step(
            Step("device.delete", guards: [.exclusive(accountOfDevice: id)], isolation: .readCommitted),
            on: { db in try db.text("SELECT account_id FROM device WHERE id = ?", [id]) }
        ) { [sealing] db, account in
            try DeviceEnds(db).revokeDevice(id: id, accountID: account, at: audit.at, sealing, ending)
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
                        WHERE device.id = ?2 AND account_id = ?1 AND \(DeviceRows.deviceMayAuthenticate))
                    """), [id, device]
            ).map { try AccountRecord($0, sealing) }
        }
    }
}
