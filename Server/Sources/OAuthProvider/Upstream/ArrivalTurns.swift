import Settings
import Synchronization
import _Primitives

/// Makes people who have come back from other providers wait for their turn, by the rules of ``ArrivalQueue``.
final class ArrivalTurns: Sendable {
    private struct State {
        var queue: ArrivalQueue
        var lastNumber = 0
        var waiters: [Int: CheckedContinuation<Bool, Never>] = [:]

        /// Removes and returns the waiters of the decisions, each with its result.
        mutating func waiters(of decisions: [ArrivalQueue.Decision]) -> [(CheckedContinuation<Bool, Never>, Bool)] {
            decisions.compactMap { decision in
                self.waiters.removeValue(forKey: decision.number).map { ($0, decision.isAdmitted) }
            }
        }
    }

    private let time: TimeSource
    private let state: Mutex<State>

    init(limits: Limits.OAuth, time: TimeSource) {
        self.time = time
        self.state = Mutex(State(queue: ArrivalQueue(limits: limits)))
    }

    /// The number of waiting arrivals.
    var waiting: Int { self.state.withLock { $0.queue.waiting.count } }

    /// Does `work` when the turn of the trip's person comes. Returns `nil`, without doing the work, if too many people
    /// wait, the wait was too long, the browser has asked again since, or the task is cancelled.
    ///
    /// - Parameters:
    ///   - trip: The digest of the trip's state.
    ///   - source: The counted source (a network).
    func take<Value>(
        _ trip: [UInt8], from provider: String, source: String, _ work: () async throws -> Value
    ) async rethrows -> Value? {
        let number = self.state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let arrival = ArrivalQueue.Arrival(
            number: number, trip: trip, provider: provider, source: source, since: self.time.now())
        let isAdmitted = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.decide { state in
                    state.waiters[number] = continuation
                    // A task that was cancelled before it entered the queue has to leave here.
                    return Task.isCancelled
                        ? [ArrivalQueue.Decision(number: number, isAdmitted: false)] : state.queue.enter(arrival)
                }
            }
        } onCancel: {
            self.leave(number)
        }
        guard isAdmitted else { return nil }
        defer { self.leave(number) }
        return try await work()
    }

    private func leave(_ number: Int) {
        let now = self.time.now()
        self.decide { $0.queue.leave(number, at: now) }
    }

    private func decide(_ step: (inout State) -> [ArrivalQueue.Decision]) {
        let told = self.state.withLock { state in
            let decisions = step(&state)
            return state.waiters(of: decisions)
        }
        for (waiter, isAdmitted) in told { waiter.resume(returning: isAdmitted) }
    }
}
