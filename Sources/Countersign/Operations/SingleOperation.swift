/// What is configured by chaining: an operation itself, or one that has been given a callback. The parts of an operation
/// can be given to either, in any order.
public protocol OperationBuilder: Sendable {
    /// The operation that is configured.
    associatedtype Operation: OperationBuilder where Operation.Operation == Operation
    /// The same with a changed operation. The SDK's alone.
    func changing(_ change: (inout Operation) -> Void) -> Self
}

/// An operation of the SDK: configured by chaining, then executed once.
///
/// `try await` its ``execute()``. Once it has been given a callback, with ``onSuccess(_:)`` or ``onError(_:)``, it is an
/// ``OperationWithCallbacks``, whose `execute()` returns at once.
public protocol SingleOperation: OperationBuilder where Operation == Self {
    /// What comes of it.
    associatedtype Success: Sendable
    /// Why nothing came of it.
    associatedtype Failure: Error
    /// What `execute()` does. The SDK's alone: a second time, by either form, ends with the code `operationReused`.
    func perform() async throws(Failure) -> Success
}

extension OperationBuilder where Operation == Self {
    /// The same with a change. The SDK's alone.
    public func changing(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}

extension SingleOperation {
    /// Calls back with the result.
    public func onSuccess(_ body: @escaping @Sendable (Success) -> Void) -> OperationWithCallbacks<Self> {
        OperationWithCallbacks(operation: self).onSuccess(body)
    }
    /// Calls back with the error.
    public func onError(_ body: @escaping @Sendable (Failure) -> Void) -> OperationWithCallbacks<Self> {
        OperationWithCallbacks(operation: self).onError(body)
    }

    /// Does it. A second time ends with the code `operationReused`.
    ///
    /// Throws the operation's `Failure` and nothing else. The signature does not say so: Swift 6.3 does not compile an
    /// app's `catch let error as OperationError where …` around a call that names its error, unless another clause
    /// takes the rest.
    public func execute() async throws -> Success { try await self.perform() }
}

/// An operation that was given a callback: what is left to give it can still be chained, in any order.
///
/// With both callbacks it ends in exactly one call, of `onSuccess` or of `onError`; where one alone was given, an end that
/// is the other's is told nobody.
public struct OperationWithCallbacks<Operation: SingleOperation>: OperationBuilder {
    private var operation: Operation
    private var success: (@Sendable (Operation.Success) -> Void)?
    private var failure: (@Sendable (Operation.Failure) -> Void)?

    init(operation: Operation) { self.operation = operation }

    /// The same with a changed operation. The SDK's alone.
    public func changing(_ change: (inout Operation) -> Void) -> Self {
        var copy = self
        change(&copy.operation)
        return copy
    }

    /// Calls back with the result.
    public func onSuccess(_ body: @escaping @Sendable (Operation.Success) -> Void) -> Self {
        var copy = self
        copy.success = body
        return copy
    }

    /// Calls back with the error.
    public func onError(_ body: @escaping @Sendable (Operation.Failure) -> Void) -> Self {
        var copy = self
        copy.failure = body
        return copy
    }

    /// Starts it and returns. Dropping the handle cancels nothing.
    @discardableResult
    public func execute() -> OperationHandle {
        OperationHandle {
            do throws(Operation.Failure) {
                let result = try await self.operation.perform()
                self.success?(result)
            } catch {
                self.failure?(error)
            }
        }
    }
}

extension OperationWithCallbacks: CustomStringConvertible, CustomReflectable {
    /// Without the operation's input, which may hold a secret.
    public var description: String { "OperationWithCallbacks<\(Operation.self)>" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A started operation, to be given up from outside.
public struct OperationHandle: Sendable {
    private let task: Task<Void, Never>

    init(_ body: @escaping @Sendable () async -> Void) { self.task = Task { await body() } }

    /// Gives the operation up, as the person may: it ends with `userCanceled`, and the server hears of it, for which it has
    /// five seconds. `onError` is called as for any other end.
    ///
    /// Once the signed answer has left, it is too late: the operation ends as the server judges, and takes as long as the
    /// network does.
    public func cancel() { self.task.cancel() }
}
