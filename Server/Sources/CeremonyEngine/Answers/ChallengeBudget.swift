import Store
import Synchronization
import _Primitives

/// How many public challenges each source may ask for: a bucket of tokens a source, refilled with time.
///
/// A budget of this process: a challenge costs no row, and a source that asks at two nodes gets two budgets.
final class ChallengeBudget: Sendable {
    private struct Bucket {
        var tokens: Double
        var at: Timestamp
    }

    private let buckets = Mutex<[String: Bucket]>([:])
    private let burst: Double
    private let perSecond: Double
    private let sources: Int

    init(_ limits: Limits) {
        self.burst = Double(limits.challengeBurst)
        self.perSecond = limits.challengesPerSecond
        self.sources = limits.countedSources
    }

    /// Takes one token. Throws `tooManyRequests`, with the time after which there is one again.
    func take(source: String, at now: Timestamp) throws {
        let missing: Double = self.buckets.withLock { buckets in
            if buckets[source] == nil, buckets.count >= self.sources { self.forget(&buckets, at: now) }
            var bucket = buckets[source] ?? Bucket(tokens: self.burst, at: now)
            bucket.tokens = self.level(bucket, at: now)
            bucket.at = now
            let missing = max(0, 1 - bucket.tokens)
            if missing == 0 { bucket.tokens -= 1 }
            buckets[source] = bucket
            return missing
        }
        guard missing == 0 else {
            throw CeremonyError(
                .tooManyRequests, "a source asks for challenges too often",
                retryAfterSeconds: self.wait(for: missing))
        }
    }

    /// Whole seconds until `missing` tokens have come; an hour at most, also where none ever come.
    private func wait(for missing: Double) -> Int {
        guard self.perSecond > 0 else { return 3600 }
        return Int(min(3600, max(1, (missing / self.perSecond).rounded(.up))))
    }

    private func level(_ bucket: Bucket, at now: Timestamp) -> Double {
        min(self.burst, bucket.tokens + max(0, Double((now - bucket.at).milliseconds)) / 1000 * self.perSecond)
    }

    /// Makes room: sources whose bucket is full again, and if that is not enough the half that asked least recently.
    private func forget(_ buckets: inout [String: Bucket], at now: Timestamp) {
        buckets = buckets.filter { self.level($0.value, at: now) < self.burst }
        guard buckets.count >= self.sources else { return }
        for entry in buckets.sorted(by: { $0.value.at < $1.value.at }).prefix(self.sources / 2 + 1) {
            buckets[entry.key] = nil
        }
    }
}
