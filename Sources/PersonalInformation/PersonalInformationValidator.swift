import _Primitives

/// Judges what a person types for an attribute, with the same code on the phone and on the server: the phone to tell the
/// person at once, the server to decide.
///
/// Every value that is accepted has one spelling, which is what travels: in Unicode's Normalization Form C where it is
/// text, without white space around it, and without any character that hides, reorders or has no agreed picture.
public protocol PersonalInformationValidator<Value>: Hashable, Sendable {
    /// What the app hands over.
    associatedtype Value: Sendable
    /// What it is told.
    associatedtype ResultCode: PersonalInformationResultCode

    /// Judges an input; `nil` is one that is not there.
    func judge(_ value: Value?) -> JudgedInput<ResultCode>

    /// Whether a text is the one spelling of a value that is accepted: what a server takes.
    func accepts(_ text: String) -> Bool
}

extension PersonalInformationValidator {
    /// What an input comes to: `valid`, or what is wrong with it.
    public func validate(_ value: Value?) -> ResultCode {
        switch self.judge(value) {
        case .accepted: .valid
        case .refused(let code): code
        }
    }
}

extension PersonalInformationValidator where Value == String {
    /// Whether the text is accepted and is its own spelling.
    public func accepts(_ text: String) -> Bool {
        guard case .accepted(let spelling) = self.judge(text) else { return false }
        return spelling.hasSameBytes(as: text)
    }
}

/// What a validator says of an input. All have ``valid``; which others there are depends on the attribute.
public protocol PersonalInformationResultCode: Hashable, Sendable {
    /// The input was accepted.
    static var valid: Self { get }
    /// The attribute cannot be supplied on the way, because somebody has to verify its values. `nil` for an attribute
    /// that always can.
    static var notSuppliable: Self? { get }
}

extension PersonalInformationResultCode {
    /// None: a value can be supplied.
    public static var notSuppliable: Self? { nil }
}

/// The verdict of a validator.
public enum JudgedInput<ResultCode: PersonalInformationResultCode>: Hashable, Sendable {
    /// It is a value, whose one spelling this is.
    case accepted(spelling: String)
    /// It is none. The code is never `valid`.
    case refused(ResultCode)
}
