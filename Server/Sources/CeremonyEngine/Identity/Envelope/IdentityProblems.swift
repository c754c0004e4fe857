import Ceremony
package import Records

extension IdentityProblem {
    /// Creates the problem that tells a phone of a session's refusal.
    init(_ refusal: IdentityRefusal) {
        let code: Code =
            switch refusal {
            case .serviceInactive: .serviceInactive
            case .originRefused: .originRefused
            case .invalidRequest: .invalidRequest
            case .activationDisabled: .activationDisabled
            case .notProven: .notProven
            case .sessionExpired: .sessionExpired
            case .sessionConsumed: .sessionConsumed
            case .sessionAborted: .sessionAborted
            case .sessionSuperseded: .sessionSuperseded
            case .lockedOut: .lockedOut
            case .securityInsufficient: .securityInsufficient
            case .membershipRequired: .membershipRequired
            case .invitationRequired: .invitationRequired
            case .noRole: .noRole
            case .roleNotSelected: .roleNotSelected
            case .correctionLimitExceeded: .correctionLimitExceeded
            case .grantExpired: .grantExpired
            case .pinRefused: .pinRefused
            case .factorAlreadyEnrolled: .factorAlreadyEnrolled
            case .mergeConflict: .mergeConflict
            case .replayRefused: .replayRefused
            case .outOfOrder: .outOfOrder
            }
        guard case .lockedOut(let until) = refusal else {
            self.init(code)
            return
        }
        // A lockout without an end has disabled the activation.
        self =
            until.map { IdentityProblem(.lockedOut, lockout: LockoutNotice(lockedUntil: $0)) }
            ?? IdentityProblem(.activationDisabled)
    }

    /// Creates the problem that tells a phone why its PIN was not evaluated.
    init(_ failure: PinServiceFailure) {
        switch failure {
        case .notAsked, .unknown: self.init(.serverError)
        case .exhausted(let seconds): self.init(.tooManyRequests, retryAfter: seconds)
        case .malformed: self.init(.invalidRequest)
        }
    }

    /// Creates the problem that tells a phone of its activation's lockout.
    init(_ lockout: IdentityLockout) { self.init(IdentityRefusal.lockedOut(until: lockout.lockedUntil)) }
}

extension LockoutNotice {
    init(_ lockout: IdentityLockout) { self.init(lockedUntil: lockout.lockedUntil) }
}

extension Lockout {
    /// Creates the lockout from its record.
    package init(_ record: LockoutRecord) {
        self.init(
            failuresInARow: record.failuresInARow, failures: record.failures, lockedUntil: record.lockedUntil,
            isPermanent: record.isPermanent,
            reservation: record.reservation.map { Reservation(request: $0.request, at: $0.at) })
    }

    /// The lockout as a record for the store.
    package var record: LockoutRecord {
        LockoutRecord(
            failuresInARow: self.failuresInARow, failures: self.failures, lockedUntil: self.lockedUntil,
            isPermanent: self.isPermanent,
            reservation: self.reservation.map { LockoutRecord.Reservation(request: $0.request, at: $0.at) })
    }
}
