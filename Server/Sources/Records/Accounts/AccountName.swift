import Foundation
public import Settings
import _Primitives

/// A person's user name in Unicode's composed form (NFC). Two spellings that Unicode treats as the same are the same
/// name, and have the same bytes here.
///
/// A name is bounded, trimmed and composed once, at the entry. ``text`` keeps the spelling, which people see. ``key``
/// is the same for all spellings of a name, also for spellings with other capitals from A to Z. Accounts, invented
/// accounts, counters, budgets and hints go by the key. `==` compares ``text``, so two names with the same key can be
/// unequal.
public struct AccountName: Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// The name as it was written, trimmed and in Unicode's composed form (NFC).
    public let text: String
    /// The single spelling under which the name is looked up, counted and hashed: ``text`` with A to Z in lower case.
    /// No other letter changes its case, because that would depend on the language.
    public var key: String { self.text.asciiLowercased }
    /// `true` if a letter other than A to Z stands in upper case. No new account gets such a name: people who write the
    /// letter in lower case would be a different person.
    public var hasOtherCapitals: Bool {
        // Lower case as people write it serves this check alone: no name is looked up or kept in lower case.
        !self.key.lowercased().hasSameBytes(as: self.key)  // check: unicode-words
    }

    /// Takes a name as a person has written it. `nil` for a text that cannot be a name: an empty text, or more
    /// characters than ``Limits/usernameCharacters``.
    public init?(_ written: String, limits: Limits) {
        // The length is checked first, because composing takes time that grows with the square of a run of marks.
        guard written.utf8.count <= 4 * limits.usernameCharacters else { return nil }
        let trimmed = Self.trimmed(written)
        guard (1...limits.usernameCharacters).contains(trimmed.unicodeScalars.count) else { return nil }
        self.text = trimmed.precomposedStringWithCanonicalMapping
    }

    /// Returns a text without the white space (Unicode `White_Space`) at both ends.
    public static func trimmed(_ text: String) -> String {
        var scalars = text.unicodeScalars[...]
        while scalars.first?.properties.isWhitespace == true { scalars.removeFirst() }
        while scalars.last?.properties.isWhitespace == true { scalars.removeLast() }
        return String(scalars)
    }

    /// Takes a name from a store. The name was composed when it came in.
    public init(stored text: String) { self.text = text }

    /// Takes a name from the source code.
    public init(stringLiteral text: StaticString) { self.text = text.description.precomposedStringWithCanonicalMapping }

    public var description: String { self.text }
    public static func == (left: Self, right: Self) -> Bool { left.text.hasSameBytes(as: right.text) }
    public func hash(into hasher: inout Hasher) { self.text.hashBytes(into: &hasher) }
}
