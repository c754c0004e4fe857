import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension URL {
    /// The address of a path at the server whose base address this is: below its scheme, host, port and path, nothing else
    /// of it.
    func address(of path: String) -> URL? {
        guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return nil }
        let base = parts.path.hasSuffix("/") ? String(parts.path.dropLast()) : parts.path
        parts.path = base + (path.hasPrefix("/") ? path : "/" + path)
        parts.query = nil
        parts.fragment = nil
        return parts.url
    }

    /// Host and port in the one spelling in which they are compared: lower case, the port only where it is not the
    /// scheme's own. `nil` where there is no host, or one with letters outside ASCII.
    var authority: String? {
        guard let host = self.host()?.asciiLowercased, !host.isEmpty, host.utf8.allSatisfy({ $0 < 0x80 }) else {
            return nil
        }
        let usual = ["https": 443, "http": 80][self.scheme?.asciiLowercased ?? ""]
        guard let port = self.port, port != usual else { return host }
        return "\(host):\(port)"
    }
}
