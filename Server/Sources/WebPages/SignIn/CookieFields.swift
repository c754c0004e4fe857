/// Reads the `Cookie` fields of a request.
enum CookieFields {
    /// Returns the value of a cookie; `nil` for several cookies of the name, because another site may have set one of
    /// the cookies.
    static func value(of name: String, in fields: [String]) -> String? {
        // A header of an allowed size can have sixteen thousand semicolons, so the work for each semicolon must stay
        // small.
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
