import Records
import Testing

@Suite("Decision 21: a program runs the migrations that a database lacks, and refuses a database of a newer program")
struct SchemaVersionTests {
    @Test(
        "The missing migrations are the ones after the last that has run",
        arguments: [(0, ["a", "b", "c"]), (1, ["b", "c"]), (3, [])])
    func missing(done: Int, names: [String]) throws {
        #expect(Array(try SchemaVersion(done).missing(of: ["a", "b", "c"])) == names)
        #expect(SchemaVersion(done).isKnown(among: 3))
    }

    @Test("A database with further migrations is refused")
    func newer() {
        #expect(!SchemaVersion(4).isKnown(among: 3))
        let error = #expect(throws: StoreError.self) { try SchemaVersion(4).missing(of: ["a", "b", "c"]) }
        #expect(error?.code == .newerSchema)
        #expect(error?.reason == "schema 4, this program knows 3")
    }
}
