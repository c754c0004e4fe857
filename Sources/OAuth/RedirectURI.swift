import _Primitives

/// An address that a client may be answered at: absolute, without fragment or user, `https`, or `http` to a literal
/// loopback address, or, for apps, a scheme of their own (RFC 6749, section 3.1.2; RFC 8252, section 7; RFC 9700, section
/// 2.1).
///
/// Two are the same when their texts are: nothing is normalised. Which of them ``answers(_:)`` is another question.
public struct RedirectURI: Hashable, Sendable, CustomStringConvertible {
    /// Who can be behind an address.
    public enum Kind: String, Sendable, CaseIterable {
        /// A web site, or an app that has claimed the address from its site (RFC 8252, section 7.2).
        case https
        /// A program on the person's own machine (section 7.3).
        case loopback
        /// An app by a scheme that any other app could take, too (section 7.1): nothing may be completed silently there.
        case privateScheme = "private-scheme"
    }

    /// All kinds: for an address that was looked at before.
    public static let everyKind = Set(Kind.allCases)

    /// The address as it was registered.
    public let text: String
    /// What people are shown. Scheme, host and port, `https://bank.example`, or a private scheme, `com.example.app:`.
    public let origin: String
    /// Who can be behind it.
    public let kind: Kind

    /// Checks an address. At most 1024 characters.
    ///
    /// - Parameter kinds: What is taken. Private schemes are for apps alone, so nobody gets them without asking.
    /// - Throws: ``OAuthError`` `invalid_request`.
    public init(_ text: String, allowing kinds: Set<Kind> = [.https, .loopback]) throws(OAuthError) {
        guard (1...1024).contains(text.utf8.count), URISyntax.isWritten(text) else {
            throw Self.refusal("has a character that an address cannot have, or is too long")
        }
        guard !text.utf8.contains(UInt8(ascii: "#")) else { throw Self.refusal("has a fragment") }
        if text.hasBytes(atStart: "https://") {
            self.kind = .https
            self.origin = "https://" + (try Self.authority(text.dropFirst(8))).text
        } else if text.hasBytes(atStart: "http://") {
            let (origin, host) = try Self.authority(text.dropFirst(7))
            guard Self.isLoopback(host) else { throw Self.refusal("is http, and not to a literal loopback address") }
            self.kind = .loopback
            self.origin = "http://" + origin
        } else if let scheme = Self.privateScheme(text) {
            self.kind = .privateScheme
            self.origin = scheme + ":"
        } else {
            throw Self.refusal("is neither https nor http nor of a private scheme in reverse-domain form")
        }
        guard kinds.contains(self.kind) else { throw Self.refusal("is of a kind that this client cannot have") }
        self.text = text
    }

    /// Reads an address that was registered, and so looked at before: also one of a scheme that no domain stands behind,
    /// which a client can have that its operator has let have it. To this server it is as any private scheme is: nothing is
    /// completed silently there.
    ///
    /// Throws ``OAuthError`` `invalid_request`. Schemes by which a browser does something itself are never read.
    public init(registered text: String) throws(OAuthError) {
        if let usual = try? RedirectURI(text, allowing: Self.everyKind) {
            self = usual
            return
        }
        guard (1...1024).contains(text.utf8.count), URISyntax.isWritten(text), !text.utf8.contains(UInt8(ascii: "#")),
            let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")),
            text[colon...].utf8.dropFirst().first == UInt8(ascii: "/"), URISyntax.isScheme(text[..<colon]),
            text[..<colon].utf8.allSatisfy({ !(0x41...0x5A).contains($0) }),
            !Self.browsersOwn.containsBytes(of: text[..<colon])
        else { throw Self.refusal("is none that an app can be opened by") }
        (self.text, self.origin, self.kind) = (text, String(text[...colon]), .privateScheme)
    }

    /// Schemes that no app is opened by.
    private static let browsersOwn = [
        "http", "https", "ws", "wss", "ftp", "file", "filesystem", "javascript", "vbscript", "data", "blob", "about",
        "view-source", "jar", "intent", "chrome", "resource", "mailto", "tel", "sms",
    ]

    /// The address with the parameters added to its query.
    public func adding(_ parameters: Parameters) -> String {
        guard !parameters.members.isEmpty else { return self.text }
        guard let mark = self.text.firstIndex(of: "?") else { return self.text + "?" + parameters.encoded }
        let query = self.text[mark...].dropFirst()
        return self.text + (query.isEmpty || query.hasSuffix("&") ? "" : "&") + parameters.encoded
    }

    /// The address to answer an app at that asked for `requested`, where this is one that it has registered; `nil` where
    /// that is another one.
    ///
    /// It is the same text, except that the port of `127.0.0.1` and `[::1]` is the one that the app was given by its
    /// system for this one request (RFC 8252, section 7.3). That is for apps alone: a web site's address is compared by its
    /// text, `==`.
    public func answers(_ requested: String) -> RedirectURI? {
        if requested.hasSameBytes(as: self.text) { return self }
        guard let own = self.withoutPort, let other = try? RedirectURI(requested, allowing: [.loopback]),
            let others = other.withoutPort, own.hasSameBytes(as: others)
        else { return nil }
        return other
    }

    public var description: String { self.text }

    /// A loopback address of the two literals as it would be without a port; `nil` for any other address.
    private var withoutPort: String? {
        guard self.kind == .loopback else { return nil }
        let place = self.origin.dropFirst("http://".utf8.count)
        let host = ["127.0.0.1", "[::1]"].first { place.hasSameBytes(as: $0) || place.hasBytes(atStart: $0 + ":") }
        return host.map { "http://" + $0 + self.text.dropFirst(self.origin.utf8.count) }
    }

    private static func refusal(_ reason: String) -> OAuthError {
        OAuthError(.invalidRequest, "The redirect address \(reason).")
    }

    /// Host and port as written, and the host, of an address without its scheme.
    private static func authority(_ rest: Substring) throws(OAuthError) -> (text: String, host: Substring) {
        let text = rest.prefix { $0 != "/" && $0 != "?" }
        guard let authority = URISyntax.Authority(text, allowingEmptyPort: false) else {
            throw Self.refusal("has no host, a port that is none, or a user")
        }
        return (String(text), authority.host)
    }

    /// The scheme of an address that an app has of its own: a domain of its maker, the labels in reverse order, all in
    /// lower case, then one slash, because no authority is named (RFC 8252, sections 7.1 and 8.4).
    private static func privateScheme(_ text: String) -> String? {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let scheme = text[..<colon]
        let rest = text[colon...].utf8.dropFirst()
        guard rest.first == UInt8(ascii: "/"), rest.dropFirst().first != UInt8(ascii: "/") else { return nil }
        let labels = scheme.splitBytes(at: ".")
        let areLabels = labels.allSatisfy { label in
            !label.isEmpty && label.utf8.first != UInt8(ascii: "-") && label.utf8.last != UInt8(ascii: "-")
                && label.utf8.allSatisfy {
                    (0x61...0x7A).contains($0) || URISyntax.isDigit($0) || $0 == UInt8(ascii: "-")
                }
        }
        guard labels.count > 1, areLabels, URISyntax.isScheme(scheme) else { return nil }
        return String(scheme)
    }

    /// `localhost` is a name, and a name can be resolved to another address.
    private static func isLoopback(_ host: Substring) -> Bool {
        if host == "[::1]" { return true }
        let numbers = host.splitBytes(at: ".")
        return numbers.count == 4 && numbers[0] == "127"
            && numbers.allSatisfy { UInt8($0) != nil && ($0 == "0" || $0.first != "0") && $0.first != "+" }
    }
}
