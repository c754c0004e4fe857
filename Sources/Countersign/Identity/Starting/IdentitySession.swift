import Ceremony
public import Foundation
import _Primitives

/// The deadlines of a process at the server. The session also identifies the process for ``CommonProcesses/abort(_:)``
/// and ``CommonProcesses/prolongSession(holder:)``.
// Safe to share: every access to `deadlines` is within `lock`, and everything else never changes.
public final class IdentitySession: @unchecked Sendable, CustomStringConvertible {
    let claimed: ClaimedSession
    private let lock = NSLock()
    private var deadlines: SessionDeadlines

    init(_ claimed: ClaimedSession, _ deadlines: SessionDeadlines) {
        self.claimed = claimed
        self.deadlines = deadlines
    }

    /// The deadline of the next step, by the server's clock. Prolong the session before this time.
    public var nextRequestUntil: Date { Date(self.lock.withLock { self.deadlines.nextRequestUntil }) }
    /// The time after which the process can no longer be prolonged, by the server's clock.
    public var lastRequestBefore: Date { Date(self.lock.withLock { self.deadlines.lastRequestBefore }) }

    /// Adopts the deadlines of the server's last message.
    func move(to deadlines: SessionDeadlines) { self.lock.withLock { self.deadlines = deadlines } }

    /// Adopts the deadlines of a prolongation. The answer of an earlier prolongation may arrive last, and does not
    /// shorten the time.
    func prolong(to deadlines: SessionDeadlines) {
        self.lock.withLock {
            guard self.deadlines.nextRequestUntil < deadlines.nextRequestUntil else { return }
            self.deadlines = deadlines
        }
    }

    /// Adopts the server's deadline for the step after the factors.
    func move(toStepUntil moment: Timestamp) {
        self.lock.withLock { self.deadlines.nextRequestUntil = moment }
    }

    /// The type's name only.
    public var description: String { "IdentitySession" }
}

/// An object that belongs to a process at the server. Every such process can be given up, and every process except that
/// of a ``ServiceLoginResult`` can be prolonged: its code waits for no person.
public protocol IdentitySessionHolder: Sendable {
    /// The session of the process.
    var identitySession: IdentitySession { get }
}
