/// Lets in one at a time, in the order of arrival. Whoever is in must not ask to come in again.
actor SerialGate {
    private struct Waiter {
        let ticket: Int
        let continuation: CheckedContinuation<Void, any Error>
    }

    private var isHeld = false
    private var waiters: [Waiter] = []
    private var tickets = 0

    /// Runs `body` while nobody else is in. Throws what it throws, and `CancellationError` where the task is cancelled while it
    /// waits.
    func run<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        try await self.enter()
        defer { self.leave() }
        return try await body()
    }

    private func enter() async throws {
        self.tickets += 1
        let ticket = self.tickets
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                if Task.isCancelled {
                    continuation.resume(throwing: CancellationError())
                } else if self.isHeld {
                    self.waiters.append(Waiter(ticket: ticket, continuation: continuation))
                } else {
                    self.isHeld = true
                    continuation.resume()
                }
            }
        } onCancel: {
            Task { await self.giveUp(ticket) }
        }
    }

    /// A cancelled task stops waiting.
    private func giveUp(_ ticket: Int) {
        guard let index = self.waiters.firstIndex(where: { $0.ticket == ticket }) else { return }
        self.waiters.remove(at: index).continuation.resume(throwing: CancellationError())
    }

    private func leave() {
        if self.waiters.isEmpty { self.isHeld = false } else { self.waiters.removeFirst().continuation.resume() }
    }
}
