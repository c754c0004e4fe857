import _Primitives

/// An address that a client may be answered at: absolute, without fragment or user, `https`, or `http` to a loopback
/// address or, where that is let, to `localhost`, or, for apps, a scheme of their own (RFC 6749, section 3.1.2; RFC 8252,
/// section 7; RFC 9700, section 2.1).
///
/// Two are the same when their texts are: nothing is normalised. Which of them ``answers(_:)`` is another question.
public struct RedirectURI: Hashable, Sendable, CustomStringConvertible {
    /// Who can be behind an address.
    public enum Kind: String, Sendable, CaseIterable {
        /// A web site, or an app that has claimed the address from its site (RFC 8252, section 7.2).
        case https
        /// A program on the person's own machine (section 7.3).
        case loopback
        /// The same by the name `localhost`, which can be resolved to another address than a loopback's (section 8.3 advises
        /// against it): whoever registers it is warned.
        case localhost
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

    /// Reads an address that was registered, and so looked at before: also one of a scheme that no domain stands behind,
    /// which a client can have that its operator has let have it. To this server it is as any private scheme is: nothing is
    /// completed silently there.
    ///
    /// Throws ``OAuthError`` `invalid_request`. Schemes by which a browser does something itself are never read.
    public init(registered text: String) throws(OAuthError) {
        do throws(OAuthError) {
            self = try RedirectURI(text, allowing: Self.everyKind)
        } catch {
            try Self.checkLetters(text)
            let scheme = try Self.scheme(text)
            // The scheme is not what is wrong with an address of a web site.
            guard !scheme.hasSameBytes(as: "https"), !scheme.hasSameBytes(as: "http") else { throw error }
            _ = try Self.rest(of: text, after: scheme)
            (self.text, self.origin, self.kind) = (text, scheme + ":", .privateScheme)
        }
    }

    /// Schemes that no app is opened by.
    private static let browsersOwn = [
        "ws", "wss", "ftp", "file", "filesystem", "javascript", "vbscript", "data", "blob", "about",
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
        guard let own = self.withoutPort, let other = try? RedirectURI(requested, allowing: [.loopback, .localhost]),
            let others = other.withoutPort, own.hasSameBytes(as: others)
        else { return nil }
        return other
    }

    public var description: String { self.text }

    /// A loopback address of the two literals, or by its name, as it would be without a port; `nil` for any other address.
    private var withoutPort: String? {
        guard self.kind == .loopback || self.kind == .localhost else { return nil }
        let place = self.origin.dropFirst("http://".utf8.count)
        let host = ["127.0.0.1", "[::1]", Self.localhost].first {
            place.hasSameBytes(as: $0) || place.hasBytes(atStart: $0 + ":")
        }
        return host.map { "http://" + $0 + self.text.dropFirst(self.origin.utf8.count) }
    }

    /// Why an address is refused that is right in itself.
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

    /// Host and port as written, and the host, of an address without its scheme.
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

    /// Holds the letters of an address against those that an address can have.
    private static func checkLetters(_ text: String) throws(OAuthError) {
        guard !text.isEmpty else { throw Self.refusal("is empty") }
        guard text.utf8.count <= 1024 else { throw Self.refusal("has more than 1024 characters") }
        guard URISyntax.isWritten(text) else { throw Self.refusal("has a character that an address cannot have") }
        guard !text.utf8.contains(UInt8(ascii: "#")) else { throw Self.refusal("has a fragment") }
    }

    /// The scheme that an address begins with, where an app can be opened by one.
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

    /// What stands after a scheme: a path, `/path`, or a place with a name, `//place`.
    private static func rest(of text: String, after scheme: String) throws(OAuthError) -> Substring {
        let rest = text.dropFirst(scheme.count + 1)
        guard rest.utf8.first == UInt8(ascii: "/") else {
            throw Self.refusal("has no slash after the colon of its scheme")
        }
        return rest
    }

    /// The scheme of an address that an app has of its own: a domain of its maker, the labels in reverse order, all in
    /// lower case (RFC 8252, sections 7.1 and 8.4). One slash follows, because no authority is named; the two and a name that
    /// many apps have are taken, too.
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

    /// `localhost` is a name, and a name can be resolved to another address.
    private static func isLoopback(_ host: Substring) -> Bool {
        if host == "[::1]" { return true }
        let numbers = host.splitBytes(at: ".")
        return numbers.count == 4 && numbers[0] == "127"
            && numbers.allSatisfy { UInt8($0) != nil && ($0 == "0" || $0.first != "0") && $0.first != "+" }
    }
}
