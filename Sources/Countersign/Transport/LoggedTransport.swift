import Ceremony
import Foundation
public import _Primitives

/// A line for an app's log about one exchange with a server: codes and a correlation identifier, never a value.
///
/// The line has nothing that a person, an app or a server has written: no address, no header field, and no part of a
/// body. All lines of one operation have the same correlation identifier, and the identifier is also in each request
/// (W3C Trace Context, section 3.2), so a server's trace can be compared with the app's log.
public struct TransportLogEntry: Sendable, Hashable, CustomStringConvertible {
    /// The end of an exchange.
    public enum Outcome: Sendable, Hashable {
        /// An answer arrived, with this HTTP status code. Also the end of a stream whose reader threw an error of its own,
        /// because the transport did not fail.
        case answered(Int)
        /// No complete answer arrived.
        case failed(TransportError.Code)
        /// The task was cancelled.
        case cancelled
        /// The transport threw an error that is no ``TransportError``; the error itself is not in the line.
        case unexpected
    }

    /// `GET`, `POST`, `PATCH` or `DELETE`; `OTHER` for any other method.
    public let method: String
    /// The end of the exchange. A stream has ended when its reader has.
    public let outcome: Outcome
    /// The status code in the body of a UAF answer, such as 1498 (§5.1); `nil` for other answers.
    public let uafStatusCode: Int?
    /// The identifier of the operation: 32 hexadecimal digits. `nil` for a request outside an operation, such as a back
    /// end's.
    public let correlationID: String?
    /// The time of the exchange, to the millisecond.
    public let duration: Duration

    /// The line as text, such as `POST answered 200 uaf 1498 4bf92f3577b34da6a3ce929d0e0e4736 12 ms`.
    public var description: String {
        let outcome =
            switch self.outcome {
            case .answered(let status): "answered \(status)"
            case .failed(let code): "failed \(code)"
            case .cancelled: "cancelled"
            case .unexpected: "unexpected"
            }
        let code = self.uafStatusCode.map { " uaf \($0)" } ?? ""
        return "\(self.method) \(outcome)\(code) \(self.correlationID ?? "-") \(self.duration.milliseconds) ms"
    }
}

/// A transport that tells the app's logger the end of each exchange of another transport.
///
///     let client = try await MobileAuthenticationClientInitializer()
///         .transport(LoggedTransport(URLSessionTransport()) { log.info("\($0)") })
///
/// The transport changes no request, no answer and no error. An operation's own end is the error that the operation
/// throws; the error's `code` and `reason` are for the same log.
public struct LoggedTransport: Transport {
    private let transport: any Transport
    private let time: TimeSource
    private let log: @Sendable (TransportLogEntry) -> Void

    /// Creates a transport over another transport.
    ///
    /// - Parameters:
    ///   - transport: The transport that sends.
    ///   - time: The clock for the duration of an exchange.
    ///   - log: Takes a line, on any thread, when an exchange has ended.
    public init(
        _ transport: any Transport, time: TimeSource = .system, log: @escaping @Sendable (TransportLogEntry) -> Void
    ) {
        self.transport = transport
        self.time = time
        self.log = log
    }

    /// Sends a request over the other transport, and logs the end.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        try await self.logging(request) {
            let response = try await self.transport.send(request)
            return (response, response.status, Self.uafStatusCode(of: response))
        }
    }

    /// Streams over the other transport, and logs the end.
    public func stream<Value: Sendable>(
        _ request: TransportRequest, _ read: @escaping @Sendable (TransportStream) async throws -> Value
    ) async throws -> Value {
        let reading = Reading()
        return try await self.logging(request, reading) {
            let (value, status) = try await self.transport.stream(request) { stream in
                do {
                    let noted = NotedPieces(pieces: stream, reading: reading)
                    let value = try await read(
                        TransportStream(status: stream.status, headers: stream.headers, pieces: noted))
                    return (value, stream.status)
                } catch {
                    reading.noteReaderThrew(error, status: stream.status)
                    throw error
                }
            }
            return (value, status, nil)
        }
    }

    /// Returns a transport that logs the exchanges of the other transport with pins. Throws as the other transport.
    public func pinned(to pins: TLSPins) throws -> any Transport {
        LoggedTransport(try self.transport.pinned(to: pins), time: self.time, log: self.log)
    }

    private func logging<Value>(
        _ request: TransportRequest, _ reading: Reading? = nil,
        _ body: () async throws -> (value: Value, status: Int, uafStatusCode: Int?)
    ) async throws -> Value {
        let start = self.time.now()
        func note(_ outcome: TransportLogEntry.Outcome, _ uafStatusCode: Int? = nil) {
            let header = request.headers.first { $0.name.asciiLowercased.hasSameBytes(as: "traceparent") }
            self.log(
                TransportLogEntry(
                    method: ["GET", "POST", "PATCH", "DELETE"].first { $0.hasSameBytes(as: request.method) } ?? "OTHER",
                    outcome: outcome, uafStatusCode: uafStatusCode,
                    correlationID: header.flatMap { TraceContext(header: $0.value) }?.trace.text,
                    duration: self.time.now() - start))
        }
        do {
            let answer = try await body()
            note(.answered(answer.status), answer.uafStatusCode)
            return answer.value
        } catch {
            note(reading?.outcome ?? Self.outcome(of: error))
            throw error
        }
    }

    /// Returns the end of an exchange whose transport threw an error.
    fileprivate static func outcome(of error: any Error) -> TransportLogEntry.Outcome {
        switch error {
        case let error as TransportError: .failed(error.code)
        case is CancellationError: .cancelled
        default: .unexpected
        }
    }

    /// Returns the number `statusCode` of a UAF answer, if the number is in the range of UAF's status codes.
    private static func uafStatusCode(of response: TransportResponse) -> Int? {
        guard response.header("Content-Type")?.mediaType.hasSameBytes(as: "application/fido+uaf") == true,
            case .object(let object)? = try? JSON(parsing: response.body),
            let code = try? object.integer("statusCode", as: Int.self), (1200...1500).contains(code)
        else { return nil }
        return code
    }
}

/// The end of a stream, as its reader met the end.
// Safe to share: every access to `met` is within `lock`.
private final class Reading: @unchecked Sendable {
    private let lock = NSLock()
    private var met: TransportLogEntry.Outcome?

    /// The end of the exchange; `nil` while neither the pieces nor the reader failed.
    var outcome: TransportLogEntry.Outcome? { self.lock.withLock { self.met } }

    /// Notes that the pieces ended with an error of the transport.
    func noteBroken(_ error: any Error) { self.lock.withLock { self.met = LoggedTransport.outcome(of: error) } }

    /// Notes that the reader threw. An earlier error of the transport stays the end.
    func noteReaderThrew(_ error: any Error, status: Int) {
        self.lock.withLock { self.met = self.met ?? (error is CancellationError ? .cancelled : .answered(status)) }
    }
}

/// The pieces of a stream, with a note of the error that ends them.
private struct NotedPieces: AsyncSequence {
    let pieces: TransportStream
    let reading: Reading

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(pieces: self.pieces.makeAsyncIterator(), reading: self.reading)
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        var pieces: TransportStream.AsyncIterator
        let reading: Reading

        mutating func next() async throws -> [UInt8]? {
            do {
                return try await self.pieces.next()
            } catch {
                self.reading.noteBroken(error)
                throw error
            }
        }
    }
}
