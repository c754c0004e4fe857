import Foundation
import Settings
import _Primitives

/// A server's address as operators write the address: scheme, host, port, and the path of the server if the server
/// shares its host; nothing else.
struct PublicAddress: Equatable, Sendable {
    /// The address without a slash at the end.
    let text: String
    /// The path with a slash at its beginning; or empty.
    let path: String
    /// `true` if the address may receive secrets: by https, or on this machine, the one exception to TLS.
    let isProtected: Bool

    /// Reads `https://HOST` or `http://HOST`, with or without a port and a path.
    ///
    /// `nil` for any further part, such as user information, a query or a fragment. `nil` also for a path that has two
    /// spellings or means another path.
    init?(_ text: String) {
        guard let parts = URLComponents(string: text), let scheme = parts.scheme?.asciiLowercased,
            text.utf8.allSatisfy({ $0 < 0x80 }), ["http", "https"].contains(scheme), let host = parts.host,
            !host.isEmpty, let path = Self.path(parts.percentEncodedPath),
            parts.user == nil, parts.password == nil, parts.query == nil, parts.fragment == nil
        else { return nil }
        let name = Loopback.withoutBrackets(host)
        self.text =
            "\(scheme)://\(name.contains(":") ? "[\(name)]" : name)" + (parts.port.map { ":\($0)" } ?? "") + path
        self.path = path
        self.isProtected = scheme == "https" || Loopback.contains(host)
    }

    /// Returns a path without the slash at its end; `nil` for a path that no server may have.
    ///
    /// The path has plain segments only, so that a proxy that passes the path on changes nothing. The path is not in
    /// the place that RFC 8615 keeps for metadata.
    private static func path(_ text: String) -> String? {
        let text = text.hasBytes(atEnd: "/") ? String(text.dropLast()) : text
        guard !text.isEmpty else { return "" }
        let segments = text.splitBytes(at: "/").dropFirst()
        let isPlain = segments.allSatisfy { segment in
            !segment.isEmpty && ![".", "..", ".well-known"].contains(String(segment))
                && segment.utf8.allSatisfy { letter in
                    switch letter {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                        UInt8(ascii: "0")...UInt8(ascii: "9"):
                        true
                    default: "-._~".utf8.contains(letter)
                    }
                }
        }
        return isPlain && text.utf8.count <= Limits.Commands.addressPathLetters ? text : nil
    }
}

/// The hosts that can mean only this machine.
enum Loopback {
    /// Returns `true` if a host is `localhost` or a literal loopback address. A name that begins like a loopback
    /// address does not count.
    static func contains(_ host: String) -> Bool {
        let host = self.withoutBrackets(host).asciiLowercased
        if host == "localhost" || host == "::1" { return true }
        // Four bytes in the network's order: `in_addr` has nothing else, and several modules define `in_addr`.
        var address: UInt32 = 0
        return inet_pton(AF_INET, host, &address) == 1 && UInt32(bigEndian: address) >> 24 == 127
    }

    /// Returns an IPv6 address without the brackets of an address line.
    static func withoutBrackets(_ host: String) -> String {
        host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    }
}

extension String {
    /// The text as one segment of a path.
    var pathSegment: String {
        var allowed = CharacterSet.alphanumerics
        allowed.insert(charactersIn: "-._~")
        return self.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
    }
}
