import UAFClient

/// The questions of a change to the person, and the judgement of the new PIN or password.
protocol SecretChangeQuestions: Sendable {
    /// The screen's reason to ask again.
    associatedtype RecoverableError: Sendable

    /// Returns the screen's reason for a refused old secret.
    static func error(for refusal: SecretRefusal) -> RecoverableError

    /// Asks for the old and the new secret once, and judges the new secret. Throws ``UserVerificationError`` and
    /// `CancellationError`.
    func ask(_ username: Username, _ status: AuthenticatorProtectionStatus, _ lastError: RecoverableError?)
        async throws -> SecretChangeAnswer<RecoverableError>
}

/// A person's answer to the question for an old and a new secret.
enum SecretChangeAnswer<RecoverableError: Sendable>: Sendable {
    /// The new secret is acceptable, and the old secret is still to be checked.
    case change(SecretChange)
    /// The new secret is not acceptable. The old secret is not checked.
    case refused(RecoverableError)
}
