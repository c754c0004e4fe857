import Foundation
import _Primitives

/// A password as it is hashed: one spelling of what a person typed, which never prints itself.
///
/// It is made once, where a password enters, by the profile OpaqueString of RFC 8265: spaces of any kind become the
/// space, the text is composed (NFC), case and everything else stay. Refused are control and format characters, what a
/// font does not show, private use, and what Unicode has not assigned yet, whose normal form a later version may
/// change. Of the contextual rules (RFC 8264, appendix A) joiners are taken after a virama alone; the others tell names
/// apart that look alike, and nobody looks at a password.
///
/// A text is bounded before it is normalised. The string that it was made of is the caller's to forget.
public struct Password: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    private let bytes: SecretBytes
    /// Characters, as Unicode scalars after normalisation: what the lengths of a policy are about.
    public let characterCount: Int

    /// Takes what somebody typed, as a new password or as one that is to be verified.
    ///
    /// Throws ``PasswordRefusal``: `empty`, `tooLong`, `forbiddenCharacter`. Whoever verifies goes on with `nil` then,
    /// so that such a text costs what a wrong password costs.
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

    /// What stands in for a password where there is none: no text is these bytes.
    static let nobodys = Password(bytes: SecretBytes([0]), characterCount: 1)

    private init(bytes: SecretBytes, characterCount: Int) {
        self.bytes = bytes
        self.characterCount = characterCount
    }

    /// Whether it is long enough to be set. Throws ``PasswordRefusal``: `tooShort`.
    public func checkAsNew(limits: PasswordLimits = PasswordLimits()) throws(PasswordRefusal) {
        guard self.characterCount >= limits.fewestCharacters else { throw PasswordRefusal(.tooShort) }
    }

    /// Lends the UTF-8 bytes of the one spelling for the time of `body`.
    public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try self.bytes.withBytes(body)
    }

    /// The type alone; not even a length, which would help a guesser.
    public var description: String { "Password" }
    /// A mirror without children, so that `dump` shows nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }

    /// Whether both are the same password, in constant time for passwords of one length.
    public static func == (left: Self, right: Self) -> Bool { left.bytes == right.bytes }
}

/// Why a text is not taken as a password, or not as a new one. Two are equal when their codes are.
public struct PasswordRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String { case empty, tooShort, tooLong, forbiddenCharacter, breached }
        private let name: Name
        /// No character.
        public static let empty = Self(name: .empty)
        /// Fewer characters than a new password has.
        public static let tooShort = Self(name: .tooShort)
        /// More characters than any password has, or more than 30 combining marks in a row.
        public static let tooLong = Self(name: .tooLong)
        /// A character that nobody sees or that Unicode does not know.
        public static let forbiddenCharacter = Self(name: .forbiddenCharacter)
        /// A password that is in a list of breached ones.
        public static let breached = Self(name: .breached)
        public var description: String { self.name.rawValue }
    }

    /// What is wrong.
    public let code: Code

    /// A refusal of that kind. There is no reason beside it: it could only tell of the password.
    public init(_ code: Code) { self.code = code }

    public var description: String { "PasswordRefusal.\(self.code)" }
}

extension Unicode.Scalar {
    /// Whether it is in the FreeformClass of RFC 8264, section 4.3, with the exceptions of RFC 5892, section 2.6, that
    /// forbid.
    fileprivate func isFreeform(after previous: Unicode.Scalar?) -> Bool {
        switch self.value {
        // The joiners: RFC 5892, appendices A.1 and A.2, as far as they go by the character before.
        case 0x200C, 0x200D: return previous?.properties.canonicalCombiningClass == .virama
        // What stretches or repeats letters.
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
