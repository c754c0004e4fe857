/// The answer of a server while the answer arrives: status and header fields first, then the body in pieces.
///
/// The pieces are as long as the network makes them. A sequence of pieces is read once, by one reader: over
/// ``URLSessionTransport`` a second reader that asks while the first reader waits gets an error. The sequence
/// throws ``TransportError`` if the connection breaks before the end of the answer, and `CancellationError` if the task
/// is cancelled.
public struct TransportStream: AsyncSequence, Sendable {
    /// The HTTP status code; a redirect is an answer like any other.
    public let status: Int
    /// Header fields.
    public let headers: [(name: String, value: String)]
    private let pieces: @Sendable () -> AsyncIterator

    /// Creates an answer whose body arrives in `pieces`. The next piece is asked for when the reader has read the last.
    public init<Pieces: AsyncSequence & Sendable>(
        status: Int, headers: [(name: String, value: String)], pieces: Pieces
    ) where Pieces.Element == [UInt8] {
        self.status = status
        self.headers = headers
        self.pieces = {
            var iterator = pieces.makeAsyncIterator()
            return AsyncIterator(produce: { try await iterator.next() })
        }
    }

    /// Returns the value of the first header field with the name; letter case does not matter.
    public func header(_ name: String) -> String? {
        TransportResponse(status: self.status, headers: self.headers, body: []).header(name)
    }

    /// Begins to read the body.
    public func makeAsyncIterator() -> AsyncIterator { self.pieces() }

    /// Reads the body piece by piece.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let produce: () async throws -> [UInt8]?

        /// Returns the next piece; `nil` at the end of the answer.
        public mutating func next() async throws -> [UInt8]? { try await self.produce() }
    }
}

extension TransportStream: CustomStringConvertible, CustomReflectable {
    /// The status only: header fields and pieces carry tokens.
    public var description: String { "TransportStream(\(self.status))" }
    public var customMirror: Mirror { Mirror(self, children: ["status": self.status]) }
}

extension Transport {
    /// Throws ``TransportError`` `cannotStream`: this transport gives answers only as a whole.
    public func stream<Value: Sendable>(
        _ request: TransportRequest, _ read: @escaping @Sendable (TransportStream) async throws -> Value
    ) async throws -> Value {
        throw TransportError(.cannotStream, "this transport gives answers only as a whole")
    }
}
