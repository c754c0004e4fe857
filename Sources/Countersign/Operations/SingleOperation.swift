/// An operation of the SDK: configured by chaining, then executed once.
///
/// `execute()` with `await` returns or throws. Without `await` it returns at once and ends in exactly one call of
/// `onSuccess` or `onError`.
public protocol SingleOperation: Sendable {
    /// What comes of it.
    associatedtype Success: Sendable
    /// Why nothing came of it.
    associatedtype Failure: Error
    /// What the operation's copies share. The SDK's alone.
    var run: OperationRun<Success, Failure> { get set }
    /// What `execute()` does. The SDK's alone: a second time, by either of the two, ends with the code `operationReused`.
    func perform() async throws(Failure) -> Success
}

/// Whether an operation was executed, and who hears of its end.
public struct OperationRun<Success: Sendable, Failure: Error>: Sendable {
    private let once = OneShot()
    var onSuccess: (@Sendable (Success) -> Void)?
    var onError: (@Sendable (Failure) -> Void)?

    init() {}

    /// True for the first caller alone, over all copies.
    func begin() -> Bool { self.once.take() }
}

extension SingleOperation {
    /// Called with the result, for `execute()` without `await`.
    public func onSuccess(_ body: @escaping @Sendable (Success) -> Void) -> Self {
        self.with { $0.run.onSuccess = body }
    }
    /// Called with the error, for `execute()` without `await`.
    public func onError(_ body: @escaping @Sendable (Failure) -> Void) -> Self { self.with { $0.run.onError = body } }

    /// Does it. A second time ends with the code `operationReused`.
    ///
    /// Throws the operation's `Failure` and nothing else. The signature does not say so: Swift 6.3 does not compile an
    /// app's `catch let error as OperationError where …` around a call that names its error, unless another clause
    /// takes the rest.
    public func execute() async throws -> Success { try await self.perform() }

    /// Does it and calls `onSuccess` or `onError`, once.
    public func execute() {
        Task {
            do throws(Failure) {
                let result = try await self.perform()
                self.run.onSuccess?(result)
            } catch {
                self.run.onError?(error)
            }
        }
    }

    func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}
