import Synchronization
public import _Primitives

/// A budget for each source of requests that cost the server more than an answer: a bucket for each source, refilled
/// with time.
///
/// The budget belongs to this process: a source that asks at two nodes gets two budgets (``BudgetScope``). The budget holds a bounded
/// number of sources. Past the bound the sources whose budget is full are forgotten, and if these are too few, the half
/// of the sources that asked least recently. A forgotten source starts anew. Sources may be in groups, and each group
/// has room for this number of sources. So no group's sources make a source of another group be forgotten. Past the
/// bound on groups a whole group is forgotten.
public final class SourceBudget: Sendable {
    private struct Bucket {
        var tokens: Double
        var at: Timestamp
    }

    /// The scope that the budget protects.
    public let scope: BudgetScope
    private let groups = Mutex<[ExactText: [ExactText: Bucket]]>([:])
    private let burst: Double
    private let perSecond: Double
    private let sources: Int
    private let groupBound: Int

    /// Makes a budget for each of at most `sources` sources in each of at most `groups` groups: `burst` at once, and
    /// `perSecond` a second after that.
    public init(burst: Int, perSecond: Double, sources: Int, groups: Int = 1, protecting scope: BudgetScope) {
        self.scope = scope
        self.groupBound = groups
        self.burst = Double(burst)
        self.perSecond = perSecond
        self.sources = sources
    }

    /// Makes a budget of one in each `pause`.
    public convenience init(oneIn pause: Duration, sources: Int, protecting scope: BudgetScope) {
        self.init(burst: 1, perSecond: 1000 / Double(pause.milliseconds), sources: sources, protecting: scope)
    }

    /// Spends one of the source's budget and returns `nil`. If nothing is left, spends nothing and returns the seconds
    /// until one is free again, an hour at most.
    public func spend(_ source: String, of group: String = "", at now: Timestamp) -> Int? {
        let (source, group) = (ExactText(source), ExactText(group))
        let missing: Double = self.groups.withLock { groups in
            if groups[group] == nil, groups.count >= self.groupBound { self.forgetGroup(&groups, at: now) }
            return self.spend(source, &groups[group, default: [:]], at: now)
        }
        return missing == 0 ? nil : self.wait(for: missing)
    }

    private func spend(_ source: ExactText, _ buckets: inout [ExactText: Bucket], at now: Timestamp) -> Double {
        if buckets[source] == nil, buckets.count >= self.sources { self.forget(&buckets, at: now) }
        var bucket = buckets[source] ?? Bucket(tokens: self.burst, at: now)
        bucket.tokens = self.level(bucket, at: now)
        bucket.at = now
        let missing = max(0, 1 - bucket.tokens)
        if missing == 0 { bucket.tokens -= 1 }
        buckets[source] = bucket
        return missing
    }

    /// Gives one back to the source. An attempt is counted before it is judged, so that many attempts at once do not
    /// all find the same rest. A right attempt costs nothing and is given back.
    public func refund(_ source: String, of group: String = "") {
        let (source, group) = (ExactText(source), ExactText(group))
        self.groups.withLock { groups in
            guard var bucket = groups[group]?[source] else { return }
            bucket.tokens = min(self.burst, bucket.tokens + 1)
            groups[group]?[source] = bucket
        }
    }

    /// Returns the whole seconds until `missing` have come; an hour at most, also if none ever come.
    private func wait(for missing: Double) -> Int {
        let most = Double(Limits.Fixed.longestRetry.components.seconds)
        guard self.perSecond > 0 else { return Int(most) }
        return Int(min(most, max(1, (missing / self.perSecond).rounded(.up))))
    }

    private func level(_ bucket: Bucket, at now: Timestamp) -> Double {
        min(self.burst, bucket.tokens + max(0, Double((now - bucket.at).milliseconds)) / 1000 * self.perSecond)
    }

    /// Makes room for a source: removes the sources whose bucket is full again. If that is not enough, removes the half
    /// that asked least recently.
    private func forget(_ buckets: inout [ExactText: Bucket], at now: Timestamp) {
        buckets = buckets.filter { self.level($0.value, at: now) < self.burst }
        guard buckets.count >= self.sources else { return }
        for entry in buckets.sorted(by: { $0.value.at < $1.value.at }).prefix(self.sources / 2 + 1) {
            buckets[entry.key] = nil
        }
    }

    /// Makes room for a group: removes the groups whose buckets are all full again. If no such group exists, removes
    /// the group that asked least recently.
    private func forgetGroup(_ groups: inout [ExactText: [ExactText: Bucket]], at now: Timestamp) {
        groups = groups.filter { $0.value.contains { self.level($0.value, at: now) < self.burst } }
        guard groups.count >= self.groupBound else { return }
        let times = groups.mapValues { buckets in buckets.values.map(\.at).max() ?? now }
        if let oldest = times.min(by: { $0.value < $1.value }) { groups[oldest.key] = nil }
    }
}
