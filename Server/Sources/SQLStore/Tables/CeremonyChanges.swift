import Records
import Sealing
import _Primitives

/// A change with a ceremony that a step has admitted before the step's first write.
struct AdmittedChange {
    fileprivate let change: CeremonyChange
    fileprivate let outcome: AdmittedOutcome?
    fileprivate let messages: [OutboxDraft]

    fileprivate init(_ change: CeremonyChange, _ outcome: AdmittedOutcome?, _ messages: [OutboxDraft]) {
        self.change = change
        self.outcome = outcome
        self.messages = messages
    }
}

/// A ceremony that changes together with another ceremony, as the step has admitted the change.
private struct AdmittedCompanion {
    let before: CeremonyRecord
    let after: CeremonyRecord
    let change: AdmittedChange
}

/// The writes of a step about a ceremony, in the tables of all kinds of writes.
struct CeremonyChanges {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Lets `judge` change a ceremony, and writes the ceremony and the further changes, also of a companion
    /// (``CeremonyChange/companion``). Returns the ceremony after the step.
    func change(
        _ before: CeremonyRecord, _ sealing: Sealing, by judge: (inout CeremonyRecord) throws -> CeremonyChange
    ) throws -> CeremonyRecord {
        var ceremony = before
        let admitted = try self.admit(try judge(&ceremony), to: ceremony, sealing)
        let companion = try self.admitCompanion(of: admitted.change, sealing)
        // The first write can be refused: a refusal costs nothing then. Nearly every change advances one counter at
        // most.
        try self.requireAdvances(admitted.change.advances.dropFirst())
        try self.advance(admitted, at: ceremony.changedAt)
        try CeremonyRows(self.db).update(ceremony, from: before, sealing)
        try self.applyAdvanced(admitted, to: ceremony, at: ceremony.changedAt, sealing)
        try companion.map { other in
            try CeremonyRows(self.db).update(other.after, from: other.before, sealing)
            try self.applyAdvanced(other.change, to: other.after, at: other.after.changedAt, sealing)
        }
        return ceremony
    }

    /// Lets the judge of a companion decide, and admits the companion's change. Throws the judge's error, and
    /// `forbidden` if the companion is gone with its account.
    private func admitCompanion(of change: CeremonyChange, _ sealing: Sealing) throws -> AdmittedCompanion? {
        try change.companion.map { companion in
            guard let before = try CeremonyRows(self.db).ceremony(.id(companion.ceremonyID), sealing) else {
                throw StoreError(.forbidden, "the companion of a ceremony is gone")
            }
            var after = before
            let change = try self.admit(try companion.judge(&after), to: after, sealing)
            return AdmittedCompanion(before: before, after: after, change: change)
        }
    }

    /// Admits the further changes of a step, except for the advances of counters. Throws `conflict` if a device is
    /// added with a key that is registered already, or with another device's key for itself, and if a device to
    /// activate is gone. Throws as ``AttestedAppRows/requireAdvance(_:)`` for the counter of an app, as
    /// ``CredentialRows/requireDevices(of:)`` for further keys, as ``MessageRows/draft(_:of:)`` and as
    /// ``IdentityHistoryRows/admit(_:)``.
    func admit(
        _ change: CeremonyChange, to ceremony: CeremonyRecord?, _ sealing: Sealing
    ) throws -> AdmittedChange {
        try change.registration.map { try DeviceRows(self.db).requireNewKeys(of: $0, sealing) }
        try CredentialRows(self.db).requireDevices(of: change.newCredentials)
        try change.appAdvance.map { try AttestedAppRows(self.db).requireAdvance($0) }
        try change.deviceToActivate(of: ceremony).map { try DeviceRows(self.db).requireDevice(id: $0) }
        let messages = try ceremony.map { ceremony in
            try change.messages.map { try MessageRows(self.db).draft($0, of: ceremony) }
        }
        return AdmittedChange(
            change, try change.identityOutcome.map { try IdentityHistoryRows(self.db).admit($0) }, messages ?? [])
    }

    /// Throws as ``CredentialRows/advance(_:at:)`` if one of the counters cannot advance.
    func requireAdvances(_ advances: some Sequence<CounterAdvance>) throws {
        for advance in advances { try CredentialRows(self.db).requireAdvance(advance) }
    }

    /// Writes the further changes of a step.
    func apply(_ admitted: AdmittedChange, to ceremony: CeremonyRecord?, at now: Timestamp, _ sealing: Sealing) throws {
        try self.advance(admitted, at: now)
        try self.applyAdvanced(admitted, to: ceremony, at: now, sealing)
    }

    /// Advances the counters of a change.
    private func advance(_ admitted: AdmittedChange, at now: Timestamp) throws {
        for advance in admitted.change.advances { try CredentialRows(self.db).advance(advance, at: now) }
    }

    /// Writes the further changes of a step whose counters have advanced.
    private func applyAdvanced(
        _ admitted: AdmittedChange, to ceremony: CeremonyRecord?, at now: Timestamp, _ sealing: Sealing
    ) throws {
        try admitted.change.forEachWrite(to: ceremony) { write in
            try self.carryOut(write, of: admitted, at: now, sealing)
        }
    }

    private func carryOut(
        _ write: CeremonyWrite, of admitted: AdmittedChange, at now: Timestamp, _ sealing: Sealing
    ) throws {
        let change = admitted.change
        switch write {
        case .register(let registration): try DeviceRows(self.db).insert(registration, sealing)
        case .join(let keys): try CredentialRows(self.db).join(keys, sealing)
        case .addIdentity(let addition): try DeviceIdentityRows(self.db).add(addition, sealing)
        case .keepApp(let app): try AttestedAppRows(self.db).keep(app, sealing)
        case .advanceApp(let advance): try AttestedAppRows(self.db).advance(advance)
        case .activate(let device, let end): try DeviceRows(self.db).activateDevice(id: device, limitedUntil: end)
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
        case .addTokens(let tokens, let ceremony):
            try DispatchTokenRows(self.db).add(tokens, ceremonyID: ceremony)
        case .leaveMessages: try admitted.messages.forEach { try MessageRows(self.db).insert($0, sealing) }
        case .keepOutcome: try admitted.outcome.map { try IdentityHistoryRows(self.db).keep($0, sealing) }
        case .keepChange(let record): try AccountChangeRows(self.db).insert(record, sealing)
        case .returnNumberAttempt(let attempt): try AskingRestRows(self.db).giveBack(attempt: attempt)
        case .forgivePushes(let account): try PushCountRows(self.db).forgive(accountID: account)
        case .rest(let account, let requester, let moment):
            let rows = AskingRestRows(self.db)
            try rows.keep(
                AskingRest(
                    accountID: account, requester: requester,
                    after: try rows.rest(accountID: account, requester: requester), at: moment))
        case .letter(let letter, let most): _ = try MailRows(self.db).leaveMail((letter, most), sealing)
        case .receipt(let receipt, let rows): try ReceiptRows(self.db).insert(receipt, rows: rows, sealing)
        case .audit(let event): try AuditRows(self.db).appendAudit(event, sealing)
        case .notice(let notice): try NoticeRows(self.db).insertNotice(notice, sealing)
        }
    }
}
