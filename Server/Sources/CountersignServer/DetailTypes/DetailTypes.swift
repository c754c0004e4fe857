import Ceremony
import OAuth
import OAuthProvider
import _Primitives

/// The list of the types of authorization details: each type is a folder here, and a line of the list.
package enum DetailTypes {
    /// Returns the types. A text for a person has at most `textCharacters` characters.
    static func all(textCharacters: Int = TransactionText.maximumLength) -> [DetailType] {
        [
            .payment(textCharacters: textCharacters)
        ]
    }

    /// The names of the types, as a sentence lists the names.
    package static var names: String { self.all().map(\.type.name).joined(separator: ", ") }
}
