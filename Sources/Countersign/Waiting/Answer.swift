import Foundation

/// The only answer to a question: the first answer counts.
///
/// A person, a timer and a cancelled task compete from different threads; every later attempt does nothing.
// Safe to share: every access to `state` is within `lock`, and a continuation is resumed once, outside of it.
package final class Answer<Value: Sendable>: @unchecked Sendable {
    private enum State {
        case open([CheckedContinuation<Value, any Error>])
        case given(Result<Value, any Error>)
    }

    private let lock = NSLock()
    private var state = State.open([])

    package init() {}

    /// Gives the answer, unless an answer was already given.
    package func give(_ result: Result<Value, any Error>) {
        let waiting: [CheckedContinuation<Value, any Error>] = self.lock.withLock {
            guard case .open(let waiting) = self.state else { return [] }
            self.state = .given(result)
            return waiting
        }
        for continuation in waiting { continuation.resume(with: result) }
    }

    /// The answer, as soon as an answer is given. A cancelled task answers with `CancellationError`.
    package var value: Value {
        get async throws {
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    let given: Result<Value, any Error>? = self.lock.withLock {
                        guard case .open(let waiting) = self.state else {
                            guard case .given(let result) = self.state else { return nil }
                            return result
                        }
                        self.state = .open(waiting + [continuation])
                        return nil
                    }
                    if let given { continuation.resume(with: given) }
                }
            } onCancel: {
                self.give(.failure(CancellationError()))
            }
        }
    }
}

/// The flag that a builder was executed. All copies of the builder share the flag.
// Safe to share: every access to `isUsed` is within `lock`.
final class OneShot: @unchecked Sendable {
    private let lock = NSLock()
    private var isUsed = false

    /// Returns `true` for the first caller only.
    func take() -> Bool {
        self.lock.withLock {
            defer { self.isUsed = true }
            return !self.isUsed
        }
    }
}
