import Crypto
import Synchronization
public import _Primitives

extension RandomSource {
    /// A source that gives the same bytes run after run, for tests alone: SHA-256 of `seed` and of a counter.
    public static func repeatable(_ seed: String) -> RandomSource {
        let stream = HashStream(seed: seed)
        return RandomSource { count in stream.take(count) }
    }
}

/// SHA-256 in counter mode.
private final class HashStream: Sendable {
    private let seed: String
    private let position = Mutex((counter: UInt64(0), left: [UInt8]()))

    init(seed: String) { self.seed = seed }

    /// The next bytes of the stream.
    func take(_ count: Int) -> [UInt8] {
        self.position.withLock { position in
            while position.left.count < count {
                let block = Array("\(self.seed)\n\(position.counter)".utf8)
                position.left += Array(SHA256.hash(data: block))
                position.counter += 1
            }
            let bytes = Array(position.left.prefix(count))
            position.left.removeFirst(count)
            return bytes
        }
    }
}
