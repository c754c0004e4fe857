#if canImport(Glibc)
    import Glibc
#endif

/// Where randomness comes from: the system's generator in production, a repeatable one in tests.
public struct RandomSource: Sendable {
    private let fill: @Sendable (Int) -> [UInt8]

    /// A source whose bytes are those that `fill` answers, as many as it is asked for.
    public init(_ fill: @escaping @Sendable (Int) -> [UInt8]) { self.fill = fill }

    /// `count` random bytes.
    public func bytes(_ count: Int) -> [UInt8] { self.fill(count) }

    /// `byteCount` random bytes as base64url: 32 for a secret.
    public func token(byteCount: Int = 32) -> String { Base64URL.encode(self.fill(byteCount)) }

    /// An identifier of 127 random bits: 22 letters of base64url, the first of them a letter of the alphabet.
    ///
    /// Without the first bit it can begin neither with `-` nor with `_`, so that a command takes it as an argument.
    public func identifier() -> String {
        var bytes = self.fill(16)
        bytes[0] &= 0x7F
        return Base64URL.encode(bytes)
    }

    /// A number below `upperBound`, each equally likely.
    public func number(below upperBound: UInt64) -> UInt64 {
        precondition(upperBound > 0, "no number is below zero")
        let reject = UInt64.max - UInt64.max % upperBound
        while true {
            let value = self.fill(8).reduce(UInt64(0)) { ($0 << 8) | UInt64($1) }
            if value < reject { return value % upperBound }
        }
    }

    /// The operating system's generator.
    public static let system = RandomSource { count in
        #if canImport(Glibc)
            // One system call for all bytes; the library's generator makes one for every eight.
            return Array(unsafeUninitializedCapacity: count) { buffer, filled in
                // It fills 256 bytes at most, and fails only where the system has no generator at all.
                while filled < count, let start = buffer.baseAddress {
                    let size = min(256, count - filled)
                    let status = getentropy(start + filled, size)
                    precondition(status == 0, "the system gives no randomness")
                    filled += size
                }
            }
        #else
            var generator = SystemRandomNumberGenerator()
            var bytes: [UInt8] = []
            bytes.reserveCapacity(count + 7)
            while bytes.count < count {
                withUnsafeBytes(of: generator.next() as UInt64) { bytes.append(contentsOf: $0) }
            }
            return Array(bytes.prefix(count))
        #endif
    }
}
