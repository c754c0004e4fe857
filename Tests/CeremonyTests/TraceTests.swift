import Ceremony
import Foundation
import Testing
import _Primitives

@Suite("Recorded runs")
struct TraceTests {
    @Test("recorders of several processes merge into one diagram, in the order of the run")
    func drawsARun() throws {
        let folder = try TemporaryFolder()
        let server = try TraceRecorder(path: folder.path("server"), time: clock(at: 1000))
        let phone = try TraceRecorder(path: folder.path("phone"), time: clock(at: 1000))
        let trace = TraceID()
        phone.record(.authenticationSent, trace: trace)
        server.record(.requestAnswered, trace: trace)
        phone.record(.tokenRedeemed, trace: trace)
        phone.record(.personVerified, trace: trace)
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

    @Test("a later event stands below, whatever its kind")
    func ordersByTime() throws {
        let folder = try TemporaryFolder()
        let later = try TraceRecorder(path: folder.path("a"), time: clock(at: 2001))
        let earlier = try TraceRecorder(path: folder.path("b"), time: clock(at: 2000))
        later.record(.activationCreated, trace: TraceID())
        earlier.record(.receiptShown, trace: TraceID())
        let diagram = try SequenceDiagram(files: [folder.text("a"), folder.text("b")])
        #expect(diagram.events == [.receiptShown, .activationCreated])
    }

    @Test("the file is its owner's alone and holds nothing but time, trace and event")
    func writesOneObjectALine() throws {
        let folder = try TemporaryFolder()
        let trace = TraceID()
        try TraceRecorder(path: folder.path("t"), time: clock(at: 0)).record(.tokenRedeemed, trace: trace)
        #expect(
            try folder.text("t") == """
                {"time":"1970-01-01T00:00:00.000Z","trace":"\(trace.text)","event":"token-redeemed"}

                """)
        let mode = try FileManager.default.attributesOfItem(atPath: folder.path("t"))[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test("a path that cannot be written is a typed error")
    func refusesUnwritablePath() throws {
        let folder = try TemporaryFolder()
        #expect(throws: TraceError(.unwritable)) { try TraceRecorder(path: folder.path("none/t")) }
    }

    @Test(
        "a line that is no event is a typed error",
        arguments: [
            "x", "[]", "{}", #"{"time":"now","trace":"","event":"token-redeemed"}"#,
            #"{"time":"2026-01-01T00:00:00.000Z","trace":"","event":"tea"}"#,
        ])
    func refusesOtherLines(line: String) {
        #expect(throws: TraceError(.malformedLine)) { try SequenceDiagram(files: [line]) }
    }

    @Test("a label for nobody is a typed error")
    func refusesUnknownParticipants() throws {
        #expect(throws: TraceError(.unknownParticipant)) { try SequenceDiagram(files: []).mermaid(labels: ["x": "y"]) }
    }

    @Test("W3C Trace Context, section 3.2: the id of a traceparent comes back out of it")
    func readsTraceparent() {
        let trace = TraceID()
        #expect(TraceID(traceparent: trace.traceparent()) == trace)
    }

    @Test(
        "W3C Trace Context, section 3.2: anything else is no traceparent",
        arguments: [
            "", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
        ])
    func refusesOtherHeaders(header: String) { #expect(TraceID(traceparent: header) == nil) }

    private func clock(at milliseconds: Int64) -> TimeSource {
        TimeSource { Timestamp(milliseconds: milliseconds) }
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
}
