import CArgon2
public import _Primitives

/// Hashes passwords and verifies them, on a few threads of its own: an event loop or a thread of the cooperative pool
/// never does such work, nor waits for it.
///
/// What waits is bounded. Networks take turns, and accounts within those of their network; where the queue is full, whoever
/// has the most in it gives up a place, and is told at once. What runs is bounded in memory: by
/// that of one hash a thread, or by the costliest hash that is read where that is more. A caller that is cancelled
/// while it waits leaves the queue; a hash that has begun is finished.
public final class HashingPool: Sendable {
    private let queue: HashingQueue
    private let limits: PasswordLimits
    private let random: RandomSource
    /// The hash of accounts that do not exist: no password matches a random tag.
    private let nobodys: PasswordHash

    /// Starts the threads. A pool that nobody refers to any more finishes what waits and lets them go.
    ///
    /// Throws ``HashingError`` where the limits' parameters are none of Argon2's, or there is to be no thread.
    public init(limits: PasswordLimits = PasswordLimits(), random: RandomSource) throws {
        guard limits.hashing.arePossible, limits.hashingThreads > 0 else {
            throw HashingError(.failed, "limits by which nothing can be hashed")
        }
        self.limits = limits
        self.random = random
        self.nobodys = PasswordHash(
            limits.hashing, salt: random.bytes(PasswordLimits.Fixed.saltBytes),
            tag: random.bytes(PasswordLimits.Fixed.tagBytes))
        self.queue = HashingQueue(limits: limits)
    }

    deinit { self.queue.stop() }

    /// The hash of a new password, with a salt of its own and the present parameters.
    ///
    /// Throws ``PasswordRefusal`` `breached` where the password is in `list`, which is searched by the hashing thread;
    /// what searching throws; and ``HashingError``.
    public func hash(
        _ password: Password, unlessIn list: BreachedPasswordList? = nil, for turn: HashingTurn = HashingTurn()
    ) async throws -> PasswordHash {
        let (parameters, random) = (self.limits.hashing, self.random)
        return try await self.queue.run(for: turn, memoryKiB: parameters.memoryKiB) {
            if let list, try list.contains(password) { throw PasswordRefusal(.breached) }
            let salt = random.bytes(PasswordLimits.Fixed.saltBytes)
            let tag = try Argon2.tag(
                of: password, salt: salt, parameters: parameters, type: Argon2_id, version: ARGON2_VERSION_13.rawValue,
                bytes: PasswordLimits.Fixed.tagBytes)
            return PasswordHash(parameters, salt: salt, tag: tag)
        }
    }

    /// Throws ``PasswordRefusal`` `breached` where a password is in a list, what searching throws, and ``HashingError``. A
    /// hashing thread searches: what it reads is on disk.
    public func check(
        _ password: Password, against list: BreachedPasswordList, for turn: HashingTurn = HashingTurn()
    ) async throws {
        try await self.queue.run(for: turn, memoryKiB: 0) {
            if try list.contains(password) { throw PasswordRefusal(.breached) }
        }
    }

    /// Whether a password is the one of a stored hash.
    ///
    /// Without a hash, which is an account that does not exist or has no password, and without a password, which is a
    /// text that cannot be one, the answer is `wrong` after the work that an account with the present parameters costs.
    /// An imported hash costs what it costs until its first upgrade.
    public func verify(
        _ password: Password?, against hash: PasswordHash?, for turn: HashingTurn = HashingTurn()
    ) async throws -> PasswordVerdict {
        let judged = hash ?? self.nobodys
        let matches = try await self.queue.run(for: turn, memoryKiB: judged.memoryKiB) {
            try judged.matches(password ?? .nobodys)
        }
        guard matches, let password, let hash else { return .wrong }
        // bcrypt has seen 72 bytes at most. Whoever typed something else behind them must not make that the password, and 72
        // bytes alone may be the beginning of a longer password.
        let isWholeSeen = password.withBytes { $0.count } < PasswordLimits.Fixed.bcryptBytes || !hash.isCut
        return .right(needsUpgrade: isWholeSeen && hash.needsUpgrade(to: self.limits.hashing))
    }

    /// Whether one hash more of somebody's network would take the place of another one of that network.
    public func isFull(for turn: HashingTurn) -> Bool { self.queue.isFull(for: turn) }

    /// What the pool does now.
    public var load: HashingLoad { self.queue.currentLoad }

    /// Takes nothing more, finishes what waits, and returns when the threads are gone.
    public func shutDown() async {
        self.queue.stop()
        await self.queue.untilDrained()
    }
}

/// What a verification found.
public enum PasswordVerdict: Sendable, Hashable {
    /// Another password, or no account.
    case wrong
    /// The password. Where it needs an upgrade, the caller has it hashed anew and stored; that may fail, and then the
    /// next sign-in does it.
    case right(needsUpgrade: Bool)
}
