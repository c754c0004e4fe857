import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAFClient
import _Primitives

@Suite("Parity sign-in D1 to D6: what the parts record is what the documentation draws")
struct DiagramTests {
    static let diagrams = ["D1", "D2", "D3", "D4", "D5", "D6"]

    /// Does what a diagram draws; what comes before it is not in the files.
    static func play(_ id: String, _ scene: RecordedScene) async throws {
        switch id {
        case "D1":
            try await scene.start(scene.passwords).withPassword(username: "alice", password: PasswordPlace.password)
        case "D2":
            try await scene.start(scene.passwords).withPassword(username: "alice", password: PasswordPlace.password) {
                true
            }
        case "D3":
            try await Self.play("D2", scene)
            try scene.recorders.forget()
            let app = try await scene.start(scene.passwords)
            scene.device.sensor.feel(.match)
            try await app.withSavedPassword()
        case "D4": try await scene.start().withBrowser { true }
        case "D5":
            try await Self.play("D4", scene)
            try scene.recorders.forget()
            let app = try await scene.start()
            scene.device.sensor.feel(.match)
            try await app.restore()
        default:
            let app = try await scene.start()
            try await app.withBrowser()
            for _ in 0..<2 {
                scene.recorders.pause()
                let opened = try await app.webView(scene.page, displayTitle: "Records", useSSO: true)
                #expect(opened.isSignedIn, "\(String(describing: opened.failure))")
            }
            #expect(scene.pages.answers == [200, 200])
            #expect(try await app.signOut())
        }
    }

    /// The arrows of a drawn picture, by the names that stand in it, and its participants in their order.
    private func read(_ picture: String) throws -> (participants: [String], arrows: [String]) {
        var names: [String: String] = [:]
        var participants: [String] = []
        var arrows: [String] = []
        for line in picture.split(separator: "\n").dropFirst() {
            if let match = line.firstMatch(of: /participant (\w+) as (.+)/) {
                names[String(match.1)] = String(match.2)
                participants.append(String(match.2))
            } else {
                let match = try #require(line.firstMatch(of: /(\w+)-?->>(\w+):/), "\(line)")
                arrows.append("\(names[String(match.1)] ?? "?") -> \(names[String(match.2)] ?? "?")")
            }
        }
        return (participants, arrows)
    }

    @Test(
        "the recorded arrows are the drawn ones, in their order, between those that are drawn: also within one millisecond",
        arguments: DiagramTests.diagrams, [0, 1])
    func drawn(id: String, milliseconds: Int) async throws {
        let recorders = try RunRecorders(step: .milliseconds(milliseconds))
        try await RecordedScene.run(recorders) { try await Self.play(id, $0) }
        for wording in SeedDiagram.Wording.allCases {
            let diagram = try SeedDiagram.named(id, wording)
            let run = try recorders.drawn(diagram)
            #expect(run.events.map(\.rawValue) == diagram.arrows.map(\.event))
            let picture = try self.read(try run.mermaid(labels: diagram.labels))
            #expect(picture.participants == diagram.participants)
            #expect(picture.arrows == diagram.arrows.map { "\($0.from) -> \($0.to)" })
        }
    }

    @Test(
        "the order is that of the messages, whatever the app's clock says", arguments: ["D3", "D4", "D5"],
        [-7_200_000, 7_200_000])
    func skewed(id: String, milliseconds: Int) async throws {
        let recorders = try RunRecorders(appAhead: .milliseconds(milliseconds))
        try await RecordedScene.run(recorders) { try await Self.play(id, $0) }
        let diagram = try SeedDiagram.named(id)
        // Without the other provider's file: no message of the app or the server names an event of it, and so nothing would
        // tell how late its clock is.
        let run = try SequenceDiagram(files: try recorders.texts.dropLast()).only(diagram.events)
        #expect(run.events.map(\.rawValue) == diagram.arrowsBesideProvider.map(\.event))
    }

    @Test("an app of OpenID Connect is drawn the same", arguments: ["D4", "D5"])
    func otherFace(id: String) async throws {
        let recorders = try RunRecorders()
        try await RecordedScene.run(recorders, face: .openID) { try await Self.play(id, $0) }
        let diagram = try SeedDiagram.named(id)
        #expect(try recorders.drawn(diagram).events.map(\.rawValue) == diagram.arrows.map(\.event))
    }

    @Test("what the app, its browser and the server do in a sign-in is one run", arguments: RecordedScene.Face.allCases)
    func oneRun(face: RecordedScene.Face) async throws {
        let recorders = try RunRecorders()
        try await RecordedScene.run(recorders, face: face) { try await Self.play("D4", $0) }
        let texts = try recorders.texts
        let traces = try (texts[0] + texts[1]).matches(of: /"trace":"([0-9a-f]{32})"/).map {
            try #require(TraceID($0.1))
        }
        #expect(Set(traces).count == 1)
        let diagram = try SeedDiagram.named("D4")
        let run = try SequenceDiagram(files: texts, traces: Set(traces)).only(diagram.events)
        #expect(run.events.map(\.rawValue) == diagram.arrowsBesideProvider.map(\.event))
    }

    @Test("a line has a time, names and numbers, and nothing of what was sent", arguments: DiagramTests.diagrams)
    func nothingElse(id: String) async throws {
        let recorders = try RunRecorders()
        try await RecordedScene.run(recorders) { try await Self.play(id, $0) }
        let lines = try recorders.texts.joined().split(separator: "\n")
        #expect(!lines.isEmpty)
        for line in lines {
            guard case .object(let object) = try JSON(parsing: String(line)) else { throw JSONError(.wrongType, "") }
            let known: Set = ["time", "trace", "recorder", "sequence", "event", "cause"]
            #expect(known.isSuperset(of: object.members.map(\.name)))
            #expect(try TraceEvent(rawValue: object.requiredString("event")) != nil)
            #expect(try object.requiredString("trace").wholeMatch(of: /[0-9a-f]{32}/) != nil)
            #expect(try object.requiredString("recorder").wholeMatch(of: /[0-9a-f]{8}/) != nil)
            #expect(try object.string("cause")?.wholeMatch(of: /[0-9a-f]{16}/) != nil || object["cause"] == nil)
            #expect(try object.requiredString("time").wholeMatch(of: /[0-9TZ:.-]{24}/) != nil)
        }
    }
}
