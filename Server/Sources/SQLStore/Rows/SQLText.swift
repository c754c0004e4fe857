import Synchronization

/// The text of one statement. A connection prepares a text once, and finds the prepared statement in one of three ways.
package enum SQLText: Sendable {
    /// A literal, found by the address of its text. A literal keeps its place as long as the program runs, and one place
    /// holds one text.
    case literal(StaticString)
    /// A text that the program puts together once, found by its number.
    case numbered(String, Int)
    /// A text that is put together at each call, found by its content. The slowest way.
    case composed(String)

    private static let lastNumber = Atomic(-1)

    /// Gives a text a number. The result is kept in a static constant: each call takes another number.
    package static func once(_ text: String) -> SQLText {
        .numbered(text, Self.lastNumber.add(1, ordering: .relaxed).newValue)
    }

    /// The text itself.
    package var text: String {
        switch self {
        case .literal(let text): text.description
        case .numbered(let text, _), .composed(let text): text
        }
    }
}

extension SQLText: ExpressibleByStringLiteral {
    package init(stringLiteral text: StaticString) { self = .literal(text) }
}
