import Logging
import Synchronization

/// Every line that was logged, as text, whatever its level.
final class LoggedLines: Sendable {
    private let texts = Mutex<[String]>([])

    var all: [String] { self.texts.withLock { $0 } }
    /// What writes to them, and leaves nothing out.
    var logger: Logger { Logger(label: "test") { _ in EveryLine(lines: self) } }

    func add(_ text: String) { self.texts.withLock { $0.append(text) } }

    private struct EveryLine: LogHandler {
        let lines: LoggedLines
        var logLevel: Logger.Level = .trace
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let error = event.error.map { "\($0) \(String(reflecting: $0))" } ?? ""
            self.lines.add("\(event.message) \(self.metadata) \(event.metadata ?? [:]) \(error)")
        }
    }
}
