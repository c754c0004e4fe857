import UAFClient

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
