import Records
import Sealing
import _Primitives

extension SQLConnection {
    /// Carries out the writes of a step, in their order.
    func carryOut(_ writes: [IdentityWrite], _ sealing: Sealing) throws {
        for write in writes {
            switch write {
            case .enrolment(let activation, let credentials):
                try self.enrol(activation, credentials, sealing)
                try self.acceptInvite(byFirstDevice: activation.device, sealing)
            case .consent(let consent): try self.insert(consent, sealing)
            case .offer(let offer): try self.insert(offer, sealing)
            case .mailedOffer(let offer, let mail):
                try self.insert(offer.afterLetter(isLeft: try self.leaveMail(mail)), sealing)
            case .merge(let merge, let account): try self.merge(merge, into: account, sealing)
            case .endOfSessions(let device, let session, let now, let ending):
                try self.noteEnds(of: device.id, accountID: device.accountID, but: session, sealing, ending)
                try self.failSessions(ofDevice: device.id, accountID: device.accountID, but: session, at: now)
                try self.deleteAuthentications(of: .device(device.id), at: now)
            case .erasedAnswers(let caller, let session): try self.deleteAnswers(of: caller, session: session)
            case .deletedAccount(let account, let now): _ = try self.deleteAccount(account, at: now)
            case .answer(let answer, let session): try self.insert(answer, session: session, sealing)
            case .audit(let event): try self.appendAudit(event, sealing)
            case .notice(let notice): try self.insertNotice(notice, sealing)
            }
        }
    }

    /// Deletes keys of an activation.
    func deleteCredentials(_ ids: [String], ofActivation activation: String) throws {
        for id in ids {
            try self.run("DELETE FROM credential WHERE id = ? AND device_id = ?", [id, activation])
        }
    }

    /// Adds the device of an activation, with its keys, to an account. Throws `notFound` if the account does not exist,
    /// `forbidden` if it is locked, and `conflict` if a key exists already.
    private func enrol(
        _ activation: ActivationRecord, _ credentials: [CredentialRecord], _ sealing: Sealing
    ) throws {
        try ActivationRecord.requireAccount(
            isLocked: try self.row("SELECT is_locked FROM account WHERE id = ?", [activation.device.accountID])?.flag(
                "is_locked"))
        try self.insert(DeviceRegistration(device: activation.device, credentials: credentials), sealing)
        try self.insert(activation, sealing)
    }
}
