public import _Primitives

/// A push service, as a ``PushDispatcher`` uses the service: makes the request for a message, and reads the answer.
public protocol PushProvider: Sendable {
    /// The name of the dispatcher.
    static var name: String { get }

    /// Returns the party whose answers belong together, for a target in the service's form: the address of the service,
    /// or of the push service that the target names. `nil` for a target in another form.
    func service(of target: String) -> String?

    /// Sends a message to a target in the service's form, and returns the meaning of the answer. Throws
    /// ``PushCallError`` if there is no answer.
    func push(_ content: PushContent, to target: String, at now: Timestamp) async throws -> PushAnswer
}
