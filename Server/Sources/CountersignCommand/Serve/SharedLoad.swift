import Synchronization

/// How much is asked now: of the PIN service, or by a server of it.
final class SharedLoad: Sendable {
    private let count = Mutex(0)

    /// Takes a place; `false` where `capacity` are taken.
    func enter(_ capacity: Int) -> Bool {
        self.count.withLock { count in
            guard count < capacity else { return false }
            count += 1
            return true
        }
    }

    /// Gives a place back.
    func leave() { self.count.withLock { $0 -= 1 } }
}
