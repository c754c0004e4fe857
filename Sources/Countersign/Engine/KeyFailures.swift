import Foundation
import _Primitives

/// The reasons why the keys of servers could not be fetched the last time. A caller without keys to check a code can
/// then report the reason, and not only that the keys are missing.
// Safe to share: every access to `reasons` is within `lock`.
final class KeyFailures: @unchecked Sendable {
    private let lock = NSLock()
    /// The reasons by the servers' identifiers.
    private var reasons: [ExactText: any Error] = [:]

    /// Records the result of fetching a server's keys.
    ///
    /// - Parameter reason: `nil` if the keys were fetched.
    func note(_ reason: (any Error)?, of server: String) {
        self.lock.withLock { self.reasons[ExactText(server)] = reason }
    }
    func last(of server: String) -> (any Error)? { self.lock.withLock { self.reasons[ExactText(server)] } }
}
