import Foundation
package import _Primitives

/// Reads the events of a server over a transport that streams, with a limit for silence.
package struct EventChannel: Sendable {
    /// The end of an event stream.
    package enum End<Value: Sendable>: Sendable {
        /// The reader found the value that the reader wanted.
        case found(Value)
        /// The stream ended without the value. The caller may connect again after the pause that the server named.
        case ended(retry: Duration?)
        /// The server answered without an event stream, with an HTTP status.
        case refused(status: Int)
    }

    private let transport: any Transport
    private let time: TimeSource
    private let sleep: @Sendable (Duration) async throws -> Void

    /// Creates a channel. `time` and `sleep` belong to one clock, which measures the silence.
    package init(
        _ transport: any Transport, time: TimeSource, sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.transport = transport
        self.time = time
        self.sleep = sleep
    }

    /// Sends a request for an event stream, and reads events until `find` returns a value.
    ///
    /// - Parameters:
    ///   - request: The request. Its `timeout` ends with the header fields of the answer.
    ///   - silence: The longest time between two pieces of the stream. A comment of the server is a piece.
    ///   - find: Judges an event; returns `nil` to read on.
    /// - Throws: ``TransportError``: `insecure` for an address that is neither `https` nor loopback; `cannotStream`;
    ///   `timedOut` for a silence beyond the limit; `tooLarge` for an event beyond the limit of ``ServerSentEvents``.
    ///   `CancellationError` if the task is cancelled. Errors of `find`.
    package func first<Value: Sendable>(
        _ request: TransportRequest, silence: Duration,
        _ find: @escaping @Sendable (ServerSentEvent) throws -> Value?
    ) async throws -> End<Value> {
        guard SecureChannel.isSecure(request.url) else {
            throw TransportError(.insecure, "the address is neither https nor loopback")
        }
        let heard = Heard(self.time)
        return try await withThrowingTaskGroup(of: End<Value>.self) { group in
            group.addTask {
                try await self.transport.stream(request) { stream in
                    try await Self.read(stream, noting: heard, find)
                }
            }
            group.addTask {
                while let rest = heard.rest(of: silence) {
                    try await self.sleep(rest)
                    try Task.checkCancellation()
                }
                throw TransportError(.timedOut, "silent for \(silence)")
            }
            defer { group.cancelAll() }
            guard let end = try await group.next() else { throw CancellationError() }
            return end
        }
    }

    private static func read<Value: Sendable>(
        _ stream: TransportStream, noting heard: Heard, _ find: (ServerSentEvent) throws -> Value?
    ) async throws -> End<Value> {
        heard.note()
        let type = stream.header("Content-Type")?.mediaType ?? ""
        guard stream.status == 200, type.hasSameBytes(as: "text/event-stream") else {
            return .refused(status: stream.status)
        }
        var reader = ServerSentEvents()
        for try await piece in stream {
            heard.note()
            for event in try reader.take(piece) {
                if let value = try find(event) { return .found(value) }
            }
            // A piece can have events and then exceed a limit.
            _ = try reader.take([])
        }
        try Task.checkCancellation()
        return .ended(retry: reader.retry)
    }
}

/// The time of the last piece of a stream.
// Safe to share: every access to `last` is within `lock`.
private final class Heard: @unchecked Sendable {
    private let time: TimeSource
    private let lock = NSLock()
    private var last: Timestamp

    init(_ time: TimeSource) {
        self.time = time
        self.last = time.now()
    }

    /// Notes that a piece arrived now.
    func note() { self.lock.withLock { self.last = self.time.now() } }

    /// Returns the rest of a time limit that began with the last piece; `nil` if nothing is left. A clock that was set
    /// back makes the limit begin anew.
    func rest(of limit: Duration) -> Duration? {
        self.lock.withLock {
            let now = self.time.now()
            if now < self.last { self.last = now }
            let rest = self.last + limit - now
            return rest > .zero ? rest : nil
        }
    }
}
