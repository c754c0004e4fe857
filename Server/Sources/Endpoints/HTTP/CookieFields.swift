/// Reads the `Cookie` fields of a request, and writes the values of `Set-Cookie` fields.
package enum CookieFields {
    /// Returns the value of a cookie; `nil` for several cookies of the name, because another site may have set one of
    /// the cookies.
    package static func value(of name: String, in fields: [String]) -> String? {
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

    /// Returns the prefix of a cookie's name, with which a browser keeps the cookie to this host, or to TLS if the
    /// server has a path on its host. Empty on loopback without TLS.
    package static func prefix(isSecure: Bool, path: String) -> String {
        guard isSecure else { return "" }
        return path.isEmpty ? "__Host-" : "__Secure-"
    }

    /// Returns the value of a `Set-Cookie` field: a cookie for the server's path, out of reach of scripts and of the
    /// posts of other sites. `lifetime` is empty, or an attribute with its semicolon.
    package static func setting(_ name: String, _ value: String, _ lifetime: String, isSecure: Bool, path: String)
        -> String
    {
        let secure = isSecure ? "; Secure" : ""
        return "\(name)=\(value); Path=\(path.isEmpty ? "/" : path)\(lifetime)\(secure); HttpOnly; SameSite=Lax"
    }
}
