import Foundation
import Synchronization

/// One sign-in or transfer as the trace records its messages: an id, and the bank's latest event (W3C Trace Context).
final class TracedRun: Sendable {
    private struct State {
        /// The last event that the bank has written.
        var written: String?
        /// The last event of the provider that the bank has heard of. `nil` once an event of the bank has followed.
        var heard: String?
    }

    let id = randomHexadecimal(16)
    private let state = Mutex(State())

    /// The header of a request to the provider: the run, and the event that causes the request.
    var traceparent: String { "00-\(self.id)-\(self.state.withLock { $0.written } ?? randomHexadecimal(8))-01" }

    /// Reads the provider's event from an answer's `traceresponse`, which has the form of a `traceparent`.
    func hear(_ header: String?) {
        guard let fields = header?.split(separator: "-"), fields.count == 4, fields[1] == self.id,
            fields[2].wholeMatch(of: /[0-9a-f]{16}/) != nil
        else { return }
        self.state.withLock { $0.heard = String(fields[2]) }
    }

    /// Notes that the next event is written, and returns the event that the bank has heard of: the cause of the next
    /// event.
    fileprivate func write(_ event: String) -> String? {
        self.state.withLock { state in
            defer { state = State(written: event) }
            return state.heard
        }
    }
}

/// A file of the messages that the bank handled, a line of JSON each. A line has the step of a run, and never the
/// content.
actor TraceFile {
    /// The steps that the bank sees or takes, by their names in the provider's format.
    enum Step: String {
        case signInWanted = "sign-in-wanted"
        case codeExchanged = "code-exchanged"
        case signedIn = "signed-in"
        case transferWanted = "transfer-wanted"
        case transactionDispatched = "transaction-dispatched"
        case transactionCodeShown = "transaction-code-shown"
        case receiptShown = "receipt-shown"
    }

    private let file: FileHandle
    private let recorder = randomHexadecimal(4)
    private var sequence: UInt32 = 0

    /// Opens or makes the file. Only the file's owner can read a new file.
    init(path: String) throws {
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        if !FileManager.default.fileExists(atPath: path),
            !FileManager.default.createFile(atPath: path, contents: nil, attributes: attributes)
        {
            throw CocoaError(.fileWriteUnknown)
        }
        self.file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try self.file.seekToEnd()
    }

    /// Writes a step. The bank counts its steps, so that two steps in one millisecond keep their order.
    func record(_ step: Step, _ run: TracedRun, now: Date = Date()) {
        self.sequence &+= 1
        let time = now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        let cause = run.write(self.recorder + String(format: "%08x", self.sequence))
        let line =
            #"{"time":"\#(time)","trace":"\#(run.id)","recorder":"\#(self.recorder)","sequence":\#(self.sequence),"#
            + #""event":"\#(step.rawValue)"\#(cause.map { #","cause":"\#($0)""# } ?? "")}"#
        try? self.file.write(contentsOf: Data("\(line)\n".utf8))
    }
}

/// Returns `count` random bytes, not all zero, in lower-case hexadecimal digits.
private func randomHexadecimal(_ count: Int) -> String {
    let bytes = [UInt8.random(in: 1...255)] + (1..<count).map { _ in UInt8.random(in: 0...255) }
    return bytes.map { String(format: "%02x", $0) }.joined()
}
