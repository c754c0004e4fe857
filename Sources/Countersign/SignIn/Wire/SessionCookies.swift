import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The cookies of a session that the sign-in service has opened for a view (RFC 6265).
struct SessionCookies: Sendable {
    /// The end of a cookie's name, after the site's own prefix.
    private enum Kind: String, CaseIterable {
        case access = "access_token"
        case refresh = "refresh_token"
        case antiCSRF = "anti_csrf_token"
        case info = "info_token"
    }

    /// The checked cookies.
    let cookies: [WebViewCookie]
    private let prefix: String

    /// Reads the cookies from the answer of a host. Cookies with other names are ignored.
    ///
    /// A cookie of a domain stays a cookie of the domain. When the service renews the session, the new cookie therefore
    /// replaces the old one, and no page sends both.
    ///
    /// Throws ``SignInError`` `protocolError` if the access, anti-CSRF or info token is missing, or if a cookie could
    /// be read at a place that must not read it.
    init(_ response: TransportResponse, from url: URL, sites: WebViewSites) throws {
        guard let host = url.host()?.asciiLowercased else { throw SignInError(.misconfigured, "no host") }
        var found: [Kind: WebViewCookie] = [:]
        for field in response.headers where field.name.asciiLowercased.hasSameBytes(as: "set-cookie") {
            let parts = field.value.splitBytes(at: ";")
            let pair = parts[0].splitBytes(at: "=", maxSplits: 1).map(Self.trimmed)
            guard pair.count == 2,
                let kind = Kind.allCases.first(where: { pair[0].hasSameBytes(as: sites.cookiePrefix + $0.rawValue) })
            else { continue }
            guard found[kind] == nil, !pair[1].isEmpty, pair[1].utf8.allSatisfy(Self.isCookieOctet) else {
                throw Self.refusal(kind, "twice, empty, or not a value")
            }
            found[kind] = try Self.cookie(
                kind, pair[0], pair[1], parts.dropFirst().map(Self.trimmed), of: host, at: url)
        }
        for kind in [Kind.access, .antiCSRF, .info] where found[kind] == nil { throw Self.refusal(kind, "missing") }
        self.cookies = Kind.allCases.compactMap { found[$0] }
        self.prefix = sites.cookiePrefix
    }

    /// The names of the cookies that a view must send to the sign-in service's own host. The refresh token is missing
    /// here, because it is for a single path of the host.
    var namesAtService: [String] { [Kind.access, .antiCSRF, .info].map { self.prefix + $0.rawValue } }
    /// The name of the cookie that authenticates a page's request as the person's request.
    var nameOnPages: String { self.prefix + Kind.access.rawValue }

    private static func isTLS(_ url: URL) -> Bool { url.scheme?.asciiLowercased.hasSameBytes(as: "https") ?? false }

    private static func cookie(
        _ kind: Kind, _ name: String, _ value: String, _ attributes: [String], of host: String, at url: URL
    ) throws -> WebViewCookie {
        var (domain, path) = (String?.none, self.defaultPath(of: url))
        var (isSecure, isHTTPOnly, isSameSite) = (false, false, true)
        for attribute in attributes {
            let pair = attribute[...].splitBytes(at: "=", maxSplits: 1).map(self.trimmed)
            let word = pair.count > 1 ? pair[1] : ""
            switch ExactText(pair[0].asciiLowercased) {
            case "domain": domain = word.asciiLowercased
            case "path": path = word
            case "secure": isSecure = true
            case "httponly": isHTTPOnly = true
            case "samesite": isSameSite = !word.asciiLowercased.hasSameBytes(as: "none")
            default: break
            }
        }
        guard path.utf8.first == UInt8(ascii: "/") else { throw self.refusal(kind, "for a path that is none") }
        guard isSecure || !self.isTLS(url) else { throw self.refusal(kind, "without Secure") }
        // The site's scripts read the end of the session, and nothing else.
        guard isHTTPOnly || kind == .info else { throw self.refusal(kind, "scripts could read it") }
        if let named = domain {
            let parent = named.utf8.first == UInt8(ascii: ".") ? String(named.dropFirst()) : named
            guard self.isWithin(parent, host) else { throw self.refusal(kind, "for another domain") }
            domain = parent
        }
        return WebViewCookie(
            name: name, value: value, host: host, domain: domain, path: path, isSecure: isSecure,
            isHTTPOnly: isHTTPOnly, isSameSite: isSameSite)
    }

    /// Returns the path of a cookie without a path attribute: the folder of the request (RFC 6265, section 5.1.4).
    private static func defaultPath(of url: URL) -> String {
        let path = url.path()
        guard let end = path.utf8.lastIndex(of: UInt8(ascii: "/")), end > path.startIndex else { return "/" }
        return String(path[..<end])
    }

    /// Returns `true` if a host is the domain or a host below the domain (RFC 6265, section 5.1.3). A domain of one
    /// word belongs to a registry, and an IP address has nothing below it.
    private static func isWithin(_ domain: String, _ host: String) -> Bool {
        let isAddress =
            host.utf8.contains(UInt8(ascii: ":"))
            || host.splitBytes(at: ".").last?.utf8.allSatisfy { (0x30...0x39).contains($0) } ?? false
        return host.hasSameBytes(as: domain)
            || !isAddress && domain.utf8.contains(UInt8(ascii: ".")) && host.hasBytes(atEnd: "." + domain)
    }

    private static func trimmed(_ text: Substring) -> String { String(text.drop { $0 == " " }.trimmedEnd) }

    /// Returns `true` if a byte may occur in a cookie's value (RFC 6265, section 4.1.1).
    private static func isCookieOctet(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && byte != 0x22 && byte != 0x2C && byte != 0x3B && byte != 0x5C
    }

    private static func refusal(_ kind: Kind, _ reason: String) -> SignInError {
        SignInError(.protocolError, "the cookie of the \(kind.rawValue): \(reason)")
    }
}

extension Substring {
    /// The text without blanks at its end.
    fileprivate var trimmedEnd: Substring {
        var rest = self
        while rest.utf8.last == 0x20 { rest = rest.dropLast() }
        return rest
    }
}
