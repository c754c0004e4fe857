/// The words in which a database writes what databases write in different words.
///
/// A statement has the words that SQLite and PostgreSQL share, and PostgreSQL's words where the two databases differ. A
/// connection puts the words of its database in their place when the connection prepares the statement, which is once
/// for each text.
package struct Dialect: Sendable {
    /// The words of a statement that the database does not know, with the database's own words.
    private let words: [(common: String, own: String)]

    /// Returns a statement in the words of the database.
    package func statement(_ text: String) -> String {
        self.words.reduce(text) { text, word in text.replacing(word.common, with: word.own) }
    }

    /// The words of SQLite, where the smaller and the larger of several values have the names of the aggregates.
    package static let sqlite = Dialect(words: [
        ("least(", "min("), ("greatest(", "max("), ("string_agg(", "group_concat("),
        ("jsonb_array_elements_text(", "json_each("), ("jsonb_agg(", "json_group_array("),
    ])
}
