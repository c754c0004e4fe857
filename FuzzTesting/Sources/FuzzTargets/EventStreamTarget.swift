import Countersign

/// The events of a server's stream (HTML Living Standard, section 9.2.6).
enum EventStreamTarget {
    /// Returns `false` if the division of the bytes into pieces changes the result, or if an event does not survive
    /// writing and reading again.
    static func holds(_ bytes: [UInt8]) -> Bool {
        let whole = Self.read([bytes[...]])
        let half = bytes.count / 2
        guard Self.read(bytes.indices.map { bytes[$0...$0] }) == whole,
            Self.read([bytes[..<half], bytes[half...]]) == whole
        else { return false }
        return whole.events.allSatisfy(Self.survives)
    }

    private struct Stream: Equatable {
        var events: [ServerSentEvent] = []
        var retry: Duration?
        /// `true` if a line or an event is too long. The events before are still events.
        var isTooLong = false
    }

    /// Reads a stream in pieces. The limits are small, so that inputs reach the limits.
    private static func read(_ pieces: [ArraySlice<UInt8>]) -> Stream {
        var reader = ServerSentEvents(lineLimit: 64, eventLimit: 96)
        var stream = Stream()
        do {
            for piece in pieces { stream.events += try reader.take(piece) }
            _ = try reader.take([])
        } catch {
            stream.isTooLong = true
        }
        stream.retry = reader.retry
        return stream
    }

    private static func survives(_ event: ServerSentEvent) -> Bool {
        let lines = event.data.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let data = lines.map { "data: \(String(decoding: $0, as: UTF8.self))\n" }.joined()
        // U+FFFD takes three bytes in place of one, so the written event can be longer than the small limits.
        var reader = ServerSentEvents()
        return (try? reader.take("event: \(event.type)\nid: \(event.lastEventID)\n\(data)\n".utf8)) == [event]
    }
}
