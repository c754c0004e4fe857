import Foundation
import _Primitives

/// A person's user name in its one spelling, Unicode's NFC: two spellings that Unicode holds for the same are the same
/// name, and are the same bytes here.
///
/// A name is bounded and composed where it enters, once; from there on it is looked up, compared and hashed as it is.
public struct AccountName: Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// The one spelling.
    public let text: String

    /// Takes a name as somebody has written it. `nil` for what nobody can be called: nothing, or more than
    /// ``Limits/usernameCharacters``.
    public init?(_ written: String, limits: Limits) {
        // Composing takes time that grows with the square of a run of marks: the length is looked at first.
        guard written.utf8.count <= 4 * limits.usernameCharacters,
            (1...limits.usernameCharacters).contains(written.unicodeScalars.count)
        else { return nil }
        self.text = written.precomposedStringWithCanonicalMapping
    }

    /// Takes a name as a store gives it back: it was composed when it came in.
    public init(stored text: String) { self.text = text }

    /// A name that is written down here.
    public init(stringLiteral text: StaticString) { self.text = text.description.precomposedStringWithCanonicalMapping }

    public var description: String { self.text }
    public static func == (left: Self, right: Self) -> Bool { left.text.hasSameBytes(as: right.text) }
    public func hash(into hasher: inout Hasher) { self.text.hashBytes(into: &hasher) }
}
