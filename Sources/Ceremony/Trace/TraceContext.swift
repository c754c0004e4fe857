public import _Primitives

/// The id that joins the events of one run across several processes (W3C Trace Context, section 3.2.2.3).
public struct TraceID: Hashable, Sendable {
    /// 32 lower-case hexadecimal digits, not all zero.
    public let text: String

    /// Creates a new id.
    public init(random: RandomSource = .system) {
        var bytes = random.bytes(16)
        if bytes.allSatisfy({ $0 == 0 }) { bytes[15] = 1 }
        self.text = Hexadecimal.text(bytes)
    }

    /// Creates the id that several parties derive from a hash known to each of them: its first 16 bytes.
    public init(hash: some Sequence<UInt8>) {
        let bytes = Array(hash.prefix(16))
        precondition(bytes.count == 16, "a hash of fewer than 128 bits")
        self.init(random: RandomSource { _ in bytes })
    }

    /// Creates the id from its text; `nil` if the text is not an id.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count == 32, text.utf8.allSatisfy(Hexadecimal.isDigit),
            text.utf8.contains(where: { $0 != UInt8(ascii: "0") })
        else { return nil }
        self.text = String(text)
    }
}

/// The id of an event: the recorder, and the event's number at this recorder.
///
/// The id has the form of a parent-id (W3C Trace Context, section 3.2.2.4). A message therefore names the event that
/// caused the message in its header.
public struct TraceEventID: Hashable, Sendable {
    /// The number of the recorder, never zero.
    let recorder: UInt32
    /// The event's number among the events of its recorder, from one.
    let sequence: UInt32

    init(recorder: UInt32, sequence: UInt32) {
        self.recorder = recorder
        self.sequence = sequence
    }

    /// Creates the id from its text; `nil` if the text is not an id.
    init?(_ text: some StringProtocol) {
        guard text.utf8.count == 16, text.utf8.allSatisfy(Hexadecimal.isDigit), let number = UInt64(text, radix: 16),
            number != 0
        else { return nil }
        self.init(recorder: UInt32(number >> 32), sequence: UInt32(truncatingIfNeeded: number))
    }

    /// Creates the id of an event from the fields of its line; `nil` if the recorder's text is not eight hexadecimal
    /// digits, or if a number is zero.
    init?(recorderText text: String, sequence: UInt32) {
        guard text.utf8.count == 8, text.utf8.allSatisfy(Hexadecimal.isDigit), let recorder = UInt32(text, radix: 16),
            recorder > 0, sequence > 0
        else { return nil }
        self.init(recorder: recorder, sequence: sequence)
    }

    /// 16 lower-case hexadecimal digits: eight of the recorder and eight of the number.
    var text: String { self.recorderText + Hexadecimal.text(Self.bytes(self.sequence)) }
    /// The first eight digits, of the recorder.
    var recorderText: String { Hexadecimal.text(Self.bytes(self.recorder)) }

    static func newRecorder(_ random: RandomSource) -> UInt32 {
        max(1, random.bytes(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
    }
}

/// The place of a message in its run: the `traceparent` of a request, or the `traceresponse` of an answer, in the same
/// form.
public struct TraceContext: Hashable, Sendable {
    /// The run.
    public let trace: TraceID
    /// The event of another recorder that led here. Possibly no recorder has recorded this event.
    public let cause: TraceEventID?

    /// Creates a place in a run; by default in a new run.
    public init(trace: TraceID = TraceID(), cause: TraceEventID? = nil) {
        self.trace = trace
        self.cause = cause
    }

    /// Creates a context from a header (`00-<32 hex>-<16 hex>-<2 hex>`); `nil` if the header has another form.
    public init?(header: String) {
        let fields = header.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard fields.count == 4, fields[0].utf8.elementsEqual("00".utf8), let trace = TraceID(fields[1]),
            let cause = TraceEventID(fields[2]), fields[3].utf8.count == 2,
            fields[3].utf8.allSatisfy(Hexadecimal.isDigit)
        else { return nil }
        self.init(trace: trace, cause: cause)
    }

    /// Returns the header. Without a cause, the header names an event that no recorder records, because the form
    /// requires an event.
    public func header(random: RandomSource = .system) -> String {
        let cause = self.cause ?? TraceEventID(recorder: TraceEventID.newRecorder(random), sequence: 0)
        return "00-\(self.trace.text)-\(cause.text)-01"
    }
}

private enum Hexadecimal {
    static func isDigit(_ letter: UInt8) -> Bool { (48...57).contains(letter) || (97...102).contains(letter) }

    static func text(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
