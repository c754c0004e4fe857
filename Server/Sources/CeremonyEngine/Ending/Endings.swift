import Records
import UAF
import _Primitives

/// Ends ceremonies before their success: after a refused answer, at a party's own wish, or after their time.
struct Endings: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any CeremonyStore
    let hub: CeremonyHub

    /// Ends a ceremony by a denial, a failure or a cancellation, with the codes of the phone's answer if there is one.
    /// A ceremony that has ended, or whose state does not allow the event, stays as it is: an answer after another
    /// answer changes nothing. `reason` is a word for the trail, behind the code. `answer` is the refused answer, which is
    /// recognised when the phone sends it again.
    func end(
        _ id: String, _ event: CeremonyEvent, statusCode: UAFStatusCode? = nil, audit: AuditEvent.Kind,
        refusedFacet: String? = nil, reason: String? = nil, clientErrorCode: Int? = nil, asmStatusCode: Int? = nil,
        answer: (code: [UInt8], isNumberWrong: Bool)? = nil, at now: Timestamp
    ) async throws {
        guard let current = try await self.store.ceremony(.id(id)), current.phase != .ended else { return }
        let ended: CeremonyRecord?
        do {
            ended = try await self.store.change(.id(id)) { record in
                let outcome = self.environment.outcomeOfEnd(
                    of: record, event == .cancel ? .aborted : .failed, at: now)
                try record.take(event, at: now, limits: self.limits)
                record.uafStatusCode = statusCode.map { Int($0.rawValue) }
                record.clientErrorCode = clientErrorCode
                record.asmStatusCode = asmStatusCode
                record.answerCode = answer?.code
                record.isNumberWrong = answer?.isNumberWrong ?? false
                let code = statusCode.map { String($0.rawValue) } ?? clientErrorCode.map(String.init)
                var change = CeremonyChange()
                change.identityOutcome = outcome
                if Self.isUnclaimed(record) { return change }
                change.audit = [
                    AuditEvent(
                        audit, at: now, accountID: record.accountID, ceremonyID: id,
                        detail: code.map { [$0, reason, refusedFacet].compactMap(\.self).joined(separator: " ") })
                ]
                return change
            }
        } catch is RefusedEvent {
            return
        }
        if let ended { self.hub.wake(ended) }
    }

    /// Ends a ceremony after its time. Any other ceremony stays as it is.
    func expire(_ id: String, at now: Timestamp) async throws {
        let ended = try await self.store.change(.id(id)) { record in
            guard record.phase != .ended, now >= record.expiresAt else { return CeremonyChange() }
            var change = CeremonyChange()
            change.identityOutcome = self.environment.outcomeOfEnd(of: record, .failed, at: now)
            try record.take(.expire, at: now, limits: self.limits)
            // The keys were never confirmed.
            if record.kind == .registration { change.deviceFate = .discard }
            if !Self.isUnclaimed(record) {
                change.audit = [AuditEvent(.expired, at: now, accountID: record.accountID, ceremonyID: id)]
            }
            return change
        }
        if let ended { self.hub.wake(ended) }
    }

    /// `true` for a sign-in or a dispatch that no phone has taken up.
    ///
    /// Browsers begin such ceremonies without end, and so does a malicious or faulty client. The trail is kept for
    /// ever, and so begins only with the phone.
    private static func isUnclaimed(_ record: CeremonyRecord) -> Bool {
        record.channel == nil && (record.browserDigest != nil || record.clientID != nil)
    }
}
