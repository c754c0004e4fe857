import ArgumentParser
import Ceremony
import Foundation

/// `countersign trace`: what recorded runs show.
struct TraceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trace",
        abstract: "Draw what recorded runs show.",
        subcommands: [Draw.self]
    )

    /// `countersign trace draw`: recorded files as a Mermaid sequence diagram.
    struct Draw: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Merge recorded files into a Mermaid sequence diagram, on standard output.",
            discussion: """
                The server, the phone and the demo bank write such files with --trace FILE. Participants are \
                administrator, browser, relyingParty, server and phone.

                  countersign trace draw server.ndjson phone.ndjson --label relyingParty="Demo Bank" > run.mmd

                Each line has the id of its trace: one operation of a phone, one sign-in at a browser, one call of a \
                service. --trace draws one of them alone, or several.
                """
        )

        @Argument(help: "Files written with --trace.")
        var files: [String]

        @Option(name: .customLong("label"), help: "A participant's name in the picture, as participant=name.")
        var labels: [String] = []

        @Option(name: .customLong("trace"), help: "The id of a trace: only its events are drawn.")
        var traces: [String] = []

        func run() throws { Terminal.standardOutput(try self.diagram(), terminator: "") }

        /// The diagram's text. Throws ``CommandFailure``.
        func diagram() throws -> String {
            let traces = try self.traces.map { text in
                guard let trace = TraceID(text) else {
                    throw CommandFailure(.usage, "--trace takes 32 lower-case hexadecimal digits, not \(text)")
                }
                return trace
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
                return try SequenceDiagram(files: texts, traces: Set(traces)).mermaid(labels: names)
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
