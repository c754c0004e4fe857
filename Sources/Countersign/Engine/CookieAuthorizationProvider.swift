public import Foundation
public import _Primitives

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// A cookie of a person's session at a server (RFC 6265).
public struct AuthorizationCookie: Sendable, CustomStringConvertible, CustomReflectable {
    /// The name of the cookie.
    public let name: String
    /// The value of the cookie: a secret.
    public let value: String
    /// The host that receives the cookie, or the domain whose hosts receive the cookie, in lower case.
    public let domain: String
    /// `true` if only the host ``domain`` receives the cookie; `false` if the hosts below the domain receive it too.
    public let isHostOnly: Bool
    /// The path of the addresses that receive the cookie, with everything below the path.
    public let path: String
    /// `true` if the cookie is sent only over TLS.
    public let isSecure: Bool
    /// The time from which on the cookie is not sent; `nil` if the cookie has no such time.
    public let expiresAt: Timestamp?

    /// Creates a cookie. The defaults are the strictest values of a cookie for all paths of a host.
    public init(
        name: String, value: String, domain: String, isHostOnly: Bool = true, path: String = "/", isSecure: Bool = true,
        expiresAt: Timestamp? = nil
    ) {
        self.name = name
        self.value = value
        let lowercased = domain.asciiLowercased
        self.domain = lowercased.hasBytes(atStart: ".") ? String(lowercased.dropFirst()) : lowercased
        self.isHostOnly = isHostOnly
        self.path = path
        self.isSecure = isSecure
        self.expiresAt = expiresAt
    }

    /// Creates the cookie of Foundation's cookie store. A domain without a dot at its start is a single host, as
    /// Foundation writes it.
    public init(_ cookie: HTTPCookie) {
        self.init(
            name: cookie.name, value: cookie.value, domain: cookie.domain,
            isHostOnly: !cookie.domain.hasBytes(atStart: "."), path: cookie.path, isSecure: cookie.isSecure,
            expiresAt: cookie.expiresDate.map {
                Timestamp(seconds: Int64($0.timeIntervalSince1970.rounded(.down).clamped))
            })
    }

    /// Returns `true` if a request to the address at the time sends the cookie, by host, path, scheme and expiry (RFC
    /// 6265, section 5.4).
    public func isSent(to url: URL, at time: Timestamp) -> Bool {
        let scope = CookieScope(
            domain: self.domain, isHostOnly: self.isHostOnly, path: self.path, isSecure: self.isSecure)
        return scope.includes(url) && self.expiresAt.map { time < $0 } ?? true
    }

    /// Returns the reason why no request can carry the cookie; `nil` if a request can. Name and value have the
    /// characters of RFC 6265, section 4.1.1, and 4,096 bytes together.
    fileprivate var flaw: String? {
        guard !self.name.isEmpty, HeaderFields.isToken(self.name) else { return "a cookie's name is no token" }
        guard self.name.utf8.count + self.value.utf8.count <= 4096 else { return "a cookie has more than 4,096 bytes" }
        let bytes = self.value.utf8
        let isQuoted = bytes.count >= 2 && bytes.first == UInt8(ascii: "\"") && bytes.last == UInt8(ascii: "\"")
        let octets = isQuoted ? bytes.dropFirst().dropLast() : bytes[...]
        let areFit = octets.allSatisfy { (0x21...0x7E).contains($0) && ![0x22, 0x2C, 0x3B, 0x5C].contains($0) }
        return areFit ? nil : "a cookie's value has a character that no cookie has"
    }

    /// The name only.
    public var description: String { "AuthorizationCookie(\(self.name))" }
    public var customMirror: Mirror { Mirror(self, children: ["name": self.name]) }
}

extension Double {
    /// The number, or the nearest number of seconds that a date of the years up to 9999 can have.
    fileprivate var clamped: Double { self.isNaN ? 0 : min(max(self, -62_167_219_200), 253_402_300_799) }
}

/// The cookies of a person's session, for a server behind a proxy that keeps the session.
///
/// Each request carries only the cookies for its address: see ``AuthorizationCookie/isSent(to:at:)``. The cookie with
/// the longest path comes first (RFC 6265, section 5.4). A request for which there is no cookie is sent without one.
/// A cookie with a line break or another character that no cookie has, and more than 50 cookies, end the operation with
/// ``OperationError/Code-swift.struct/invalidRequestHeader``, and nothing is sent.
public struct CookieAuthorizationProvider: AuthorizationProvider, CustomStringConvertible, CustomReflectable {
    /// The maximum number of cookies.
    private static let maximumCount = 50

    /// The cookies: secrets.
    public let cookies: [AuthorizationCookie]

    /// Creates a provider with the cookies.
    public init(_ cookies: [AuthorizationCookie]) { self.cookies = cookies }

    /// Creates a provider with the cookies of Foundation's cookie store.
    public init(_ cookies: [HTTPCookie]) { self.init(cookies.map { AuthorizationCookie($0) }) }

    /// Empty: the cookies depend on the address of the request.
    public var headers: [(name: String, value: String)] { [] }

    /// Returns one field `Cookie` with the cookies for the address, or no field.
    public func headers(for url: URL, at time: Timestamp) throws -> [(name: String, value: String)] {
        guard self.cookies.count <= Self.maximumCount else { throw EngineError(.unusableHeader, "too many cookies") }
        for cookie in self.cookies {
            if let flaw = cookie.flaw { throw EngineError(.unusableHeader, flaw) }
        }
        let sent = self.cookies.filter { $0.isSent(to: url, at: time) }.enumerated().sorted {
            ($1.element.path.utf8.count, $0.offset) < ($0.element.path.utf8.count, $1.offset)
        }
        guard !sent.isEmpty else { return [] }
        return [("Cookie", sent.map { "\($0.element.name)=\($0.element.value)" }.joined(separator: "; "))]
    }

    /// A description without the cookies.
    public var description: String { "CookieAuthorizationProvider" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
