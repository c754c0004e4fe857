import _Primitives

/// A validator of a person's input for an attribute. Phone and server run the same code: the phone to inform the person
/// at once, the server to decide.
///
/// Every accepted value has a single spelling, and messages contain this spelling. Text is in Unicode's Normalization
/// Form C, without white space around the text, and without any character that hides, reorders or has no agreed
/// picture.
public protocol PersonalInformationValidator<Value>: Hashable, Sendable {
    /// The type of the app's input.
    associatedtype Value: Sendable
    /// The type of the result.
    associatedtype ResultCode: PersonalInformationResultCode

    /// Judges an input; `nil` is a missing input.
    func judge(_ value: Value?) -> JudgedInput<ResultCode>

    /// Returns `true` if a text is the single spelling of an accepted value. A server accepts only such a text.
    func accepts(_ text: String) -> Bool

    /// Returns the single spelling of a text; `nil` if the text is no value.
    func spelling(of text: String) -> String?
}

/// A validator with bounds of a value's length, which a server sends to its phones.
package protocol LengthValidator: PersonalInformationValidator {
    /// The lengths of the values.
    var bounds: ClosedRange<Int> { get }

    /// Creates a validator of values with these lengths.
    init(bounds: ClosedRange<Int>)
}

extension PersonalInformationValidator {
    /// Returns the text if the text is already the single spelling. An app's own type, such as a date, has no other
    /// text.
    public func spelling(of text: String) -> String? { self.accepts(text) ? text : nil }

    /// Returns the result for an input: `valid`, or the error.
    public func validate(_ value: Value?) -> ResultCode {
        switch self.judge(value) {
        case .accepted: .valid
        case .refused(let code): code
        }
    }
}

extension PersonalInformationValidator where Value == String {
    /// Returns `true` if the text is accepted and is its own spelling.
    public func accepts(_ text: String) -> Bool { self.spelling(of: text)?.hasSameBytes(as: text) ?? false }

    /// Returns the single spelling of the text; `nil` if the text is refused.
    public func spelling(of text: String) -> String? {
        guard case .accepted(let spelling) = self.judge(text) else { return nil }
        return spelling
    }
}

/// The result of a validator for an input. Every attribute has ``valid``; the other results depend on the attribute.
public protocol PersonalInformationResultCode: Hashable, Sendable {
    /// The input was accepted.
    static var valid: Self { get }
    /// The result for an attribute that a person cannot supply during a sign-in, because its values need a
    /// verification; `nil` for an attribute whose values need none.
    static var notSuppliable: Self? { get }
}

extension PersonalInformationResultCode {
    /// `nil`: the values need no verification.
    public static var notSuppliable: Self? { nil }
}

/// The judgement of a validator.
public enum JudgedInput<ResultCode: PersonalInformationResultCode>: Hashable, Sendable {
    /// The input is a value, with this single spelling.
    case accepted(spelling: String)
    /// The input is not a value. The code is never `valid`.
    case refused(ResultCode)
}
