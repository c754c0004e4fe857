import Synchronization

/// The tokens of dispatch and refresh that this process has put into the database and that nobody has shown yet.
///
/// A token that is in here was found without a look at the database, so it may go to the writer at once. It is no more
/// than a shortcut: a token that is not in here (another process wrote it, or it was forgotten) is looked up by a reader,
/// and what is in here is still judged by the step. Bounded: the older half is forgotten when the newer half is full.
final class HandedOutTokens: Sendable {
    private struct Generations {
        var newer: Set<UInt64> = []
        var older: Set<UInt64> = []
    }

    private let generations = Mutex(Generations())
    private let capacity: Int

    /// Remembers the last `capacity` / 2 tokens, and at most `capacity`.
    init(capacity: Int) { self.capacity = capacity }

    /// Remembers the tokens of these digests. Called after they are durable.
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

    /// Whether the token of this digest was remembered. It is forgotten with this: whoever shows it again is looked up.
    func remove(_ digest: [UInt8]) -> Bool {
        let name = Self.name(of: digest)
        return self.generations.withLock { generations in
            generations.newer.remove(name) != nil || generations.older.remove(name) != nil
        }
    }

    /// The first eight bytes of a digest. Two digests that share them cost one look of the writer and nothing else.
    private static func name(of digest: [UInt8]) -> UInt64 { digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }
}
