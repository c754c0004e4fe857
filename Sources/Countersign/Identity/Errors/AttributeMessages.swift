public import PersonalInformation

extension AuthenticationInformationErrorCode: ExplainedError {
    /// The event of the code.
    public var event: ErrorEvent {
        switch self {
        case .none: .valueValid
        case .invalid: .valueInvalid
        case .notAvailable: .valueNotWanted
        case .dataMissing: .valueMissing
        case .noAliasSelected: .valueNotChosen
        }
    }

    /// The person's next step.
    public var advice: ErrorAdvice {
        switch self {
        case .none: .nothing
        case .invalid: .typeAgain
        case .notAvailable: .leaveValue
        case .dataMissing: .completeData
        case .noAliasSelected: .chooseValue
        }
    }
}
