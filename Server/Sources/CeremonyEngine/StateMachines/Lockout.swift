package import Settings
package import _Primitives

/// The information for an app about a lockout, after a refused attempt or during a lockout.
package struct IdentityLockout: Hashable, Sendable {
    /// The end of the lockout, until which no attempt is judged; `nil` for a permanent lockout.
    package let lockedUntil: Timestamp?

    package init(lockedUntil: Timestamp?) { self.lockedUntil = lockedUntil }

    /// `true` if the activation is disabled for good.
    package var isPermanent: Bool { self.lockedUntil == nil }
}

/// The failed attempts of an activation, and the resulting lockout.
///
/// A pure value: the store writes the value, and no attempt is verified before the result of
/// ``reserve(request:at:limits:)`` is on disk (founding decision, Attempts).
package struct Lockout: Equatable, Sendable {
    /// The number of consecutive failed attempts.
    package private(set) var failuresInARow: Int
    /// The times of failed attempts within the relevant window, the oldest first.
    package private(set) var failures: [Timestamp]
    /// The end of the lockout, until which no attempt is judged.
    package private(set) var lockedUntil: Timestamp?
    /// `true` if the activation is disabled for good.
    package private(set) var isPermanent: Bool
    /// The attempt under verification.
    package private(set) var reservation: Reservation?

    /// An attempt that counts as failed until it is known to be right.
    package struct Reservation: Equatable, Sendable {
        /// SHA-256 of the request.
        package let request: [UInt8]
        /// The time of the reservation.
        package let at: Timestamp

        package init(request: [UInt8], at: Timestamp) {
            self.request = request
            self.at = at
        }
    }

    /// Creates a lockout without attempts.
    package init() {
        self.init(failuresInARow: 0, failures: [], lockedUntil: nil, isPermanent: false, reservation: nil)
    }

    /// Creates a lockout from the values of a record.
    package init(
        failuresInARow: Int, failures: [Timestamp], lockedUntil: Timestamp?, isPermanent: Bool,
        reservation: Reservation?
    ) {
        self.failuresInARow = failuresInARow
        self.failures = failures
        self.lockedUntil = lockedUntil
        self.isPermanent = isPermanent
        self.reservation = reservation
    }

    /// Returns the running lockout; `nil` if there is none.
    ///
    /// During the verification of the last possible attempt, the activation may or may not be disabled. Other requests
    /// are told of the attempt's temporary lockout as long as the lockout runs.
    package func pending(at now: Timestamp) -> IdentityLockout? {
        let rest = self.lockedUntil.flatMap { now < $0 ? IdentityLockout(lockedUntil: $0) : nil }
        guard self.isPermanent else { return rest }
        let forEver = IdentityLockout(lockedUntil: nil)
        return self.reservation == nil ? forEver : rest ?? forEver
    }

    /// The result of reserving an attempt.
    package enum Reserved: Equatable, Sendable {
        /// The attempt may be verified. `ifRefused` is the lockout for a wrong attempt.
        case mayVerify(ifRefused: IdentityLockout)
        /// A lockout runs: nothing is verified, and nothing is counted.
        case pending(IdentityLockout)
    }

    /// Counts an attempt as failed before the verification. So an attacker cannot make more attempts at once than one
    /// after the other, and cannot regain an attempt by cutting the power.
    ///
    /// A reserved request may be verified again: a phone that lost the answer repeats the request, and the request
    /// counts once. Requests are recognised by their SHA-256, which is no secret.
    package mutating func reserve(request: [UInt8], at now: Timestamp, limits: Limits) -> Reserved {
        if self.reservation?.request == request { return .mayVerify(ifRefused: self.outcome) }
        if let pending = self.pending(at: now) { return .pending(pending) }
        self.failuresInARow += 1
        self.failures.removeAll { $0 + limits.lockoutWindow <= now }
        self.failures.append(now)
        self.isPermanent =
            self.failuresInARow >= limits.lockoutFailuresInARow
            || self.failures.count >= limits.lockoutFailuresInWindow
        let growth = limits.lockoutSeconds
        let rest: Duration =
            self.failuresInARow == 1 || growth.isEmpty
            ? limits.firstLockout : .seconds(growth[min(self.failuresInARow - 1, growth.count) - 1])
        // Never zero, whatever an operator has set.
        self.lockedUntil = now + max(rest, Limits.Fixed.shortestLifetime)
        self.reservation = Reservation(request: request, at: now)
        return .mayVerify(ifRefused: self.outcome)
    }

    /// Passes the reservation to a later request of the same attempt: the factors after the evaluation of a PIN.
    /// Nothing is counted, and nothing changes if another attempt is reserved.
    package mutating func pass(from former: [UInt8], to request: [UInt8]) {
        guard let reservation = self.reservation, reservation.request == former else { return }
        self.reservation = Reservation(request: request, at: reservation.at)
    }

    /// Takes back an attempt that certainly had no result: no caller has learned anything that a wrong attempt would
    /// reveal. Returns `false`, and changes nothing, unless this attempt is reserved.
    package mutating func withdraw(request: [UInt8]) -> Bool {
        guard let reservation = self.reservation, reservation.request == request else { return false }
        self.reservation = nil
        self.removeFailure(of: reservation)
        self.failuresInARow -= 1
        // The attempt was reserved, so no lockout ran.
        self.lockedUntil = nil
        self.isPermanent = false
        return true
    }

    /// Lifts the temporary lockout, and nothing else: the row of failures and the failures of the window stay. An
    /// attacker without the PIN gains no attempt from lifted lockouts. Returns `false`, and changes nothing, if the
    /// activation is disabled for good.
    ///
    /// Must not be called during a verification, which needs its own reservation.
    package mutating func lift() -> Bool {
        guard !self.isPermanent else { return false }
        self.reservation = nil
        self.lockedUntil = nil
        return true
    }

    /// Records the result of the reserved attempt.
    ///
    /// A right attempt is removed again, ends the row, and leaves the other failures of the window. Returns `false`,
    /// and changes nothing, unless this attempt is reserved.
    package mutating func settle(request: [UInt8], isRight: Bool) -> Bool {
        guard let reservation = self.reservation, reservation.request == request else { return false }
        self.reservation = nil
        guard isRight else { return true }
        self.removeFailure(of: reservation)
        self.failuresInARow = 0
        self.lockedUntil = nil
        self.isPermanent = false
        return true
    }

    private mutating func removeFailure(of reservation: Reservation) {
        if let own = self.failures.lastIndex(of: reservation.at) { self.failures.remove(at: own) }
    }

    private var outcome: IdentityLockout {
        IdentityLockout(lockedUntil: self.isPermanent ? nil : self.lockedUntil)
    }
}
