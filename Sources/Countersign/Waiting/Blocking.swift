import Dispatch
import Foundation

/// A blocking wait for asynchronous work on a thread that has nothing else to do.
enum Blocking {
    /// Blocks the calling thread until `body` is done, and returns the result of `body`. The thread sleeps meanwhile.
    ///
    /// Never call this function on the main thread, because the screens would stand still: a debug build ends with an
    /// assertion. Never call it in a task either: tasks share few threads, and all of these threads could wait for a
    /// task that finds no thread.
    static func wait<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
        Self.assertNothingIsDrawnHere()
        let outcome = Outcome<Value>()
        Task { outcome.end(with: await Result.catching(body)) }
        return try outcome.wait().get()
    }

    private static func assertNothingIsDrawnHere() {
        assert(!Thread.isMainThread, "a …Synchronous function blocks, and this is the main thread: use its async form")
        #if DEBUG
            // The thread that draws a program's screens need not be the program's first thread.
            dispatchPrecondition(condition: .notOnQueue(.main))
        #endif
    }

    /// The result of a piece of work, written once.
    // Safe to share: `result` is written once, before the semaphore is signalled, and read after it was waited for.
    private final class Outcome<Value: Sendable>: @unchecked Sendable {
        private let semaphore = DispatchSemaphore(value: 0)
        private var result: Result<Value, any Error>?

        func end(with result: Result<Value, any Error>) {
            self.result = result
            self.semaphore.signal()
        }

        func wait() -> Result<Value, any Error> {
            self.semaphore.wait()
            return self.result ?? .failure(CancellationError())
        }
    }
}

extension Result where Failure == any Error {
    fileprivate static func catching(_ body: () async throws -> Success) async -> Self {
        do { return .success(try await body()) } catch { return .failure(error) }
    }
}
