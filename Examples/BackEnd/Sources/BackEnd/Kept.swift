import _Primitives

/// Values under random names, for a time. A service of several processes keeps them in its database instead, under the names'
/// hashes.
actor Kept<Value: Sendable> {
    /// There is no room for another value before then, unless one is taken.
    struct Full: Error {
        let wait: Duration
    }

    private let lifetime: Duration
    private let limit: Int
    private let time: TimeSource
    private var values: [String: (value: Value, until: Timestamp)] = [:]
    /// The names in the order in which they end, which is the one in which they came; also of values that were taken.
    private var names: ArraySlice<String> = []

    init(for lifetime: Duration, atMost limit: Int, _ time: TimeSource) {
        self.lifetime = lifetime
        self.limit = limit
        self.time = time
    }

    /// Keeps a value, and returns its name. Throws ``Full``: what others have begun makes no room for what anybody begins.
    func keep(_ value: Value) throws(Full) -> String {
        let now = self.time.now()
        self.dropEnded(at: now)
        if self.values.count >= self.limit, let first = self.names.first, let next = self.values[first] {
            throw Full(wait: next.until - now)
        }
        let name = RandomSource.system.token()
        self.values[name] = (value, now + self.lifetime)
        self.names.append(name)
        return name
    }

    private func dropEnded(at now: Timestamp) {
        while let first = self.names.first, self.values[first].map({ $0.until <= now }) ?? true {
            self.values[first] = nil
            self.names.removeFirst()
        }
        // Once in as many calls as there are values at most: it costs each of them little.
        if self.names.count > 2 * self.limit { self.names.removeAll { self.values[$0] == nil } }
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
