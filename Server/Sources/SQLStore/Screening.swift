extension SQLiteDatabase.Screening where Found == Void {
    /// Returns a look that leads to the step if something has to be written, and is answered otherwise.
    static func step(if isNeeded: Bool, otherwise answer: Result) -> Self {
        isNeeded ? .step(()) : .answered(answer)
    }

    /// Answers with the answer that a reader has found. If the reader has found none, the step follows.
    init(answer: Result?) { self.init(answer: answer, orStepWith: ()) }
}

extension SQLiteDatabase.Screening {
    /// Answers with the answer that a reader has found. If the reader has found none, the step follows with `found`.
    init(answer: Result?, orStepWith found: Found) { self = answer.map(Self.answered) ?? .step(found) }
}
