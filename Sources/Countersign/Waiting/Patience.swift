import UAFClient

/// A question to a person with a limited time for the answer.
struct Patience: Sendable {
    let clock: any DeviceClock
    let limit: Duration

    /// Starts a question and waits for its answer.
    ///
    /// The screen runs in its own task, so that the screen may wait for the person inside the task or return at once.
    /// If the question ends without an answer, the screen's task is cancelled. Throws ``UserVerificationError``:
    /// `cancelled` if the handler says so, `notResponsive` if the time is over; `CancellationError` if the task is
    /// cancelled.
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

    /// Returns the result of the app's code if the result arrives in time. The code runs like a question: code that
    /// ignores its cancellation delays no caller. Throws the errors of `body` and of ``ask(_:)``.
    func compute<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await self.ask { answer in
            do { answer.give(.success(try await body())) } catch { answer.give(.failure(error)) }
        }
    }

    /// Returns the result of `body` if the result arrives in time. A task that loses the race is cancelled and awaited.
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
