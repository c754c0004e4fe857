import Logging

extension ServeConfiguration {
    /// Returns the log with its settings, to the standard error stream.
    func logger() -> Logger {
        let handler = LineLog(self.logFormat, level: self.logLevel)
        return Logger(label: "countersign") { _ in handler }
    }

    /// Logs a warning about settings that are allowed, but probably a mistake.
    func warn(by logger: Logger) {
        for warning in self.warnings { logger.warning("\(warning)") }
    }
}
