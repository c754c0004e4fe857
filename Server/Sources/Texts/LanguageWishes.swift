import _Primitives

/// The languages that a person wants, the best first. A text outside the grammar or beyond a bound is no wish at all,
/// and never an error: the languages are a convenience, and anybody can send any text.
public struct LanguageWishes: Sendable, Equatable {
    /// The most bytes of a text that is read.
    public static let mostBytes = 1_000
    /// The most elements of a text that is read.
    public static let mostRanges = 20

    /// The language ranges (RFC 4647, section 2.1), the best first, in the spelling of the person's browser.
    public let ranges: [String]

    /// Reads a header `Accept-Language` (RFC 9110, section 12.5.4). Ranges of the same quality keep their order, and a
    /// range of quality 0 is left out.
    public init(acceptLanguage header: String?) {
        let elements = Self.elements(of: header, between: ",").map(Self.trimmed).filter { !$0.isEmpty }
        let weighted = elements.compactMap(Self.weighted)
        guard weighted.count == elements.count else {
            self.ranges = []
            return
        }
        self.ranges = weighted.enumerated().filter { $0.element.quality > 0 }
            .sorted { ($1.element.quality, $0.offset) < ($0.element.quality, $1.offset) }
            .map { String($0.element.range) }
    }

    /// Reads the parameter `ui_locales` of an authorization request: tags with a space between, the best first (OpenID
    /// Connect Core 1.0, section 3.1.2.1).
    public init(uiLocales tags: String?) {
        let tags = Self.elements(of: tags, between: " ")
        self.ranges = tags.allSatisfy(Self.isTag) ? tags.map { String($0) } : []
    }

    private static func elements(of text: String?, between separator: Unicode.Scalar) -> [Substring] {
        guard let text, !text.isEmpty, text.utf8.count <= Self.mostBytes else { return [] }
        let elements = text.splitBytes(at: separator)
        return elements.count <= Self.mostRanges ? elements : []
    }

    /// Reads one range with its quality, in thousandths; `nil` for an element outside the grammar.
    private static func weighted(_ element: Substring) -> (range: Substring, quality: Int)? {
        let parts = String(element).splitBytes(at: ";").map(Self.trimmed)
        guard let range = parts.first, range == "*" || Self.isTag(range) else { return nil }
        switch parts.count {
        case 1: return (range, 1_000)
        case 2:
            let weight = Array(parts[1].utf8)
            guard [UInt8(ascii: "q"), UInt8(ascii: "Q")].contains(weight.first), weight.dropFirst().first == 0x3D,
                let quality = Self.quality(weight.dropFirst(2))
            else { return nil }
            return (range, quality)
        default: return nil
        }
    }

    /// Reads a quality: 0 or 1, and up to three digits after a point. 1 is the largest.
    private static func quality(_ text: ArraySlice<UInt8>) -> Int? {
        guard let whole = text.first, whole == UInt8(ascii: "0") || whole == UInt8(ascii: "1") else { return nil }
        let fraction = text.dropFirst(2)
        guard text.count == 1 || text.dropFirst().first == UInt8(ascii: "."), fraction.count <= 3,
            fraction.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        let digits = Array(fraction) + Array(repeating: UInt8(ascii: "0"), count: 3 - fraction.count)
        let quality = ([whole] + digits).reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return quality <= 1_000 ? quality : nil
    }

    /// Returns `true` for a range that is no wildcard: one to eight letters, and then parts of one to eight letters and
    /// digits with hyphens between.
    private static func isTag(_ text: Substring) -> Bool {
        let parts = String(text).splitBytes(at: "-")
        return parts.allSatisfy { (1...8).contains($0.utf8.count) && $0.utf8.allSatisfy(Self.isLetterOrDigit) }
            && !(parts.first ?? "").utf8.contains { $0 < UInt8(ascii: "A") }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    /// Returns the text without the spaces and tabs around it.
    private static func trimmed(_ text: Substring) -> Substring {
        let isSpace: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        let start = text.utf8.drop(while: isSpace)
        return Substring(start.prefix(start.count - start.reversed().prefix(while: isSpace).count))
    }
}
