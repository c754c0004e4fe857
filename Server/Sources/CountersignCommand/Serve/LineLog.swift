import Ceremony
import Foundation
import Logging
import _Primitives

/// The server's log: one line for each event, as text for people or as JSON for collectors.
///
/// The log writes values from strangers so that no value ends the line or reaches the terminal as a command.
struct LineLog: LogHandler {
    /// The format of lines.
    enum Format: String, CaseIterable, Sendable { case text, json }

    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    var logLevel: Logger.Level
    private let format: Format
    private let time: TimeSource
    private let write: @Sendable (String) -> Void

    init(
        _ format: Format, level: Logger.Level, time: TimeSource = .system,
        write: @escaping @Sendable (String) -> Void = { line in
            // One call for each line, so that the lines of two threads do not mix.
            FileHandle.standardError.write(Data(line.utf8))
        }
    ) {
        self.format = format
        self.logLevel = level
        self.time = time
        self.write = write
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var fields = self.metadata.merging(self.metadataProvider?.get() ?? [:]) { $1 }
        fields.merge(event.metadata ?? [:]) { $1 }
        if let error = event.error { fields["error"] = "\(error)" }
        let sorted = fields.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value.description) }
        let line =
            switch self.format {
            case .text: self.text(event, sorted)
            case .json: self.json(event, sorted)
            }
        self.write(line + "\n")
    }

    private func text(_ event: LogEvent, _ fields: [(name: String, value: String)]) -> String {
        let fields = fields.map { " \($0.name)=\(Self.isPlain($0.value) ? $0.value : JSON.string($0.value).text)" }
        let line = "\(self.time.now()) \(event.level.rawValue) \(event.message)\(fields.joined())"
        return Self.isHarmless(line) ? line : DisplayText.line(line, maximumLength: .max)
    }

    /// Returns a line of JSON. The event's own members come first, and a field with the name of such a member does not
    /// replace it.
    private func json(_ event: LogEvent, _ fields: [(name: String, value: String)]) -> String {
        var object: JSONObject = [
            "time": .string(self.time.now().description), "level": .string(event.level.rawValue),
            "message": .string(event.message.description),
        ]
        for field in fields where object[field.name] == nil { object[field.name] = .string(field.value) }
        let line = JSON.object(object).text
        return Self.isHarmless(line) ? line : DisplayText.json(line)
    }

    /// Returns `true` if a line has only printable ASCII, as nearly every line has. Each request writes a line, and
    /// looking at each letter as Unicode does would cost a tenth of the line's time.
    private static func isHarmless(_ line: String) -> Bool {
        line.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    /// Returns `true` if a value can stand unchanged in a line of text.
    private static func isPlain(_ value: String) -> Bool {
        !value.isEmpty && value.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") }
    }
}
