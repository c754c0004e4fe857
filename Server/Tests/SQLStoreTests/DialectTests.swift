import SQLStore
import Testing

@Suite("Decision 104: a statement gets the words of its database")
struct DialectTests {
    @Test(
        "SQLite has words of its own for a scalar minimum and maximum, for joined texts and for JSON",
        arguments: [
            ("UPDATE a SET b = greatest(0, b - 1)", "UPDATE a SET b = max(0, b - 1)"),
            ("SELECT least(a, greatest(b, ?1)) FROM c", "SELECT min(a, max(b, ?1)) FROM c"),
            ("SELECT min(a), max(b) FROM c", "SELECT min(a), max(b) FROM c"),
            ("SELECT string_agg(a, ' ') FROM b", "SELECT group_concat(a, ' ') FROM b"),
            (
                "SELECT jsonb_agg(a.value) FROM jsonb_array_elements_text(?) AS a",
                "SELECT json_group_array(a.value) FROM json_each(?) AS a"
            ),
            ("SELECT least FROM c WHERE d = ?", "SELECT least FROM c WHERE d = ?"), ("", ""),
            ("least(least(a, b),greatest(c, d))", "min(min(a, b),max(c, d))"),
        ])
    func sqlite(common: String, own: String) { #expect(Dialect.sqlite.statement(common) == own) }

    @Test(
        "The end of a longer name and a text in quotation marks stay as they are",
        arguments: [
            ("SELECT atleast(a), at_least(a), a1least(b), \u{e9}least(c) FROM d", nil),
            ("SELECT 'least(a)', 'it''s least(a)', \"greatest(\" FROM b", nil), ("SELECT 'least(", nil),
            ("SELECT 'a''', least(b, 'least(') FROM c", "SELECT 'a''', min(b, 'least(') FROM c"),
            ("SELECT '\"', least(b, c)", "SELECT '\"', min(b, c)"),
        ] as [(String, String?)])
    func untouched(common: String, own: String?) { #expect(Dialect.sqlite.statement(common) == own ?? common) }
}
