#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Bytes that must stay secret: a PIN, a key, a token before its hashing.
///
/// The description never contains the bytes, and the memory is overwritten when the last reference goes. Comparison
/// takes constant time.
public final class SecretBytes: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    // Safe to share: written once in `init` and then only by `deinit`, when no other reference is left.
    nonisolated(unsafe) private let storage: UnsafeMutableBufferPointer<UInt8>

    /// Copies `bytes`. The caller has to erase its own copy.
    public init(_ bytes: some Collection<UInt8>) {
        self.storage = .allocate(capacity: bytes.count)
        _ = self.storage.initialize(from: bytes)
    }

    /// Creates `count` bytes that `fill` writes.
    ///
    /// The bytes begin as zeros and exist in no other place. Throws the errors of `fill`; bytes written before the
    /// error are overwritten.
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

    /// Copies the UTF-8 bytes of a text that a person typed.
    public convenience init(utf8 text: String) { self.init(text.utf8) }

    deinit {
        overwrite(self.storage)
        self.storage.deallocate()
    }

    /// The number of bytes.
    public var count: Int { self.storage.count }

    /// Lends the bytes to `body` for the duration of the call.
    public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try body(UnsafeRawBufferPointer(self.storage))
    }

    /// Returns `true` if both hold the same bytes. The comparison takes constant time.
    public static func == (left: SecretBytes, right: SecretBytes) -> Bool {
        constantTimeEqual(left.storage, right.storage)
    }

    /// The type and the count, never the bytes.
    public var description: String { "SecretBytes(\(self.count))" }
    /// A mirror without children, so `dump` shows nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Writes zeros in a way that the optimiser must keep. The optimiser may remove plain stores before a deallocation.
private func overwrite(_ bytes: UnsafeMutableBufferPointer<UInt8>) {
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
    #if canImport(Darwin)
        memset_s(start, bytes.count, 0, bytes.count)
    #else
        explicit_bzero(start, bytes.count)
    #endif
}

/// Returns `true` if two sequences of bytes are equal, in a time that depends only on their lengths.
///
/// Use the function for secrets, codes, hashes of secrets and all other data that an attacker could guess from the time
/// of a comparison.
public func constantTimeEqual(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    let isEqual = left.withContiguousStorageIfAvailable { left in
        right.withContiguousStorageIfAvailable { right in haveEqualBytes(left, right) }
    }
    if case .some(.some(let isEqual)) = isEqual { return isEqual }
    var difference: UInt8 = 0
    for (a, b) in zip(left, right) { difference |= a ^ b }
    return difference == 0
}

/// Compares buffers of equal length. The function is not generic: a generic parameter that another module fills costs a
/// look-up for every byte.
private func haveEqualBytes(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
    var difference: UInt8 = 0
    for index in left.indices { difference |= left[index] ^ right[index] }
    return difference == 0
}
