import Foundation
import _Primitives

/// A password in the form for hashing: the single spelling of a typed text, which never prints itself.
///
/// A password is made once, at its entry, by the profile OpaqueString of RFC 8265. Spaces of any kind become the space,
/// and the text is composed (NFC). Case and everything else stay. Refused are control and format characters, invisible
/// characters, private use, and characters that Unicode has not assigned yet, because a later version may change their
/// normal form.
///
/// From the contextual rules (RFC 8264, appendix A) only the rule for joiners applies: a joiner must follow a virama.
/// The other rules distinguish names that look alike, and a password is never looked at.
///
/// A text is bounded before the normalisation. The caller must forget the original string.
public struct Password: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    private let bytes: SecretBytes
    /// The number of characters, as Unicode scalars after normalisation. The lengths of a policy refer to this number.
    public let characterCount: Int

    /// Takes a typed text, as a new password or for a verification.
    ///
    /// Throws ``PasswordRefusal``: `empty`, `tooLong`, `forbiddenCharacter`. A verification then continues with `nil`,
    /// so that such a text costs the same work as a wrong password.
    public init(typed text: String, limits: PasswordLimits = PasswordLimits()) throws(PasswordRefusal) {
        guard !text.isEmpty else { throw PasswordRefusal(.empty) }
        guard text.utf8.count <= limits.mostCharacters * PasswordLimits.Fixed.bytesPerTypedCharacter,
            text.isStreamSafe
        else { throw PasswordRefusal(.tooLong) }
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            scalars.append(scalar.properties.generalCategory == .spaceSeparator ? " " : scalar)
        }
        let composed = String(scalars).precomposedStringWithCanonicalMapping
        var count = 0
        var previous: Unicode.Scalar?
        for scalar in composed.unicodeScalars {
            guard scalar.isFreeform(after: previous) else { throw PasswordRefusal(.forbiddenCharacter) }
            previous = scalar
            count += 1
        }
        guard count <= limits.mostCharacters else { throw PasswordRefusal(.tooLong) }
        self.bytes = SecretBytes(utf8: composed)
        self.characterCount = count
    }

    /// The substitute for a missing password. No text has these bytes.
    static let nobodys = Password(bytes: SecretBytes([0]), characterCount: 1)

    private init(bytes: SecretBytes, characterCount: Int) {
        self.bytes = bytes
        self.characterCount = characterCount
    }

    /// Throws ``PasswordRefusal`` `tooShort` unless the password is long enough for a new password.
    public func checkAsNew(limits: PasswordLimits = PasswordLimits()) throws(PasswordRefusal) {
        guard self.characterCount >= limits.fewestCharacters else { throw PasswordRefusal(.tooShort) }
    }

    /// Lends the UTF-8 bytes of the password for the duration of `body`.
    public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try self.bytes.withBytes(body)
    }

    /// The type alone, without the length, because a length would help a guesser.
    public var description: String { "Password" }
    /// A mirror without children, so that `dump` shows nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }

    /// `true` if both are the same password, in constant time for passwords of equal length.
    public static func == (left: Self, right: Self) -> Bool { left.bytes == right.bytes }
}

/// The reason why a text is refused as a password, or as a new password. Two refusals are equal if their codes are
/// equal.
public struct PasswordRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason of the refusal, for code that must choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String { case empty, tooShort, tooLong, forbiddenCharacter, breached }
        private let name: Name
        /// The text has no characters.
        public static let empty = Self(name: .empty)
        /// The text has fewer characters than a new password needs.
        public static let tooShort = Self(name: .tooShort)
        /// The text has more characters than any password, or more than 30 combining marks in a row.
        public static let tooLong = Self(name: .tooLong)
        /// The text has a character that passwords cannot have: a control or invisible character, private use, a
        /// character unknown to Unicode, or one of the few others that the profile forbids.
        public static let forbiddenCharacter = Self(name: .forbiddenCharacter)
        /// The password is in a list of breached passwords.
        public static let breached = Self(name: .breached)
        public var description: String { self.name.rawValue }
    }

    /// The reason of the refusal.
    public let code: Code

    /// Creates a refusal. A refusal has no text for the log, because a text could only reveal the password.
    public init(_ code: Code) { self.code = code }

    public var description: String { "PasswordRefusal.\(self.code)" }
}

extension Unicode.Scalar {
    /// `true` for a character in the FreeformClass of RFC 8264, section 4.3, minus the characters that the exceptions
    /// of RFC 5892, section 2.6, forbid.
    fileprivate func isFreeform(after previous: Unicode.Scalar?) -> Bool {
        switch self.value {
        // The joiners: RFC 5892, appendices A.1 and A.2, limited to the rule about the character before.
        case 0x200C, 0x200D: return previous?.properties.canonicalCombiningClass == .virama
        // Characters that stretch or repeat letters.
        case 0x0640, 0x07FA, 0x302E, 0x302F, 0x3031...0x3035, 0x303B: return false
        // Jamo that did not compose.
        case 0x1100...0x11FF, 0xA960...0xA97C, 0xD7B0...0xD7FB: return false
        default: break
        }
        guard !self.properties.isDefaultIgnorableCodePoint, !self.properties.isNoncharacterCodePoint else {
            return false
        }
        switch self.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: return false
        default: return true
        }
    }
}
