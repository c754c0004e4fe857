import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The addresses that receive a cookie (RFC 6265, section 5.4).
struct CookieScope {
    /// The domain, in lower case and without a dot at its start.
    let domain: String
    /// `true` if only the host with the name of the domain receives the cookie.
    let isHostOnly: Bool
    let path: String
    let isSecure: Bool

    /// Returns `true` if a request to the address sends the cookie.
    func includes(_ url: URL) -> Bool {
        guard let host = url.host()?.asciiLowercased, self.includes(host: host) else { return false }
        guard !self.isSecure || url.scheme?.asciiLowercased.hasSameBytes(as: "https") ?? false else { return false }
        let path = url.path().isEmpty ? "/" : url.path()
        // A path matches itself and everything below it, but no longer name beside it (section 5.1.4).
        let start = self.path.utf8.last == UInt8(ascii: "/") ? self.path : self.path + "/"
        return self.path.utf8.first == UInt8(ascii: "/")
            && (path.hasSameBytes(as: self.path) || path.hasBytes(atStart: start))
    }

    /// Returns `true` if the host is the domain, or a host below the domain (section 5.1.3). A domain of one word
    /// belongs to a registry, and nothing is below a literal address.
    private func includes(host: String) -> Bool {
        if host.hasSameBytes(as: self.domain) { return !host.isEmpty }
        let isAddress =
            host.utf8.contains(UInt8(ascii: ":"))
            || host.splitBytes(at: ".").last?.utf8.allSatisfy { (0x30...0x39).contains($0) } ?? false
        return !self.isHostOnly && !isAddress && self.domain.utf8.contains(UInt8(ascii: "."))
            && host.hasBytes(atEnd: "." + self.domain)
    }
}
