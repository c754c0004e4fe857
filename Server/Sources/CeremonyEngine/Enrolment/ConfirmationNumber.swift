import Records
import Sealing
import Settings
import _Primitives

/// The confirmation number of an enrolment: the phone shows the number, and the person who requested the enrolment
/// enters the number.
extension CeremonyEnvironment {
    /// Returns a random number for a phone to show.
    func confirmationNumber() -> String { self.random.digits(self.configuration.limits.confirmationDigits) }

    /// Ends an enrolment whose number was given: the device is activated after the right number, and discarded after a
    /// wrong number. `actor` is the name of the confirming party for the audit trail. Throws ``RefusedEvent``.
    func confirm(
        _ record: inout CeremonyRecord, isRight: Bool, by actor: String, at now: Timestamp
    ) throws -> CeremonyChange {
        try record.take(.confirm(isRightNumber: isRight), at: now, limits: self.configuration.limits)
        record.confirmationCode = nil
        var change = CeremonyChange()
        change.deviceFate = isRight ? .activate : .discard
        change.endOfSessions = self.endOfSessions(at: now)
        change.replacementAudit = AuditEvent(
            .deviceReplaced, at: now, accountID: record.accountID, ceremonyID: record.id, actor: actor)
        change.audit = [
            AuditEvent(
                isRight ? .deviceAdded : .confirmationFailed, at: now, accountID: record.accountID,
                ceremonyID: record.id, actor: actor, detail: record.deviceID)
        ]
        return change
    }

    /// Returns the code that is kept for a number, bound to its ceremony.
    func confirmationCode(_ number: String, ceremonyID: String) -> [UInt8] {
        self.sealing.code("\(ceremonyID) \(number)", purpose: .confirmationNumber)
    }
}
