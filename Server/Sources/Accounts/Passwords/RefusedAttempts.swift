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
    /// The refusals of an account since its last entry in the trail.
    private struct Refused {
        /// The account; empty for unknown names, and for accounts without room.
        let account: ExactText
        /// The number of refusals, by our own words for the reason.
        var counts: [String: Int] = [:]  // check: unicode-words
        var last: Timestamp
        var writtenAt: Timestamp?

        /// The entry for the audit trail.
        var entry: AuditEvent {
            // Our own words.
            let words = self.counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            return AuditEvent(
                .refused, at: self.last, accountID: self.account == "" ? nil : self.account.text,
                detail: words.joined(separator: ", "))
        }
    }

    private struct State {
        /// The refusals by account. The empty key stands for unknown names, and for accounts without room.
        var accounts: [ExactText: Refused] = [:]

        /// Adds refusals of an account, by our own words for the reason.
        mutating func add(
            _ counts: [String: Int],  // check: unicode-words
            of account: ExactText, at moment: Timestamp
        ) {
            let isKnown = self.accounts[account] != nil
            let key = isKnown || self.accounts.count < Limits.Fixed.refusedAccounts ? account : ""
            var refused = self.accounts[key] ?? Refused(account: key, last: moment)
            refused.counts.merge(counts, uniquingKeysWith: +)
            refused.last = max(refused.last, moment)
            self.accounts[key] = refused
        }
    }

    private let state = Mutex(State())
    private let limits: Limits.PasswordAccounts

    init(limits: Limits.PasswordAccounts) { self.limits = limits }

    /// Notes a refusal; `account` is `nil` for an unknown name.
    func note(_ refusal: PasswordSignIns.Refusal, of what: String, account: String?, at now: Timestamp) {
        self.state.withLock { state in
            state.add(["\(what)-\(refusal.rawValue)": 1], of: ExactText(account ?? ""), at: now)
        }
    }

    /// Writes the refusals that are due to the audit trail, one entry for each account. Refusals without an entry stay
    /// here until the next call.
    ///
    /// - Parameter all: `true` if no refusals may stay here.
    ///
    /// Cost: one store step for each entry.
    func write(to trail: any AuditStore, at now: Timestamp, all: Bool) async throws {
        let due = self.take(at: now, all: all)
        for (index, refused) in due.enumerated() {
            do { try await trail.appendAudit(refused.entry) } catch {
                self.giveBack(due[index...])
                throw error
            }
        }
    }

    /// Takes the refusals that are due: of each account once in a ``Limits/PasswordAccounts/refusalPause``, or all
    /// refusals. Refusals that the trail does not get are given back (``giveBack(_:)``).
    private func take(at now: Timestamp, all: Bool) -> [Refused] {
        self.state.withLock { state in
            var taken: [Refused] = []
            for (account, refused) in state.accounts {
                let isDue = all || refused.writtenAt.map { now >= $0 + self.limits.refusalPause } ?? true
                guard isDue else { continue }
                guard !refused.counts.isEmpty else {
                    state.accounts[account] = nil
                    continue
                }
                taken.append(refused)
                state.accounts[account] = Refused(account: account, last: refused.last, writtenAt: now)
            }
            return taken
        }
    }

    /// Gives refusals back that were taken and not written. They are due at once.
    private func giveBack(_ refusals: ArraySlice<Refused>) {
        self.state.withLock { state in
            for refused in refusals {
                state.add(refused.counts, of: refused.account, at: refused.last)
                state.accounts[refused.account]?.writtenAt = refused.writtenAt
            }
        }
    }
}

extension AuditEvent.Kind {
    /// Passwords, or codes beside them, were refused. The detail has the reasons and their numbers.
    fileprivate static let refused = Self(rawValue: "password-refused")
}
