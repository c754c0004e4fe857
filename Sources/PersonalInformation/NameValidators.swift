import _Primitives

/// Judges names: given name, family name, nickname, place of birth.
///
/// Lengths are counted in characters (Unicode scalars) of the one spelling.
public struct NameValidator: PersonalInformationValidator {
    /// What a name comes to.
    public enum ResultCode: String, PersonalInformationResultCode, CaseIterable {
        /// The name was accepted.
        case valid
        /// Nothing was typed, or nothing that can be shown: there is a character in it that hides or reorders others.
        case empty
        /// Fewer characters than ``NameValidator/minLength``.
        case tooShort
        /// More characters than ``NameValidator/maxLength``.
        case tooLong
    }

    /// The fewest characters: 1 for most attributes.
    public let minLength: Int
    /// The most characters.
    public let maxLength: Int

    /// Makes a validator. Bounds that make no sense are brought into 1...1024, and the lower one below the upper one.
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

/// Judges user names: letters, marks and digits of any script, and `.`, `_`, `-`, `+` and `@`.
///
/// Lengths are counted in characters (Unicode scalars) of the one spelling.
public struct UsernameValidator: PersonalInformationValidator {
    /// What a user name comes to.
    public enum ResultCode: String, PersonalInformationResultCode, CaseIterable {
        /// The user name was accepted.
        case valid
        /// Nothing was typed.
        case empty
        /// Fewer characters than ``UsernameValidator/minLength``.
        case tooShort
        /// More characters than ``UsernameValidator/maxLength``.
        case tooLong
        /// A character that no user name has, such as a space.
        case invalidCharacters
    }

    /// The fewest characters.
    public let minLength: Int
    /// The most characters.
    public let maxLength: Int

    /// Makes a validator. Bounds that make no sense are brought into 1...1024, and the lower one below the upper one.
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

/// Judges salutations, such as `Frau Dr.`.
public struct SalutationValidator: PersonalInformationValidator {
    /// What a salutation comes to.
    public enum ResultCode: String, PersonalInformationResultCode, CaseIterable {
        /// The salutation was accepted.
        case valid
        /// Nothing was typed, or nothing that can be shown.
        case empty
        /// More characters than ``SalutationValidator/maxLength``.
        case tooLong
    }

    /// The most characters (Unicode scalars).
    public let maxLength: Int

    /// Makes a validator. A bound that makes no sense is brought into 1...1024.
    public init(maxLength: Int = 64) { self.maxLength = lengths(1, maxLength).maximum }

    public func judge(_ value: String?) -> JudgedInput<ResultCode> {
        switch PersonText(value, maximum: self.maxLength) {
        case .unreadable: .refused(.empty)
        case .line(let text) where text.unicodeScalars.count <= self.maxLength: .accepted(spelling: text)
        case .line, .tooLong: .refused(.tooLong)
        }
    }
}

/// Whether a person typed nothing that is to be seen.
func isBlank(_ text: String?) -> Bool {
    (text ?? "").unicodeScalars.allSatisfy { $0.properties.isWhitespace || $0.isUnfitToShow }
}

/// Bounds of a length that make sense, whatever a message says.
func lengths(_ minimum: Int, _ maximum: Int) -> (minimum: Int, maximum: Int) {
    let maximum = max(1, min(maximum, 1024))
    return (max(1, min(minimum, maximum)), maximum)
}
