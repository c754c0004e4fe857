/// A builder that is configured by chaining: an operation, or an operation with a callback. Both accept the settings of
/// the operation, in any order.
public protocol OperationBuilder: Sendable {
    /// The type of the configured operation.
    associatedtype Operation: OperationBuilder where Operation.Operation == Operation
    /// Returns a copy with a changed operation. Used by the SDK only.
    func changing(_ change: (inout Operation) -> Void) -> Self
}

/// An operation of the SDK: configured by chaining, then executed once.
///
/// Call `try await` with its ``execute()``. After a callback was set with ``onSuccess(_:)`` or ``onError(_:)``, the
/// operation is an ``OperationWithCallbacks``, whose `execute()` returns at once.
public protocol SingleOperation: OperationBuilder where Operation == Self {
    /// The result of a successful operation.
    associatedtype Success: Sendable
    /// The error of a failed operation.
    associatedtype Failure: Error
    /// Performs the operation for `execute()`. Used by the SDK only. A second execution, in either form, ends with the
    /// code `operationReused`.
    func perform() async throws(Failure) -> Success
}

extension OperationBuilder where Operation == Self {
    /// Returns a changed copy. Used by the SDK only.
    public func changing(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}

extension SingleOperation {
    /// Sets the callback for the result.
    public func onSuccess(_ body: @escaping @Sendable (Success) -> Void) -> OperationWithCallbacks<Self> {
        OperationWithCallbacks(operation: self).onSuccess(body)
    }
    /// Sets the callback for an error.
    public func onError(_ body: @escaping @Sendable (Failure) -> Void) -> OperationWithCallbacks<Self> {
        OperationWithCallbacks(operation: self).onError(body)
    }

    /// Executes the operation. A second call ends with the code `operationReused`.
    ///
    /// Throws the operation's `Failure` and nothing else. The signature does not name the error type: around a call
    /// with a typed error, Swift 6.3 does not compile an app's `catch let error as OperationError where …`, unless
    /// another clause catches the rest.
    public func execute() async throws -> Success { try await self.perform() }
}

/// An operation with at least one callback. The remaining settings can still be chained, in any order.
///
/// With both callbacks, the operation ends with exactly one call, of `onSuccess` or of `onError`. With a single
/// callback, the other kind of end is reported nowhere.
public struct OperationWithCallbacks<Operation: SingleOperation>: OperationBuilder {
    private var operation: Operation
    private var success: (@Sendable (Operation.Success) -> Void)?
    private var failure: (@Sendable (Operation.Failure) -> Void)?

    init(operation: Operation) { self.operation = operation }

    /// Returns a copy with a changed operation. Used by the SDK only.
    public func changing(_ change: (inout Operation) -> Void) -> Self {
        var copy = self
        change(&copy.operation)
        return copy
    }

    /// Sets the callback for the result.
    public func onSuccess(_ body: @escaping @Sendable (Operation.Success) -> Void) -> Self {
        var copy = self
        copy.success = body
        return copy
    }

    /// Sets the callback for an error.
    public func onError(_ body: @escaping @Sendable (Operation.Failure) -> Void) -> Self {
        var copy = self
        copy.failure = body
        return copy
    }

    /// Starts the operation and returns. Dropping the handle cancels nothing.
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
    /// A description without the operation's input, which may hold a secret.
    public var description: String { "OperationWithCallbacks<\(Operation.self)>" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A handle of a started operation, with which the app can cancel the operation.
public struct OperationHandle: Sendable {
    private let task: Task<Void, Never>

    init(_ body: @escaping @Sendable () async -> Void) { self.task = Task { await body() } }

    /// Cancels the operation, as the person may: the operation ends with `userCanceled`, and a server that waits for the
    /// answer is told within five seconds. `onError` is called as for any other end.
    ///
    /// After the signed answer was sent, cancelling is too late: the operation ends as the server judges, and takes as
    /// long as the network takes.
    public func cancel() { self.task.cancel() }
}
