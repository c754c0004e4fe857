#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A text that is the same as another where their UTF-8 bytes are: an identifier from outside as an element of a set, or
/// as a key.
///
/// Two strings of Swift are equal where Unicode calls them canonically equivalent. That is right for what people write
/// and wrong for what names something: the KELVIN SIGN equals the letter K, the GREEK QUESTION MARK a semicolon, and
/// finding that out costs time that grows with the square of a run of combining marks.
public struct ExactText: Hashable, Comparable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The text as it came.
    public let text: String

    /// Takes a text as it is.
    public init(_ text: String) { self.text = text }
    /// A name that is written down here.
    public init(stringLiteral text: StaticString) { self.text = text.description }

    public var description: String { self.text }
    public static func == (left: Self, right: Self) -> Bool { left.text.hasSameBytes(as: right.text) }
    public static func < (left: Self, right: Self) -> Bool { left.text.utf8.lexicographicallyPrecedes(right.text.utf8) }
    public func hash(into hasher: inout Hasher) { self.text.hashBytes(into: &hasher) }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether both have the same bytes, of as many.
    fileprivate func hasSameBytes(as other: Self) -> Bool {
        guard let start = self.baseAddress, let otherStart = other.baseAddress else { return self.isEmpty }
        return memcmp(start, otherStart, self.count) == 0
    }
}

extension StringProtocol {
    /// Whether both texts are the same bytes of UTF-8. It is what has to be asked of anything that names something and
    /// came from outside; `==` is canonical equivalence.
    public func hasSameBytes(as other: some StringProtocol) -> Bool {
        let (left, right) = (self.utf8, other.utf8)
        guard left.count == right.count else { return false }
        // Nearly every text is stored as UTF-8, and then this compares memory.
        return left.withContiguousStorageIfAvailable { left in
            right.withContiguousStorageIfAvailable { left.hasSameBytes(as: $0) } ?? left.elementsEqual(right)
        } ?? left.elementsEqual(right)
    }

    /// Whether the text begins with these bytes, in this spelling.
    public func hasBytes(atStart start: some StringProtocol) -> Bool { self.utf8.starts(with: start.utf8) }

    /// Whether the text ends with these bytes, in this spelling.
    public func hasBytes(atEnd end: some StringProtocol) -> Bool {
        self.utf8.suffix(end.utf8.count).elementsEqual(end.utf8)
    }

    /// The texts between the places where an ASCII character stands, none left out. A character that Unicode holds for the
    /// same separates nothing, nor is one overlooked because a combining mark follows it.
    public func splitBytes(at separator: Unicode.Scalar, maxSplits: Int = .max) -> [SubSequence] {
        self.utf8.split(separator: UInt8(ascii: separator), maxSplits: maxSplits, omittingEmptySubsequences: false)
            .map { self[$0.startIndex..<$0.endIndex] }
    }

    /// The text with the letters A to Z in lower case and every other byte as it is. No letter of another script becomes
    /// one of ASCII by it, as the KELVIN SIGN does under `lowercased()`.
    public var asciiLowercased: String {
        String(decoding: self.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    /// The text with the letters a to z in upper case and every other byte as it is.
    public var asciiUppercased: String {
        String(decoding: self.utf8.map { (0x61...0x7A).contains($0) ? $0 & 0xDF : $0 }, as: UTF8.self)
    }

    /// The type of a media type (RFC 9110, section 8.3.1), in lower case and without its parameters: what stands before
    /// the first semicolon, which is one byte and no letter of another script that Unicode calls equal to it.
    public var mediaType: String {
        let type = self.utf8.prefix { $0 != UInt8(ascii: ";") }
        func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        return String(decoding: type.filter { !isSpace($0) }, as: UTF8.self).asciiLowercased
    }

    /// Whether nowhere more than 30 combining marks follow one another, the Stream-Safe Text Format of Unicode (UAX #15,
    /// section 13). Text of any language is; and what is can be normalised and compared in time that grows with its
    /// length alone.
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
    /// Feeds the bytes of UTF-8 and an end mark into a hasher, for a type whose `==` is ``hasSameBytes(as:)``.
    public func hashBytes(into hasher: inout Hasher) {
        var text = self
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xFF as UInt8)
    }
}

extension Sequence where Element == String {
    /// Whether one of the texts is these bytes.
    public func containsBytes(of text: some StringProtocol) -> Bool { self.contains { $0.hasSameBytes(as: text) } }
}

extension RawRepresentable where RawValue == String {
    /// The value of that name, spelled with the same bytes.
    public init?(exactly text: String) {
        self.init(rawValue: text)
        guard self.rawValue.hasSameBytes(as: text) else { return nil }
    }
}

extension Unicode.Scalar {
    /// Whether the character hides, reorders, or has no agreed picture: control, format (bidirectional, zero-width),
    /// separators of lines and paragraphs, private use, unassigned, and what is ignorable by default. The line feed and
    /// the tab are control characters.
    public var isUnfitToShow: Bool {
        switch self.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: return true
        default:
            // Fillers and grapheme joiners hide text too; the two variation selectors of emoji only choose a picture.
            return self.properties.isDefaultIgnorableCodePoint && self.value != 0xFE0E && self.value != 0xFE0F
        }
    }

    /// Whether normalising orders it among its neighbours: it combines, or it falls apart into what does.
    fileprivate var isMark: Bool {
        guard self.value >= 0x300 else { return false }
        return self.properties.canonicalCombiningClass != .notReordered
            || [0x0F73, 0x0F75, 0x0F81].contains(self.value)
    }
}
