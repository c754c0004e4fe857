/// The PIN service, as the server sees it: it has a secret that the server does not have, and counts by itself.
public protocol PinEvaluating: Sendable {
    /// The public key that it has for an activation: `PinQuestion.serviceKeyBytes`. Throws ``PinServiceFailure``.
    func key(of activation: String) async throws(PinServiceFailure) -> [UInt8]
    /// What it makes of a blinded PIN: `PinQuestion.evaluatedBytes`. Throws ``PinServiceFailure``.
    func evaluate(_ blinded: [UInt8], of activation: String) async throws(PinServiceFailure) -> [UInt8]
}

/// Why the PIN service has not answered.
public enum PinServiceFailure: Error, Hashable, Sendable {
    /// It was not reached, or has refused: it has evaluated nothing.
    case notAsked
    /// It has evaluated as often for the activation as it does in a day. It has evaluated nothing.
    case exhausted(retryAfterSeconds: Int)
    /// It was asked, and nobody here knows what it has done.
    case unknown
    /// It was asked about what is no blinded PIN.
    case malformed
}
