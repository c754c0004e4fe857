import _Primitives

/// The result of a look-up for a request that was answered before.
package enum AnsweredBefore: Sendable, Equatable {
    /// The same request was answered before, with this answer.
    case same([UInt8])
    /// Another request of the same name was answered before.
    case other

    /// Compares a request with the answered request of the same name, by the hash of both.
    package init(_ request: RequestName, answeredHash: [UInt8], answer: [UInt8]) {
        self = constantTimeEqual(answeredHash, request.hash) ? .same(answer) : .other
    }

    /// Returns the step's outcome for this result.
    package func step<Result: Sendable>() -> IdentityStep<Result> {
        switch self {
        case .same(let answer): .again(answer)
        case .other: .replayed
        }
    }
}
