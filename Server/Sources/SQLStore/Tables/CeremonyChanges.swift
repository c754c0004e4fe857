import Records
import Sealing
import _Primitives

/// The writes of a step about a ceremony, in the tables of all kinds of writes.
struct CeremonyChanges {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Lets `judge` change a ceremony, and writes the ceremony and the further changes. Returns the ceremony after the
    /// step.
    func change(
        _ before: CeremonyRecord, _ sealing: Sealing, by judge: (inout CeremonyRecord) throws -> CeremonyChange
    ) throws -> CeremonyRecord {
        var ceremony = before
        let change = try judge(&ceremony)
        try CeremonyRows(self.db).update(ceremony, from: before, sealing)
        try self.apply(change, to: ceremony, at: ceremony.changedAt, sealing)
        return ceremony
    }

    /// Writes the further changes of a step.
    func apply(_ change: CeremonyChange, to ceremony: CeremonyRecord?, at now: Timestamp, _ sealing: Sealing) throws {
        try change.forEachWrite(to: ceremony) { write in
            try self.carryOut(write, of: change, at: now, sealing)
        }
    }

    private func carryOut(
        _ write: CeremonyWrite, of change: CeremonyChange, at now: Timestamp, _ sealing: Sealing
    ) throws {
        switch write {
        case .advance(let advance): try CredentialRows(self.db).advance(advance, at: now)
        case .register(let registration): try DeviceRows(self.db).insert(registration, sealing)
        case .join(let keys): try CredentialRows(self.db).join(keys, sealing)
        case .addIdentity(let addition): try DeviceIdentityRows(self.db).add(addition, sealing)
        case .activate(let device): try DeviceRows(self.db).activateDevice(id: device)
        case .replaceKeys(let device, let account):
            let losers = try DeviceEnds(self.db).replaceKeys(
                by: device, accountID: account, at: now, sealing, change.endOfSessions)
            try AuditRows(self.db).record(change.replacementEvents(for: losers), sealing)
        case .discard(let device):
            if try DeviceRows(self.db).deleteDevice(id: device) {
                try DeviceIdentityRows(self.db).deleteIdentity(ofDevice: device)
            }
        case .deregister(let selection, let account, let ceremony):
            let gone = try DeviceEnds(self.db).deregister(
                selection, accountID: account, at: now, sealing, change.endOfSessions)
            try CeremonyRows(self.db).note(deregistered: gone, ceremonyID: ceremony)
            let report = change.deregistrationReport(ofDeleted: gone)
            try AuditRows(self.db).record(report.audit, notice: report.notice, sealing)
        case .deleteTokens(let ceremony, let moment):
            try DispatchTokenRows(self.db).deleteTokens(ceremonyID: ceremony, expiredBefore: moment)
        case .replaceTokens(let tokens, let ceremony):
            try DispatchTokenRows(self.db).expireTokens(ceremonyID: ceremony, at: now)
            try DispatchTokenRows(self.db).insert(tokens, ceremonyID: ceremony)
        case .keepOutcome(let outcome): try IdentityHistoryRows(self.db).apply(outcome, sealing)
        case .keepChange(let record): try AccountChangeRows(self.db).insert(record, sealing)
        case .letter(let letter, let most): _ = try MailRows(self.db).leaveMail((letter, most))
        case .audit(let event): try AuditRows(self.db).appendAudit(event, sealing)
        case .notice(let notice): try NoticeRows(self.db).insertNotice(notice, sealing)
        }
    }
}
