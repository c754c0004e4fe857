import Countersign
import Testing
import _Primitives

@Suite("Decision 111: the reader of event streams (HTML Living Standard, section 9.2.6)")
struct ServerSentEventsTests {
    /// Reads a whole stream in one piece.
    private func read(_ text: String) throws -> [ServerSentEvent] { try self.read(Array(text.utf8)) }

    private func read(_ bytes: [UInt8]) throws -> [ServerSentEvent] {
        var reader = ServerSentEvents()
        return try reader.take(bytes)
    }

    @Test("The examples of the standard are read as the standard says")
    func examples() throws {
        #expect(try self.read("data: YHOO\ndata: +2\ndata: 10\n\n").map(\.data) == ["YHOO\n+2\n10"])
        let stream = """
            : test stream

            data: first event
            id: 1

            data:second event
            id

            data:  third event


            """
        let events = try self.read(stream)
        #expect(events.map(\.data) == ["first event", "second event", " third event"])
        #expect(events.map(\.lastEventID) == ["1", "", ""])
        #expect(events.map(\.type) == ["message", "message", "message"])
        // The last event has no empty line, and is discarded.
        #expect(try self.read("data\n\ndata\ndata\n\ndata:").map(\.data) == ["", "\n"])
        #expect(try self.read("data:test\n\ndata: test\n\n").map(\.data) == ["test", "test"])
    }

    @Test("An event has the type of its last field, and the next event begins without a type")
    func types() throws {
        let events = try self.read("event: add\nevent: remove\ndata: 1\n\ndata: 2\n\nevent: add\n\ndata: 3\n\n")
        #expect(events.map(\.type) == ["remove", "message", "message"])
        #expect(events.map(\.data) == ["1", "2", "3"])
    }

    @Test("An identifier stays until the next identifier, and an identifier with NULL is ignored")
    func identifiers() throws {
        let events = try self.read("id: 7\ndata: a\n\nid: 8\u{0}\ndata: b\n\nid: 9\n\ndata: c\n\nid:\ndata: d\n\n")
        #expect(events.map(\.lastEventID) == ["7", "7", "9", ""])
    }

    @Test("A pause is a number of milliseconds in ASCII digits; any other value changes nothing")
    func pauses() throws {
        func retry(_ text: String) throws -> Duration? {
            var reader = ServerSentEvents()
            _ = try reader.take(text.utf8)
            return reader.retry
        }
        #expect(try retry("retry: 1500\n") == .milliseconds(1500))
        #expect(try retry("retry: 0\n") == .zero)
        for value in ["", "-1", "1.5", "1 ", " 1", "1s", "\u{0661}", "+1"] {
            #expect(try retry("retry: 20\nretry: \(value)\n") == .milliseconds(20), "\(value)")
        }
        #expect(try retry("retry: 20\nretry\n") == .milliseconds(20))
        // A server cannot name a pause beyond a minute.
        for value in ["60001", String(repeating: "9", count: 30)] {
            #expect(try retry("retry: \(value)\n") == .seconds(60))
        }
        #expect(try retry("data: x\n\n") == nil)
    }

    @Test("Comments, unknown fields, and fields in another spelling are ignored")
    func ignored() throws {
        let events = try self.read(":\n: data: no\nDATA: no\n data: no\ndata : no\nother: no\nother\ndata: yes\n\n")
        #expect(events.map(\.data) == ["yes"])
    }

    @Test("A byte order mark counts at the beginning of the stream alone, and bytes that are not UTF-8 are replaced")
    func encoding() throws {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let field = Array("data: x\n\n".utf8)
        #expect(try self.read(mark + field).map(\.data) == ["x"])
        #expect(try self.read(mark + mark + field).isEmpty)
        #expect(try self.read(field + mark + field).map(\.data) == ["x"])
        #expect(try self.read(Array("data: ".utf8) + [0xFF, 0x0A, 0x0A]).map(\.data) == ["\u{FFFD}"])
    }

    /// Parts of streams that meet all rules of the reader.
    private static let parts = [
        "data", "event", "id", "retry", "other", ":", ": ", " ", "a", "ä", "漢", "🔑", "12", "\u{0}", "\u{FEFF}", "\n",
        "\r", "\r\n", "\n\n", "\r\r", "\r\n\r\n",
    ]

    private func stream(_ random: inout RepeatableNumbers, ends: Bool = true) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 0...60, using: &random) {
            bytes += Self.parts.randomElement(using: &random).map { Array($0.utf8) } ?? []
            // Now and then a byte that is no UTF-8.
            if Int.random(in: 0..<20, using: &random) == 0 {
                bytes.append(UInt8.random(in: 0x80...0xFF, using: &random))
            }
        }
        return bytes + Array((ends ? "\ndata: end\n\n" : "").utf8)
    }

    @Test("The division of a stream into pieces changes neither events nor pause", arguments: 0..<400)
    func pieces(seed: Int) throws {
        var random = RepeatableNumbers(seed: UInt64(seed))
        let bytes = self.stream(&random)
        var whole = ServerSentEvents()
        let events = try whole.take(bytes)
        #expect(events.last?.data.hasSuffix("end") == true)
        for longest in [1, 2, 3, 17] {
            var reader = ServerSentEvents()
            var read: [ServerSentEvent] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 1...longest, using: &random))
                rest = rest.dropFirst(piece.count)
                read += try reader.take(piece)
            }
            #expect(read == events)
            #expect(reader.retry == whole.retry)
        }
    }

    @Test("The division into pieces changes no event before a limit is exceeded, nor the failure", arguments: 1...40)
    func piecesBeforeFailure(length: Int) throws {
        for end in ["data:123456789", "data:123\ndata:45678\n"] {
            var reader = ServerSentEvents(lineLimit: 10, eventLimit: 8)
            var rest = Array("data:1\n\nretry:5\ndata:2\n\n\(end)\n\ndata:3\n\n".utf8)[...]
            var events: [ServerSentEvent] = []
            #expect(throws: TransportError(.tooLarge, "")) {
                while !rest.isEmpty {
                    events += try reader.take(rest.prefix(length))
                    rest = rest.dropFirst(length)
                }
                _ = try reader.take([])
            }
            #expect(events.map(\.data) == ["1", "2"] && reader.retry == .milliseconds(5))
        }
    }

    @Test("Line feed, carriage return and both end a line alike", arguments: 0..<100)
    func lineEnds(seed: Int) throws {
        var random = RepeatableNumbers(seed: UInt64(seed))
        let lines = String(decoding: self.stream(&random), as: UTF8.self).utf8.split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false
        ).map { $0.filter { $0 != UInt8(ascii: "\r") } }
        let streams = ["\n", "\r", "\r\n"].map { end in lines.flatMap { $0 + Array(end.utf8) } }
        let read = try streams.map { try self.read($0) }
        #expect(!read[0].isEmpty)
        #expect(read[1] == read[0] && read[2] == read[0])
    }

    @Test("A line and an event have limits, and a reader past a limit stays failed")
    func limits() throws {
        var reader = ServerSentEvents(lineLimit: 10, eventLimit: 8)
        #expect(try reader.take("data:12345\n\n".utf8).map(\.data) == ["12345"])
        #expect(throws: TransportError(.tooLarge, "")) { try reader.take("data:123456".utf8) }
        #expect(throws: TransportError(.tooLarge, "")) { try reader.take("\n\n".utf8) }

        // A comment is a line too, and its end makes room.
        var comments = ServerSentEvents(lineLimit: 10, eventLimit: 8)
        #expect(try comments.take(":123456789\n:123456789\n".utf8).isEmpty)
        #expect(throws: TransportError(.tooLarge, "")) { try comments.take(":1234567890".utf8) }

        var event = ServerSentEvents(lineLimit: 10, eventLimit: 8)
        #expect(try event.take("data:123\ndata:4567\n\n".utf8).map(\.data) == ["123\n4567"])
        #expect(throws: TransportError(.tooLarge, "")) { try event.take("data:123\ndata:45678\n".utf8) }
        // Empty lines of data count by the line feeds between them.
        var empty = ServerSentEvents(lineLimit: 10, eventLimit: 8)
        #expect(throws: TransportError(.tooLarge, "")) {
            try empty.take(String(repeating: "data\n", count: 10).utf8)
        }
    }
}

/// The numbers of a SplitMix64 generator: the same run after run.
private struct RepeatableNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { self.state = seed }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
