import Foundation
import _Primitives

/// A server's address as operators write it: scheme, host and port, and nothing else.
struct ServerOrigin: Equatable, Sendable {
    /// Without a slash at the end.
    let text: String
    /// Whether secrets can be sent there: by https, or to this machine, the one exception to TLS.
    let isProtected: Bool

    /// Reads `https://HOST` or `http://HOST`, with or without a port. `nil` for anything more, such as user information,
    /// a path, a query or a fragment.
    init?(_ text: String) {
        guard let parts = URLComponents(string: text), let scheme = parts.scheme?.asciiLowercased,
            text.utf8.allSatisfy({ $0 < 0x80 }), ["http", "https"].contains(scheme), let host = parts.host,
            !host.isEmpty, ["", "/"].contains(parts.path),
            parts.user == nil, parts.password == nil, parts.query == nil, parts.fragment == nil
        else { return nil }
        let name = Loopback.withoutBrackets(host)
        self.text = "\(scheme)://\(name.contains(":") ? "[\(name)]" : name)" + (parts.port.map { ":\($0)" } ?? "")
        self.isProtected = scheme == "https" || Loopback.contains(host)
    }
}

/// The hosts that only this machine can be meant by.
enum Loopback {
    /// Whether a host is `localhost` or a literal loopback address; a name that begins like one is none.
    static func contains(_ host: String) -> Bool {
        let host = self.withoutBrackets(host).asciiLowercased
        if host == "localhost" || host == "::1" { return true }
        // Four bytes in the network's order: that is all there is to `in_addr`, which several modules define.
        var address: UInt32 = 0
        return inet_pton(AF_INET, host, &address) == 1 && UInt32(bigEndian: address) >> 24 == 127
    }

    /// An IPv6 address as it is without the brackets of an address line.
    static func withoutBrackets(_ host: String) -> String {
        host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    }
}
