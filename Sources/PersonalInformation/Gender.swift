import _Primitives

/// A person's gender, as papers have it. The raw values are the spellings in messages.
public enum Gender: String, Hashable, Sendable, CaseIterable {
    /// Female.
    case female
    /// Male.
    case male
    /// Diverse.
    case diverse
    /// Papers that say nothing, or a person who does not.
    case notSpecified
}

/// Judges genders: each is one.
public struct GenderValidator: PersonalInformationValidator {
    /// What a gender comes to.
    public enum ResultCode: String, PersonalInformationResultCode, CaseIterable {
        /// The gender was accepted.
        case valid
        /// None was chosen.
        case empty
    }

    /// Makes a validator.
    public init() {}

    public func judge(_ value: Gender?) -> JudgedInput<ResultCode> {
        value.map { .accepted(spelling: $0.rawValue) } ?? .refused(.empty)
    }

    public func accepts(_ text: String) -> Bool { Gender(exactly: text) != nil }
}
