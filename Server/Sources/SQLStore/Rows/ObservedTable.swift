/// The table whose changes somebody else reports to a cache.
package struct ObservedTable {
    /// The name of the table.
    let name: String
    /// Runs a statement that changes the table, and reports the change.
    let run: (SQLText, SQLValues) throws -> Void

    /// Makes the value for the table of that name.
    package init(name: String, run: @escaping (SQLText, SQLValues) throws -> Void) {
        self.name = name
        self.run = run
    }
}

extension SQLText {
    /// The words that can stand before the name of the table in a change.
    private static let wordsOfChange = [
        "INSERT", "REPLACE", "UPDATE", "DELETE", "OR", "IGNORE", "INTO", "FROM", "main",
    ]

    /// Returns `true` if the statement adds, changes or deletes rows of a table. Changes by triggers and by foreign keys
    /// do not count.
    package func changes(_ table: String) -> Bool {
        let words = self.text.split(maxSplits: 6) { !($0.isLetter || $0.isNumber || $0 == "_") }
        let named = words.first { word in !Self.wordsOfChange.contains { $0.utf8.elementsEqual(word.utf8) } }
        return named.map { $0.utf8.elementsEqual(table.utf8) } ?? false
    }
}
