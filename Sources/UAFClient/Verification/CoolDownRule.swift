import _Primitives

/// The state of a PIN or a password, as the app shows it. Attempts at a password are counted separately from attempts
/// at a PIN.
public enum AuthenticatorProtectionStatus: Hashable, Sendable {
    /// No wrong attempt since the last right attempt.
    case unlocked
    /// The last attempt was wrong.
    ///
    /// `coolDownTimeInSeconds` is the remaining waiting time, rounded up. Nothing is checked or counted before its end.
    case lastAttemptFailed(remainingTries: Int, coolDownTimeInSeconds: Int)
    /// Too many wrong attempts: nothing is checked any more.
    ///
    /// A registration for the same account replaces the locked key. Nothing is deleted before, because the device's
    /// data for the account prove that the device is the same.
    case lockedOut
}

/// The phone's rule of attempts at its own PIN or password: their number, and the cool-downs between them (operations
/// parity 50 to 54).
package struct CoolDownRule: Hashable, Sendable {
    /// The cool-down after the first, second, … wrong attempt. One more wrong attempt locks: see
    /// ``AuthenticatorProtectionStatus/lockedOut``.
    package var coolDowns: [Duration]

    /// Creates a rule, by default of five attempts with a cool-down of 60 seconds after the third wrong attempt and 180
    /// seconds after the fourth.
    package init(coolDowns: [Duration] = [.zero, .zero, .seconds(60), .seconds(180)]) { self.coolDowns = coolDowns }

    /// The number of attempts.
    package var tries: Int { self.coolDowns.count + 1 }
}

/// The wrong attempts at one key, on disk before each check.
///
/// A cool-down runs on the clock that no person can set, within one start of the device. If this clock cannot tell,
/// because the device was started again or a clock went backwards, the whole cool-down begins again.
struct AttemptLedger {
    private static let maximumFailures: Int64 = 1000

    let storage: any SecureStorage
    let clock: any DeviceClock
    let limit: CoolDownRule

    private struct Entry {
        var failures: Int
        var wall: Timestamp
        var uptime: Int64
        var boot: String
    }

    /// Begins a key's ledger. A key without a ledger counts as locked.
    func open(_ name: String) throws { try self.write(self.entry(failures: 0), name) }

    /// Forgets a key's ledger, with the key.
    func remove(_ name: String) throws { try self.storage.remove(Self.name(name)) }

    /// Returns the state of the key. If the waiting time has to begin again, the new beginning is on disk before the
    /// answer.
    func status(_ name: String) throws -> AuthenticatorProtectionStatus {
        guard var entry = try self.read(name) else { return .lockedOut }
        guard entry.failures > 0 else { return .unlocked }
        guard entry.failures < self.limit.tries else { return .lockedOut }
        let coolDown = self.limit.coolDowns[entry.failures - 1].milliseconds
        var rest: Int64 = 0
        if coolDown > 0 {
            let now = self.entry(failures: entry.failures)
            if now.boot != entry.boot || now.uptime < entry.uptime || now.wall < entry.wall {
                // A finished cool-down stays finished. Only a cool-down that may still run begins again.
                if !self.isOver(entry) {
                    try self.write(now, name)
                    entry = now
                    rest = coolDown
                }
            } else {
                rest = max(0, coolDown - (now.uptime - entry.uptime))
                if rest == 0 { try self.write(self.over(entry), name) }
            }
        }
        return .lastAttemptFailed(
            remainingTries: self.limit.tries - entry.failures, coolDownTimeInSeconds: Int((rest + 999) / 1000))
    }

    /// Takes one attempt, durably: when the function returns, the attempt is spent even if nothing is ever checked.
    /// Returns the number of spent attempts, this attempt included.
    func reserve(_ name: String) throws -> Int {
        guard let entry = try self.read(name) else { throw StorageError(.corrupt, "attempts are missing") }
        try self.write(self.entry(failures: entry.failures + 1), name)
        return entry.failures + 1
    }

    /// Gives attempts back after a right attempt with `spent` spent attempts. Attempts taken while the right attempt
    /// was judged stay spent.
    func reset(_ name: String, spent: Int) throws {
        let failures = try self.read(name)?.failures ?? spent
        try self.write(self.entry(failures: max(0, failures - spent)), name)
    }

    /// Gives the attempt back that nothing has judged. A cool-down after earlier attempts begins again.
    func giveBack(_ name: String) throws {
        guard let entry = try self.read(name) else { throw StorageError(.corrupt, "attempts are missing") }
        try self.write(self.entry(failures: max(0, entry.failures - 1)), name)
    }

    /// Returns the entry with its waiting time marked as finished. The entry no longer names a start of the device, so
    /// a later restart of the device, or a clock that goes backwards, does not begin the waiting time again. The number
    /// of failures stays.
    private func over(_ entry: Entry) -> Entry {
        Entry(failures: entry.failures, wall: entry.wall, uptime: -1, boot: "")
    }
    private func isOver(_ entry: Entry) -> Bool { entry.uptime == -1 }

    private func entry(failures: Int) -> Entry {
        Entry(
            failures: failures, wall: self.clock.now(), uptime: self.clock.uptime().milliseconds,
            boot: self.clock.bootIdentifier)
    }

    private func write(_ entry: Entry, _ name: String) throws {
        let object: JSONObject = [
            "failures": .integer(Int64(entry.failures)), "wall": .integer(entry.wall.milliseconds),
            "uptime": .integer(entry.uptime), "boot": .string(entry.boot),
        ]
        try self.storage.write(JSON.object(object).serialized, to: Self.name(name))
    }

    /// Returns the entry; `nil` if the entry is missing or not credible. In both cases the key counts as locked.
    private func read(_ name: String) throws -> Entry? {
        guard let bytes = try self.storage.read(Self.name(name)) else { return nil }
        guard case .object(let object)? = try? JSON(parsing: bytes),
            let failures = try? object.requiredInteger("failures", as: Int64.self),
            (0...Self.maximumFailures).contains(failures),
            let wall = try? object.requiredInteger("wall", as: Int64.self),
            let uptime = try? object.requiredInteger("uptime", as: Int64.self),
            let boot = try? object.requiredString("boot")
        else { return nil }
        return Entry(failures: Int(failures), wall: Timestamp(milliseconds: wall), uptime: uptime, boot: boot)
    }

    private static func name(_ key: String) -> String { "attempts-\(key)" }
}
