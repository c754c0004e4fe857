package import Countersign

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension WebViewCookie {
    /// The cookie as a field `Set-Cookie` of the cookie's host (RFC 6265, section 4.1); `nil` if a part has a character
    /// that would end the part.
    ///
    /// A cookie of one host has no `Domain`, so that no subdomain receives the cookie.
    package var setCookieField: String? {
        let parts = [self.name, self.value, self.host, self.domain ?? "", self.path]
        guard !self.name.isEmpty, !self.name.utf8.contains(UInt8(ascii: "=")),
            parts.allSatisfy({ $0.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ";") } })
        else { return nil }
        var field = "\(self.name)=\(self.value); Path=\(self.path)"
        if let domain { field += "; Domain=\(domain)" }
        if self.isSecure { field += "; Secure" }
        if self.isHTTPOnly { field += "; HttpOnly" }
        field += self.isSameSite ? "; SameSite=Lax" : "; SameSite=None"
        return field
    }

    /// The address of the cookie's host, from which the field comes.
    package var origin: URL? { URL(string: "\(self.isSecure ? "https" : "http")://\(self.host)\(self.path)") }
}
