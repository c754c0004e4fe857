public import Records
public import _Primitives

extension SQLStore: DispatchTargetStore {
    public func dispatchTarget(deviceID: String) async throws -> DispatchTargetRecord? {
        try await self.read { [sealing] db in try DispatchTargetRows(db).target(deviceID: deviceID, sealing) }
    }

    public func dispatchTargets(accountID: String) async throws -> [DispatchTargetRecord] {
        try await self.read { [sealing] db in try DispatchTargetRows(db).targets(accountID: accountID, sealing) }
    }

    public func formerDevices(accountID: String) async throws -> [String] {
        try await self.read { db in try DispatchTargetRows(db).formerDevices(accountID: accountID) }
    }

    public func changeDispatchTarget(_ change: DispatchTargetChange) async throws {
        // Names are compared, so no other device of the account is named meanwhile.
        try await self.step(
            Step(
                "dispatch-target.change", guards: [.exclusive(.account, id: change.accountID)],
                isolation: .readCommitted)
        ) { [sealing] db in
            let rows = DispatchTargetRows(db)
            let target = try change.applied(
                to: rows.target(deviceID: change.deviceID, sealing),
                among: rows.otherNames(than: change.deviceID, accountID: change.accountID, sealing))
            try rows.update(target, sealing)
            try AuditRows(db).appendAudit(change.audit, sealing)
        }
    }

    public func endDispatchTarget(
        deviceID: String, address: String, unlessChangedAfter moment: Timestamp?, audit: AuditEvent?
    ) async throws -> Bool {
        try await self.step(
            Step(
                "dispatch-target.end",
                guards: [
                    .exclusive(.account, where: "id = (SELECT account_id FROM device WHERE id = ?)", [deviceID])
                ], isolation: .readCommitted)
        ) { [sealing] db in
            let rows = DispatchTargetRows(db)
            let ended = try rows.target(deviceID: deviceID, sealing)?
                .ended(address: address, unlessChangedAfter: moment)
            try ended.map { try rows.update($0, sealing) }
            return try AuditRows(db).appendAudit(audit, if: ended != nil, sealing)
        }
    }

    public func noteSeen(deviceID: String, at moment: Timestamp) async throws {
        try await self.step(
            Step("dispatch-target.note-seen", guards: [], isolation: .readCommitted)
        ) { db in
            try DispatchTargetRows(db).noteSeen(deviceID: deviceID, at: moment)
        }
    }
}
