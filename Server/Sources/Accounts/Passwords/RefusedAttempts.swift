import Records
import Settings
import Synchronization
import _Primitives

/// The recent refusals of accounts, until the audit trail has them.
///
/// An attempt notes its refusal here, in memory, for known and unknown names alike. So no step of an attempt writes
/// more for a known account. From time to time the trail gets one entry for each account, with the number of refusals
/// for each reason. So an attacker's guesses do not fill the trail. A killed process loses the unwritten refusals; the
/// log has them.
final class RefusedAttempts: Sendable {
    private struct Refused {
        /// The number of refusals, by our own words for the reason.
        var counts: [String: Int] = [:]  // check: unicode-words
        var last: Timestamp
        var writtenAt: Timestamp?
    }

    private struct State {
        /// The refusals by account. The empty key stands for unknown names, and for accounts without room.
        var accounts: [ExactText: Refused] = [:]
    }

    private let state = Mutex(State())
    private let limits: Limits.PasswordAccounts

    init(limits: Limits.PasswordAccounts) { self.limits = limits }

    /// Notes a refusal; `account` is `nil` for an unknown name.
    func note(_ refusal: PasswordSignIns.Refusal, of what: String, account: String?, at now: Timestamp) {
        self.state.withLock { state in
            var key = ExactText(account ?? "")
            if state.accounts[key] == nil, state.accounts.count >= Limits.Fixed.refusedAccounts { key = "" }
            state.accounts[key, default: Refused(last: now)].counts["\(what)-\(refusal.rawValue)", default: 0] += 1
            state.accounts[key]?.last = now
        }
    }

    /// Takes the refusals that are due: of each account once in a ``Limits/PasswordAccounts/refusalPause``, or all
    /// refusals.
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
    /// Writes the refusals to the audit trail, one entry for each account that is due.
    ///
    /// - Parameter all: `true` if no refusals may stay in memory, because the process ends.
    ///
    /// Cost: one store step for each entry.
    public func writeRefusals(all: Bool = false) async throws {
        for event in self.refused.take(at: self.time.now(), all: all) { try await self.store.appendAudit(event) }
    }
}

extension AuditEvent.Kind {
    /// Passwords, or codes beside them, were refused. The detail has the reasons and their numbers.
    fileprivate static let refused = Self(rawValue: "password-refused")
}
