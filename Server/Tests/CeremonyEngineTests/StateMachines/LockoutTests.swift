import CeremonyEngine
import Records
import Settings
import Testing
import _Primitives

@Suite("What failed attempts cost an activation")
struct LockoutTests {
    private static let start = Timestamp(seconds: 1_800_000_000)
    private static let limits = Limits()

    /// The growth, in seconds, as it is written down for operators.
    private static let growth = [5, 15, 60, 300, 1800, 7200, 43_200, 86_400, 86_400]

    private func request(_ number: Int) -> [UInt8] { [UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)] }

    /// An attempt from its reservation to its end; `nil` where a lockout runs.
    private func attempt(
        _ lockout: inout Lockout, _ number: Int, isRight: Bool, at now: Timestamp, limits: Limits = Self.limits
    ) -> IdentityLockout? {
        guard case .mayVerify(let ifRefused) = lockout.reserve(request: self.request(number), at: now, limits: limits)
        else { return nil }
        #expect(lockout.settle(request: self.request(number), isRight: isRight) == true)
        return ifRefused
    }

    @Test("Each failure in a row costs a longer rest, by the list, and the tenth the activation")
    func growth() throws {
        var lockout = Lockout()
        var now = Self.start
        for (index, seconds) in Self.growth.enumerated() {
            let cost = try #require(self.attempt(&lockout, index, isRight: false, at: now))
            let until = now + .seconds(seconds)
            #expect(cost == IdentityLockout(lockedUntil: until) && !cost.isPermanent, "failure \(index + 1)")
            #expect(lockout.pending(at: until - .milliseconds(1)) == cost)
            #expect(lockout.pending(at: until) == nil)
            now = until
        }
        let last = try #require(self.attempt(&lockout, 10, isRight: false, at: now))
        #expect(last.isPermanent && last.lockedUntil == nil)
        #expect(lockout.pending(at: now + .seconds(10_000_000)) == last)
    }

    @Test("While a lockout runs nothing is verified and nothing counted")
    func pending() {
        var lockout = Lockout()
        _ = self.attempt(&lockout, 1, isRight: false, at: Self.start)
        let before = lockout
        for milliseconds in [0, 1, 4999] {
            let now = Self.start + .milliseconds(milliseconds)
            let answer = lockout.reserve(request: self.request(2), at: now, limits: Self.limits)
            #expect(answer == .pending(IdentityLockout(lockedUntil: Self.start + .seconds(5))))
            #expect(lockout == before)
        }
        #expect(self.attempt(&lockout, 2, isRight: true, at: Self.start + .seconds(5)) != nil)
    }

    @Test("A right attempt ends the row, leaves the failures of the window, and is none itself")
    func success() throws {
        var lockout = Lockout()
        var now = Self.start
        for number in 0..<3 {
            let cost = try #require(self.attempt(&lockout, number, isRight: false, at: now))
            now = try #require(cost.lockedUntil)
        }
        #expect(lockout.failuresInARow == 3 && lockout.failures.count == 3)
        #expect(self.attempt(&lockout, 3, isRight: true, at: now) != nil)
        #expect(lockout.failuresInARow == 0 && lockout.failures.count == 3 && lockout.pending(at: now) == nil)
        let next = try #require(self.attempt(&lockout, 4, isRight: false, at: now))
        #expect(next.lockedUntil == now + .seconds(5))
        // However often it is right, that alone costs nothing.
        var diligent = Lockout()
        for number in 0..<1000 {
            #expect(self.attempt(&diligent, number, isRight: true, at: Self.start + .seconds(number)) != nil)
        }
        #expect(diligent == Lockout())
    }

    @Test("A right attempt that would have been the last failure disables nothing")
    func rightAtTheEdge() throws {
        var lockout = Lockout(
            failuresInARow: 9, failures: (0..<9).map { Self.start + .seconds($0) }, lockedUntil: nil,
            isPermanent: false,
            reservation: nil)
        let now = Self.start + .seconds(60)
        let reserved = lockout.reserve(request: [1], at: now, limits: Self.limits)
        #expect(reserved == .mayVerify(ifRefused: IdentityLockout(lockedUntil: nil)))
        #expect(lockout.isPermanent)
        #expect(lockout.settle(request: [1], isRight: true) && !lockout.isPermanent && lockout.failures.count == 9)
    }

    @Test("A later request takes an attempt over, and only that one; then it alone settles it")
    func passedOn() {
        var lockout = Lockout()
        _ = lockout.reserve(request: [1], at: Self.start, limits: Self.limits)
        let reserved = lockout
        lockout.pass(from: [9], to: [2])
        #expect(lockout == reserved)
        lockout.pass(from: [1], to: [2])
        let until = IdentityLockout(lockedUntil: Self.start + .seconds(5))
        #expect(lockout.reserve(request: [1], at: Self.start, limits: Self.limits) == .pending(until))
        #expect(lockout.reserve(request: [2], at: Self.start, limits: Self.limits) == .mayVerify(ifRefused: until))
        #expect(lockout.failuresInARow == 1)
        let (former, own) = (lockout.settle(request: [1], isRight: true), lockout.settle(request: [2], isRight: true))
        #expect(!former && own && lockout == Lockout())
    }

    @Test("An attempt of which nothing came leaves what was before it, and takes no earlier one away")
    func withdrawn() throws {
        var lockout = Lockout()
        let cost = try #require(self.attempt(&lockout, 1, isRight: false, at: Self.start))
        let now = try #require(cost.lockedUntil)
        for _ in 0..<3 {
            _ = lockout.reserve(request: [2], at: now, limits: Self.limits)
            let another = lockout.withdraw(request: [9])
            #expect(!another && lockout.failuresInARow == 2)
            let (own, again) = (lockout.withdraw(request: [2]), lockout.withdraw(request: [2]))
            #expect(own && !again)
            #expect(lockout.failuresInARow == 1 && lockout.failures == [Self.start] && lockout.pending(at: now) == nil)
        }
        let next = try #require(self.attempt(&lockout, 3, isRight: false, at: now))
        #expect(next.lockedUntil == now + .seconds(15))
        // Also where it would have been the last.
        var last = Lockout(
            failuresInARow: 9, failures: [], lockedUntil: nil, isPermanent: false, reservation: nil)
        _ = last.reserve(request: [1], at: now, limits: Self.limits)
        #expect(last.isPermanent)
        let isWithdrawn = last.withdraw(request: [1])
        #expect(isWithdrawn && !last.isPermanent && last.failuresInARow == 9)
    }

    @Test("A hundred failures within thirty days disable the activation, whatever was right in between")
    func cumulative() throws {
        let day = Duration.seconds(24 * 60 * 60)
        /// `count` failures, each followed by a right attempt, one every six hours.
        func run(_ count: Int, from start: Timestamp, _ lockout: inout Lockout) -> (
            last: IdentityLockout?, end: Timestamp
        ) {
            var now = start
            var last: IdentityLockout?
            for number in 0..<count {
                last = self.attempt(&lockout, 2 * number, isRight: false, at: now)
                if last?.isPermanent == true { break }
                _ = self.attempt(&lockout, 2 * number + 1, isRight: true, at: now + .seconds(60))
                now = now + .seconds(6 * 60 * 60)
            }
            return (last, now)
        }
        var lockout = Lockout()
        #expect(run(99, from: Self.start, &lockout).last?.isPermanent == false)
        var hundred = lockout
        let now = Self.start + day * 29
        #expect(self.attempt(&hundred, 999, isRight: false, at: now)?.isPermanent == true)
        // A failure of thirty days ago counts no more; a millisecond before, it does.
        var later = lockout
        let edge = Self.start + day * 30
        #expect(self.attempt(&later, 999, isRight: false, at: edge)?.isPermanent == false)
        var before = lockout
        #expect(self.attempt(&before, 999, isRight: false, at: edge - .milliseconds(1))?.isPermanent == true)
        // Three a day go on for ever.
        var steady = Lockout()
        var moment = Self.start
        for number in 0..<500 {
            #expect(self.attempt(&steady, 2 * number, isRight: false, at: moment)?.isPermanent == false)
            #expect(self.attempt(&steady, 2 * number + 1, isRight: true, at: moment + .seconds(5)) != nil)
            moment = moment + .seconds(8 * 60 * 60)
        }
        #expect(steady.failures.count <= 90)
    }

    @Test("A request that lost its answer is verified again and counted once; no other one meanwhile")
    func repeated() {
        var lockout = Lockout()
        let first = lockout.reserve(request: [1], at: Self.start, limits: Self.limits)
        let reserved = lockout
        #expect(lockout.failuresInARow == 1 && lockout.failures == [Self.start])
        for seconds in [0, 1, 60] {
            #expect(lockout.reserve(request: [1], at: Self.start + .seconds(seconds), limits: Self.limits) == first)
            #expect(lockout == reserved)
        }
        let other = lockout.reserve(request: [2], at: Self.start + .seconds(1), limits: Self.limits)
        #expect(other == .pending(IdentityLockout(lockedUntil: Self.start + .seconds(5))) && lockout == reserved)
        #expect(!lockout.settle(request: [2], isRight: true) && lockout == reserved)
        #expect(lockout.settle(request: [1], isRight: false) && lockout.reservation == nil)
        #expect(!lockout.settle(request: [1], isRight: true) && lockout.failuresInARow == 1)
        // One that was never settled, as its server was killed, stays a failure when the next one comes.
        var killed = reserved
        _ = killed.reserve(request: [3], at: Self.start + .seconds(5), limits: Self.limits)
        #expect(killed.failuresInARow == 2 && killed.failures.count == 2)
        #expect(killed.settle(request: [1], isRight: true) == false)
    }

    @Test("Whatever an operator sets, a failure is never free")
    func neverFree() throws {
        for list in [[], [0], [-5, 0]] {
            var limits = Self.limits
            limits.firstLockout = .seconds(list.first ?? 0)
            limits.lockoutSeconds = list
            var lockout = Lockout()
            let cost = try #require(self.attempt(&lockout, 1, isRight: false, at: Self.start, limits: limits))
            #expect(try #require(cost.lockedUntil) > Self.start)
        }
    }

    @Test("An operator sets the first rest of a row, and no other")
    func firstRest() throws {
        var limits = Self.limits
        limits.firstLockout = .seconds(1)
        var lockout = Lockout()
        var now = Self.start
        for (index, seconds) in [1, 15, 60, 300].enumerated() {
            let cost = try #require(self.attempt(&lockout, index, isRight: false, at: now, limits: limits))
            #expect(cost.lockedUntil == now + .seconds(seconds))
            now = now + .seconds(seconds)
        }
        #expect(self.attempt(&lockout, 4, isRight: true, at: now, limits: limits) != nil)
        let anew = try #require(self.attempt(&lockout, 5, isRight: false, at: now, limits: limits))
        #expect(anew.lockedUntil == now + .seconds(1))
    }

    @Test("Fifty requests at once are one attempt")
    func atOnce() {
        var lockout = Lockout()
        let answers = (0..<50).map { lockout.reserve(request: self.request($0), at: Self.start, limits: Self.limits) }
        let verified = answers.filter { if case .mayVerify = $0 { true } else { false } }
        #expect(verified.count == 1 && lockout.failuresInARow == 1)
    }

    @Test("Any run of attempts costs what a plain account of all of them says")
    func agreesWithAPlainAccount() {
        var random = SystemRandomNumberGenerator()
        var permanent = 0
        for _ in 0..<300 {
            var lockout = Lockout()
            var history: [(at: Timestamp, isRight: Bool)] = []
            var now = Self.start
            var until = Self.start
            for number in 0..<150 {
                now = now + .seconds([0, 1, 10, 3600, 90_000].randomElement(using: &random) ?? 0)
                let isRight = Int.random(in: 0..<4, using: &random) == 0
                let answer = self.attempt(&lockout, number, isRight: isRight, at: now)
                guard now >= until else {
                    #expect(answer == nil)
                    continue
                }
                let row = history.reversed().prefix { !$0.isRight }.count
                let window = history.count { !$0.isRight && $0.at + .seconds(30 * 24 * 60 * 60) > now }
                let isLast = row + 1 >= 10 || window + 1 >= 100
                #expect(answer?.isPermanent == isLast)
                history.append((now, isRight))
                if isRight {
                    until = now
                } else if isLast {
                    permanent += 1
                    break
                } else {
                    until = now + .seconds(Self.growth[min(row, Self.growth.count - 1)])
                    #expect(answer?.lockedUntil == until)
                }
            }
        }
        #expect(permanent > 10)
    }
}
