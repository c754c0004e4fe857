import CountersignTPM
import Foundation
import Synchronization
import Testing

/// A TPM 2.0 of one test: a process of swtpm with its own folder, behind a socket in this folder.
///
/// The chip has three places for objects and no resource manager, and its lock takes three wrong secrets.
final class EmulatedChip: Sendable {
    let folder: String
    /// The output of the chip's process, which ends with the process.
    private let output = Mutex<FileHandle?>(nil)

    init() throws {
        // A path of a socket has at most 107 bytes.
        self.folder = "/tmp/countersign-tpm-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: self.folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        try self.start()
    }

    deinit {
        try? self.stop()
        try? FileManager.default.removeItem(atPath: self.folder)
    }

    /// The place of the chip, for tpm2-tss.
    var tcti: String { "swtpm:path=\(self.folder)/chip" }

    /// Opens the keys in the chip.
    func keys() throws -> TPMKeys { try TPMKeys(tcti: self.tcti) }

    /// Starts a program without the open files of the test's process. A chip that stays would hold them open, and
    /// Foundation would take the chip for the program that was started.
    private static let alone = """
        for path in /proc/self/fd/*; do file=${path##*/}; [ "$file" -le 2 ] || eval "exec $file>&-"; done; exec "$@"
        """

    /// Switches the chip on. The program returns once its socket takes connections.
    func start() throws {
        let output = Pipe()
        try Self.run(
            [
                "bash", "-c", Self.alone, "swtpm", "swtpm", "socket", "--tpm2", "--tpmstate", "dir=\(self.folder)",
                "--server", "type=unixio,path=\(self.folder)/chip", "--ctrl",
                "type=unixio,path=\(self.folder)/chip.ctrl",
                "--flags", "not-need-init,startup-clear", "--daemon", "--pid", "file=\(self.folder)/pid",
            ], to: output)
        self.output.withLock { $0 = output.fileHandleForReading }
    }

    /// Switches the chip off, as the power does, and waits for the end of its process. The chip keeps its seeds and the
    /// counter of its lock.
    func stop() throws {
        let text = try String(contentsOfFile: "\(self.folder)/pid", encoding: .utf8)
        let process = try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        try #require(kill(process, SIGKILL) == 0)
        try self.output.withLock { output in
            _ = try output?.readToEnd()
            output = nil
        }
        for name in ["chip", "chip.ctrl", "pid"] {
            try FileManager.default.removeItem(atPath: "\(self.folder)/\(name)")
        }
    }

    /// Runs a command of tpm2-tools on the chip, and returns the output.
    @discardableResult func command(_ words: String..., succeeds: Bool = true) throws -> String {
        try Self.run(words, succeeds: succeeds, environment: ["TPM2TOOLS_TCTI": self.tcti])
    }

    /// The number of objects and sessions that are in the chip.
    func occupiedPlaces() throws -> Int {
        try ["handles-transient", "handles-loaded-session"].map {
            try self.command("tpm2_getcap", $0).split(separator: "\n").count
        }.reduce(0, +)
    }

    /// The number of wrong secrets that the chip's lock has counted.
    func countedFailures() throws -> Int? {
        let lines = try self.command("tpm2_getcap", "properties-variable").split(separator: "\n")
        return lines.first { $0.contains("TPM2_PT_LOCKOUT_COUNTER") }.flatMap {
            $0.split(separator: "x").last.flatMap { Int($0, radix: 16) }
        }
    }

    /// `true` if the chip judges no secrets.
    func isLocked() throws -> Bool {
        try self.command("tpm2_getcap", "properties-variable").contains("inLockout:                 1")
    }

    /// Sets the chip's lock back, as the machine's owner can.
    func unlock() throws { try self.command("tpm2_dictionarylockout", "--clear-lockout") }

    private static func run(_ words: [String], succeeds: Bool, environment: [String: String]) throws -> String {
        let output = Pipe()
        let status = try Self.status(of: words, environment, output)
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        try #require((status == 0) == succeeds, "\(words): \(status), \(text)")
        return text
    }

    private static func run(_ words: [String], to output: Pipe) throws {
        let status = try Self.status(of: words, [:], output)
        try #require(status == 0, "\(words): \(status)")
    }

    /// Runs a program to its end. No program here has more output than a pipe holds.
    private static func status(of words: [String], _ environment: [String: String], _ output: Pipe) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = words
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }
}
