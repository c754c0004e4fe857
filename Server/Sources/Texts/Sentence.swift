/// A sentence, or a few words, as a person reads them: the words of a language around the values of its parameters.
///
/// The two kinds of parts differ for a page. A page's template puts marks around a value, and the words are escaped.
public struct Sentence: Sendable, Equatable, ExpressibleByStringInterpolation {
    /// A part of a sentence.
    public enum Part: Sendable, Equatable {
        /// Words of the language.
        case words(String)
        /// The value of a parameter.
        case value(String)
    }

    /// The parts, in the order of the sentence.
    public private(set) var parts: [Part]

    /// The sentence as plain text.
    public var plain: String {
        self.parts.reduce(into: "") { text, part in
            switch part {
            case .words(let words): text += words
            case .value(let value): text += value
            }
        }
    }

    /// Creates a sentence without parameters.
    public init(stringLiteral words: String) { self.parts = [.words(words)] }

    /// Creates a sentence of words and values.
    public init(stringInterpolation: StringInterpolation) { self.parts = stringInterpolation.parts }

    /// Collects the parts of a sentence.
    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var parts: [Part] = []

        /// Begins a sentence.
        public init(literalCapacity: Int, interpolationCount: Int) {}

        /// Adds words of the language.
        public mutating func appendLiteral(_ words: String) {
            if !words.isEmpty { self.parts.append(.words(words)) }
        }

        /// Adds a name, an address, a moment or another value that no language changes.
        public mutating func appendInterpolation(_ value: String) { self.parts.append(.value(value)) }

        /// Adds a number.
        public mutating func appendInterpolation(_ number: Int) { self.parts.append(.value("\(number)")) }

        /// Adds a sentence, or a part that a language has made of its own words.
        public mutating func appendInterpolation(_ sentence: Sentence) { self.parts += sentence.parts }
    }
}

/// The words of a page that says or asks one thing.
public struct Message: Sendable, Equatable {
    /// A short sentence above everything else.
    public let headline: Sentence
    /// The title of the page: the headline, unless a language has other words for it.
    public let title: Sentence
    /// The meaning, and the person's next step.
    public let explanation: Sentence
    /// The words of the button; `nil` for a page without a form.
    public let submit: Sentence?
    /// The words of the link that leads on; `nil` for none.
    public let link: Sentence?

    /// Creates the words of a page.
    public init(
        _ headline: Sentence, _ explanation: Sentence, title: Sentence? = nil, submit: Sentence? = nil,
        link: Sentence? = nil
    ) {
        self.headline = headline
        self.title = title ?? headline
        self.explanation = explanation
        self.submit = submit
        self.link = link
    }
}
