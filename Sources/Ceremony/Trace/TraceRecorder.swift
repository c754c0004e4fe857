public import _Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Appends events to a file, one JSON object a line: `{"time":"…","trace":"…","event":"…"}`.
///
/// The file is the owner's alone (mode 0600). Each line is one append, so that lines of several processes that write to
/// the same file do not mix.
public final class TraceRecorder: Sendable {
    private let descriptor: Int32
    private let time: TimeSource

    /// Opens `path` for appending, or makes it. Throws ``TraceError/Code/unwritable``.
    public init(path: String, time: TimeSource = .system) throws(TraceError) {
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw TraceError(.unwritable, String(cString: strerror(errno))) }
        guard fchmod(descriptor, 0o600) == 0 else {
            close(descriptor)
            throw TraceError(.unwritable, "mode 0600 cannot be set")
        }
        self.descriptor = descriptor
        self.time = time
    }

    deinit { close(self.descriptor) }

    /// Writes one event of the trace `trace`. A full disk loses the line, never the request that it tells of.
    public func record(_ event: TraceEvent, trace: TraceID) {
        let line =
            JSON.object([
                "time": .string(self.time.now().description), "trace": .string(trace.text),
                "event": .string(event.rawValue),
            ]).serialized + [UInt8(ascii: "\n")]
        _ = line.withUnsafeBytes { write(self.descriptor, $0.baseAddress, $0.count) }
    }
}

/// The id that joins the events of one run over several processes (W3C Trace Context, section 3.2.2.3).
public struct TraceID: Hashable, Sendable {
    /// 32 lower-case hexadecimal digits, not all zero.
    public let text: String

    /// A new id.
    public init(random: RandomSource = .system) {
        var bytes = random.bytes(16)
        if bytes.allSatisfy({ $0 == 0 }) { bytes[15] = 1 }
        self.text = Self.hexadecimal(bytes)
    }

    /// The id of a `traceparent` header (`00-<32 hex>-<16 hex>-<2 hex>`); `nil` where it is not one.
    public init?(traceparent: String) {
        let fields = traceparent.split(separator: "-", omittingEmptySubsequences: false)
        guard fields.count == 4, fields[0] == "00", fields[1].utf8.count == 32, fields[2].utf8.count == 16,
            fields[3].utf8.count == 2,
            fields.allSatisfy({ $0.utf8.allSatisfy(Self.isHexadecimal) }), fields[1].utf8.contains(where: { $0 != 48 })
        else { return nil }
        self.text = String(fields[1])
    }

    /// A header of this trace, with a span id of its own.
    public func traceparent(random: RandomSource = .system) -> String {
        "00-\(self.text)-\(Self.hexadecimal(random.bytes(8)))-01"
    }

    private static func isHexadecimal(_ letter: UInt8) -> Bool {
        (48...57).contains(letter) || (97...102).contains(letter)
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

/// Why a run cannot be recorded or drawn. Two are equal when their codes are.
public struct TraceError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case unwritable, malformedLine, unknownParticipant }
        private let base: Base
        /// The file cannot be opened for writing.
        public static let unwritable = Self(base: .unwritable)
        /// A line is not an event.
        public static let malformedLine = Self(base: .malformedLine)
        /// A label is given for a participant that does not exist.
        public static let unknownParticipant = Self(base: .unknownParticipant)
        public var description: String { self.base.rawValue }
    }

    /// What went wrong.
    public let code: Code
    /// For whoever ran the command.
    public let reason: String

    /// An error with that code; `reason` must hold no secret.
    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }

    public var description: String { "TraceError.\(self.code): \(self.reason)" }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}
