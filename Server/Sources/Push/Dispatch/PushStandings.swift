import Settings
import Synchronization
import _Primitives

/// The states of the push services that a dispatcher has used, in memory. A node that starts knows of no success.
final class PushStandings: Sendable {
    private struct Entry {
        var standing = PushStanding()
        var usedAt: Timestamp
    }

    private let limits: Limits.Push
    private let entries = Mutex<[ExactText: Entry]>([:])

    init(limits: Limits.Push) { self.limits = limits }

    /// The number of services that stand still.
    var stopped: Int { self.entries.withLock { $0.values.count { $0.standing.stopReason != nil } } }

    /// Returns `true` if a message to the service may be sent at `now`.
    func isOpen(_ service: String, at now: Timestamp) -> Bool {
        self.entries.withLock { $0[ExactText(service)]?.standing.isOpen(at: now) ?? true }
    }

    /// Takes a message's turn at the service. Returns `false` if the service stands still.
    func takeTurn(at service: String, now: Timestamp) -> Bool {
        self.change(service, at: now) { $0.takeTurn(at: now, limits: self.limits) }
    }

    /// Decides about a message to a device of an account after an answer of the service.
    func decide(
        _ answer: PushAnswer, of service: String, to account: String, at now: Timestamp
    ) -> PushStanding.Decision {
        self.change(service, at: now) { $0.decide(answer, to: account, at: now, limits: self.limits) }
    }

    private func change<Result>(
        _ service: String, at now: Timestamp, _ body: (inout PushStanding) -> Result
    ) -> Result where Result: Sendable {
        self.entries.withLock { entries in
            let name = ExactText(service)
            if entries[name] == nil, entries.count >= self.limits.rememberedServices,
                let oldest = entries.min(by: { $0.value.usedAt < $1.value.usedAt })?.key
            {
                entries[oldest] = nil
            }
            var entry = entries[name] ?? Entry(usedAt: now)
            entry.usedAt = now
            let result = body(&entry.standing)
            entries[name] = entry
            return result
        }
    }
}
