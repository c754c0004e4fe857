import Foundation
import UAFClient

/// The one answer to one question: whoever gives it first.
///
/// A person, a timer and a cancelled task compete for it from different threads; the others' attempts do nothing.
// Safe to share: every access to `state` is within `lock`, and a continuation is resumed once, outside of it.
final class Answer<Value: Sendable>: @unchecked Sendable {
    private enum State {
        case open([CheckedContinuation<Value, any Error>])
        case given(Result<Value, any Error>)
    }

    private let lock = NSLock()
    private var state = State.open([])

    /// Gives the answer, unless there is one.
    func give(_ result: Result<Value, any Error>) {
        let waiting: [CheckedContinuation<Value, any Error>] = self.lock.withLock {
            guard case .open(let waiting) = self.state else { return [] }
            self.state = .given(result)
            return waiting
        }
        for continuation in waiting { continuation.resume(with: result) }
    }

    /// The answer, as soon as there is one. A cancelled task answers with `CancellationError`.
    var value: Value {
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

/// Asks a person and waits, but not for ever.
struct Patience: Sendable {
    let clock: any DeviceClock
    let limit: Duration

    /// Starts a question and waits for its answer.
    ///
    /// The screen runs in a task of its own, so that it may wait for the person in there or return at once. That task is
    /// cancelled where the answer is not wanted any more. Throws ``UserVerificationError``: `cancelled` when the handler
    /// says so, `notResponsive` when the time is over.
    func ask<Value: Sendable>(_ start: @escaping @Sendable (Answer<Value>) async -> Void) async throws -> Value {
        let answer = Answer<Value>()
        try Task.checkCancellation()
        let screen = Task { await start(answer) }
        do {
            return try await self.first { try await answer.value }
        } catch {
            screen.cancel()
            throw error
        }
    }

    /// What code of the app gives, as long as it comes in time. It runs as a question does: code that does not stop when it
    /// is cancelled holds up nobody.
    func compute<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await self.ask { answer in
            do { answer.give(.success(try await body())) } catch { answer.give(.failure(error)) }
        }
    }

    /// What `body` gives, as long as it comes in time; a task that loses is cancelled and awaited.
    func first<Value: Sendable>(
        unless refusal: Answer<Value>? = nil, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value.self) { group in
            group.addTask(operation: body)
            group.addTask {
                try await self.clock.sleep(for: self.limit)
                throw UserVerificationError.notResponsive
            }
            if let refusal { group.addTask { try await refusal.value } }
            defer { group.cancelAll() }
            guard let value = try await group.next() else { throw UserVerificationError.notResponsive }
            return value
        }
    }
}

/// Whether a builder was executed: all copies of it share this.
// Safe to share: every access to `isUsed` is within `lock`.
final class OneShot: @unchecked Sendable {
    private let lock = NSLock()
    private var isUsed = false

    /// True for the first caller alone.
    func take() -> Bool {
        self.lock.withLock {
            defer { self.isUsed = true }
            return !self.isUsed
        }
    }
}
