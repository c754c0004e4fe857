package import _Primitives

/// A single write that becomes durable together with a ceremony's change.
package enum CeremonyWrite: Sendable {
    /// A device and its keys are added.
    case register(DeviceRegistration)
    /// Keys are added to an existing device.
    case join([CredentialRecord])
    /// A device's keys for itself are added.
    case addIdentity(DeviceIdentityAddition)
    /// The attested key of the app on a device is kept.
    case keepApp(AttestedAppRecord)
    /// The counter of an attested key advances.
    case advanceApp(AppCounterAdvance)
    /// A device may authenticate from now on, and is limited until a moment; `nil` for a device without limits.
    case activate(device: String, limitedUntil: Timestamp?)
    /// The keys of the account that a device replaces are deleted, with the devices that have no keys left.
    case replaceKeys(by: String, account: String)
    /// A device and its keys are deleted.
    case discard(device: String)
    /// Keys of the account are deleted, and their names are kept for as long as the ceremony.
    case deregister(CredentialSelection, account: String, ceremony: String)
    /// Tokens of the ceremony that expired before a moment are deleted.
    case deleteTokens(ceremony: String, expiredBefore: Timestamp)
    /// Tokens replace the earlier tokens of the ceremony, which answer as expired from now on.
    case replaceTokens([DispatchTokenRecord], ceremony: String)
    /// Tokens are added beside the present tokens of the ceremony. A present token of the same digest gets the new end.
    case addTokens([DispatchTokenRecord], ceremony: String)
    /// The messages to devices get their places in the outbox (``CeremonyChange/messages``).
    case leaveMessages
    /// The results of a personalised identity's session are kept (``CeremonyChange/identityOutcome``).
    case keepOutcome
    /// A change of the account is kept, so that its person can disown it.
    case keepChange(AccountChangeRecord)
    /// An attempt at a number does not count.
    case returnNumberAttempt(String)
    /// The messages to the devices of a person do not count any more.
    case forgivePushes(account: String)
    /// A client rests for a person from a moment on.
    case rest(account: String, requester: String, at: Timestamp)
    /// A letter is left in the outbox, if fewer than `most` letters wait.
    case letter(MailRecord, most: Int)
    /// The receipt of a transaction is kept, and the oldest receipt of an account with more than `rows` is deleted.
    case receipt(ReceiptRecord, rows: Int)
    /// An audit event is kept.
    case audit(AuditEvent)
    /// A notice for the person's devices is kept.
    case notice(NoticeRecord)
}

extension CeremonyChange {
    /// Calls `carryOut` for every write of the change, in the order of the writes. The advances of counters come
    /// before, and are no such writes. A step collects no list of the writes, because most steps have only two or
    /// three.
    ///
    /// - Parameter ceremony: The ceremony after its change; `nil` for an answer to a challenge without a row. Then the
    ///   parts of the change that need a ceremony have no effect.
    package func forEachWrite(
        to ceremony: CeremonyRecord?, _ carryOut: (CeremonyWrite) throws -> Void
    ) rethrows {
        if let registration = self.registration { try carryOut(.register(registration)) }
        if !self.newCredentials.isEmpty { try carryOut(.join(self.newCredentials)) }
        if let addition = self.identityAddition { try carryOut(.addIdentity(addition)) }
        if let app = self.attestedApp { try carryOut(.keepApp(app)) }
        if let advance = self.appAdvance { try carryOut(.advanceApp(advance)) }
        if let ceremony { try self.forEachOwnWrite(to: ceremony, carryOut) }
        if self.identityOutcome != nil { try carryOut(.keepOutcome) }
        if let (record, mail) = self.accountChange {
            try carryOut(.keepChange(record))
            if let (letter, most) = mail { try carryOut(.letter(letter, most: most)) }
        }
        if let (letter, most) = self.letter { try carryOut(.letter(letter, most: most)) }
        if let attempt = self.returnedNumberAttempt { try carryOut(.returnNumberAttempt(attempt)) }
        if let account = self.forgivenPushes { try carryOut(.forgivePushes(account: account)) }
        if let rest = self.rest {
            try carryOut(.rest(account: rest.accountID, requester: rest.requester, at: rest.at))
        }
        if let (record, rows) = self.receipt { try carryOut(.receipt(record, rows: rows)) }
        for event in self.audit { try carryOut(.audit(event)) }
        for notice in self.notices { try carryOut(.notice(notice)) }
    }

    /// Calls `carryOut` for the writes about the ceremony itself: its device, its deregistration, its
    /// tokens, and its messages.
    private func forEachOwnWrite(
        to ceremony: CeremonyRecord, _ carryOut: (CeremonyWrite) throws -> Void
    ) rethrows {
        switch (self.deviceFate, ceremony.deviceID) {
        case (.keep, _), (_, nil): break
        case (.discard, let device?): try carryOut(.discard(device: device))
        case (.activate, let device?):
            try carryOut(.activate(device: device, limitedUntil: self.deviceLimit))
            if let account = ceremony.accountID { try carryOut(.replaceKeys(by: device, account: account)) }
        }
        if let selection = self.deregistration, let account = ceremony.accountID {
            try carryOut(.deregister(selection, account: account, ceremony: ceremony.id))
        }
        if let tokens = self.newTokens {
            if let moment = self.tokensKeptSince {
                try carryOut(.deleteTokens(ceremony: ceremony.id, expiredBefore: moment))
            }
            try carryOut(.replaceTokens(tokens, ceremony: ceremony.id))
        }
        if !self.addedTokens.isEmpty { try carryOut(.addTokens(self.addedTokens, ceremony: ceremony.id)) }
        if !self.messages.isEmpty { try carryOut(.leaveMessages) }
    }

    /// Returns the device that the change activates, and that has to exist before the change; `nil` for no such device.
    ///
    /// - Parameter ceremony: The ceremony after its change.
    package func deviceToActivate(of ceremony: CeremonyRecord?) -> String? {
        guard self.deviceFate == .activate, let device = ceremony?.deviceID else { return nil }
        return self.registration?.device.id.hasSameBytes(as: device) == true ? nil : device
    }

    /// Returns the audit events for the devices that lost keys to an activated device.
    package func replacementEvents(for devices: [String]) -> [AuditEvent] {
        guard let audit = self.replacementAudit else { return [] }
        return devices.map { device in
            var event = audit
            event.detail = device
            return event
        }
    }

    /// Returns the audit event and the notice of a deregistration; neither if no key was deleted.
    package func deregistrationReport(
        ofDeleted names: [CredentialSelection.Name]
    ) -> (audit: AuditEvent?, notice: NoticeRecord?) {
        DeregistrationReach.report(
            ofDeleted: names, audit: self.deregistrationAudit, notice: self.deregistrationNotice)
    }
}
