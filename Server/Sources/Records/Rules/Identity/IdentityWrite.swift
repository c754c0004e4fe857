package import _Primitives

/// A write of a step of a session, of an offer or of an activation, beside the row of each.
package enum IdentityWrite: Sendable {
    /// The device of an activation is added to its account, with its keys. Enrolling at an account that was made for an
    /// invitation accepts the invitation.
    case enrolment(ActivationRecord, [CredentialRecord])
    /// The person's consent is kept.
    case consent(KeptConsent)
    /// Another device is offered an activation, and no letter carries the code.
    case offer(OfferRecord)
    /// Another device is offered an activation, and a letter is left that carries the code. An offer whose letter is
    /// not left keeps no code.
    case mailedOffer(OfferRecord, mail: (MailRecord, most: Int)?)
    /// The account of an invitation is merged into the account of the session (``IdentityChange/merge``).
    case merge
    /// The open sessions of a device end, except for one session, and its authentications end.
    case endOfSessions(DeviceRecord, except: String, at: Timestamp, SessionEnding)
    /// The answers given in a session are erased: the end of the session refuses every repeated request.
    case erasedAnswers(caller: String, session: String)
    /// An account is deleted with everything that belongs to the account.
    case deletedAccount(String, at: Timestamp)
    /// An answer is kept until the end of a session, if any.
    case answer(GivenAnswer, session: String?)
    /// An event is appended to the trail.
    case audit(AuditEvent)
    /// A notice is kept for the person's devices.
    case notice(NoticeRecord)

    /// Returns the writes of a session that an app begins itself, beside the session and its claim, in their order.
    package static func beginning(_ answer: GivenAnswer, _ audit: AuditEvent?) -> [Self] {
        [.answer(answer, session: nil)] + (audit.map { [.audit($0)] } ?? [])
    }
}

extension IdentityChange {
    /// Returns the writes that follow the rows and the changes of any ceremony, in their order.
    ///
    /// The answer comes last: the answer is kept even if the session ends or the account goes, because the answer may
    /// have been lost.
    ///
    /// - Parameters:
    ///   - device: The device of the session's activation.
    ///   - before: The session before the step.
    ///   - after: The session after the step.
    package func writes(
        of device: DeviceRecord, before: CeremonyRecord, after: CeremonyRecord
    ) -> [IdentityWrite] {
        var writes: [IdentityWrite] = []
        // The end of a session has three writes, and most other steps have one.
        writes.reserveCapacity(3)
        let now = after.changedAt
        if let consent { writes.append(.consent(consent)) }
        if let offer { writes.append(offer.letter == nil ? .offer(offer) : .mailedOffer(offer, mail: self.mail)) }
        if self.merge != nil { writes.append(.merge) }
        if let ending = self.endOfOtherSessions {
            writes.append(.endOfSessions(device, except: after.id, at: now, ending))
        }
        if after.phase == .ended, before.phase != .ended {
            writes.append(.erasedAnswers(caller: device.id, session: after.id))
        }
        if self.deletesAccount { writes.append(.deletedAccount(device.accountID, at: now)) }
        if let answer { writes.append(.answer(answer, session: after.id)) }
        return writes
    }
}

extension OfferChange {
    /// The writes that follow the row of the offer, in their order.
    package var writes: [IdentityWrite] {
        var writes: [IdentityWrite] = []
        if let (activation, credentials) = self.enrolled { writes.append(.enrolment(activation, credentials)) }
        if let answer { writes.append(.answer(answer, session: nil)) }
        writes.append(contentsOf: self.audit.map(IdentityWrite.audit))
        writes.append(contentsOf: self.notices.map(IdentityWrite.notice))
        return writes
    }
}

extension ActivationChange {
    /// Makes a change of an event and a notice, without deleting keys.
    package init(audit: AuditEvent, notice: NoticeRecord?) {
        self.init()
        self.audit = audit
        self.notice = notice
    }

    /// Returns the writes that follow the row of the activation, in their order. The event is about `accountID`.
    package func writes(accountID: String) -> [IdentityWrite] {
        var writes: [IdentityWrite] = []
        if var audit {
            audit.accountID = accountID
            writes.append(.audit(audit))
        }
        if let notice { writes.append(.notice(notice)) }
        return writes
    }
}
