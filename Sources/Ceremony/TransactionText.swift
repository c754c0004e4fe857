import Foundation

/// A text that a person is asked to agree to, in the one spelling that is shown and signed.
///
/// The server makes it from what a relying party sent (``init(normalizing:maximumLength:)``) and answers its bytes; the
/// phone takes those bytes as they are (``init(received:maximumLength:)``) and refuses what it would have to rewrite.
/// What could make two people read two things out of the same bytes is refused on both sides: control characters other
/// than the line feed, format characters (bidirectional, zero-width), line and paragraph separators, private use,
/// unassigned and default-ignorable characters.
public struct TransactionText: Hashable, Sendable, CustomStringConvertible {
    /// The text, in Normalization Form C.
    public let text: String

    /// The UTF-8 bytes that are shown, hashed and signed.
    public var bytes: [UInt8] { Array(self.text.utf8) }

    /// The most characters (Unicode scalars) of a text: FIDO UAF Protocol 1.1, dictionary Transaction.
    public static let maximumLength = 200

    /// Brings a text into Normalization Form C, and line ends into line feeds.
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

    /// Takes the bytes that will be signed, changing nothing.
    ///
    /// Throws ``TransactionTextError``: `notUTF8`, `notNormalized`, and those of ``init(normalizing:maximumLength:)``.
    public init(received bytes: some Collection<UInt8>, maximumLength: Int = Self.maximumLength)
        throws(TransactionTextError)
    {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw TransactionTextError(.notUTF8) }
        try Self.check(text, against: maximumLength)
        guard !Self.isPlain(text) else {
            try self.init(plain: text, maximumLength: maximumLength)
            return
        }
        // Strings compare by canonical equivalence; here the very scalars count.
        guard text.unicodeScalars.elementsEqual(text.precomposedStringWithCanonicalMapping.unicodeScalars) else {
            throw TransactionTextError(.notNormalized)
        }
        try self.init(checking: text, maximumLength: maximumLength)
    }

    /// Bounds a text before it is brought into its normal form, which takes the square of a run of combining marks. No
    /// composed character stands for more than four.
    private static func check(_ text: String, against maximumLength: Int) throws(TransactionTextError) {
        guard text.utf8.count <= 4 * maximumLength, text.unicodeScalars.count <= maximumLength else {
            throw TransactionTextError(.tooLong, "\(text.utf8.count) bytes")
        }
    }

    /// Whether there is nothing in a text but the letters, signs and spaces of ASCII and line feeds, of which none is forbidden
    /// and none composed. Most names are such, and what the rest costs is spared.
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

    /// The length alone: what somebody agrees to is theirs.
    public var description: String { "TransactionText(\(self.text.unicodeScalars.count) characters)" }
}

/// Why a text cannot be shown and signed. Two are equal when their codes are.
public struct TransactionTextError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case empty, tooLong, forbiddenCharacter, notUTF8, notNormalized }
        private let base: Base
        /// Nothing but white space.
        public static let empty = Self(base: .empty)
        /// More characters than the limit.
        public static let tooLong = Self(base: .tooLong)
        /// A character that hides, reorders or has no agreed picture.
        public static let forbiddenCharacter = Self(base: .forbiddenCharacter)
        /// Bytes that are not UTF-8.
        public static let notUTF8 = Self(base: .notUTF8)
        /// A text that is not in Normalization Form C, which a phone does not rewrite.
        public static let notNormalized = Self(base: .notNormalized)
        public var description: String { self.base.rawValue }
    }

    /// What went wrong.
    public let code: Code
    /// For the log: a length or a code point, never the text.
    public let reason: String

    /// An error with that code; `reason` must hold no secret.
    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }

    public var description: String {
        self.reason.isEmpty ? "TransactionTextError.\(self.code)" : "TransactionTextError.\(self.code): \(self.reason)"
    }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}
