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
