/// The words in which a database writes what databases write in different words.
///
/// A statement has the words that SQLite and PostgreSQL share, and PostgreSQL's words where the two databases differ. A
/// connection puts the words of its database in their place when the connection prepares the statement, which is once
/// for each text.
package struct Dialect: Sendable {
    /// The words of a statement that the database does not know, with the database's own words.
    private let words: [(common: String, own: String)]

    /// Returns a statement in the words of the database. A word is replaced where a name begins: the end of a longer
    /// name, and the text between quotation marks, stay as they are.
    package func statement(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var own: [UInt8] = []
        own.reserveCapacity(bytes.count)
        var quotationMark: UInt8?
        var isInName = false
        var place = 0
        while place < bytes.count {
            let byte = bytes[place]
            if quotationMark == nil, !isInName, let word = self.word(at: bytes[place...]) {
                own += word.own.utf8
                place += word.common.utf8.count
                continue
            }
            if let mark = quotationMark {
                // A doubled mark within a text ends the text, and begins it again.
                if byte == mark { quotationMark = nil }
            } else if byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") {
                quotationMark = byte
            }
            isInName = Self.isOfName(byte)
            own.append(byte)
            place += 1
        }
        return String(decoding: own, as: UTF8.self)
    }

    private func word(at bytes: ArraySlice<UInt8>) -> (common: String, own: String)? {
        self.words.first { bytes.starts(with: $0.common.utf8) }
    }

    /// Returns `true` for a byte of a name: a letter, a digit or an underscore, and a part of any letter beyond ASCII.
    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
            true
        default: false
        }
    }

    /// The words of SQLite, where the smaller and the larger of several values have the names of the aggregates.
    package static let sqlite = Dialect(words: [
        ("least(", "min("), ("greatest(", "max("), ("string_agg(", "group_concat("),
        ("jsonb_array_elements_text(", "json_each("), ("jsonb_agg(", "json_group_array("),
    ])
}
