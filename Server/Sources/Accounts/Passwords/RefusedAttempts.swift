import Store
import Synchronization
import _Primitives

/// What was refused of accounts lately, until the audit trail has it.
///
/// An attempt notes its refusal here, in memory, whether or not somebody has its name: no step of an attempt writes more for
/// an account than for none. From time to time one entry is written for each account, with how often it was for which reason,
/// so that whoever guesses does not fill the trail. What was not written when the process is killed is lost; the log has it.
final class RefusedAttempts: Sendable {
    private struct Refused {
        /// By our own words, how often.
        var counts: [String: Int] = [:]
        var last: Timestamp
        var writtenAt: Timestamp?
    }

    private struct State {
        /// By account; the empty one stands for names that nobody has, and for accounts that have no room.
        var accounts: [ExactText: Refused] = [:]
    }

    private let state = Mutex(State())
    private let limits: Limits.PasswordAccounts

    init(limits: Limits.PasswordAccounts) { self.limits = limits }

    /// Notes a refusal; `account` is `nil` where nobody has the name.
    func note(_ refusal: PasswordSignIns.Refusal, of what: String, account: String?, at now: Timestamp) {
        self.state.withLock { state in
            var key = ExactText(account ?? "")
            if state.accounts[key] == nil, state.accounts.count >= Limits.Fixed.refusedAccounts { key = "" }
            state.accounts[key, default: Refused(last: now)].counts["\(what)-\(refusal.rawValue)", default: 0] += 1
            state.accounts[key]?.last = now
        }
    }

    /// Takes what is due: of each account once in a ``Limits/PasswordAccounts/refusalPause``, or all of it.
    func take(at now: Timestamp, all: Bool = false) -> [AuditEvent] {
        self.state.withLock { state in
            var events: [AuditEvent] = []
            for (account, refused) in state.accounts {
                let isDue = all || refused.writtenAt.map { now >= $0 + self.limits.refusalPause } ?? true
                guard isDue else { continue }
                guard !refused.counts.isEmpty else {
                    state.accounts[account] = nil
                    continue
                }
                // Our own words.
                let words = refused.counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
                events.append(
                    AuditEvent(
                        .refused, at: refused.last, accountID: account == "" ? nil : account.text,
                        detail: words.joined(separator: ", ")))
                state.accounts[account] = Refused(last: refused.last, writtenAt: now)
            }
            return events
        }
    }
}

extension PasswordAccounts {
    /// Writes into the audit trail what was refused, an entry for each account whose turn it is.
    ///
    /// - Parameter all: Whether nothing is to be left in memory, as the process ends.
    ///
    /// Cost: one store step for each entry.
    public func writeRefusals(all: Bool = false) async throws {
        for event in self.refused.take(at: self.time.now(), all: all) { try await self.store.appendAudit(event) }
    }
}

extension AuditEvent.Kind {
    /// Passwords, or codes beside them, were refused; the detail says for which reasons, and how often each.
    fileprivate static let refused = Self(rawValue: "password-refused")
}
