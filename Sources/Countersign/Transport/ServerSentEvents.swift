import _Primitives

/// One event of an event stream (HTML Living Standard, section 9.2.6).
public struct ServerSentEvent: Hashable, Sendable {
    /// The type, from the field `event`; `message` for an event without this field.
    public let type: String
    /// The data. Several fields `data` are joined by line feeds.
    public let data: String
    /// The identifier of the last event that had one; empty before the first identifier.
    public let lastEventID: String
}

/// A reader of event streams (HTML Living Standard, section 9.2.6): bytes in, events out.
///
/// The reader is a value without a clock or a network. The bytes come in pieces of any length, and the division of the
/// bytes into pieces changes neither the events nor the failure. Bytes that are not UTF-8 become U+FFFD, as the standard says.
///
/// The standard has no limits. The limits of this reader keep a server from filling the memory with one line or with
/// one event.
public struct ServerSentEvents: Sendable {
    /// The maximum number of bytes of a line, without the line's end.
    public let lineLimit: Int
    /// The maximum number of bytes of an event's data.
    public let eventLimit: Int
    /// The pause before a new connection, from the last field `retry`; `nil` if the server named none.
    public private(set) var retry: Duration?

    /// The longest pause of a field `retry`. A longer pause counts as this pause.
    private static let longestRetry = Duration.seconds(60)
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    private var line: [UInt8] = []
    private var isFirstLine = true
    /// `true` after a carriage return: a line feed that follows belongs to the same line end.
    private var mayEndLineTwice = false
    private var type: [UInt8] = []
    private var data: [UInt8] = []
    private var identifier: [UInt8] = []
    private var failure: TransportError?

    /// Creates a reader at the beginning of a stream.
    public init(lineLimit: Int = 65_536, eventLimit: Int = 65_536) {
        self.lineLimit = lineLimit
        self.eventLimit = eventLimit
    }

    /// Reads the next bytes of the stream, and returns the events that end in these bytes.
    ///
    /// The reader keeps an event without the empty line at its end. The standard discards such an event at the end of
    /// the stream, and so does a caller that drops the reader.
    ///
    /// - Throws: ``TransportError`` `tooLarge` for a line or an event beyond its limit, and from then on at every call.
    ///   If events end before the limit is exceeded, this call returns the events, and the next call throws. A call
    ///   without bytes asks for such a failure.
    public mutating func take(_ bytes: some Sequence<UInt8>) throws(TransportError) -> [ServerSentEvent] {
        if let failure { throw failure }
        var events: [ServerSentEvent] = []
        do throws(TransportError) {
            for byte in bytes {
                let isSecondHalf = self.mayEndLineTwice && byte == Self.lineFeed
                self.mayEndLineTwice = byte == Self.carriageReturn
                guard !isSecondHalf else { continue }
                guard byte == Self.lineFeed || byte == Self.carriageReturn else {
                    guard self.line.count < self.lineLimit else {
                        throw self.failed("a line of more than \(self.lineLimit) bytes")
                    }
                    self.line.append(byte)
                    continue
                }
                if let event = try self.endLine() { events.append(event) }
            }
        } catch {
            guard !events.isEmpty else { throw error }
        }
        return events
    }

    /// Interprets the line that just ended. Returns an event if the line is empty and the event has data.
    private mutating func endLine() throws(TransportError) -> ServerSentEvent? {
        var line = self.line[...]
        self.line.removeAll(keepingCapacity: true)
        if self.isFirstLine, line.starts(with: Self.byteOrderMark) { line.removeFirst(Self.byteOrderMark.count) }
        self.isFirstLine = false
        guard !line.isEmpty else { return self.dispatched() }
        let colon = line.firstIndex(of: UInt8(ascii: ":"))
        let name = line[..<(colon ?? line.endIndex)]
        var value = colon.map { line[line.index(after: $0)...] } ?? []
        if value.first == UInt8(ascii: " ") { value.removeFirst() }
        // The name of a comment is empty, and a comment is no field.
        if name.elementsEqual("data".utf8) {
            guard self.data.count + value.count <= self.eventLimit else {
                throw self.failed("an event of more than \(self.eventLimit) bytes")
            }
            self.data += value
            self.data.append(Self.lineFeed)
        } else if name.elementsEqual("event".utf8) {
            self.type = Array(value)
        } else if name.elementsEqual("id".utf8) {
            if !value.contains(0) { self.identifier = Array(value) }
        } else if name.elementsEqual("retry".utf8) {
            self.setRetry(value)
        }
        return nil
    }

    private mutating func dispatched() -> ServerSentEvent? {
        defer {
            self.type = []
            self.data = []
        }
        guard !self.data.isEmpty else { return nil }
        return ServerSentEvent(
            type: self.type.isEmpty ? "message" : String(decoding: self.type, as: UTF8.self),
            data: String(decoding: self.data.dropLast(), as: UTF8.self),
            lastEventID: String(decoding: self.identifier, as: UTF8.self))
    }

    /// Sets the pause to a number of milliseconds in ASCII digits. Any other value is ignored.
    private mutating func setRetry(_ value: ArraySlice<UInt8>) {
        guard !value.isEmpty, value.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return }
        let milliseconds = Int64(String(decoding: value, as: UTF8.self)) ?? .max
        self.retry = min(.milliseconds(milliseconds), Self.longestRetry)
    }

    /// Notes the failure for later calls. The kept bytes go, because nobody reads them any more.
    private mutating func failed(_ reason: String) -> TransportError {
        let failure = TransportError(.tooLarge, reason)
        self.failure = failure
        (self.line, self.data) = ([], [])
        return failure
    }
}
