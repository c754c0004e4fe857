public import Countersign

/// The language of the screens: the words of the screens' texts, and the messages of errors.
public struct ScreenLanguage: Sendable {
    /// The messages of errors.
    public let messages: any MessageLanguage
    private let replaced: @Sendable (ScreenText) -> Wording?

    /// Creates a language.
    ///
    /// - Parameters:
    ///   - messages: The messages of errors, for instance of ``MessageCatalogue/language(for:)``. The texts are those of
    ///     the language with the same tag, and English for other tags.
    ///   - replacing: Returns the app's own words of a text; `nil` for the words of the language.
    public init(
        _ messages: any MessageLanguage, replacing: @escaping @Sendable (ScreenText) -> Wording? = { _ in nil }
    ) {
        self.messages = messages
        self.replaced = replacing
    }

    /// Returns the words of a text.
    public func text(_ text: ScreenText) -> String {
        if let words = self.replaced(text) { return words.text }
        let language = self.messages.tag.prefix { $0 != "-" }
        return switch Array(language.utf8) {
        case Array("de".utf8): Self.german(text).text
        case Array("fr".utf8): Self.french(text).text
        case Array("es".utf8): Self.spanish(text).text
        default: Self.english(text).text
        }
    }

    /// Returns the message of an error; `nil` without an error.
    func message(_ error: ScreenError?) -> String? {
        error.map { "\(self.messages.words($0.event).text) \(self.messages.words($0.advice).text)" }
    }
}

/// The reason for which a screen asks again: the event and the person's next step.
public struct ScreenError: Hashable, Sendable {
    /// The event.
    public let event: ErrorEvent
    /// The person's next step.
    public let advice: ErrorAdvice

    /// Creates the reason of an error.
    public init(_ error: some ExplainedError) {
        self.event = error.event
        self.advice = error.advice
    }
}
