import Synchronization

/// What was found out lately and is the same whenever it is asked for: a memory of bounded size, shared by threads.
///
/// It is for what follows from its key alone. Nothing is ever taken back; past the capacity everything is forgotten.
package final class RecentValues<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let values = Mutex<[Key: Value]>([:])
    private let capacity: Int

    /// Remembers at most so many values.
    package init(capacity: Int) { self.capacity = capacity }

    /// What was kept for a key; `nil` where nothing was, or it was forgotten.
    package func value(_ key: Key) -> Value? { self.values.withLock { $0[key] } }

    /// Keeps what was found out.
    package func keep(_ value: Value, for key: Key) {
        self.values.withLock { values in
            if values.count >= self.capacity { values = [:] }
            values[key] = value
        }
    }

    /// What was kept for a key, or is found out now and kept. What it throws is not kept.
    package func value(_ key: Key, orMake make: () throws -> Value) rethrows -> Value {
        if let value = self.value(key) { return value }
        let value = try make()
        self.keep(value, for: key)
        return value
    }
}
