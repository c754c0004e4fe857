import Foundation
import _Primitives

/// Why the keys of servers could not be fetched the last time: who has none to judge a code by is told that, and not only that
/// there are none.
// Safe to share: every access to `reasons` is within `lock`.
final class KeyFailures: @unchecked Sendable {
    private let lock = NSLock()
    /// By the servers' identifiers.
    private var reasons: [ExactText: any Error] = [:]

    /// - Parameter reason: `nil` where they were fetched.
    func note(_ reason: (any Error)?, of server: String) {
        self.lock.withLock { self.reasons[ExactText(server)] = reason }
    }
    func last(of server: String) -> (any Error)? { self.lock.withLock { self.reasons[ExactText(server)] } }
}
