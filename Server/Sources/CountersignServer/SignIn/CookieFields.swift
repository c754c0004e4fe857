/// What the `Cookie` fields of a request hold.
enum CookieFields {
    /// The value of a cookie; none where there are several of the name, because one may be another site's doing.
    static func value(of name: String, in fields: [String]) -> String? {
        // Sixteen thousand semicolons are a header of an allowed size: what is done for each of them is little.
        let start = Array("\(name)=".utf8)
        let values = fields.flatMap { field in
            field.utf8.split(separator: UInt8(ascii: ";")).compactMap { pair -> Substring? in
                let pair = pair.drop { $0 == UInt8(ascii: " ") }
                return pair.starts(with: start) ? Substring(pair.dropFirst(start.count)) : nil
            }
        }
        return values.count == 1 ? String(values[0]) : nil
    }
}
