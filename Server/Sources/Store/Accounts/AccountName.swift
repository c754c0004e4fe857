import Foundation
import _Primitives

/// A person's user name in its one spelling, Unicode's NFC: two spellings that Unicode holds for the same are the same
/// name, and are the same bytes here.
///
/// A name is bounded, trimmed and composed where it enters, once. ``text`` keeps the spelling, which people see. ``key`` is
/// the same for all spellings that mean one name; accounts, invented accounts, counters, budgets and hints go by the key.
public struct AccountName: Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// The name as it was written, trimmed and in Unicode's composed form (NFC).
    public let text: String
    /// The name in the one spelling under which it is looked up, counted and hashed: ``text`` with A to Z in lower case. No
    /// other letter changes its case, because that would depend on the language.
    public var key: String { self.text.asciiLowercased }
    /// `true` if a letter other than A to Z stands in upper case. An account cannot have such a name: people who write the
    /// letter in lower case would be somebody else.
    public var hasOtherCapitals: Bool {
        // Lower case as people write it is only looked for: no name is looked up or kept in it.
        !self.key.lowercased().hasSameBytes(as: self.key)
    }

    /// Takes a name as somebody has written it. `nil` for what nobody can be called: nothing, or more than
    /// ``Limits/usernameCharacters``.
    public init?(_ written: String, limits: Limits) {
        // Composing takes time that grows with the square of a run of marks: the length is looked at first.
        guard written.utf8.count <= 4 * limits.usernameCharacters else { return nil }
        let trimmed = Self.trimmed(written)
        guard (1...limits.usernameCharacters).contains(trimmed.unicodeScalars.count) else { return nil }
        self.text = trimmed.precomposedStringWithCanonicalMapping
    }

    /// A text without the white space (Unicode `White_Space`) at both ends.
    public static func trimmed(_ text: String) -> String {
        var scalars = text.unicodeScalars[...]
        while scalars.first?.properties.isWhitespace == true { scalars.removeFirst() }
        while scalars.last?.properties.isWhitespace == true { scalars.removeLast() }
        return String(scalars)
    }

    /// Takes a name as a store gives it back: it was composed when it came in.
    public init(stored text: String) { self.text = text }

    /// A name that is written down here.
    public init(stringLiteral text: StaticString) { self.text = text.description.precomposedStringWithCanonicalMapping }

    public var description: String { self.text }
    public static func == (left: Self, right: Self) -> Bool { left.text.hasSameBytes(as: right.text) }
    public func hash(into hasher: inout Hasher) { self.text.hashBytes(into: &hasher) }
}
