import _Primitives

/// Checks names: given name, family name, nickname, place of birth.
///
/// Lengths are counted in characters (Unicode scalars) of the single spelling.
public struct NameValidator: PersonalInformationValidator {
    /// The result for a name.
    public enum ResultCode: String, PersonalInformationResultCode, CaseIterable {
        /// The name was accepted.
        case valid
        /// Nothing was typed, or the text cannot be shown because a character hides or reorders others.
        case empty
        /// The name has fewer characters than ``NameValidator/minLength``.
        case tooShort
        /// The name has more characters than ``NameValidator/maxLength``.
        case tooLong
    }

    /// The fewest characters: 1 for most attributes.
    public let minLength: Int
    /// The most characters.
    public let maxLength: Int

    /// Creates a validator. Bounds outside 1...1024 are moved into this range, and a lower bound above the upper bound
    /// is moved to the upper bound.
    public init(minLength: Int = 1, maxLength: Int = 128) {
        (self.minLength, self.maxLength) = lengths(minLength, maxLength)
    }

    public func judge(_ value: String?) -> JudgedInput<ResultCode> {
        switch PersonText(value, maximum: self.maxLength) {
        case .unreadable: .refused(.empty)
        case .tooLong: .refused(.tooLong)
        case .line(let name) where name.unicodeScalars.count < self.minLength: .refused(.tooShort)
        case .line(let name) where name.unicodeScalars.count > self.maxLength: .refused(.tooLong)
        case .line(let name): .accepted(spelling: name)
        }
    }
}

extension NameValidator: LengthValidator {
    package var bounds: ClosedRange<Int> { self.minLength...self.maxLength }

    package init(bounds: ClosedRange<Int>) {
        self.init(minLength: bounds.lowerBound, maxLength: bounds.upperBound)
    }
}

/// Checks user names: letters, marks and digits of any script, and `.`, `_`, `-`, `+` and `@`.
///
/// Lengths are counted in characters (Unicode scalars) of the single spelling.
public struct UsernameValidator: PersonalInformationValidator {
    /// The result for a user name.
    public enum ResultCode: String, PersonalInformationResultCode, CaseIterable {
        /// The user name was accepted.
        case valid
        /// Nothing was typed.
        case empty
        /// The user name has fewer characters than ``UsernameValidator/minLength``.
        case tooShort
        /// The user name has more characters than ``UsernameValidator/maxLength``.
        case tooLong
        /// The text has a character that a user name cannot have, such as a space.
        case invalidCharacters
    }

    /// The fewest characters.
    public let minLength: Int
    /// The most characters.
    public let maxLength: Int

    /// Creates a validator. Bounds outside 1...1024 are moved into this range, and a lower bound above the upper bound
    /// is moved to the upper bound.
    public init(minLength: Int = 1, maxLength: Int = 128) {
        (self.minLength, self.maxLength) = lengths(minLength, maxLength)
    }

    public func judge(_ value: String?) -> JudgedInput<ResultCode> {
        switch PersonText(value, maximum: self.maxLength) {
        case .unreadable: return .refused(isBlank(value) ? .empty : .invalidCharacters)
        case .tooLong: return .refused(.tooLong)
        case .line(let name):
            let scalars = name.unicodeScalars
            guard scalars.allSatisfy(Self.isAllowed) else { return .refused(.invalidCharacters) }
            guard scalars.count >= self.minLength else { return .refused(.tooShort) }
            return scalars.count <= self.maxLength ? .accepted(spelling: name) : .refused(.tooLong)
        }
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
            .spacingMark, .decimalNumber:
            true
        default: "._-+@".unicodeScalars.contains(scalar)
        }
    }
}

extension UsernameValidator: LengthValidator {
    package var bounds: ClosedRange<Int> { self.minLength...self.maxLength }

    package init(bounds: ClosedRange<Int>) {
        self.init(minLength: bounds.lowerBound, maxLength: bounds.upperBound)
    }
}

/// Checks salutations, such as `Frau Dr.`.
public struct SalutationValidator: PersonalInformationValidator {
    /// The result for a salutation.
    public enum ResultCode: String, PersonalInformationResultCode, CaseIterable {
        /// The salutation was accepted.
        case valid
        /// Nothing was typed, or the text cannot be shown.
        case empty
        /// The salutation has more characters than ``SalutationValidator/maxLength``.
        case tooLong
    }

    /// The most characters (Unicode scalars).
    public let maxLength: Int

    /// Creates a validator. A bound outside 1...1024 is moved into this range.
    public init(maxLength: Int = 64) { self.maxLength = lengths(1, maxLength).maximum }

    public func judge(_ value: String?) -> JudgedInput<ResultCode> {
        switch PersonText(value, maximum: self.maxLength) {
        case .unreadable: .refused(.empty)
        case .line(let text) where text.unicodeScalars.count <= self.maxLength: .accepted(spelling: text)
        case .line, .tooLong: .refused(.tooLong)
        }
    }
}

extension SalutationValidator: LengthValidator {
    package var bounds: ClosedRange<Int> { 1...self.maxLength }

    package init(bounds: ClosedRange<Int>) {
        self.init(maxLength: bounds.upperBound)
    }
}

/// Returns `true` if a person typed nothing visible.
func isBlank(_ text: String?) -> Bool {
    (text ?? "").unicodeScalars.allSatisfy { $0.properties.isWhitespace || $0.isUnfitToShow }
}

/// Returns sensible bounds of a length, for any bounds in a message.
func lengths(_ minimum: Int, _ maximum: Int) -> (minimum: Int, maximum: Int) {
    let maximum = max(1, min(maximum, 1024))
    return (max(1, min(minimum, maximum)), maximum)
}
