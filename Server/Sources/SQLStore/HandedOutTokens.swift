import Synchronization

/// The dispatch and refresh tokens that this process has stored, and no client has presented yet.
///
/// The step of a token in this set may go to the writer at once, without a look at the database. The set is only a
/// shortcut. A reader looks up every other token: another process wrote the token, or this set forgot it. The step
/// still judges a token of the set. The set is bounded: the older half is forgotten when the newer half is full.
final class HandedOutTokens: Sendable {
    private struct Generations {
        var newer: Set<UInt64> = []
        var older: Set<UInt64> = []
    }

    private let generations = Mutex(Generations())
    private let capacity: Int

    /// Makes a set that remembers the last `capacity` / 2 tokens, and at most `capacity`.
    init(capacity: Int) { self.capacity = capacity }

    /// Remembers the tokens with these digests. Called after the tokens are durable.
    func insert(_ digests: [[UInt8]]) {
        guard self.capacity > 1 else { return }
        self.generations.withLock { generations in
            for digest in digests {
                if generations.newer.count >= self.capacity / 2 {
                    generations.older = generations.newer
                    generations.newer = []
                }
                generations.newer.insert(Self.name(of: digest))
            }
        }
    }

    /// Forgets the token with this digest, and returns `true` if the token was remembered. A reader looks up the token
    /// when a client presents it again.
    func remove(_ digest: [UInt8]) -> Bool {
        let name = Self.name(of: digest)
        return self.generations.withLock { generations in
            generations.newer.remove(name) != nil || generations.older.remove(name) != nil
        }
    }

    /// Returns the first eight bytes of a digest. Two digests with the same eight bytes cost the writer one look-up and
    /// nothing else.
    private static func name(of digest: [UInt8]) -> UInt64 { digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }
}
