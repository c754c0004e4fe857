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
    ///   - count: The number of the activation's evaluations in the last day.
    ///   - oldest: The moment of the oldest of these evaluations; `nil` without evaluations.
    ///   - limit: The largest number of evaluations in a day.
    package init(isCounted: Bool, count: Int, oldest: Timestamp?, limit: Int, at now: Timestamp) {
        if isCounted {
            self = .again
        } else if count < limit {
            self = .count
        } else {
            // The next evaluation may be made when the oldest is a day old.
            let next = (oldest ?? now) + Limits.Evaluations.window
            self = .wait(max(Limits.Fixed.shortestLifetime, next - now))
        }
    }
}
