/// The information that an app needs to ask for a code of the person's authenticator app.
public struct SecondFactorQuestion: Hashable, Sendable {
    /// The maximum number of codes in one sign-in. After as many wrong codes, the sign-in ends with
    /// ``SignInError/Code/wrongSecondFactor``.
    public static let maximumTries = 5

    /// The reason why the previous code was not accepted; show it to the person. `nil` for the first question.
    public let lastError: SecondFactorError?
    /// The number of codes that the person can still type in this sign-in, the next code included.
    public let triesLeft: Int

    /// Creates a question. Public also for an app's own tests.
    public init(lastError: SecondFactorError? = nil, triesLeft: Int = Self.maximumTries) {
        self.lastError = lastError
        self.triesLeft = triesLeft
    }
}

/// The reason why a code was not accepted. The person types another code.
public enum SecondFactorError: Hashable, Sendable, CaseIterable {
    /// The server does not accept the code: the code is wrong, too old, or was used before.
    case invalidCode
}

extension SecondFactorError: ExplainedError {
    /// The event of the error.
    public var event: ErrorEvent {
        switch self {
        case .invalidCode: .wrongSecondFactor
        }
    }

    /// The person's next step.
    public var advice: ErrorAdvice {
        switch self {
        case .invalidCode: .typeNextCode
        }
    }
}
