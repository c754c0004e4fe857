/// The writes by which an attempt counts before the attempt is judged.
package enum AttemptReservation: Sendable, Equatable {
    /// The attempt may not be made, and nothing counts.
    case nothing
    /// The attempt counts in a row with the holder's earlier attempts, and on the day. The audit event is kept.
    case account(AttemptCount, day: Int64, AuditEvent?)
    /// The attempt counts for a known browser, and on the day. The audit event is kept.
    case browser([UInt8], day: Int64, AuditEvent?)
}

extension AttemptDecision {
    /// The writes of the decision.
    package var reservation: AttemptReservation {
        guard case .reserved(let attempt, let audit) = self else { return .nothing }
        return switch attempt.leave {
        case .account(let count): .account(count, day: attempt.day, audit)
        case .browser(let digest): .browser(digest, day: attempt.day, audit)
        }
    }
}
