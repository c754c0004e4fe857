import Ceremony

extension PinRule {
    /// The event of a PIN that the rule refuses.
    fileprivate var event: ErrorEvent {
        switch self {
        case .differentDigits(let least): .pinDigitsTooFew(minimum: least)
        case .repeats(let most): .pinDigitRepeated(maximum: most)
        case .runs(let most): .pinRun(maximum: most)
        case .pattern: .pinPattern
        case .row: .pinRow
        case .date: .pinDate
        case .blockList: .pinCommon
        }
    }
}

extension PinEnrollmentError: ExplainedError {
    /// The event of the error.
    public var event: ErrorEvent {
        switch self {
        case .invalidPinFormat: .pinFormat
        case .unsafePin(let rule): rule.event
        }
    }

    /// The person's next step.
    public var advice: ErrorAdvice { .chooseAnotherPin }
}

extension PinUserVerificationError: ExplainedError {
    /// The event of the error.
    public var event: ErrorEvent {
        switch self {
        case .invalidPin: .wrongPin
        case .coolingDown: .tooEarly
        }
    }

    /// The person's next step.
    public var advice: ErrorAdvice {
        switch self {
        case .invalidPin: .typeAgain
        case .coolingDown: .waitAMoment
        }
    }
}

extension PinChangeRecoverableError: ExplainedError {
    /// The event of the error.
    public var event: ErrorEvent {
        switch self {
        case .invalidPin: .wrongPin
        case .invalidPinFormat: .pinFormat
        case .unsafePin(let rule): rule.event
        case .oldPinEqualsNewPin: .samePin
        case .coolingDown: .tooEarly
        }
    }

    /// The person's next step.
    public var advice: ErrorAdvice {
        switch self {
        case .invalidPin: .typeAgain
        case .coolingDown: .waitAMoment
        case .invalidPinFormat, .unsafePin, .oldPinEqualsNewPin: .chooseAnotherPin
        }
    }
}

extension PasswordValidationError: ExplainedError {
    /// The person's next step.
    public var advice: ErrorAdvice { .chooseAnotherPassword }
}

extension PasswordEnrollmentError: ExplainedError {
    /// The event of the error.
    public var event: ErrorEvent {
        switch self {
        case .customValidationError(let error): error.event
        }
    }

    /// The person's next step.
    public var advice: ErrorAdvice { .chooseAnotherPassword }
}

extension PasswordUserVerificationError: ExplainedError {
    /// The event of the error.
    public var event: ErrorEvent {
        switch self {
        case .invalidPassword: .wrongPassword
        case .coolingDown: .tooEarly
        }
    }

    /// The person's next step.
    public var advice: ErrorAdvice {
        switch self {
        case .invalidPassword: .typeAgain
        case .coolingDown: .waitAMoment
        }
    }
}

extension PasswordChangeRecoverableError: ExplainedError {
    /// The event of the error.
    public var event: ErrorEvent {
        switch self {
        case .invalidPassword: .wrongPassword
        case .customValidationError(let error): error.event
        case .oldPasswordEqualsNewPassword: .samePassword
        case .coolingDown: .tooEarly
        }
    }

    /// The person's next step.
    public var advice: ErrorAdvice {
        switch self {
        case .invalidPassword: .typeAgain
        case .coolingDown: .waitAMoment
        case .customValidationError, .oldPasswordEqualsNewPassword: .chooseAnotherPassword
        }
    }
}

extension NumberMatchError: ExplainedError {
    /// The event of the error.
    public var event: ErrorEvent { .numberFormat }

    /// The person's next step.
    public var advice: ErrorAdvice { .typeAgain }
}

extension FingerprintUserVerificationError: ExplainedError {
    /// The event of the error: the sensor's advice, in the sensor's own words.
    public var event: ErrorEvent { self.hint.isEmpty ? .biometricsNotMatched : .supplied(self.hint) }

    /// The person's next step.
    public var advice: ErrorAdvice { .tryAgain }
}
