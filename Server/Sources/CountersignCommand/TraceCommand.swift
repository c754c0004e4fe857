import ArgumentParser
import Ceremony
import Foundation

/// `countersign trace`: the diagrams of recorded runs.
struct TraceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trace",
        abstract: "Draw what recorded runs show.",
        subcommands: [Draw.self]
    )

    /// `countersign trace draw`: recorded files as a Mermaid sequence diagram.
    struct Draw: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "draw",
            abstract: "Merge recorded files into a Mermaid sequence diagram, on standard output.",
            discussion: """
                The server, the phone and the demo bank write such files with --trace FILE, and an app has the SDK \
                write one. Participants are \(TraceParticipant.allCases.map(\.rawValue).joined(separator: ", ")).

                  countersign trace draw server.ndjson phone.ndjson --label relyingParty="Demo Bank" > run.mmd

                Each line has the id of its trace: one operation of a phone or an app, one sign-in at a browser, one \
                call of a service. --trace draws one of them alone, or several; --only draws some kinds of events.
                """
        )

        @Argument(help: "Files written with --trace.")
        var files: [String]

        @Option(name: .customLong("label"), help: "A participant's name in the picture, as participant=name.")
        var labels: [String] = []

        @Option(name: .customLong("trace"), help: "The id of a trace: only its events are drawn.")
        var traces: [String] = []

        @Option(name: .customLong("only"), help: "An event's name, such as password-sent: no others are drawn.")
        var only: [String] = []

        func run() throws { Terminal.standardOutput(try self.diagram(), terminator: "") }

        /// Returns the diagram's text. Throws ``CommandFailure``.
        func diagram() throws -> String {
            let traces = try self.traces.map { text in
                guard let trace = TraceID(text) else {
                    throw CommandFailure(.usage, "--trace takes 32 lower-case hexadecimal digits, not \(text)")
                }
                return trace
            }
            let wanted = try self.only.map { name in
                guard let event = TraceEvent(rawValue: name) else {
                    throw CommandFailure(.usage, "--only takes the name of an event, not \(name)")
                }
                return event
            }
            var names: [String: String] = [:]
            for label in self.labels {
                let parts = label.split(separator: "=", maxSplits: 1).map(String.init)
                guard parts.count == 2 else {
                    throw CommandFailure(.usage, "--label takes participant=name, not \(label)")
                }
                names[parts[0]] = parts[1]
            }
            let texts = try self.files.map { file in
                guard let data = FileManager.default.contents(atPath: file) else {
                    throw CommandFailure(.notFound, "\(file) cannot be read")
                }
                return String(decoding: data, as: UTF8.self)
            }
            do {
                let run = try SequenceDiagram(files: texts, traces: Set(traces))
                return try (wanted.isEmpty ? run : run.only(Set(wanted))).mermaid(labels: names)
            } catch {
                switch error.code {
                case .unknownParticipant: throw CommandFailure(.usage, error.reason)
                case .unknownTrace: throw CommandFailure(.notFound, error.reason)
                default: throw CommandFailure(.failed, error.reason)
                }
            }
        }
    }
}
