import CArgon2
public import _Primitives

/// Hashes passwords and verifies them, on a few threads of its own: an event loop or a thread of the cooperative pool
/// never does such work, nor waits for it.
///
/// What waits is bounded, and a caller that finds the queue full is told at once. What runs is bounded in memory: by
/// that of one hash a thread, or by the costliest hash that is read where that is more. A caller that is cancelled
/// while it waits leaves the queue; a hash that has begun is finished.
public final class HashingPool: Sendable {
    /// What a pool does, for metrics.
    public struct Load: Sendable, Hashable {
        /// Hashes that wait for a thread.
        public var waiting = 0
        /// Memory of the hashes that run, in KiB.
        public var memoryKiB = 0
        /// The most that it has been since the start, in KiB.
        public var mostMemoryKiB = 0
        /// Hashes that were finished since the start.
        public var done = 0
        /// Whether it takes nothing more.
        public var isClosed = false
    }

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
    public func hash(_ password: Password, unlessIn list: BreachedPasswordList? = nil) async throws -> PasswordHash {
        let (parameters, random) = (self.limits.hashing, self.random)
        return try await self.queue.run(memoryKiB: parameters.memoryKiB) {
            if let list, try list.contains(password) { throw PasswordRefusal(.breached) }
            let salt = random.bytes(PasswordLimits.Fixed.saltBytes)
            let tag = try Argon2.tag(
                of: password, salt: salt, parameters: parameters, type: Argon2_id, version: ARGON2_VERSION_13.rawValue,
                bytes: PasswordLimits.Fixed.tagBytes)
            return PasswordHash(parameters, salt: salt, tag: tag)
        }
    }

    /// Whether a password is the one of a stored hash.
    ///
    /// Without a hash, which is an account that does not exist or has no password, and without a password, which is a
    /// text that cannot be one, the answer is `wrong` after the work that an account with the present parameters costs.
    /// An imported hash costs what it costs until its first upgrade.
    public func verify(_ password: Password?, against hash: PasswordHash?) async throws -> PasswordVerdict {
        let judged = hash ?? self.nobodys
        let matches = try await self.queue.run(memoryKiB: judged.memoryKiB) { try judged.matches(password ?? .nobodys) }
        guard matches, let password, let hash else { return .wrong }
        // bcrypt has not seen what is behind its 72 bytes: who typed that wrong must not make it the password.
        let isWholeSeen = password.withBytes { $0.count } <= PasswordLimits.Fixed.bcryptBytes || !hash.isCut
        return .right(needsUpgrade: isWholeSeen && hash.needsUpgrade(to: self.limits.hashing))
    }

    /// What the pool does now.
    public var load: Load { self.queue.currentLoad }

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

/// Why a password was not hashed or judged. Two are equal when their codes are.
public struct HashingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String { case busy, closed, failed }
        private let name: Name
        /// Too many wait already. It is 503 with `Retry-After` to whoever asked.
        public static let busy = Self(name: .busy)
        /// The pool was shut down.
        public static let closed = Self(name: .closed)
        /// The library could not: no memory, or a function that the system's libcrypt leaves out.
        public static let failed = Self(name: .failed)
        public var description: String { self.name.rawValue }
    }

    /// What went wrong.
    public let code: Code
    /// For the log.
    public let reason: String
    /// When to come again, of ``Code/busy``.
    public let retryAfter: Duration?

    init(_ code: Code, _ reason: String, retryAfter: Duration? = nil) {
        self.code = code
        self.reason = reason
        self.retryAfter = retryAfter
    }

    public var description: String { "HashingError.\(self.code): \(self.reason)" }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}
