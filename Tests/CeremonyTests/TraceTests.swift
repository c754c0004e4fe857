import Ceremony
import Foundation
import Testing
import _Primitives

@Suite("Recorded runs")
struct TraceTests {
    @Test("recorders of several processes merge into one diagram, in the order of the run")
    func drawsARun() throws {
        let folder = try TemporaryFolder()
        let server = try folder.recorder("server", at: 1000)
        let phone = try folder.recorder("phone", at: 1000)
        let trace = TraceID()
        let redeemed = phone.record(.tokenRedeemed, in: TraceContext(trace: trace))
        let answered = server.record(.requestAnswered, in: TraceContext(trace: trace, cause: redeemed))
        phone.record(.personVerified, in: TraceContext(trace: trace, cause: answered))
        phone.record(.authenticationSent, in: TraceContext(trace: trace))
        let diagram = try SequenceDiagram(files: [folder.text("phone"), folder.text("server")])
        #expect(
            try diagram.mermaid(labels: ["server": "Bank's server"]) == """
                sequenceDiagram
                    participant server as Bank's server
                    participant phone as Phone
                    phone->>server: redeem the one-time token
                    server->>phone: UAF request, who asks and from where
                    phone->>phone: show, ask, verify the person
                    phone->>server: UAF authentication response, signed

                """)
    }

    @Test("a person, an app and its storage stand in the order of a sign-in, and an answer is drawn as one")
    func drawsASignIn() throws {
        let folder = try TemporaryFolder()
        let app = try folder.recorder("app", at: 1000)
        for event: TraceEvent in [.tokenSought, .tokenFound, .biometricsAsked, .biometricsGiven, .renewalWanted] {
            app.record(event, in: TraceContext())
        }
        #expect(
            try SequenceDiagram(files: [folder.text("app")]).mermaid(labels: ["server": "SIS"]) == """
                sequenceDiagram
                    participant user as User
                    participant storage as Secure app storage
                    participant app as App
                    participant server as SIS
                    app->>storage: is a refresh token there?
                    storage-->>app: it is
                    app->>user: biometrics, and what for
                    user-->>app: given
                    app->>server: the old refresh token, for a new one

                """)
    }

    @Test("of two events that nothing else tells apart the later one stands below, whatever its kind")
    func ordersByTime() throws {
        let folder = try TemporaryFolder()
        try folder.recorder("a", at: 2001).record(.enrolmentLinkCreated, in: TraceContext())
        try folder.recorder("b", at: 2000).record(.receiptShown, in: TraceContext())
        let diagram = try SequenceDiagram(files: [folder.text("a"), folder.text("b")])
        #expect(diagram.events == [.receiptShown, .enrolmentLinkCreated])
    }

    @Test("events of one millisecond stand as their recorder counted them, whatever their kind and their lines' order")
    func ordersByCount() throws {
        let folder = try TemporaryFolder()
        let recorder = try folder.recorder("a", at: 2000)
        let events: [TraceEvent] = [.receiptShown, .tokenRedeemed, .enrolmentLinkCreated, .tokenRedeemed]
        for event in events { recorder.record(event, in: TraceContext()) }
        let lines = try folder.text("a").split(separator: "\n").reversed().joined(separator: "\n")
        #expect(try SequenceDiagram(files: [lines]).events == events)
    }

    @Test("a clock that is put back moves no event", arguments: [-3_600_000, -1, 1, 3_600_000])
    func ordersByCountPastClocks(jump: Int64) throws {
        let folder = try TemporaryFolder()
        let clock = MovedClock(1_000_000_000)
        let recorder = try TraceRecorder(path: folder.path("a"), time: clock.source)
        recorder.record(.signInWanted, in: TraceContext())
        clock.move(by: jump)
        recorder.record(.authorizationRequested, in: TraceContext())
        #expect(try SequenceDiagram(files: [folder.text("a")]).events == [.signInWanted, .authorizationRequested])
    }

    @Test(
        "a phone whose clock is wrong stands where its answers say, also with what no message of the server led to",
        arguments: [-7_200_000, -5_000, -1_500, 0, 1_500, 5_000, 7_200_000])
    func putsClocksRight(skew: Int64) throws {
        let folder = try TemporaryFolder()
        let clock = MovedClock(1_000_000_000)
        let server = try TraceRecorder(path: folder.path("server"), time: clock.source)
        let phone = try TraceRecorder(path: folder.path("phone"), time: clock.source(skewedBy: skew))
        let trace = TraceID()
        server.record(.authorizationRequested, in: TraceContext())
        clock.move(by: 3)
        server.record(.codeShown, in: TraceContext())
        // The person scans; no header tells of it.
        clock.move(by: 4_000)
        let redeemed = phone.record(.tokenRedeemed, in: TraceContext(trace: trace))
        clock.move(by: 20)
        let answered = server.record(.requestAnswered, in: TraceContext(trace: trace, cause: redeemed))
        // The person reads and thinks.
        clock.move(by: 30_000)
        phone.record(.personVerified, in: TraceContext(trace: trace, cause: answered))
        let diagram = try SequenceDiagram(files: [folder.text("phone"), folder.text("server")])
        #expect(
            diagram.events == [
                .authorizationRequested, .codeShown, .tokenRedeemed, .requestAnswered, .personVerified,
            ])
    }

    @Test("any runs through any processes, with any clocks, are drawn in their true order", arguments: 0..<50)
    func drawsTheTrueOrder(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        let clock = MovedClock(1_000_000_000_000)
        let names = (0..<Int.random(in: 1...4, using: &random)).map { "recorder\($0)" }
        let recorders = try names.map { name in
            try TraceRecorder(
                path: folder.path(name),
                time: clock.source(skewedBy: .random(in: -9_000_000...9_000_000, using: &random)))
        }
        var runs = (0..<Int.random(in: 1...4, using: &random)).map { _ in Run() }
        for _ in 0..<80 {
            // Of a run each event leads to the next; what several runs do at once goes in any order.
            let index = Int.random(in: runs.indices, using: &random)
            let place = Int.random(in: recorders.indices, using: &random)
            let event = TraceEvent.allCases.randomElement(using: &random) ?? .tokenRedeemed
            let cause = runs[index].place == place ? nil : runs[index].last
            runs[index].last = recorders[place].record(event, in: TraceContext(trace: runs[index].trace, cause: cause))
            runs[index].place = place
            runs[index].events.append(event)
            clock.move(by: .random(in: 0...2, using: &random))
        }
        let files = try names.map { name in
            try folder.text(name).split(separator: "\n").shuffled(using: &random).joined(separator: "\n")
        }.shuffled(using: &random)
        for run in runs where !run.events.isEmpty {
            #expect(try SequenceDiagram(files: files, traces: [run.trace]).events == run.events)
        }
        #expect(try SequenceDiagram(files: files).events.count == 80)
    }

    @Test("one trace alone is drawn, or several")
    func drawsOneTrace() throws {
        let folder = try TemporaryFolder()
        let recorder = try folder.recorder("a", at: 0)
        let traces = [TraceID(), TraceID(), TraceID()]
        for (trace, event) in zip(traces, [TraceEvent.signInWanted, .codeShown, .signedIn]) {
            recorder.record(event, in: TraceContext(trace: trace))
        }
        let text = try folder.text("a")
        #expect(try SequenceDiagram(files: [text], traces: [traces[1]]).events == [.codeShown])
        #expect(
            try SequenceDiagram(files: [text], traces: [traces[2], traces[0]]).events == [.signInWanted, .signedIn])
        #expect(throws: TraceError(.unknownTrace)) {
            try SequenceDiagram(files: [text], traces: [traces[0], TraceID()])
        }
    }

    @Test("the file is its owner's alone and holds nothing but time, trace, number, event and cause")
    func writesOneObjectALine() throws {
        let folder = try TemporaryFolder()
        let trace = TraceID()
        let recorder = try TraceRecorder(
            path: folder.path("t"), time: MovedClock(0).source,
            random: RandomSource { [UInt8](repeating: 0xAB, count: $0) })
        let event = recorder.record(.tokenRedeemed, in: TraceContext(trace: trace))
        recorder.record(.requestAnswered, in: TraceContext(trace: trace, cause: event))
        #expect(
            try folder.text("t") == """
                {"time":"1970-01-01T00:00:00.000Z","trace":"\(trace.text)","recorder":"abababab","sequence":1,\
                "event":"token-redeemed"}
                {"time":"1970-01-01T00:00:00.000Z","trace":"\(trace.text)","recorder":"abababab","sequence":2,\
                "event":"request-answered","cause":"abababab00000001"}

                """)
        let mode = try FileManager.default.attributesOfItem(atPath: folder.path("t"))[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test("a path that cannot be written is a typed error")
    func refusesUnwritablePath() throws {
        let folder = try TemporaryFolder()
        #expect(throws: TraceError(.unwritable)) { try TraceRecorder(path: folder.path("none/t")) }
    }

    private static let trace = #""time":"2026-01-01T00:00:00.000Z","trace":"0af7651916cd43dd8448eb211c80319c""#

    @Test(
        "a line that is no event is a typed error",
        arguments: [
            "x", "[]", "{}",
            #"{"time":"now","trace":"0af7651916cd43dd8448eb211c80319c","recorder":"0000000a","sequence":1,"event":"signed-in"}"#,
            #"{"time":"2026-01-01T00:00:00.000Z","trace":"","recorder":"0000000a","sequence":1,"event":"signed-in"}"#,
            "{\(trace),\"recorder\":\"0000000a\",\"sequence\":1,\"event\":\"tea\"}",
            "{\(trace),\"recorder\":\"0000000a\",\"sequence\":0,\"event\":\"signed-in\"}",
            "{\(trace),\"recorder\":\"0000000a\",\"sequence\":4294967296,\"event\":\"signed-in\"}",
            "{\(trace),\"recorder\":\"00000000\",\"sequence\":1,\"event\":\"signed-in\"}",
            "{\(trace),\"recorder\":\"+000000a\",\"sequence\":1,\"event\":\"signed-in\"}",
            "{\(trace),\"recorder\":\"0000000a\",\"event\":\"signed-in\"}",
            "{\(trace),\"recorder\":\"0000000a\",\"sequence\":1,\"event\":\"signed-in\",\"cause\":\"1\"}",
        ])
    func refusesOtherLines(line: String) {
        #expect(throws: TraceError(.malformedLine)) { try SequenceDiagram(files: [line]) }
    }

    @Test("events that would come before themselves are a typed error")
    func refusesCircles() throws {
        func line(_ recorder: String, _ sequence: Int, cause: String) -> String {
            "{\(Self.trace),\"recorder\":\"\(recorder)\",\"sequence\":\(sequence),\"event\":\"signed-in\","
                + "\"cause\":\"\(cause)\"}\n"
        }
        let one = line("0000000a", 1, cause: "0000000b00000001")
        #expect(try SequenceDiagram(files: [one]).events == [.signedIn])
        #expect(throws: TraceError(.contradictory)) {
            try SequenceDiagram(files: [one, line("0000000b", 1, cause: "0000000a00000001")])
        }
        #expect(throws: TraceError(.contradictory)) {
            try SequenceDiagram(files: [
                line("0000000a", 1, cause: "0000000a00000002"), line("0000000a", 2, cause: "0000000c00000001"),
            ])
        }
        #expect(throws: TraceError(.contradictory)) { try SequenceDiagram(files: [one, one]) }
    }

    @Test("a label for nobody is a typed error")
    func refusesUnknownParticipants() throws {
        #expect(throws: TraceError(.unknownParticipant)) { try SequenceDiagram(files: []).mermaid(labels: ["x": "y"]) }
    }

    @Test("W3C Trace Context, section 3.2: run and event come back out of the header")
    func readsHeaders() throws {
        let folder = try TemporaryFolder()
        let event = try folder.recorder("a", at: 0).record(.signedIn, in: TraceContext())
        let context = TraceContext(trace: TraceID(), cause: event)
        #expect(TraceContext(header: context.header()) == context)
        let without = TraceContext()
        let read = try #require(TraceContext(header: without.header()))
        #expect(read.trace == without.trace)
        #expect(read.cause != nil)
    }

    @Test(
        "W3C Trace Context, section 3.2: anything else is no header of a run",
        arguments: [
            "", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333g-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
        ])
    func refusesOtherHeaders(header: String) { #expect(TraceContext(header: header) == nil) }
}

/// A run of the property: each of its events leads to the next.
private struct Run {
    let trace = TraceID()
    var last: TraceEventID?
    var place: Int?
    var events: [TraceEvent] = []
}

/// Numbers that are the same for the same seed (SplitMix64).
private struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { self.state = seed }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// A clock that stands still until it is moved.
// Safe to share: every access to `milliseconds` is within `lock`.
private final class MovedClock: @unchecked Sendable {
    private let lock = NSLock()
    private var milliseconds: Int64

    init(_ milliseconds: Int64) { self.milliseconds = milliseconds }

    func move(by span: Int64) { self.lock.withLock { self.milliseconds += span } }
    var source: TimeSource { self.source(skewedBy: 0) }
    func source(skewedBy skew: Int64) -> TimeSource {
        TimeSource { Timestamp(milliseconds: self.lock.withLock { self.milliseconds } + skew) }
    }
}

/// A folder that goes with the test.
private final class TemporaryFolder {
    private let url: URL

    init() throws {
        self.url = FileManager.default.temporaryDirectory.appendingPathComponent("trace-\(RandomSource.system.token())")
        try FileManager.default.createDirectory(at: self.url, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(at: self.url) }

    func path(_ name: String) -> String { self.url.appendingPathComponent(name).path }
    func text(_ name: String) throws -> String { try String(contentsOfFile: self.path(name), encoding: .utf8) }
    func recorder(_ name: String, at milliseconds: Int64) throws -> TraceRecorder {
        try TraceRecorder(path: self.path(name), time: MovedClock(milliseconds).source)
    }
}
