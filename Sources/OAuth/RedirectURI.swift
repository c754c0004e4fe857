import _Primitives

/// An address that a client may be answered at: absolute, without fragment or user, `https`, or `http` to a literal
/// loopback address (RFC 6749, section 3.1.2; RFC 8252, section 7.3; RFC 9700, section 2.1).
///
/// Two are the same when their texts are: nothing is normalised, and no port is left open.
public struct RedirectURI: Hashable, Sendable, CustomStringConvertible {
    /// The address as it was registered.
    public let text: String
    /// Scheme, host and port: `https://bank.example`, `http://127.0.0.1:8081`.
    public let origin: String

    /// Checks an address. At most 1024 characters.
    ///
    /// Throws ``OAuthError`` `invalid_request`.
    public init(_ text: String) throws(OAuthError) {
        guard (1...1024).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed), Self.escapesAreWhole(text)
        else { throw Self.refusal("has a character that an address cannot have, or is too long") }
        guard !text.utf8.contains(UInt8(ascii: "#")) else { throw Self.refusal("has a fragment") }
        let isTLS: Bool
        let rest: Substring
        if text.hasPrefix("https://") {
            isTLS = true
            rest = text.dropFirst(8)
        } else if text.hasPrefix("http://") {
            isTLS = false
            rest = text.dropFirst(7)
        } else {
            throw Self.refusal("is neither https nor http")
        }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard !authority.contains("@") else { throw Self.refusal("names a user") }
        let host: Substring
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { throw Self.refusal("has no whole host") }
            host = authority[...end]
        } else {
            host = authority.prefix { $0 != ":" }
        }
        let port = authority[host.endIndex...]
        guard port.isEmpty || Self.isPort(port) else { throw Self.refusal("has a port that is none") }
        guard Self.isHost(host) else { throw Self.refusal("has no host") }
        guard isTLS || Self.isLoopback(host) else {
            throw Self.refusal("is http, and not to a literal loopback address")
        }
        self.text = text
        self.origin = (isTLS ? "https://" : "http://") + authority
    }

    /// The address with the parameters added to its query.
    public func adding(_ parameters: Parameters) -> String {
        guard !parameters.members.isEmpty else { return self.text }
        guard let mark = self.text.firstIndex(of: "?") else { return self.text + "?" + parameters.encoded }
        let query = self.text[mark...].dropFirst()
        return self.text + (query.isEmpty || query.hasSuffix("&") ? "" : "&") + parameters.encoded
    }

    public var description: String { self.text }

    private static func refusal(_ reason: String) -> OAuthError {
        OAuthError(.invalidRequest, "The redirect address \(reason).")
    }

    /// Unreserved and reserved characters, and the percent sign (RFC 3986, section 2).
    private static func isAllowed(_ byte: UInt8) -> Bool {
        FormEncoding.isUnreserved(byte) || ":/?#[]@!$&'()*+,;=%".utf8.contains(byte)
    }

    private static func escapesAreWhole(_ text: String) -> Bool {
        text.splitBytes(at: "%").dropFirst().allSatisfy {
            $0.utf8.prefix(2).count == 2 && $0.utf8.prefix(2).allSatisfy { FormEncoding.digit($0) != nil }
        }
    }

    private static func isPort(_ text: Substring) -> Bool {
        let digits = text.dropFirst()
        guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = UInt16(digits)
        else { return false }
        return number > 0 && digits.first != "0"
    }

    private static func isHost(_ host: Substring) -> Bool {
        if host.hasPrefix("[") {
            return host.utf8.dropFirst().dropLast().allSatisfy {
                FormEncoding.digit($0) != nil || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
            } && host.utf8.count > 4
        }
        return !host.isEmpty
            && host.utf8.allSatisfy { FormEncoding.isUnreserved($0) && $0 != UInt8(ascii: "~") }
    }

    /// `localhost` is a name, and a name can be resolved to another address.
    private static func isLoopback(_ host: Substring) -> Bool {
        if host == "[::1]" { return true }
        let numbers = host.splitBytes(at: ".")
        return numbers.count == 4 && numbers[0] == "127"
            && numbers.allSatisfy { UInt8($0) != nil && ($0 == "0" || $0.first != "0") && $0.first != "+" }
    }
}
