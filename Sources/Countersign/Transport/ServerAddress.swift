import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension URL {
    /// Returns the address of a path at the server with this base address. The path is appended to scheme, host, port
    /// and path of the base address; its other parts are dropped.
    func address(of path: String) -> URL? {
        guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return nil }
        let base = parts.path.hasSuffix("/") ? String(parts.path.dropLast()) : parts.path
        parts.path = base + (path.hasPrefix("/") ? path : "/" + path)
        parts.query = nil
        parts.fragment = nil
        return parts.url
    }

    /// Returns this base address at another server: scheme, host and port of `server`, and the path of this address.
    /// `nil` if `server` has any other part, such as a path, a query or user information.
    ///
    /// Two spellings of the same server give the same address. A server with the scheme, host and port of this address
    /// gives this address itself.
    func moved(to server: URL) -> URL? {
        guard let parts = URLComponents(url: server, resolvingAgainstBaseURL: true),
            let scheme = parts.scheme?.asciiLowercased, let authority = server.authority,
            parts.user == nil, parts.password == nil, parts.query == nil, parts.fragment == nil,
            ["", "/"].containsBytes(of: parts.percentEncodedPath),
            // A percent sign would hide another letter of the host.
            !authority.utf8.contains(UInt8(ascii: "%")), parts.port.map((1...65_535).contains) ?? true,
            let base = URLComponents(url: self, resolvingAgainstBaseURL: true)
        else { return nil }
        if let own = base.scheme?.asciiLowercased, own.hasSameBytes(as: scheme),
            self.authority?.hasSameBytes(as: authority) ?? false
        {
            return self
        }
        return URL(string: "\(scheme)://\(server.bracketedAuthority ?? authority)\(base.percentEncodedPath)")
    }

    /// ``authority`` of a literal address of IPv6, as an address has to write it; `nil` for other hosts.
    private var bracketedAuthority: String? {
        guard let host = self.host()?.asciiLowercased, host.utf8.contains(UInt8(ascii: ":")),
            !host.hasBytes(atStart: "[")
        else { return nil }
        guard let authority, authority.utf8.count > host.utf8.count else { return "[\(host)]" }
        return "[\(host)]" + authority.dropFirst(host.count)
    }

    /// Host and port in the normalized spelling for comparisons: lower case, and the port only if it is not the
    /// scheme's default. `nil` if the address has no host, or a host with letters outside ASCII.
    var authority: String? {
        guard let host = self.host()?.asciiLowercased, !host.isEmpty, host.utf8.allSatisfy({ $0 < 0x80 }) else {
            return nil
        }
        let usual = ["https": 443, "http": 80][self.scheme?.asciiLowercased ?? ""]
        guard let port = self.port, port != usual else { return host }
        return "\(host):\(port)"
    }
}
