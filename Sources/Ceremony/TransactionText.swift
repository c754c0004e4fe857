import Foundation
public import _Primitives

/// A text that a person is asked to agree to, in the single spelling that is shown and signed.
///
/// The server makes the text from the relying party's text (``init(normalizing:maximumLength:)``) and answers the
/// bytes. The phone takes these bytes unchanged (``init(received:maximumLength:)``) and refuses a text that would need
/// rewriting. Both sides refuse characters that could let two people read the same bytes differently: control
/// characters other than the line feed, format characters (bidirectional, zero-width), line and paragraph separators,
/// private use, unassigned and default-ignorable characters.
public struct TransactionText: Hashable, Sendable, CustomStringConvertible {
    /// The text, in Normalization Form C.
    public let text: String

    /// The UTF-8 bytes that are shown, hashed and signed.
    public var bytes: [UInt8] { Array(self.text.utf8) }

    /// The most characters (Unicode scalars) of a text: FIDO UAF Protocol 1.1, dictionary Transaction.
    public static let maximumLength = 200

    /// Creates a text in Normalization Form C, with line feeds as line ends.
    ///
    /// Throws ``TransactionTextError``: `empty`, `tooLong`, `forbiddenCharacter`.
    public init(normalizing text: String, maximumLength: Int = Self.maximumLength) throws(TransactionTextError) {
        try Self.check(text, against: 4 * maximumLength)
        guard !Self.isPlain(text) else {
            try self.init(plain: text, maximumLength: maximumLength)
            return
        }
        let lines = text.replacingOccurrences(of: "\r\n", with: "\n").replacingOccurrences(of: "\r", with: "\n")
        try self.init(checking: lines.precomposedStringWithCanonicalMapping, maximumLength: maximumLength)
    }

    /// Creates a text from the bytes that will be signed, without a change.
    ///
    /// Throws ``TransactionTextError``: `notUTF8`, `notNormalized`, and the errors of
    /// ``init(normalizing:maximumLength:)``.
    public init(received bytes: some Collection<UInt8>, maximumLength: Int = Self.maximumLength)
        throws(TransactionTextError)
    {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw TransactionTextError(.notUTF8) }
        try Self.check(text, against: maximumLength)
        guard !Self.isPlain(text) else {
            try self.init(plain: text, maximumLength: maximumLength)
            return
        }
        // Swift compares strings by canonical equivalence; here the exact scalars count.
        guard text.unicodeScalars.elementsEqual(text.precomposedStringWithCanonicalMapping.unicodeScalars) else {
            throw TransactionTextError(.notNormalized)
        }
        try self.init(checking: text, maximumLength: maximumLength)
    }

    /// Checks the length of a text before normalising, which takes the square of a run of combining marks. No composed
    /// character stands for more than four characters.
    private static func check(_ text: String, against maximumLength: Int) throws(TransactionTextError) {
        guard text.utf8.count <= 4 * maximumLength, text.unicodeScalars.count <= maximumLength else {
            throw TransactionTextError(.tooLong, "\(text.utf8.count) bytes")
        }
    }

    /// Returns `true` if the text contains only the printable characters of ASCII and line feeds.
    ///
    /// None of these characters is forbidden or composed. Most names are plain, so most names need no further checks.
    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { (0x20...0x7E).contains($0) || $0 == UInt8(ascii: "\n") }
    }

    private init(plain text: String, maximumLength: Int) throws(TransactionTextError) {
        guard text.utf8.contains(where: { (0x21...0x7E).contains($0) }) else { throw TransactionTextError(.empty) }
        guard text.utf8.count <= maximumLength else {
            throw TransactionTextError(.tooLong, "\(text.utf8.count) characters")
        }
        self.text = text
    }

    private init(checking text: String, maximumLength: Int) throws(TransactionTextError) {
        guard text.unicodeScalars.contains(where: { !$0.properties.isWhitespace }) else {
            throw TransactionTextError(.empty)
        }
        let length = text.unicodeScalars.count
        guard length <= maximumLength else { throw TransactionTextError(.tooLong, "\(length) characters") }
        for scalar in text.unicodeScalars where scalar != "\n" && DisplayText.isForbidden(scalar) {
            throw TransactionTextError(.forbiddenCharacter, "U+\(String(scalar.value, radix: 16, uppercase: true))")
        }
        self.text = text
    }

    public static func == (left: Self, right: Self) -> Bool { left.bytes == right.bytes }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.bytes) }

    /// The length alone, because the text is the person's private matter.
    public var description: String { "TransactionText(\(self.text.unicodeScalars.count) characters)" }
}

/// The reason why a text cannot be shown and signed. Two errors are equal if their codes are equal.
public struct TransactionTextError: CodedError {
    /// The kind of error, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case empty, tooLong, forbiddenCharacter, notUTF8, notNormalized }
        private let base: Base
        /// The text is empty or only white space.
        public static let empty = Self(base: .empty)
        /// The text has more characters than the limit.
        public static let tooLong = Self(base: .tooLong)
        /// The text has a character that hides, reorders or has no agreed picture.
        public static let forbiddenCharacter = Self(base: .forbiddenCharacter)
        /// The bytes are not UTF-8.
        public static let notUTF8 = Self(base: .notUTF8)
        /// The text is not in Normalization Form C, and a phone does not rewrite a text.
        public static let notNormalized = Self(base: .notNormalized)
        public var description: String { self.base.rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// A text for the log: a length or a code point, never the text.
    public let reason: String

    /// Creates an error with the code; `reason` must hold no secret.
    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }
}
