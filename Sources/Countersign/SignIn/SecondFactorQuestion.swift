/// What an app needs to know to ask for a code of the person's authenticator app.
public struct SecondFactorQuestion: Hashable, Sendable {
    /// The most codes that one sign-in takes. After as many wrong ones it ends with ``SignInError/Code/wrongSecondFactor``.
    public static let maximumTries = 5

    /// Why the code before did not help: show it. `nil` with the first question.
    public let lastError: SecondFactorError?
    /// How many codes the person can still type in this sign-in, the next one included.
    public let triesLeft: Int

    /// A question, for an app's own tests too.
    public init(lastError: SecondFactorError? = nil, triesLeft: Int = Self.maximumTries) {
        self.lastError = lastError
        self.triesLeft = triesLeft
    }
}

/// Why a code did not help. The person types another.
public enum SecondFactorError: Hashable, Sendable {
    /// The server does not take the code: it is another, too old, or was used before.
    case invalidCode
}
