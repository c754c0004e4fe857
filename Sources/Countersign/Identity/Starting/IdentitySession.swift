import Ceremony
public import Foundation
import _Primitives

/// How long the server waits in a process, and what names the process to ``CommonProcesses/abort(_:)`` and
/// ``CommonProcesses/prolongSession(holder:)``.
// Safe to share: every access to `deadlines` is within `lock`, and everything else never changes.
public final class IdentitySession: @unchecked Sendable, CustomStringConvertible {
    let claimed: ClaimedSession
    private let lock = NSLock()
    private var deadlines: SessionDeadlines

    init(_ claimed: ClaimedSession, _ deadlines: SessionDeadlines) {
        self.claimed = claimed
        self.deadlines = deadlines
    }

    /// Until when the next step has to be there, by the server's clock. Prolong before.
    public var nextRequestUntil: Date { Date(self.lock.withLock { self.deadlines.nextRequestUntil }) }
    /// After which nothing prolongs the process, by the server's clock.
    public var lastRequestBefore: Date { Date(self.lock.withLock { self.deadlines.lastRequestBefore }) }

    /// Takes over what the server said last.
    func move(to deadlines: SessionDeadlines) { self.lock.withLock { self.deadlines = deadlines } }

    /// Takes over what a prolongation has come to. The answer of an earlier one may be the last to come, and takes no time away.
    func prolong(to deadlines: SessionDeadlines) {
        self.lock.withLock {
            guard self.deadlines.nextRequestUntil < deadlines.nextRequestUntil else { return }
            self.deadlines = deadlines
        }
    }

    /// Takes over until when the server waits for what comes after the factors.
    func move(toStepUntil moment: Timestamp) {
        self.lock.withLock { self.deadlines.nextRequestUntil = moment }
    }

    /// The type alone.
    public var description: String { "IdentitySession" }
}

/// Whatever belongs to a process that the server waits in: it can be given up by any of these, and prolonged by all but a
/// ``ServiceLoginResult``, whose code waits for no person.
public protocol IdentitySessionHolder: Sendable {
    /// The process.
    var identitySession: IdentitySession { get }
}
