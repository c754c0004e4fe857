import _Primitives

/// The fields `Set-Cookie` of an answer, which Foundation gives as one, with commas between them.
///
/// Two of them in one field are no list (RFC 9110, section 5.3): a comma can stand within one, in the date of `Expires`. What
/// follows a comma is another cookie where it begins with a name and `=`, as a date does not.
enum JoinedCookieFields {
    /// Each by itself, as the server has sent it.
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

    /// Whether a name and `=` come next.
    private static func beginsCookie(_ bytes: ArraySlice<UInt8>) -> Bool {
        let name = bytes.drop { $0 == 0x20 }.prefix { $0 > 0x20 && !Array("=;,".utf8).contains($0) }
        return !name.isEmpty && name.endIndex < bytes.endIndex && bytes[name.endIndex] == UInt8(ascii: "=")
    }
}
