import Synchronization

/// Recently computed values by key: a memory of bounded size, shared by threads.
///
/// The memory is for values that follow from their key alone. No single value is ever removed. Past the capacity all
/// values are forgotten.
package final class RecentValues<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let values = Mutex<[Key: Value]>([:])
    private let capacity: Int

    /// Makes a memory for at most `capacity` values.
    package init(capacity: Int) { self.capacity = capacity }

    /// Returns the kept value of a key; `nil` if no value was kept, or the value was forgotten.
    package func value(_ key: Key) -> Value? { self.values.withLock { $0[key] } }

    /// Keeps a value for a key.
    package func keep(_ value: Value, for key: Key) {
        self.values.withLock { values in
            if values.count >= self.capacity { values = [:] }
            values[key] = value
        }
    }

    /// Returns the kept value of a key. Without a kept value, makes the value now and keeps it. An error of `make` is
    /// passed on and not kept.
    package func value(_ key: Key, orMake make: () throws -> Value) rethrows -> Value {
        if let value = self.value(key) { return value }
        let value = try make()
        self.keep(value, for: key)
        return value
    }
}
