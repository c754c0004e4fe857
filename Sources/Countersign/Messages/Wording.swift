/// A sentence of a language: the words of the language around the values of parameters.
///
/// The two kinds of parts differ for a check: two languages have the same values, and different words.
///
/// ```swift
/// let wording: Wording = "This app was called \(name) when it was enrolled."
/// ```
public struct Wording: Sendable, Hashable, ExpressibleByStringInterpolation {
    /// A part of a sentence.
    public enum Part: Sendable, Hashable {
        /// Words of the language.
        case words(String)
        /// The value of a parameter.
        case value(String)
    }

    /// The parts, in the order of the sentence.
    public private(set) var parts: [Part]

    /// The sentence as a plain text.
    public var text: String {
        self.parts.map { part in
            switch part {
            case .words(let words): words
            case .value(let value): value
            }
        }.joined()
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

        /// Adds a name or another value that no language changes.
        public mutating func appendInterpolation(_ value: String) { self.parts.append(.value(value)) }

        /// Adds a number.
        public mutating func appendInterpolation(_ number: Int) { self.parts.append(.value("\(number)")) }

        /// Adds the parts of another sentence.
        public mutating func appendInterpolation(_ wording: Wording) { self.parts += wording.parts }
    }
}

/// An error for people: the event, and the person's next step.
public struct ErrorMessage: Sendable, Hashable {
    /// The event, in one or more sentences.
    public let sentence: String
    /// The person's next step, in one or more sentences. An error that needs no remedy has a sentence that says so.
    public let advice: String

    /// Both texts, with a space between.
    public var text: String { "\(self.sentence) \(self.advice)" }

    /// Creates a message.
    public init(sentence: String, advice: String) {
        self.sentence = sentence
        self.advice = advice
    }
}
