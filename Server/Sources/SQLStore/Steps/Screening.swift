/// The result of a reader's look before a step.
package enum Screening<Found: Sendable, Result: Sendable> {
    /// Nothing has to be written: the value is the result.
    case answered(Result)
    /// The step follows, with the value that the reader found.
    case step(Found)
}

extension Screening where Found == Void {
    /// Returns a look that leads to the step if something has to be written, and is answered otherwise.
    static func step(if isNeeded: Bool, otherwise answer: Result) -> Self {
        isNeeded ? .step(()) : .answered(answer)
    }

    /// Answers with the answer that a reader has found. If the reader has found none, the step follows.
    init(answer: Result?) { self.init(answer: answer, orStepWith: ()) }
}

extension Screening {
    /// Answers with the answer that a reader has found. If the reader has found none, the step follows with `found`.
    init(answer: Result?, orStepWith found: Found) { self = answer.map(Self.answered) ?? .step(found) }
}
