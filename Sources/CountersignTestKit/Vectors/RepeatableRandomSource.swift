import Crypto
import Foundation
public import _Primitives

extension RandomSource {
    /// Returns a source with the same bytes in every run, for tests only: SHA-256 of `seed` and of a counter.
    public static func repeatable(_ seed: String) -> RandomSource {
        let stream = HashStream(seed: seed)
        return RandomSource { count in stream.take(count) }
    }
}

/// A stream of bytes from SHA-256 in counter mode.
// Safe to share: every access to `counter` and `left` is within `lock`.
private final class HashStream: @unchecked Sendable {
    private let seed: String
    private let lock = NSLock()
    private var counter: UInt64 = 0
    private var left: [UInt8] = []

    init(seed: String) { self.seed = seed }

    /// Returns the next bytes of the stream.
    func take(_ count: Int) -> [UInt8] {
        self.lock.withLock {
            while self.left.count < count {
                self.left += Array(SHA256.hash(data: Array("\(self.seed)\n\(self.counter)".utf8)))
                self.counter += 1
            }
            defer { self.left.removeFirst(count) }
            return Array(self.left.prefix(count))
        }
    }
}
