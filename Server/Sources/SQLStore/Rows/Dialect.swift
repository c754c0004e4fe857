/// The words in which a database writes what databases write in different words.
///
/// A statement has the words of the SQL standard. A connection puts the words of its database in their place when the
/// connection prepares the statement, which is once for each text.
package struct Dialect: Sendable {
    /// The words of the standard that the database does not know, with the database's own words.
    private let words: [(standard: String, own: String)]

    /// Returns a statement in the words of the database.
    package func statement(_ text: String) -> String {
        self.words.reduce(text) { text, word in text.replacing(word.standard, with: word.own) }
    }

    /// The words of SQLite, where the smaller and the larger of several values have the names of the aggregates.
    package static let sqlite = Dialect(words: [("least(", "min("), ("greatest(", "max(")])
}
