import Logging

extension ServeConfiguration {
    /// The log as it is set, to the standard error stream.
    func logger() -> Logger {
        let handler = LineLog(self.logFormat, level: self.logLevel)
        return Logger(label: "countersign") { _ in handler }
    }

    /// Logs what is allowed but hardly meant.
    func warn(by logger: Logger) {
        for warning in self.warnings { logger.warning("\(warning)") }
    }
}
