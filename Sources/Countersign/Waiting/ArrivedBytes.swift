import Foundation

/// A queue of the bytes that have arrived and were not read yet. A thread of the network adds bytes, and one reader
/// takes the bytes.
///
/// While a reader waits, a second reader gets a ``SecondReaderError``, and the first reader goes on.
///
/// The reader gets all waiting bytes at once. The limit on the waiting bytes bounds the memory if a reader is slower
/// than the network.
// Safe to share: every access to `state` is within `lock`, and a continuation is resumed once, outside of it.
final class ArrivedBytes: AsyncSequence, @unchecked Sendable {
    private struct State {
        var unread: [UInt8] = []
        var end: Result<Void, any Error>?
        var reader: CheckedContinuation<[UInt8]?, any Error>?
    }

    private let limit: Int
    private let lock = NSLock()
    private var state = State()

    /// Creates an empty store for at most `limit` bytes.
    init(limit: Int) { self.limit = limit }

    /// Keeps bytes for the reader. Returns `false`, and keeps nothing, if more than the limit would wait.
    func take(_ bytes: some Collection<UInt8>) -> Bool {
        let (isKept, reader, piece) = self.lock.withLock {
            () -> (Bool, CheckedContinuation<[UInt8]?, any Error>?, [UInt8]) in
            guard self.state.end == nil else { return (true, nil, []) }
            guard self.state.unread.count + bytes.count <= self.limit else { return (false, nil, []) }
            self.state.unread += bytes
            guard !self.state.unread.isEmpty, let reader = self.state.reader else { return (true, nil, []) }
            self.state.reader = nil
            defer { self.state.unread = [] }
            return (true, reader, self.state.unread)
        }
        reader?.resume(returning: piece)
        return isKept
    }

    /// Ends the sequence after the waiting bytes, with an error or without. Only the first end counts.
    func end(_ end: Result<Void, any Error>) {
        let reader = self.lock.withLock { () -> CheckedContinuation<[UInt8]?, any Error>? in
            guard self.state.end == nil else { return nil }
            self.state.end = end
            defer { self.state.reader = nil }
            return self.state.reader
        }
        reader?.resume(with: end.map { nil })
    }

    /// Begins to read. There is one reader.
    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(bytes: self) }

    /// The reader of the bytes.
    struct AsyncIterator: AsyncIteratorProtocol {
        let bytes: ArrivedBytes

        /// Returns the waiting bytes as soon as there are any; `nil` at the end.
        mutating func next() async throws -> [UInt8]? { try await self.bytes.next() }
    }

    private func next() async throws -> [UInt8]? {
        try Task.checkCancellation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let ready = self.lock.withLock { () -> Result<[UInt8]?, any Error>? in
                    if !self.state.unread.isEmpty {
                        defer { self.state.unread = [] }
                        return .success(self.state.unread)
                    }
                    if let end = self.state.end { return end.map { nil } }
                    guard self.state.reader == nil else { return .failure(SecondReaderError()) }
                    self.state.reader = continuation
                    return nil
                }
                if let ready { continuation.resume(with: ready) }
            }
        } onCancel: {
            self.end(.failure(CancellationError()))
        }
    }
}

/// The error of a reader that asks for bytes while another reader waits for them.
struct SecondReaderError: Error {}
