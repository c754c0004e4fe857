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
                """
        )

        @Argument(help: "Files written with --trace.")
        var files: [String]

        @Option(name: .customLong("label"), help: "A participant's name in the picture, as participant=name.")
        var labels: [String] = []

        func run() throws {
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
                Terminal.standardOutput(try SequenceDiagram(files: texts).mermaid(labels: names), terminator: "")
            } catch {
                throw CommandFailure(error.code == .unknownParticipant ? .usage : .failed, error.reason)
            }
        }
    }
}
