import _Primitives

/// Values under random names, kept for a limited time. A service of several processes keeps such values in its database
/// instead, under the hashes of the names.
actor Kept<Value: Sendable> {
    /// The error for a full store: `wait` is the time until room for another value, unless a value is taken earlier.
    struct Full: Error {
        let wait: Duration
    }

    private let lifetime: Duration
    private let limit: Int
    private let time: TimeSource
    private var values: [String: (value: Value, until: Timestamp)] = [:]
    /// The names in the order of their ends, and therefore of their arrival. The list also has the names of values that
    /// were taken.
    private var names: ArraySlice<String> = []

    init(for lifetime: Duration, atMost limit: Int, _ time: TimeSource) {
        self.lifetime = lifetime
        self.limit = limit
        self.time = time
    }

    /// Keeps a value, and returns the value's name. Throws ``Full`` if the store is full: a new value does not displace
    /// the values of others.
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
        // The clean-up runs at most once in as many calls as values may exist, so each call pays little.
        if self.names.count > 2 * self.limit { self.names.removeAll { self.values[$0] == nil } }
    }

    func value(of name: String) -> Value? {
        guard let kept = self.values[name], self.time.now() < kept.until else { return nil }
        return kept.value
    }

    /// Returns a value for the last time.
    @discardableResult func take(_ name: String) -> Value? {
        defer { self.values[name] = nil }
        return self.value(of: name)
    }
}
