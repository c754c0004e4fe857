import _Primitives

/// An address to which the server may send the answer for a client (RFC 6749, section 3.1.2; RFC 8252, section 7; RFC
/// 9700, section 2.1).
///
/// The address is absolute, without fragment or user. The scheme is `https`, or `http` with a loopback address or, if
/// allowed, with `localhost`, or an app's private scheme.
///
/// Two addresses are equal if their texts are equal: nothing is normalised. ``answers(_:)`` compares the address with
/// the address of a request.
public struct RedirectURI: Hashable, Sendable, CustomStringConvertible {
    /// The kind of receiver behind an address.
    public enum Kind: String, Sendable, CaseIterable {
        /// A web site, or an app that has claimed the address from its site (RFC 8252, section 7.2).
        case https
        /// A program on the person's own machine (section 7.3).
        case loopback
        /// A program on the person's own machine under the name `localhost`. The name can be resolved to another
        /// address than a loopback address (section 8.3 advises against the name), so the server warns a person who
        /// registers such an address.
        case localhost
        /// An app with a scheme that any other app could use too (section 7.1). The server completes nothing silently
        /// for such an address.
        case privateScheme = "private-scheme"
    }

    /// All kinds, for an address that was checked before.
    public static let everyKind = Set(Kind.allCases)

    /// The address as registered.
    public let text: String
    /// The text for people: scheme, host and port, `https://bank.example`, or a private scheme, `com.example.app:`.
    public let origin: String
    /// The kind of receiver behind the address.
    public let kind: Kind

    /// Checks an address of at most 1024 characters.
    ///
    /// - Parameter kinds: The accepted kinds. Private schemes are for apps alone, so they are not in the default.
    /// - Throws: ``OAuthError`` `invalid_request`.
    public init(_ text: String, allowing kinds: Set<Kind> = [.https, .loopback]) throws(OAuthError) {
        try Self.checkLetters(text)
        if text.hasBytes(atStart: "https://") {
            self.kind = .https
            self.origin = "https://" + (try Self.authority(text.dropFirst(8))).text
        } else if text.hasBytes(atStart: "http://") {
            let (origin, host) = try Self.authority(text.dropFirst(7))
            guard Self.isLoopback(host) || host == Self.localhost else {
                throw Self.refusal("is http, which only a loopback address can be: use https, or http://127.0.0.1")
            }
            self.kind = host == Self.localhost ? .localhost : .loopback
            self.origin = "http://" + origin
        } else {
            self.kind = .privateScheme
            self.origin = try Self.privateScheme(text) + ":"
        }
        guard kinds.contains(self.kind) else { throw Self.refusal(Self.reason(against: self.kind)) }
        self.text = text
    }

    /// Reads an address that was registered, and therefore checked before.
    ///
    /// The address may also have a scheme without a domain, if the operator has allowed this for the client. The server
    /// treats such a scheme like any private scheme, and completes nothing silently.
    ///
    /// Throws ``OAuthError`` `invalid_request`. A scheme with a meaning for browsers is always refused.
    public init(registered text: String) throws(OAuthError) {
        do throws(OAuthError) {
            self = try RedirectURI(text, allowing: Self.everyKind)
        } catch {
            try Self.checkLetters(text)
            let scheme = try Self.scheme(text)
            // For the address of a web site the scheme is not the problem.
            guard !scheme.hasSameBytes(as: "https"), !scheme.hasSameBytes(as: "http") else { throw error }
            _ = try Self.rest(of: text, after: scheme)
            (self.text, self.origin, self.kind) = (text, scheme + ":", .privateScheme)
        }
    }

    /// The schemes that never open an app.
    private static let browsersOwn = [
        "ws", "wss", "ftp", "file", "filesystem", "javascript", "vbscript", "data", "blob", "about",
        "view-source", "jar", "intent", "chrome", "resource", "mailto", "tel", "sms",
    ]

    /// Returns the address with the parameters added to its query.
    public func adding(_ parameters: Parameters) -> String {
        guard !parameters.members.isEmpty else { return self.text }
        guard let mark = self.text.firstIndex(of: "?") else { return self.text + "?" + parameters.encoded }
        let query = self.text[mark...].dropFirst()
        return self.text + (query.isEmpty || query.hasSuffix("&") ? "" : "&") + parameters.encoded
    }

    /// Returns the address for the answer to an app that asked for `requested`, if this is the registered address;
    /// `nil` if `requested` is another address.
    ///
    /// The result has the same text, except for the port of `127.0.0.1`, `[::1]` and `localhost`: the app's system
    /// chose the port for this one request (RFC 8252, section 7.3). This rule is for apps alone. A web site's address
    /// is compared by its text, with `==`.
    public func answers(_ requested: String) -> RedirectURI? {
        if requested.hasSameBytes(as: self.text) { return self }
        guard let own = self.withoutPort, let other = try? RedirectURI(requested, allowing: [.loopback, .localhost]),
            let others = other.withoutPort, own.hasSameBytes(as: others)
        else { return nil }
        return other
    }

    public var description: String { self.text }

    /// The address without its port, for one of the two loopback literals or `localhost`; `nil` for any other address.
    private var withoutPort: String? {
        guard self.kind == .loopback || self.kind == .localhost else { return nil }
        let place = self.origin.dropFirst("http://".utf8.count)
        let host = ["127.0.0.1", "[::1]", Self.localhost].first {
            place.hasSameBytes(as: $0) || place.hasBytes(atStart: $0 + ":")
        }
        return host.map { "http://" + $0 + self.text.dropFirst(self.origin.utf8.count) }
    }

    /// Returns the reason why a well-formed address is refused.
    private static func reason(against kind: Kind) -> String {
        switch kind {
        case .https: "is https, and has to be a loopback address"
        case .loopback: "is http: it has to be https"
        case .localhost: "is http to localhost, a name that may lead elsewhere: use http://127.0.0.1"
        case .privateScheme: "has a scheme of an app's own, which only an app without a secret or a key can have"
        }
    }

    private static func refusal(_ reason: String) -> OAuthError {
        OAuthError(.invalidRequest, "The redirect address \(reason).")
    }

    /// Returns host and port as written, and the host, of an address without its scheme.
    private static func authority(_ rest: Substring) throws(OAuthError) -> (text: String, host: Substring) {
        let text = rest.prefix { $0 != "/" && $0 != "?" }
        guard !text.utf8.contains(UInt8(ascii: "@")) else { throw Self.refusal("names a user") }
        guard let first = text.utf8.first, first != UInt8(ascii: ":") else { throw Self.refusal("has no host") }
        guard let authority = URISyntax.Authority(text, allowingEmptyPort: false) else {
            throw Self.refusal("has a host or a port that is none")
        }
        return (String(text), authority.host)
    }

    private static let localhost = "localhost"

    /// Checks that the letters of an address are allowed in an address.
    private static func checkLetters(_ text: String) throws(OAuthError) {
        guard !text.isEmpty else { throw Self.refusal("is empty") }
        guard text.utf8.count <= 1024 else { throw Self.refusal("has more than 1024 characters") }
        guard URISyntax.isWritten(text) else { throw Self.refusal("has a character that an address cannot have") }
        guard !text.utf8.contains(UInt8(ascii: "#")) else { throw Self.refusal("has a fragment") }
    }

    /// Returns the scheme of an address, if the scheme can open an app.
    private static func scheme(_ text: String) throws(OAuthError) -> String {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), URISyntax.isScheme(text[..<colon]) else {
            throw Self.refusal("is not absolute: it begins with no scheme")
        }
        let scheme = text[..<colon]
        guard scheme.utf8.allSatisfy({ !(0x41...0x5A).contains($0) }) else {
            throw Self.refusal("has a scheme with capital letters")
        }
        guard !Self.browsersOwn.containsBytes(of: scheme) else {
            throw Self.refusal("has a scheme that browsers use themselves")
        }
        return String(scheme)
    }

    /// Returns the text after a scheme: a path, `/path`, or a place with a name, `//place`.
    private static func rest(of text: String, after scheme: String) throws(OAuthError) -> Substring {
        let rest = text.dropFirst(scheme.count + 1)
        guard rest.utf8.first == UInt8(ascii: "/") else {
            throw Self.refusal("has no slash after the colon of its scheme")
        }
        return rest
    }

    /// Returns the private scheme of an app's address: the reversed labels of the maker's domain, all in lower case
    /// (RFC 8252, sections 7.1 and 8.4).
    ///
    /// One slash follows the scheme, because the address names no authority. Two slashes and a name, as many apps have,
    /// are accepted too.
    private static func privateScheme(_ text: String) throws(OAuthError) -> String {
        let scheme = try Self.scheme(text)
        guard !scheme.hasSameBytes(as: "https"), !scheme.hasSameBytes(as: "http") else {
            throw Self.refusal("has no two slashes after \(scheme):")
        }
        let labels = scheme.splitBytes(at: ".")
        let areLabels = labels.allSatisfy { label in
            !label.isEmpty && label.utf8.first != UInt8(ascii: "-") && label.utf8.last != UInt8(ascii: "-")
                && label.utf8.allSatisfy {
                    (0x61...0x7A).contains($0) || URISyntax.isDigit($0) || $0 == UInt8(ascii: "-")
                }
        }
        guard labels.count > 1, areLabels else {
            throw Self.refusal("has a scheme that is no domain in reverse, as com.example.app is")
        }
        let rest = try Self.rest(of: text, after: scheme)
        if rest.hasBytes(atStart: "//") { _ = try Self.authority(rest.dropFirst(2)) }
        return scheme
    }

    /// Returns `true` for a loopback literal. `localhost` is a name, and a name can be resolved to another address.
    private static func isLoopback(_ host: Substring) -> Bool {
        if host == "[::1]" { return true }
        let numbers = host.splitBytes(at: ".")
        return numbers.count == 4 && numbers[0] == "127"
            && numbers.allSatisfy { UInt8($0) != nil && ($0 == "0" || $0.first != "0") && $0.first != "+" }
    }
}
