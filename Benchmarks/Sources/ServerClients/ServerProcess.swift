import Foundation

/// A server in a separate process and folder, which can be killed and started again.
package final class ServerProcess {
    private let program: String
    private let folder: String
    private let options: [String]
    private let limits: [String]
    private let publicPort: LoopbackPort
    private let operationsPort: LoopbackPort
    private var process: Process?

    /// The number of seconds by which the server's clock is ahead of this machine's clock, from the next start on
    /// (faketime).
    package var secondsAhead = 0
    private var clockIsShifted = false

    /// The time from the last start of the process to the first answer that reports readiness.
    package private(set) var startDuration: Duration = .zero

    /// Makes a server in `folder`, which must exist and receives data, key and log. `options` are the options of
    /// `countersign serve`, and `limits` are further limits as `NAME=NUMBER`.
    package init(program: String, folder: String, options: [String] = [], limits: [String] = []) throws {
        self.program = program
        self.folder = folder
        self.options = options
        self.limits =
            ["dispatchBurst=1000000", "personDispatchBurst=1000000", "lastingGrantsPerClient=1000000"] + limits
        self.publicPort = try LoopbackPort()
        self.operationsPort = try LoopbackPort()
    }

    package var port: UInt16 { self.publicPort.number }
    /// The server's process. With a shifted clock, the server is a child of the clock's program.
    package var identifier: Int32 {
        guard let started = self.process?.processIdentifier else { return 0 }
        let children = try? String(contentsOfFile: "/proc/\(started)/task/\(started)/children", encoding: .utf8)
        return self.clockIsShifted ? children?.split(separator: " ").first.flatMap { Int32($0) } ?? started : started
    }
    package var databasePath: String { self.folder + "/data/countersign.sqlite" }
    package var socketPath: String { self.folder + "/data/admin.sock" }

    /// Starts the server and waits until the server is ready.
    ///
    /// The caller is a trusted proxy. Each phone behind the proxy has a separate address, because the server limits
    /// open challenges for each source. The only relying party dispatches to one person as fast as possible.
    package func start() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: self.program)
        process.arguments =
            [
                "serve", "--data", self.folder + "/data", "--key-file", self.folder + "/key",
                "--bind", "127.0.0.1:\(self.port)", "--operations-bind", "127.0.0.1:\(self.operationsPort.number)",
                "--issuer", "http://localhost:\(self.port)", "--trusted-proxies", "127.0.0.1/32",
                "--limits", self.limits.joined(separator: ","),
            ] + self.options
        if self.secondsAhead != 0 {
            // Clocks that count from the machine's start are not shifted: the server's timers are not part of this
            // test.
            process.executableURL = URL(fileURLWithPath: "/usr/bin/faketime")
            process.arguments =
                ["-m", "--exclude-monotonic", "-f", "+\(self.secondsAhead)s", self.program] + (process.arguments ?? [])
        }
        let log = self.folder + "/server.log"
        if !FileManager.default.fileExists(atPath: log) {
            _ = FileManager.default.createFile(atPath: log, contents: nil)
        }
        guard let output = FileHandle(forWritingAtPath: log) else { throw LoadError("no log at \(log)") }
        try output.seekToEnd()
        process.standardOutput = output
        process.standardError = output
        process.standardInput = FileHandle.nullDevice
        let clock = ContinuousClock()
        let start = clock.now
        try process.run()
        self.process = process
        self.clockIsShifted = self.secondsAhead != 0
        while !self.isReady() {
            guard process.isRunning, start.duration(to: clock.now) < .seconds(60) else {
                throw LoadError("the server did not start; its log is \(log)")
            }
            usleep(500)
        }
        self.startDuration = start.duration(to: clock.now)
    }

    private func isReady() -> Bool {
        guard var connection = try? HTTPConnection(port: self.operationsPort.number) else { return false }
        return (try? connection.get("/readyz"))?.status == 200
    }

    /// Ends the process at once, as a power cut would: no handler runs.
    package func killAtOnce() {
        guard let process = self.process else { return }
        kill(self.identifier, SIGKILL)
        process.waitUntilExit()
        self.process = nil
    }

    package func stop() {
        guard let process = self.process else { return }
        kill(self.identifier, SIGTERM)
        process.waitUntilExit()
        self.process = nil
    }

    /// Ends the server as ``stop()`` does. Returns the fields of the log line in which the server reports its stop;
    /// `nil` if the log has no such line.
    package func stopWithAccount() throws -> [String: String]? {
        self.stop()
        let log = try String(contentsOfFile: self.folder + "/server.log", encoding: .utf8)
        guard let line = log.split(separator: "\n").last(where: { $0.contains("The server has stopped") }) else {
            return nil
        }
        let fields = line.split(separator: " ").map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
        return Dictionary(fields.filter { $0.count == 2 }.map { ($0[0], $0[1]) }) { $1 }
    }

    /// The memory in use, in MiB.
    package func residentMebibytes() -> Double { self.mebibytes("VmRSS:") }

    /// The peak of the memory in use since ``forgetPeak()``, in MiB.
    package func peakMebibytes() -> Double { self.mebibytes("VmHWM:") }

    /// Makes the peak begin with the memory in use now (proc(5), `clear_refs`).
    package func forgetPeak() throws {
        try Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/\(self.identifier)/clear_refs"))
    }

    private func mebibytes(_ name: String) -> Double {
        guard let text = try? String(contentsOfFile: "/proc/\(self.identifier)/status", encoding: .utf8),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }),
            let kibibytes = Double(line.split(whereSeparator: { !$0.isNumber }).first ?? "")
        else { return 0 }
        return kibibytes / 1024
    }
}
