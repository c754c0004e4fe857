import _Primitives

/// The fields `Set-Cookie` of an answer, which Foundation joins into one field with commas.
///
/// Fields `Set-Cookie` do not form a list (RFC 9110, section 5.3): a comma can occur within a cookie, in the date of
/// `Expires`. The text after a comma is another cookie if the text begins with a name and `=`; a date does not begin
/// so.
enum JoinedCookieFields {
    /// Returns each field by itself, as the server has sent it.
    static func parted(_ field: String) -> [String] {
        var fields: [[UInt8]] = [[]]
        let bytes = Array(field.utf8)
        for (index, byte) in bytes.enumerated() {
            if byte == UInt8(ascii: ","), self.beginsCookie(bytes[(index + 1)...]) {
                fields.append([])
            } else if byte != 0x20 || fields[fields.count - 1] != [] {
                fields[fields.count - 1].append(byte)
            }
        }
        return fields.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns `true` if the bytes begin with a name and `=`.
    private static func beginsCookie(_ bytes: ArraySlice<UInt8>) -> Bool {
        let name = bytes.drop { $0 == 0x20 }.prefix { $0 > 0x20 && !Array("=;,".utf8).contains($0) }
        return !name.isEmpty && name.endIndex < bytes.endIndex && bytes[name.endIndex] == UInt8(ascii: "=")
    }
}
