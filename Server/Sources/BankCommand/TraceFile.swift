import Foundation

/// The id under which the messages of one sign-in or transfer are recorded (W3C Trace Context).
struct TraceID: Sendable {
    let hex: String

    init() { self.hex = Self.randomHex(16) }

    /// The header that carries the id to the provider.
    var traceparent: String { "00-\(self.hex)-\(Self.randomHex(8))-01" }

    private static func randomHex(_ count: Int) -> String {
        (0..<count).map { _ in String(format: "%02x", UInt8.random(in: 0...255)) }.joined()
    }
}

/// Messages that the bank handled, one line of JSON each: which step of a run it was, and never its content.
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

    /// Opens or makes the file, for its owner's eyes alone.
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

    func record(_ step: Step, _ trace: TraceID, now: Date = Date()) {
        let time = now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        let line = #"{"time":"\#(time)","trace":"\#(trace.hex)","event":"\#(step.rawValue)"}"#
        try? self.file.write(contentsOf: Data("\(line)\n".utf8))
    }
}
