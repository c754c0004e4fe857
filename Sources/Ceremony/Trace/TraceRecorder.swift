import Foundation
public import _Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Appends events to a file, one JSON object a line:
/// `{"time":"…","trace":"…","recorder":"…","sequence":1,"event":"…","cause":"…"}`.
///
/// A recorder counts its events across all traces. The event with the higher number happened later, even within one
/// millisecond. `cause` is the event of another recorder that led to this event, if a message named this cause.
///
/// Only the owner can read the file (mode 0600). Each line is one append, so lines of several processes that write to
/// the same file do not mix.
// Safe to share: every access to `sequence` is within `lock`, and so is the write of the line that has the number.
public final class TraceRecorder: @unchecked Sendable {
    private let descriptor: Int32
    private let time: TimeSource
    private let recorder: UInt32
    private let lock = NSLock()
    private var sequence: UInt32 = 0

    /// Opens `path` for appending, and creates the file if necessary. Throws ``TraceError/Code/unwritable``.
    public init(path: String, time: TimeSource = .system, random: RandomSource = .system) throws(TraceError) {
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw TraceError(.unwritable, String(cString: strerror(errno))) }
        guard fchmod(descriptor, 0o600) == 0 else {
            close(descriptor)
            throw TraceError(.unwritable, "mode 0600 cannot be set")
        }
        self.descriptor = descriptor
        self.time = time
        self.recorder = TraceEventID.newRecorder(random)
    }

    deinit { close(self.descriptor) }

    /// Writes one event, and returns the id of the event for the messages that follow from the event.
    ///
    /// A full disk loses the line, never the request that the line describes.
    @discardableResult
    public func record(_ event: TraceEvent, in context: TraceContext) -> TraceEventID {
        self.lock.withLock {
            self.sequence &+= 1
            let id = TraceEventID(recorder: self.recorder, sequence: self.sequence)
            var object: JSONObject = [
                "time": .string(self.time.now().description), "trace": .string(context.trace.text),
                "recorder": .string(id.recorderText), "sequence": .integer(Int64(id.sequence)),
                "event": .string(event.rawValue),
            ]
            object["cause"] = context.cause.map { .string($0.text) }
            let line = JSON.object(object).serialized + [UInt8(ascii: "\n")]
            _ = line.withUnsafeBytes { write(self.descriptor, $0.baseAddress, $0.count) }
            return id
        }
    }
}
