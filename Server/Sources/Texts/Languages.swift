import _Primitives

/// The languages of the pages and letters, by their tags. A person whose language is unknown gets the first language.
public struct Languages: Sendable {
    /// The languages of the catalogue. A further language stands here, and nowhere else.
    public static let catalogue = Languages(English())

    /// The language of a person whose language is unknown.
    public let usual: any Language
    /// The languages, the usual one first.
    public let all: [any Language]

    /// Creates a choice of languages.
    public init(_ usual: any Language, _ others: any Language...) {
        self.usual = usual
        self.all = [usual] + others
    }

    /// Returns the language of a tag, or the usual language for a tag that no language has.
    public func language(tagged tag: String?) -> any Language {
        tag.flatMap { tag in self.all.first { $0.tag.hasSameBytes(as: tag) } } ?? self.usual
    }

    /// Returns the tag of the language that a person gets; `nil` if no language is among the wishes. The wishes of an
    /// earlier element come first.
    ///
    /// The choice is the lookup of RFC 4647, section 3.4: the first range counts for which there is a language, and a
    /// range loses part after part from its end until a language has the tag. A wildcard chooses nothing.
    public func tag(for wishes: LanguageWishes...) -> String? {
        let tags = Dictionary(
            self.all.map { ($0.tag.asciiLowercased, $0.tag) }, uniquingKeysWith: { first, _ in first })
        return wishes.flatMap(\.ranges).lazy.flatMap(Self.prefixes).compactMap { tags[$0] }.first
    }

    /// Returns the tags that a range finds, the longest first. A part of one letter begins an extension and goes with
    /// the part after it.
    private static func prefixes(of range: String) -> [String] {
        var parts = range.asciiLowercased.splitBytes(at: "-").map { String($0) }
        var prefixes: [String] = []
        while !parts.isEmpty {
            prefixes.append(parts.joined(separator: "-"))
            parts.removeLast()
            if parts.count > 1, parts.last?.utf8.count == 1 { parts.removeLast() }
        }
        return prefixes
    }
}
