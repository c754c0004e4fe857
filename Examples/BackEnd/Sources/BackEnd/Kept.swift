import _Primitives

/// Values under random names, for a time. A service of several processes keeps them in its database instead, under the names'
/// hashes.
actor Kept<Value: Sendable> {
    private let lifetime: Duration
    private let limit: Int
    private let time: TimeSource
    private var values: [String: (value: Value, until: Timestamp)] = [:]

    init(for lifetime: Duration, atMost limit: Int, _ time: TimeSource) {
        self.lifetime = lifetime
        self.limit = limit
        self.time = time
    }

    /// Keeps a value, and returns its name. Where there is no room the one goes that would end first.
    func keep(_ value: Value) -> String {
        let now = self.time.now()
        if self.values.count >= self.limit { self.values = self.values.filter { now < $0.value.until } }
        if self.values.count >= self.limit, let first = self.values.min(by: { $0.value.until < $1.value.until }) {
            self.values[first.key] = nil
        }
        let name = RandomSource.system.token()
        self.values[name] = (value, now + self.lifetime)
        return name
    }

    func value(of name: String) -> Value? {
        guard let kept = self.values[name], self.time.now() < kept.until else { return nil }
        return kept.value
    }

    /// Gives a value out for the last time.
    @discardableResult func take(_ name: String) -> Value? {
        defer { self.values[name] = nil }
        return self.value(of: name)
    }
}
