import _Primitives

/// A person's gender, as in official papers. The raw values are the spellings in messages.
public enum Gender: String, Hashable, Sendable, CaseIterable {
    /// Female.
    case female
    /// Male.
    case male
    /// Diverse.
    case diverse
    /// The papers do not specify a gender, or the person does not.
    case notSpecified
}

/// Checks genders. Every gender is valid.
public struct GenderValidator: PersonalInformationValidator {
    /// The result for a gender.
    public enum ResultCode: String, PersonalInformationResultCode, CaseIterable {
        /// The gender was accepted.
        case valid
        /// No gender was chosen.
        case empty
    }

    /// Creates a validator.
    public init() {}

    public func judge(_ value: Gender?) -> JudgedInput<ResultCode> {
        value.map { .accepted(spelling: $0.rawValue) } ?? .refused(.empty)
    }

    public func accepts(_ text: String) -> Bool { Gender(exactly: text) != nil }
}
