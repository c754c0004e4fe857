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

/// Messages that the bank handled, one line of JSON each: who sent what to whom, and never its content.
actor TraceFile {
    enum Participant: String {
        case browser, bank, server
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

    func record(_ trace: TraceID, _ from: Participant, _ to: Participant, _ event: String, now: Date = Date()) {
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        let line =
            #"{"time":"\#(now.formatted(format))","trace":"\#(trace.hex)","from":"\#(from.rawValue)","#
            + #""to":"\#(to.rawValue)","event":"\#(event)"}"# + "\n"
        try? self.file.write(contentsOf: Data(line.utf8))
    }
}
