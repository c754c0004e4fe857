/// A language of errors: the words of each event and of each advice.
///
/// The compiler demands each sentence: a `switch` without a case does not compile. An app can bring a language of its own,
/// and puts the language into a ``MessageCatalogue``. To replace single sentences, an app uses ``ReplacedMessages``.
public protocol MessageLanguage: Sendable {
    /// The name of the language (RFC 5646).
    var tag: String { get }

    /// Returns the words of an event.
    func words(_ event: ErrorEvent) -> Wording
    /// Returns the words of an advice.
    func words(_ advice: ErrorAdvice) -> Wording
}

/// A language with some sentences replaced by sentences of an app.
///
/// ```swift
/// let german = ReplacedMessages(
///     MessageCatalogue.standard.language(for: ["de"]),
///     events: { $0 == .accountLocked ? "Ihr Konto bei der Musterbank ist gesperrt." : nil })
/// ```
public struct ReplacedMessages: MessageLanguage {
    private let language: any MessageLanguage
    private let events: @Sendable (ErrorEvent) -> Wording?
    private let advices: @Sendable (ErrorAdvice) -> Wording?

    /// The name of the language (RFC 5646).
    public let tag: String

    /// Creates a language.
    ///
    /// - Parameters:
    ///   - language: The language of all other sentences.
    ///   - tag: The name of the new language; `nil` for the name of the other language.
    ///   - events: Returns the words of an event; `nil` for the words of the other language.
    ///   - advices: Returns the words of an advice; `nil` for the words of the other language.
    public init(
        _ language: any MessageLanguage, tag: String? = nil,
        events: @escaping @Sendable (ErrorEvent) -> Wording? = { _ in nil },
        advices: @escaping @Sendable (ErrorAdvice) -> Wording? = { _ in nil }
    ) {
        self.language = language
        self.tag = tag ?? language.tag
        self.events = events
        self.advices = advices
    }

    /// Returns the app's words of an event, or the words of the other language.
    public func words(_ event: ErrorEvent) -> Wording { self.events(event) ?? self.language.words(event) }
    /// Returns the app's words of an advice, or the words of the other language.
    public func words(_ advice: ErrorAdvice) -> Wording { self.advices(advice) ?? self.language.words(advice) }
}

/// A duration as people say it: one number and one unit, rounded up.
enum RoundedDuration: Hashable {
    case seconds(Int)
    case minutes(Int)
    case hours(Int)

    /// Rounds a duration up: to minutes from two minutes on, and to hours from two hours on.
    init(seconds: Int) {
        switch seconds {
        case ..<120: self = .seconds(max(1, seconds))
        case ..<7_200: self = .minutes((seconds - 1) / 60 + 1)
        default: self = .hours((seconds - 1) / 3_600 + 1)
        }
    }
}
