/// A lock for each key.
///
/// Callers enter in the order of arrival. A caller that holds a key must not enter again for the same key.
package actor ExclusiveUse<Key: Hashable & Sendable> {
    private struct Waiter {
        let ticket: Int
        let continuation: CheckedContinuation<Void, any Error>
    }

    private var used: Set<Key> = []
    private var waiting: [Key: [Waiter]] = [:]
    private var tickets = 0

    package init() {}

    /// Runs `body` while no other caller holds any of the keys. Callers with several keys must all use the same order,
    /// so two callers never wait for each other.
    ///
    /// Throws the errors of `body`, and `CancellationError` if the task is cancelled while it waits.
    package func run<Value: Sendable>(_ keys: [Key], _ body: @Sendable () async throws -> Value) async throws -> Value {
        var held: [Key] = []
        defer { for key in held { self.leave(key) } }
        for key in keys {
            try await self.enter(key)
            held.append(key)
        }
        return try await body()
    }

    private func enter(_ key: Key) async throws {
        self.tickets += 1
        let ticket = self.tickets
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                if Task.isCancelled {
                    continuation.resume(throwing: CancellationError())
                } else if self.used.insert(key).inserted {
                    continuation.resume()
                } else {
                    self.waiting[key, default: []].append(Waiter(ticket: ticket, continuation: continuation))
                }
            }
        } onCancel: {
            Task { await self.giveUp(key, ticket) }
        }
    }

    /// Ends the wait of a cancelled task.
    private func giveUp(_ key: Key, _ ticket: Int) {
        guard let index = self.waiting[key]?.firstIndex(where: { $0.ticket == ticket }),
            let waiter = self.waiting[key]?.remove(at: index)
        else { return }
        waiter.continuation.resume(throwing: CancellationError())
    }

    private func leave(_ key: Key) {
        if var waiters = self.waiting[key], !waiters.isEmpty {
            let next = waiters.removeFirst()
            self.waiting[key] = waiters.isEmpty ? nil : waiters
            next.continuation.resume()
        } else {
            self.waiting[key] = nil
            self.used.remove(key)
        }
    }
}
