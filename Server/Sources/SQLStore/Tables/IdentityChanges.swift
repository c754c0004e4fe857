import Records
import Sealing
import _Primitives

/// The writes of a step about an identity, in the tables of all kinds of writes.
struct IdentityChanges {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Writes the changes of a session's step.
    func apply(
        _ change: IdentityChange, _ scene: IdentityScene, from before: IdentityScene, _ sealing: Sealing
    ) throws {
        let (ceremony, device) = (scene.ceremony, before.activation.device)
        let admitted = try CeremonyChanges(self.db).admit(change.ceremony, to: ceremony, sealing)
        let merge = try change.merge.flatMap {
            try InviteRows(self.db).admit($0, into: device.accountID, sealing)
        }
        try CeremonyRows(self.db).update(ceremony, from: before.ceremony, sealing)
        try ActivationRows(self.db).update(scene.activation, from: before.activation, sealing)
        try CredentialRows(self.db).deleteCredentials(change.withdrawnCredentials, ofActivation: device.id)
        try CeremonyChanges(self.db).apply(admitted, to: ceremony, at: ceremony.changedAt, sealing)
        try self.carryOut(
            change.writes(of: device, before: before.ceremony, after: ceremony), merging: merge, sealing)
    }

    /// Carries out the writes of a step, in their order. `merge` is the merge of accounts of the step, if any.
    func carryOut(_ writes: [IdentityWrite], merging merge: AdmittedMerge? = nil, _ sealing: Sealing) throws {
        for write in writes {
            switch write {
            case .enrolment(let activation, let credentials):
                try self.enrol(activation, credentials, sealing)
                try InviteRows(self.db).acceptInvite(byFirstDevice: activation.device, sealing)
            case .consent(let consent): try IdentityConsentRows(self.db).insert(consent, sealing)
            case .offer(let offer): try OfferRows(self.db).insert(offer, sealing)
            case .mailedOffer(let offer, let mail):
                let isLeft = try MailRows(self.db).leaveMail(mail, sealing)
                try OfferRows(self.db).insert(offer.afterLetter(isLeft: isLeft), sealing)
            case .merge: try merge.map { try InviteRows(self.db).carryOut($0, sealing) }
            case .endOfSessions(let device, let session, let now, let ending):
                try IdentitySessionRows(self.db).noteEnds(
                    of: device.id, accountID: device.accountID, but: session, sealing, ending)
                try IdentitySessionRows(self.db).failSessions(
                    ofDevice: device.id, accountID: device.accountID, but: session, at: now, sealing)
                try AuthenticationEnds(self.db).deleteAuthentications(of: .device(device.id), at: now)
            case .erasedAnswers(let caller, let session):
                try IdentityAnswerRows(self.db).deleteAnswers(of: caller, session: session)
            case .deletedAccount(let account, let now):
                _ = try AccountEnds(self.db).deleteAccount(account, at: now, sealing)
            case .answer(let answer, let session):
                try IdentityAnswerRows(self.db).insert(answer, session: session, sealing)
            case .audit(let event): try AuditRows(self.db).appendAudit(event, sealing)
            case .notice(let notice): try NoticeRows(self.db).insertNotice(notice, sealing)
            }
        }
    }

    /// Throws `notFound` if the account of a new activation does not exist, `forbidden` if the account is locked, and
    /// `conflict` if one of the keys is registered already.
    func requireEnrolment(
        of activation: ActivationRecord, _ credentials: [CredentialRecord], _ sealing: Sealing
    ) throws {
        let device = activation.device
        let isLocked = try self.db.row("SELECT is_locked FROM account WHERE id = ?", [device.accountID])?.flag(
            "is_locked")
        try ActivationRecord.requireAccount(isLocked: isLocked)
        try DeviceRows(self.db).requireNewKeys(
            of: DeviceRegistration(device: device, credentials: credentials), sealing)
    }

    /// Adds the device of an activation, with its keys, to an account.
    private func enrol(
        _ activation: ActivationRecord, _ credentials: [CredentialRecord], _ sealing: Sealing
    ) throws {
        try DeviceRows(self.db).insert(DeviceRegistration(device: activation.device, credentials: credentials), sealing)
        try ActivationRows(self.db).insert(activation, sealing)
    }
}
