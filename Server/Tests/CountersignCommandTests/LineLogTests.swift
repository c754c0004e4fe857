import Foundation
import Logging
import Synchronization
import Testing
import _Primitives

@testable import CountersignCommand

@Suite("countersign serve: the log as text and as JSON")
struct LineLogTests {
    private final class Lines: Sendable {
        let texts = Mutex<[String]>([])
    }

    private func logged(
        _ format: LineLog.Format, level: Logger.Level = .info, _ body: (Logger) -> Void
    ) -> [String] {
        let lines = Lines()
        let time = TimeSource { Timestamp(milliseconds: 1_795_000_000_123) }
        let handler = LineLog(format, level: level, time: time) { line in lines.texts.withLock { $0.append(line) } }
        body(Logger(label: "test") { _ in handler })
        return lines.texts.withLock { $0 }
    }

    @Test("a line of text has time, level, message and fields in their order")
    func text() {
        let lines = self.logged(.text) {
            $0.info("GET /sign-in", metadata: ["status": "404", "reason": "There is no such sign-in."])
        }
        #expect(
            lines == [
                "2026-11-18T11:06:40.123Z info GET /sign-in reason=\"There is no such sign-in.\" status=404\n"
            ], "\(lines)")
    }

    @Test("a line of JSON is one object, whose own members no field writes over")
    func json() throws {
        let lines = self.logged(.json) {
            $0.warning("A budget", metadata: ["setting": "x", "level": "forged", "hb.request.id": "7"])
        }
        let line = try #require(lines.first)
        guard case .object(let object) = try JSON(parsing: Array(line.dropLast().utf8)) else {
            Issue.record("no object: \(line)")
            return
        }
        #expect(object["level"] == .string("warning") && object["message"] == .string("A budget"))
        #expect(object["time"] == .string("2026-11-18T11:06:40.123Z"))
        #expect(object["setting"] == .string("x") && object["hb.request.id"] == .string("7"))
    }

    @Test(
        "nothing that somebody sent ends a line, or reaches a terminal as a command", arguments: LineLog.Format.allCases
    )
    func forged(format: LineLog.Format) {
        let lines = self.logged(format) {
            $0.notice("An app\nwas", metadata: ["facet": "a\n2026 error forged=1", "client": "\u{1B}[2J\u{202E}x"])
        }
        #expect(lines.count == 1)
        let line = lines[0].dropLast()
        #expect(!line.contains("\n") && !line.contains("\u{1B}") && !line.contains("\u{202E}"))
    }

    @Test("what is below the level is not written", arguments: [Logger.Level.notice, .error])
    func level(level: Logger.Level) {
        let lines = self.logged(.text, level: level) {
            $0.info("quiet")
            $0.log(level: level, "told")
        }
        #expect(lines.count == 1 && lines[0].contains("told"))
    }

    @Test("format and level are settings, and others than there are are refused with those that there are")
    func settings() async throws {
        let environment = ["HOME": "/home/op"]
        let configuration = try await ServeConfiguration.load(
            file: nil, flags: ["logFormat": "json", "logLevel": "warning"], environment: environment)
        #expect(configuration.logFormat == .json && configuration.logLevel == .warning)
        #expect(configuration.printed.contains("logFormat: json\nlogLevel: warning"))
        for (name, remedy) in [("logFormat", "text, json"), ("logLevel", "notice, warning")] {
            let failure = await #expect(throws: CommandFailure.self) {
                try await ServeConfiguration.load(file: nil, flags: [name: "loud"], environment: environment)
            }
            #expect(failure?.status == .usage && failure?.problem.contains(remedy) == true)
        }
    }

    @Test("a warning at the start is a line of the log like every other, also where the settings are printed alone")
    func warningsAreLines() throws {
        let program = Process()
        let tests = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0])
        program.executableURL = tests.deletingLastPathComponent().appendingPathComponent("countersign")
        program.arguments = ["serve", "--print-config", "--log-format", "json", "--issuer", "https://a.example"]
        let (output, errors) = (Pipe(), Pipe())
        (program.standardOutput, program.standardError) = (output, errors)
        try program.run()
        let logged = errors.fileHandleForReading.readDataToEndOfFile()
        let printed = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        program.waitUntilExit()
        #expect(program.terminationStatus == 0 && printed.contains("issuer: https://a.example"))
        let lines = logged.split(separator: UInt8(ascii: "\n"))
        #expect(lines.count == 1)
        for line in lines {
            guard case .object(let object) = try JSON(parsing: Array(line)) else {
                Issue.record("a line that is no object")
                continue
            }
            #expect(try object.string("level") == "warning")
            #expect(try object.string("message")?.contains("nothing ends TLS here") == true)
        }
    }
}
