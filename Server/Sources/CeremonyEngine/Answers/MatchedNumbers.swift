import Records
import Settings
import UAF
import UAFRelyingParty
import _Primitives

/// Judges the numbers that people type on their phones (decision 120).
struct MatchedNumbers: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AskingRestStore & AuditStore

    /// Judges the number of a verified answer. Returns the attempt, which the step of the answer gives back; `nil` for a
    /// ceremony without a number.
    ///
    /// The attempt is counted before the number is compared. A new ceremony with a new number forgets no attempt, so of
    /// any number of ceremonies in an hour no more than ``Limits/Fixed/wrongNumbers`` wrong numbers are compared.
    ///
    /// Throws ``Answered``: 1498 for an answer without a number, for a wrong number, and for a number past the last
    /// attempt. The phone cannot tell the last two apart.
    func attempt(
        at ceremony: CeremonyRecord, by verified: VerifiedAuthentication, at now: Timestamp
    ) async throws -> String? {
        guard let number = ceremony.detail.number else { return nil }
        guard let answer = verified.number else {
            throw Answered(.unacceptableContent, "the number that was asked for is missing")
        }
        let attempt = NumberAttempt(id: self.newIdentifier(), accountID: verified.account, at: now)
        guard let count = try await self.store.countNumberAttempt(attempt) else {
            throw Answered(wrongNumber: "no number is judged: too many were wrong")
        }
        guard answer.isNumber(number) else {
            if count == Limits.Fixed.wrongNumbers {
                try await self.store.appendAudit(
                    AuditEvent(
                        .askingRested, at: now, accountID: verified.account, ceremonyID: ceremony.id,
                        actor: ceremony.clientID, detail: verified.deviceRegistration))
            }
            throw Answered(wrongNumber: "another number was shown")
        }
        return attempt.id
    }
}

extension Answered {
    /// Makes the refusal of a number.
    init(wrongNumber reason: String) {
        self.init(.unacceptableContent, reason, audit: .wrongNumber)
        self.isNumberWrong = true
    }
}

extension AuditEvent.Kind {
    /// The person typed another number than the shown number; the detail is the status code.
    fileprivate static let wrongNumber = Self(rawValue: "wrong-number")
    /// The last attempt at a number was wrong: nobody reaches the person by asking alone for some time. The actor is the
    /// client of the last attempt, and the detail is the device.
    fileprivate static let askingRested = Self(rawValue: "asking-rested")
}
