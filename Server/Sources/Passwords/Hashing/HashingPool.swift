import CArgon2
public import _Primitives

/// Hashes and verifies passwords on a few threads of its own. An event loop or a thread of the cooperative pool never
/// does such work, and never waits for it.
///
/// The number of waiting hashes is bounded, in total and for each network. Networks take turns, and the accounts of a
/// network take turns within the network's. Past its bound a network gives up one of its own places. If the queue is
/// full, the network with the most waiting hashes gives up a place. The caller that loses its place is told at once.
///
/// The memory of running hashes is bounded by the memory of one hash for each thread, or by the memory of the costliest
/// readable hash, whichever is more. A caller that is cancelled while waiting leaves the queue with
/// `CancellationError`. A hash that has begun is finished.
public final class HashingPool: Sendable {
    private let queue: HashingQueue
    private let limits: PasswordLimits
    private let random: RandomSource
    /// The hash for accounts that do not exist: no password matches a random tag.
    private let nobodys: PasswordHash

    /// Starts the threads. A pool without references finishes the waiting hashes and ends the threads.
    ///
    /// Throws ``HashingError`` if the limits' parameters are impossible for Argon2, or the number of threads is zero.
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

    /// Returns the hash of a new password, with a fresh salt and the present parameters.
    ///
    /// Throws ``PasswordRefusal`` `breached` if the password is in `list`; the hashing thread searches the list. Also
    /// throws errors of the search, and ``HashingError``.
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

    /// Throws ``PasswordRefusal`` `breached` if a password is in a list. Also throws errors of the search, and
    /// ``HashingError``. A hashing thread searches, because the search reads from disk.
    public func check(
        _ password: Password, against list: BreachedPasswordList, for turn: HashingTurn = HashingTurn()
    ) async throws {
        try await self.queue.run(for: turn, memoryKiB: 0) {
            if try list.contains(password) { throw PasswordRefusal(.breached) }
        }
    }

    /// Returns the verdict about a password and a stored hash.
    ///
    /// `hash` is `nil` for an account that does not exist or has no password, `password` is `nil` for a text that
    /// cannot be a password. In both cases the verdict is `wrong`, after the same work: by `hash`, or without a hash by
    /// the present parameters. An imported hash has its own cost until its first upgrade. A password of 72 bytes or
    /// more never upgrades a hash of bcrypt.
    ///
    /// Throws ``HashingError``.
    public func verify(
        _ password: Password?, against hash: PasswordHash?, for turn: HashingTurn = HashingTurn()
    ) async throws -> PasswordVerdict {
        let judged = hash ?? self.nobodys
        let matches = try await self.queue.run(for: turn, memoryKiB: judged.memoryKiB) {
            try judged.matches(password ?? .nobodys)
        }
        guard matches, let password, let hash else { return .wrong }
        // bcrypt sees at most 72 bytes. Other text behind them must not become the password, and 72 bytes alone may be
        // the beginning of a longer password.
        let isWholeSeen = password.withBytes { $0.count } < PasswordLimits.Fixed.bcryptBytes || !hash.isCut
        return .right(needsUpgrade: isWholeSeen && hash.needsUpgrade(to: self.limits.hashing))
    }

    /// `true` if another hash of the turn's network takes the place of one of the network's hashes, or gets no place.
    /// The network has then used up its share, or all places are taken and no other network has more places.
    public func isFull(for turn: HashingTurn) -> Bool { self.queue.isFull(for: turn) }

    /// The present load of the pool.
    public var load: HashingLoad { self.queue.currentLoad }

    /// Takes no more work, finishes the waiting hashes, and returns after the end of the threads.
    public func shutDown() async {
        self.queue.stop()
        await self.queue.untilDrained()
    }
}

/// The result of a verification.
public enum PasswordVerdict: Sendable, Hashable {
    /// The password is wrong, or there is no account.
    case wrong
    /// The password is right. If the hash needs an upgrade, the caller makes and stores a new hash. If the upgrade
    /// fails, the next sign-in upgrades the hash.
    case right(needsUpgrade: Bool)
}
