#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A text that equals another text only if their UTF-8 bytes are equal: an external identifier as an element of a set,
/// or as a key.
///
/// Two Swift strings are equal if Unicode calls the strings canonically equivalent. This is right for texts that people
/// write, and wrong for identifiers. The KELVIN SIGN equals the letter K, and the GREEK QUESTION MARK a semicolon. The
/// comparison also costs time that grows with the square of a run of combining marks.
public struct ExactText: Hashable, Comparable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The text, unchanged.
    public let text: String

    /// Creates a value from a text, without a change.
    public init(_ text: String) { self.text = text }
    /// Creates a value from a literal in the source code.
    public init(stringLiteral text: StaticString) { self.text = text.description }

    public var description: String { self.text }
    public static func == (left: Self, right: Self) -> Bool { left.text.hasSameBytes(as: right.text) }
    public static func < (left: Self, right: Self) -> Bool { left.text.utf8.lexicographicallyPrecedes(right.text.utf8) }
    public func hash(into hasher: inout Hasher) { self.text.hashBytes(into: &hasher) }
}

extension UnsafeBufferPointer<UInt8> {
    /// Returns `true` if both buffers have the same bytes. The buffers have equal lengths.
    fileprivate func hasSameBytes(as other: Self) -> Bool {
        guard let start = self.baseAddress, let otherStart = other.baseAddress else { return self.isEmpty }
        return memcmp(start, otherStart, self.count) == 0
    }
}

extension StringProtocol {
    /// Returns `true` if both texts have the same UTF-8 bytes. Use this function for every external identifier, because
    /// `==` is canonical equivalence.
    public func hasSameBytes(as other: some StringProtocol) -> Bool {
        let (left, right) = (self.utf8, other.utf8)
        guard left.count == right.count else { return false }
        // Nearly every text is stored as UTF-8, so the comparison compares memory.
        return left.withContiguousStorageIfAvailable { left in
            right.withContiguousStorageIfAvailable { left.hasSameBytes(as: $0) } ?? left.elementsEqual(right)
        } ?? left.elementsEqual(right)
    }

    /// Returns `true` if the text begins with exactly these bytes.
    public func hasBytes(atStart start: some StringProtocol) -> Bool { self.utf8.starts(with: start.utf8) }

    /// Returns `true` if the text ends with exactly these bytes.
    public func hasBytes(atEnd end: some StringProtocol) -> Bool {
        self.utf8.suffix(end.utf8.count).elementsEqual(end.utf8)
    }

    /// Returns all texts between the occurrences of an ASCII character, empty texts included.
    ///
    /// A character that Unicode calls equivalent does not separate. A separator also counts if a combining mark
    /// follows.
    public func splitBytes(at separator: Unicode.Scalar, maxSplits: Int = .max) -> [SubSequence] {
        self.utf8.split(separator: UInt8(ascii: separator), maxSplits: maxSplits, omittingEmptySubsequences: false)
            .map { self[$0.startIndex..<$0.endIndex] }
    }

    /// The text with the letters A to Z in lower case and every other byte unchanged. No letter of another script
    /// becomes an ASCII letter, as the KELVIN SIGN does under `lowercased()`.
    public var asciiLowercased: String {
        String(decoding: self.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    /// The text with the letters a to z in upper case and every other byte unchanged.
    public var asciiUppercased: String {
        String(decoding: self.utf8.map { (0x61...0x7A).contains($0) ? $0 & 0xDF : $0 }, as: UTF8.self)
    }

    /// The type of a media type (RFC 9110, section 8.3.1), in lower case and without its parameters: the text before
    /// the first semicolon. Only the byte of a semicolon counts, not a letter of another script that Unicode calls
    /// equal.
    public var mediaType: String {
        let type = self.utf8.prefix { $0 != UInt8(ascii: ";") }
        func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        return String(decoding: type.filter { !isSpace($0) }, as: UTF8.self).asciiLowercased
    }

    /// `true` if the text never has more than 30 combining marks in a row, as in the Stream-Safe Text Format of Unicode
    /// (UAX #15, section 13).
    ///
    /// Text of every language has this property. Normalising and comparing such a text takes time that grows only with
    /// its length.
    public var isStreamSafe: Bool {
        var marks = 0
        for scalar in self.unicodeScalars {
            guard scalar.isMark else {
                marks = 0
                continue
            }
            marks += 1
            guard marks <= 30 else { return false }
        }
        return true
    }
}

extension String {
    /// Feeds the UTF-8 bytes and an end mark into a hasher, for a type whose `==` is ``hasSameBytes(as:)``.
    public func hashBytes(into hasher: inout Hasher) {
        var text = self
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xFF as UInt8)
    }
}

extension Sequence where Element == String {
    /// Returns `true` if one of the texts has exactly these bytes.
    public func containsBytes(of text: some StringProtocol) -> Bool { self.contains { $0.hasSameBytes(as: text) } }
}

extension RawRepresentable where RawValue == String {
    /// Creates the value whose raw value has exactly these bytes; `nil` if no value does.
    public init?(exactly text: String) {
        self.init(rawValue: text)
        guard self.rawValue.hasSameBytes(as: text) else { return nil }
    }
}

extension Unicode.Scalar {
    /// `true` if the character hides, reorders, or has no agreed picture: control, format (bidirectional, zero-width),
    /// separators of lines and paragraphs, private use, unassigned, and ignorable by default. The line feed and the tab
    /// are control characters.
    public var isUnfitToShow: Bool {
        switch self.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: return true
        default:
            // Fillers and grapheme joiners hide text too. The two variation selectors of emoji only choose a picture.
            return self.properties.isDefaultIgnorableCodePoint && self.value != 0xFE0E && self.value != 0xFE0F
        }
    }

    /// `true` if normalising reorders the character among its neighbours: a combining character, or a character that
    /// decomposes into combining characters.
    fileprivate var isMark: Bool {
        guard self.value >= 0x300 else { return false }
        return self.properties.canonicalCombiningClass != .notReordered
            || [0x0F73, 0x0F75, 0x0F81].contains(self.value)
    }
}
