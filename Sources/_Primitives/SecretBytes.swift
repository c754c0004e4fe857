#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Bytes that must not be shown: a PIN, a key, a token on its way to its hash.
///
/// The description never holds them, and the memory is overwritten when the last copy goes. Comparison takes constant
/// time.
public final class SecretBytes: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    // Safe to share: written once in `init` and then only by `deinit`, when no other reference is left.
    nonisolated(unsafe) private let storage: UnsafeMutableBufferPointer<UInt8>

    /// Copies `bytes`. The caller's copy is the caller's to forget.
    public init(_ bytes: some Collection<UInt8>) {
        self.storage = .allocate(capacity: bytes.count)
        _ = self.storage.initialize(from: bytes)
    }

    /// Has `fill` write `count` bytes, which begin as zeros and are in no other place. Throws what `fill` throws; what it has
    /// written until then is overwritten.
    public init<Failure: Error>(count: Int, _ fill: (UnsafeMutableBufferPointer<UInt8>) throws(Failure) -> Void)
        throws(Failure)
    {
        let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: count)
        bytes.initialize(repeating: 0)
        do {
            try fill(bytes)
        } catch {
            overwrite(bytes)
            bytes.deallocate()
            throw error
        }
        self.storage = bytes
    }

    /// The UTF-8 bytes of a text that a person typed.
    public convenience init(utf8 text: String) { self.init(text.utf8) }

    deinit {
        overwrite(self.storage)
        self.storage.deallocate()
    }

    /// How many bytes there are.
    public var count: Int { self.storage.count }

    /// Lends the bytes for the time of `body`.
    public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try body(UnsafeRawBufferPointer(self.storage))
    }

    /// Whether both hold the same bytes, in constant time.
    public static func == (left: SecretBytes, right: SecretBytes) -> Bool {
        constantTimeEqual(left.storage, right.storage)
    }

    /// The type and the count, never the bytes.
    public var description: String { "SecretBytes(\(self.count))" }
    /// A mirror without children, so that `dump` shows nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Writes zeros that the optimiser may not leave out, as it may leave out plain stores before a deallocation.
private func overwrite(_ bytes: UnsafeMutableBufferPointer<UInt8>) {
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
    #if canImport(Darwin)
        memset_s(start, bytes.count, 0, bytes.count)
    #else
        explicit_bzero(start, bytes.count)
    #endif
}
