import _Primitives

/// The languages in which errors have messages for people.
///
/// ```swift
/// let language = MessageCatalogue.standard.language(for: Locale.preferredLanguages)
/// do { try await operation.execute() } catch let error as OperationError {
///     show(error.message(in: language).text)
/// }
/// ```
public struct MessageCatalogue: Sendable {
    /// The languages of the SDK: English, German, French and Spanish.
    public static let standard = MessageCatalogue(
        EnglishMessages(), GermanMessages(), FrenchMessages(), SpanishMessages())

    /// The maximum number of a person's wishes that count.
    private static let mostWishes = 20
    /// The maximum number of bytes of a wish.
    private static let mostBytes = 100

    /// The languages. A person whose wishes have no language gets the first language.
    public private(set) var languages: [any MessageLanguage]
    private let usual: any MessageLanguage

    /// Creates a catalogue of languages. The usual language is for people whose wishes have no language.
    public init(_ usual: any MessageLanguage, _ others: any MessageLanguage...) {
        self.usual = usual
        self.languages = [usual] + others
    }

    /// Returns the catalogue with a language of the app. The language replaces a language of the same tag.
    public func with(_ language: any MessageLanguage) -> Self {
        let isSame: (any MessageLanguage) -> Bool = {
            $0.tag.asciiLowercased.hasSameBytes(as: language.tag.asciiLowercased)
        }
        var catalogue = Self(isSame(self.usual) ? language : self.usual)
        catalogue.languages = self.languages.map { isSame($0) ? language : $0 }
        if !self.languages.contains(where: isSame) { catalogue.languages.append(language) }
        return catalogue
    }

    /// Returns the language that a person gets, by the lookup of RFC 4647, section 3.4: `de-CH` finds `de`.
    ///
    /// - Parameter wishes: The language tags that the person wants, the best first, as `Locale.preferredLanguages` of
    ///   Foundation lists the tags. More than 20 wishes, or a wish of more than 100 bytes, do not count.
    public func language(for wishes: [String]) -> any MessageLanguage {
        let ranges = wishes.prefix(Self.mostWishes).filter { $0.utf8.count <= Self.mostBytes }
        let tags = Dictionary(
            self.languages.map { ($0.tag.asciiLowercased, $0) }, uniquingKeysWith: { first, _ in first })
        return ranges.lazy.flatMap(Self.prefixes).compactMap { tags[$0] }.first ?? self.usual
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

/// An error with a message for people in each language.
///
/// Every error of the SDK's faces that an app can get from an operation, a process or a screen is of this kind.
public protocol ExplainedError {
    /// The event of the error.
    var event: ErrorEvent { get }
    /// The person's next step.
    var advice: ErrorAdvice { get }
}

extension ExplainedError {
    /// Returns the message for a person. No part of the message comes from the server or from the `reason` of a
    /// `CodedError`.
    public func message(in language: any MessageLanguage) -> ErrorMessage {
        ErrorMessage(sentence: language.words(self.event).text, advice: language.words(self.advice).text)
    }
}
