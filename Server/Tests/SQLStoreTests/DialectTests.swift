import SQLStore
import Testing

@Suite("Decision 104: a statement gets the words of its database")
struct DialectTests {
    @Test(
        "SQLite's scalar minimum and maximum have the names of the aggregates, and other words stay",
        arguments: [
            ("UPDATE a SET b = greatest(0, b - 1)", "UPDATE a SET b = max(0, b - 1)"),
            ("SELECT least(a, greatest(b, ?1)) FROM c", "SELECT min(a, max(b, ?1)) FROM c"),
            ("SELECT min(a), max(b) FROM c", "SELECT min(a), max(b) FROM c"),
            ("SELECT least FROM c WHERE d = ?", "SELECT least FROM c WHERE d = ?"), ("", ""),
        ])
    func sqlite(standard: String, own: String) { #expect(Dialect.sqlite.statement(standard) == own) }
}
