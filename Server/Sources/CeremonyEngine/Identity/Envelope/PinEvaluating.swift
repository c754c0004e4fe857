/// The PIN service, from the server's side. The service has a secret that the server does not have, and keeps its own
/// count.
public protocol PinEvaluating: Sendable {
    /// Returns the service's public key for an activation: `PinQuestion.serviceKeyBytes`. Throws ``PinServiceFailure``.
    func key(of activation: String) async throws(PinServiceFailure) -> [UInt8]
    /// Returns the service's evaluation of a blinded PIN: `PinQuestion.evaluatedBytes`. Throws ``PinServiceFailure``.
    func evaluate(_ blinded: [UInt8], of activation: String) async throws(PinServiceFailure) -> [UInt8]
}

/// The reason why the PIN service has not answered.
public enum PinServiceFailure: Error, Hashable, Sendable {
    /// The service was not reached, or has refused. Nothing was evaluated.
    case notAsked
    /// The service has reached its daily number of evaluations for the activation. Nothing was evaluated.
    case exhausted(retryAfterSeconds: Int)
    /// The service was asked, and the result is unknown to the server.
    case unknown
    /// The question contained no blinded PIN.
    case malformed
}
