import Foundation
import Passwords
import Synchronization
import Testing
import _Primitives

/// A source of randomness that lets whoever asks wait, and tells what it saw. A pool asks it on the thread that hashes.
private final class Gate: Sendable {
    private struct State {
        var isOpen = true
        /// How many pass a gate that is closed.
        var permits = 0
        var held = 0
        var threads: Set<ExactText> = []
        var nice: [Int32] = []

        mutating func mayPass() -> Bool {
            guard !self.isOpen else { return true }
            guard self.permits > 0 else { return false }
            self.permits -= 1
            return true
        }
    }
    // The condition is there to wait for; what varies stands in the mutex.
    private let condition = NSCondition()
    private let state = Mutex(State())

    var source: RandomSource {
        RandomSource { count in
            self.pass()
            return RandomSource.system.bytes(count)
        }
    }

    private func pass() {
        self.condition.lock()
        self.state.withLock {
            $0.held += 1
            $0.threads.insert(ExactText(Self.threadName))
            $0.nice.append(getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0))
        }
        while !self.state.withLock({ $0.mayPass() }) { self.condition.wait() }
        self.state.withLock { $0.held -= 1 }
        self.condition.unlock()
    }

    /// As the operating system knows it.
    private static var threadName: String {
        let name = FileManager.default.contents(atPath: "/proc/thread-self/comm") ?? Data()
        return String(decoding: name.filter { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    func close() { self.set(isOpen: false) }
    func open() { self.set(isOpen: true) }
    private func set(isOpen: Bool) {
        self.condition.lock()
        self.state.withLock { $0.isOpen = isOpen }
        self.condition.broadcast()
        self.condition.unlock()
    }

    /// Lets so many pass.
    func letPass(_ count: Int) {
        self.condition.lock()
        self.state.withLock { $0.permits += count }
        self.condition.broadcast()
        self.condition.unlock()
    }

    var held: Int { self.state.withLock { $0.held } }
    var threads: Set<ExactText> { self.state.withLock { $0.threads } }
    var nice: [Int32] { self.state.withLock { $0.nice } }
}

@Suite("Decision 27: passwords are hashed by threads of their own, within bounds", .timeLimit(.minutes(10)))
struct HashingPoolTests {
    private static let cheap = Argon2Parameters(memoryKiB: 64, passes: 1, lanes: 1)

    private func limits(threads: Int = 1, waiting: Int = 2) -> PasswordLimits {
        var limits = PasswordLimits.forTests
        limits.hashing = Self.cheap
        limits.hashingThreads = threads
        limits.waitingHashes = waiting
        return limits
    }

    /// Returns when it is so. What it waits for has been started; the test's time limit ends it otherwise.
    private func until(_ isSo: () -> Bool) async { while !isSo() { await Task.yield() } }

    @Test("What is hashed now verifies, with salts that differ, and needs no upgrade")
    func roundTrip() async throws {
        let pool = try HashingPool(limits: .forTests, random: .system)
        let password = try Password(typed: "correct horse battery staple")
        let hash = try await pool.hash(password)
        let other = try await pool.hash(password)
        #expect(hash.text.hasBytes(atStart: "$argon2id$v=19$m=19456,t=2,p=1$"))
        #expect(hash.text != other.text)
        let stored = try PasswordHash(parsing: hash.text)
        #expect(stored == hash)
        #expect(try await pool.verify(password, against: stored) == .right(needsUpgrade: false))
        #expect(try await pool.verify(Password(typed: "correct horse battery stable"), against: stored) == .wrong)
        await pool.shutDown()
    }

    @Test("Parameters that changed upgrade what was stored before")
    func upgrade() async throws {
        let before = try HashingPool(limits: self.limits(), random: .system)
        var limits = self.limits()
        limits.hashing.passes = 2
        let now = try HashingPool(limits: limits, random: .system)
        let password = try Password(typed: "correct horse")
        let stored = try await before.hash(password)
        #expect(try await now.verify(password, against: stored) == .right(needsUpgrade: true))
        let anew = try await now.hash(password)
        #expect(try await now.verify(password, against: anew) == .right(needsUpgrade: false))
    }

    @Test("Without an account, and without a password, the answer is wrong after the same work")
    func unknownAccounts() async throws {
        let pool = try HashingPool(limits: self.limits(), random: .system)
        let password = try Password(typed: "correct horse")
        let stored = try await pool.hash(password)
        #expect(try await pool.verify(password, against: nil) == .wrong)
        #expect(try await pool.verify(nil, against: stored) == .wrong)
        #expect(try await pool.verify(nil, against: nil) == .wrong)
        await pool.shutDown()
        #expect(pool.load.done == 4)
        // The memory of the hash that nobody has is that of the present parameters.
        let unasked = try HashingPool(limits: self.limits(), random: .system)
        #expect(try await unasked.verify(password, against: nil) == .wrong)
        #expect(unasked.load.mostMemoryKiB == 64)
    }

    @Test("The work is done by the pool's threads, which give way to all others")
    func threads() async throws {
        let gate = Gate()
        var limits = self.limits()
        limits.niceness = 7
        let pool = try HashingPool(limits: limits, random: gate.source)
        let before = gate.nice.count
        _ = try await pool.hash(Password(typed: "correct horse"))
        #expect(gate.threads.contains("hashing-0"))
        #expect(gate.nice.dropFirst(before) == [7])
        #expect(getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) == 0)
    }

    @Test("Who finds the queue full is told at once, and the others get their answers")
    func busy() async throws {
        let gate = Gate()
        let pool = try HashingPool(limits: self.limits(waiting: 2), random: gate.source)
        let password = try Password(typed: "correct horse")
        gate.close()
        let running = Task { try await pool.hash(password) }
        await self.until { gate.held == 1 }
        let waiting = (0..<2).map { _ in Task { try await pool.verify(password, against: nil) } }
        await self.until { pool.load.waiting == 2 }
        let refusal = await #expect(throws: HashingError.self) { try await pool.hash(password) }
        #expect(refusal?.code == .busy)
        #expect(refusal?.retryAfter == .seconds(10))
        gate.open()
        let hash = try await running.value
        for task in waiting { #expect(try await task.value == .wrong) }
        #expect(try await pool.verify(password, against: hash) == .right(needsUpgrade: false))
    }

    /// Has `count` hashes of somebody wait behind those that do.
    private func wait(
        _ count: Int, for turn: HashingTurn, in pool: HashingPool
    ) async throws -> [Task<PasswordHash, any Error>] {
        let password = try Password(typed: "correct horse")
        var tasks: [Task<PasswordHash, any Error>] = []
        for _ in 0..<count {
            let waiting = pool.load.waiting
            tasks.append(Task { try await pool.hash(password, for: turn) })
            await self.until { pool.load.waiting == waiting + 1 }
        }
        return tasks
    }

    @Test(
        "Networks take turns, and in each its accounts: 200 hashes of one keep the hash of another waiting for one",
        arguments: [HashingTurn(network: "home", account: "alice"), HashingTurn(network: "bots", account: "alice")])
    func turns(of other: HashingTurn) async throws {
        let gate = Gate()
        let pool = try HashingPool(limits: self.limits(waiting: 1000), random: gate.source)
        let bots = HashingTurn(network: "bots", account: "bob")
        gate.close()
        let running = Task { try await pool.hash(Password(typed: "correct horse"), for: bots) }
        await self.until { gate.held == 1 }
        let flood = try await self.wait(200, for: bots, in: pool)
        let one = try await self.wait(1, for: other, in: pool)
        // That which runs, one of the flood, and the other.
        gate.letPass(3)
        _ = try await one[0].value
        #expect(pool.load.done == 3)
        gate.open()
        for task in flood + [running] { _ = try await task.value }
    }

    @Test("A network has a share of the places: past it its own last one is busy, and others find room")
    func share() async throws {
        let gate = Gate()
        var limits = self.limits(waiting: 6)
        limits.waitingHashesPerNetwork = 3
        let pool = try HashingPool(limits: limits, random: gate.source)
        let bots = HashingTurn(network: "bots", account: "bob")
        gate.close()
        let running = Task { try await pool.hash(Password(typed: "correct horse"), for: bots) }
        await self.until { gate.held == 1 }
        let flood = try await self.wait(3, for: bots, in: pool)
        #expect(pool.isFull(for: bots) && !pool.isFull(for: HashingTurn(network: "home")))
        let refusal = await #expect(throws: HashingError.self) {
            try await pool.hash(Password(typed: "correct horse"), for: bots)
        }
        #expect(refusal?.code == .busy)
        // Another account of that network takes a place of the one that has the most.
        let neighbour = Task {
            try await pool.hash(
                Password(typed: "correct horse"), for: HashingTurn(network: "bots", account: "alice"))
        }
        await #expect(throws: HashingError.self) { try await flood[2].value }
        let home = try await self.wait(1, for: HashingTurn(network: "home"), in: pool)
        gate.open()
        for task in flood.prefix(2) + home + [running, neighbour] { _ = try await task.value }
    }

    @Test("Where all places are taken, the network that has the most gives one up for whoever comes")
    func newcomers() async throws {
        let gate = Gate()
        let pool = try HashingPool(limits: self.limits(waiting: 4), random: gate.source)
        gate.close()
        let running = Task { try await pool.hash(Password(typed: "correct horse")) }
        await self.until { gate.held == 1 }
        let flood = try await self.wait(3, for: HashingTurn(network: "bots", account: "bob"), in: pool)
        let first = try await self.wait(1, for: HashingTurn(network: "home"), in: pool)
        #expect(pool.isFull(for: HashingTurn(network: "bots")), "it has the most, and would take a place of its own")
        #expect(!pool.isFull(for: HashingTurn(network: "home")) && !pool.isFull(for: HashingTurn(network: "office")))
        let second = Task {
            try await pool.hash(Password(typed: "correct horse"), for: HashingTurn(network: "office"))
        }
        let refusal = await #expect(throws: HashingError.self) { try await flood[2].value }
        #expect(refusal?.code == .busy && pool.load.waiting == 4)
        gate.open()
        for task in flood.prefix(2) + first + [running, second] { _ = try await task.value }
    }

    @Test("Who is cancelled while waiting leaves the queue, and nobody else does")
    func cancellation() async throws {
        let gate = Gate()
        let pool = try HashingPool(limits: self.limits(waiting: 2), random: gate.source)
        let password = try Password(typed: "correct horse")
        gate.close()
        let running = Task { try await pool.hash(password) }
        await self.until { gate.held == 1 }
        let leaves = Task { try await pool.verify(password, against: nil) }
        await self.until { pool.load.waiting == 1 }
        let stays = Task { try await pool.verify(password, against: nil) }
        await self.until { pool.load.waiting == 2 }
        leaves.cancel()
        await #expect(throws: CancellationError.self) { try await leaves.value }
        #expect(pool.load.waiting == 1)
        // One that was cancelled before it came takes no place.
        let never = Task { () -> PasswordVerdict in
            withUnsafeCurrentTask { $0?.cancel() }
            return try await pool.verify(password, against: nil)
        }
        await #expect(throws: CancellationError.self) { try await never.value }
        #expect(pool.load.waiting == 1)
        gate.open()
        _ = try await running.value
        #expect(try await stays.value == .wrong)
    }

    @Test("A shutdown takes nothing more, finishes what waits, and then has no threads")
    func shutdown() async throws {
        let gate = Gate()
        let pool = try HashingPool(limits: self.limits(threads: 2, waiting: 4), random: gate.source)
        let password = try Password(typed: "correct horse")
        gate.close()
        let running = (0..<2).map { _ in Task { try await pool.hash(password) } }
        await self.until { gate.held == 2 }
        let waiting = Task { try await pool.hash(password) }
        await self.until { pool.load.waiting == 1 }
        let stopped = Task { await pool.shutDown() }
        await self.until { pool.load.isClosed }
        await #expect(throws: HashingError.self) { try await pool.hash(password) }
        gate.open()
        for task in running + [waiting] { _ = try await task.value }
        await stopped.value
        await pool.shutDown()
        #expect(pool.load.done == 3)
        #expect(pool.load.memoryKiB == 0)
    }

    @Test("Costly hashes from elsewhere run one at a time, whatever the threads")
    func memoryIsBounded() async throws {
        let pool = try HashingPool(limits: self.limits(threads: 2, waiting: 20), random: .system)
        let costly = try PasswordHash(parsing: try #require(HashVector.argon2id.first).text)
        let password = try Password(typed: "password")
        try await withThrowingTaskGroup { group in
            for _ in 0..<6 { group.addTask { try await pool.verify(password, against: costly) } }
            for _ in 0..<4 { group.addTask { try await pool.verify(password, against: nil) } }
            var verdicts: [PasswordVerdict: Int] = [:]
            for try await verdict in group { verdicts[verdict, default: 0] += 1 }
            #expect(verdicts == [.right(needsUpgrade: true): 6, .wrong: 4])
        }
        #expect(pool.load.mostMemoryKiB == 65536)
    }

    @Test("Parameters that Argon2 does not have, and no thread, make no pool")
    func impossible() {
        for change: @Sendable (inout PasswordLimits) -> Void in [
            { $0.hashingThreads = 0 }, { $0.hashing.passes = 0 }, { $0.hashing.lanes = 9 },
            { $0.hashing.memoryKiB = 7 },
        ] {
            var limits = self.limits()
            change(&limits)
            #expect(throws: HashingError.self) { try HashingPool(limits: limits, random: .system) }
        }
    }

    @Test("A password that is in a list of breached ones is not hashed")
    func breached() async throws {
        let pool = try HashingPool(limits: self.limits(), random: .system)
        let list = try BreachedPasswordList(bytes: try BreachedPasswordListBuilder.list(of: BreachedFixture.text.utf8))
        await #expect(throws: PasswordRefusal(.breached)) {
            try await pool.hash(Password(typed: "iloveyou"), unlessIn: list)
        }
        let hash = try await pool.hash(Password(typed: "i do not love you"), unlessIn: list)
        #expect(!hash.needsUpgrade(to: Self.cheap))
    }
}
