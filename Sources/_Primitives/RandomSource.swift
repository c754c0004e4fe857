#if canImport(Glibc)
    import Glibc
#endif

/// A source of randomness: the system's generator in production, a repeatable source in tests.
public struct RandomSource: Sendable {
    private let fill: @Sendable (Int) -> [UInt8]

    /// Creates a source from a function that returns the requested number of bytes.
    public init(_ fill: @escaping @Sendable (Int) -> [UInt8]) { self.fill = fill }

    /// Returns `count` random bytes.
    public func bytes(_ count: Int) -> [UInt8] { self.fill(count) }

    /// Returns `byteCount` random bytes as base64url: 32 for a secret.
    public func token(byteCount: Int = 32) -> String { Base64URL.encode(self.fill(byteCount)) }

    /// Returns an identifier of 127 random bits: 22 letters of base64url, with a letter of the alphabet at the start.
    ///
    /// The first bit is zero, so the identifier never begins with `-` or `_`, and a command accepts the identifier as
    /// an argument.
    public func identifier() -> String {
        var bytes = self.fill(16)
        bytes[0] &= 0x7F
        return Base64URL.encode(bytes)
    }

    /// Returns a number below `upperBound`. All numbers are equally likely.
    public func number(below upperBound: UInt64) -> UInt64 {
        precondition(upperBound > 0, "no number is below zero")
        let reject = UInt64.max - UInt64.max % upperBound
        while true {
            let value = self.fill(8).reduce(UInt64(0)) { ($0 << 8) | UInt64($1) }
            if value < reject { return value % upperBound }
        }
    }

    /// Returns decimal digits: each text of this length is equally likely. At most 18 digits.
    public func digits(_ count: Int) -> String {
        precondition((1...18).contains(count), "a number of digits that no integer has")
        let bound = (0..<count).reduce(UInt64(1)) { value, _ in value * 10 }
        let digits = String(self.number(below: bound))
        return String(repeating: "0", count: count - digits.utf8.count) + digits
    }

    /// The operating system's generator.
    public static let system = RandomSource { count in
        #if canImport(Glibc)
            // The code makes a system call for many bytes. The library's generator makes a system call for every eight
            // bytes.
            return Array(unsafeUninitializedCapacity: count) { buffer, filled in
                // The call fills at most 256 bytes, and fails only if the system has no generator at all.
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
