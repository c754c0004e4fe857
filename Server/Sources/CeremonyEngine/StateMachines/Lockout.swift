package import Store
package import _Primitives

/// What an app is told of a lockout, as the result of a refused attempt or because one runs.
package struct LockoutInformation: Hashable, Sendable {
    /// Until when nothing is judged; `nil` where it never ends.
    package let lockedUntil: Timestamp?

    package init(lockedUntil: Timestamp?) { self.lockedUntil = lockedUntil }

    /// Whether the activation is disabled for good.
    package var isPermanent: Bool { self.lockedUntil == nil }
}

/// The failed attempts of one activation, and the rest that they cost. A pure value: the store writes it, and nothing is
/// verified before what ``reserve(request:at:limits:)`` makes of it is on disk (founding decision, Attempts).
package struct Lockout: Equatable, Sendable {
    /// Attempts that failed, one after the other.
    package private(set) var failuresInARow: Int
    /// When attempts failed, in the window that counts, the oldest first.
    package private(set) var failures: [Timestamp]
    /// Until when nothing is judged.
    package private(set) var lockedUntil: Timestamp?
    /// Whether the activation is disabled for good.
    package private(set) var isPermanent: Bool
    /// The attempt that is being verified.
    package private(set) var reservation: Reservation?

    /// An attempt that counts as failed until it is known to be right.
    package struct Reservation: Equatable, Sendable {
        /// SHA-256 of the request.
        package let request: [UInt8]
        /// When it was reserved.
        package let at: Timestamp

        package init(request: [UInt8], at: Timestamp) {
            self.request = request
            self.at = at
        }
    }

    /// No attempt so far.
    package init() {
        self.init(failuresInARow: 0, failures: [], lockedUntil: nil, isPermanent: false, reservation: nil)
    }

    /// What a record holds.
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

    /// The lockout that runs; `nil` where none does.
    ///
    /// While the last attempt that there is is verified nobody knows yet that it has disabled the activation: until the rest
    /// is over that it costs, others are told of that.
    package func pending(at now: Timestamp) -> LockoutInformation? {
        let rest = self.lockedUntil.flatMap { now < $0 ? LockoutInformation(lockedUntil: $0) : nil }
        guard self.isPermanent else { return rest }
        let forEver = LockoutInformation(lockedUntil: nil)
        return self.reservation == nil ? forEver : rest ?? forEver
    }

    /// What came of reserving an attempt.
    package enum Reserved: Equatable, Sendable {
        /// It may be verified. If it is wrong, this is what the app is told.
        case mayVerify(ifRefused: LockoutInformation)
        /// A lockout runs: nothing is verified, and nothing counted.
        case pending(LockoutInformation)
    }

    /// Counts an attempt as failed before it is verified, so that nobody can make more of them at once than one after
    /// the other, nor get one back by cutting the power.
    ///
    /// The request that is reserved already may be verified again: whoever lost the answer to it repeats it, and it is
    /// counted once. Requests are told by their SHA-256, which is no secret.
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
        // Never nothing, whatever an operator has set.
        self.lockedUntil = now + max(rest, Limits.Fixed.shortestLifetime)
        self.reservation = Reservation(request: request, at: now)
        return .mayVerify(ifRefused: self.outcome)
    }

    /// Has a later request of the same attempt answer for it: the factors that come after a PIN was evaluated. Nothing is
    /// counted, and nothing where another attempt is reserved.
    package mutating func pass(from former: [UInt8], to request: [UInt8]) {
        guard let reservation = self.reservation, reservation.request == former else { return }
        self.reservation = Reservation(request: request, at: reservation.at)
    }

    /// Takes an attempt back of which it is certain that nothing came: nobody was told anything that a wrong one would
    /// have told. `false` where it is not the one that is reserved: then nothing changes.
    package mutating func withdraw(request: [UInt8]) -> Bool {
        guard let reservation = self.reservation, reservation.request == request else { return false }
        self.reservation = nil
        self.removeFailure(of: reservation)
        self.failuresInARow -= 1
        // It was reserved, so no lockout ran.
        self.lockedUntil = nil
        self.isPermanent = false
        return true
    }

    /// Ends the rest that attempts cost, and nothing else: their row stays, as the failures of the window do. Who does not know
    /// the PIN gets no attempt more by having each rest lifted. `false` where the activation is disabled for good: then nothing
    /// changes.
    ///
    /// Not while an attempt is verified: that has to find itself reserved.
    package mutating func lift() -> Bool {
        guard !self.isPermanent else { return false }
        self.reservation = nil
        self.lockedUntil = nil
        return true
    }

    /// What the attempt that was reserved turned out to be.
    ///
    /// A right one is taken out again, ends the row, and leaves the failures of the window as they are. `false` where
    /// it is not the one that is reserved: then nothing changes.
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

    private var outcome: LockoutInformation {
        LockoutInformation(lockedUntil: self.isPermanent ? nil : self.lockedUntil)
    }
}
