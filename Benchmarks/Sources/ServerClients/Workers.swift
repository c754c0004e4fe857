import Foundation
import Synchronization

/// Runs `body` on `count` separate threads, which may block, and waits for all. Throws the first error.
package func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
    let failures = Failures()
    let group = DispatchGroup()
    for index in 0..<count {
        group.enter()
        let thread = Thread {
            do { try body(index) } catch { failures.record(error) }
            group.leave()
        }
        thread.stackSize = 512 * 1024
        thread.start()
    }
    group.wait()
    if let error = failures.first { throw error }
}

private final class Failures: Sendable {
    private let error = Mutex<(any Error)?>(nil)
    func record(_ error: any Error) { self.error.withLock { $0 = $0 ?? error } }
    var first: (any Error)? { self.error.withLock { $0 } }
}

/// A value that threads share under a lock.
package final class Shared<Value: Sendable>: Sendable {
    private let value: Mutex<Value>
    package init(_ value: Value) { self.value = Mutex(value) }
    package func withLock<Result: Sendable>(_ body: (inout sending Value) throws -> sending Result) rethrows -> Result {
        try self.value.withLock(body)
    }
}

/// Returns the processor time that a process has used, in seconds. The source is `/proc`, so that the server's time can
/// be read too.
package func processorSeconds(of process: Int32) -> Double {
    guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
        let end = text.lastIndex(of: ")")
    else { return 0 }
    let fields = text[end...].split(separator: " ")
    return (Double(fields[12]) ?? 0) / 100 + (Double(fields[13]) ?? 0) / 100
}

/// A clock that reads another process's processor time, to the microsecond.
package struct ProcessorClock: Sendable {
    private let clock: clockid_t

    package init(of process: Int32) throws {
        var clock = clockid_t()
        guard clock_getcpuclockid(process, &clock) == 0 else { throw LoadError("no clock of process \(process)") }
        self.clock = clock
    }

    package var microseconds: Double {
        var time = timespec()
        clock_gettime(self.clock, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1000
    }
}

package func seconds(of duration: Duration) -> Double {
    Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
}

/// Returns the sum of all keys' counters, read directly from the database.
package func sumOfCounters(inDatabase path: String) throws -> UInt64 {
    try number("SELECT sum(counter) FROM credential", inDatabase: path)
}

/// Returns `true` if an authorization request waits for its end, read directly from the database.
package func hasAuthorizationRequest(_ id: String, inDatabase path: String) throws -> Bool {
    try number("SELECT count(*) FROM oauth_request WHERE id = ?", [id], inDatabase: path) > 0
}

/// Returns the single number of a query, read by the `sqlite3` module of Python.
private func number(_ query: String, _ values: [String] = [], inDatabase path: String) throws -> UInt64 {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments =
        [
            "python3", "-c",
            "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2], sys.argv[3:]).fetchone()[0])",
            path, query,
        ] + values
    process.standardOutput = output
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    guard let number = UInt64(text) else { throw LoadError("no number from \(path)") }
    return number
}
