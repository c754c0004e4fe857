import Settings
package import _Primitives

/// The decision about one more evaluation of a PIN for an activation. An evaluation is counted before it is made.
package enum EvaluationDecision: Sendable, Equatable {
    /// The evaluation may be made, and is counted.
    case count
    /// The evaluation may be made. It stands for a question that is counted already.
    case again
    /// The evaluation may be made after this time, and is not counted.
    case wait(Duration)

    /// Judges an evaluation.
    ///
    /// - Parameters:
    ///   - isCounted: `true` if the same question is counted already.
    ///   - counted: The moments of the activation's evaluations in the last day, the oldest first.
    ///   - limit: The largest number of evaluations in a day.
    package init(isCounted: Bool, counted: [Timestamp], limit: Int, at now: Timestamp) {
        if isCounted {
            self = .again
        } else if counted.count < limit {
            self = .count
        } else {
            // The next evaluation may be made when fewer than `limit` are left of the day. More than `limit` are counted
            // after an operator has lowered the limit.
            let lastInTheWay = counted.dropFirst(counted.count - limit).first ?? now
            self = .wait(max(Limits.Fixed.shortestLifetime, lastInTheWay + Limits.Evaluations.window - now))
        }
    }
}
