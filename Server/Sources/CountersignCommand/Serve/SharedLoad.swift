import Synchronization

/// The number of questions under way: at the PIN service, or from a server to the service.
final class SharedLoad: Sendable {
    private let count = Mutex(0)

    /// Takes a place; `false` if `capacity` places are taken.
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
