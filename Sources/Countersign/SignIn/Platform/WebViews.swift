import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The app's web views: pages of sites that are shown within the app.
///
/// Nobody signs in there; for that there is ``WebAuthentication``. Each view has cookies and storage of its own, which no
/// other view and no browser sees, and which are gone when it is closed.
public protocol WebViews: Sendable {
    /// Makes a view with nothing in it, under a title. Throws where the app shows none now.
    func makeView(displayTitle: String) async throws -> any SignInWebView

    /// Deletes cookies and storage of all views, open ones too: the person has signed out.
    func clear() async throws
}

/// One view.
public protocol SignInWebView: Sendable {
    /// Puts a cookie into the view's own store, exactly as it is. Throws where the store does not take it.
    func setCookie(_ cookie: WebViewCookie) async throws

    /// The names of the cookies that the view would send to an address.
    func cookieNames(for url: URL) async throws -> [String]

    /// Deletes the view's cookies and storage.
    func clear() async throws

    /// Shows a page. At the beginning of each page that comes of it, redirects and links included, and before any of the
    /// page's own scripts, the view runs ``WebViewSession/documentStartScript``. One that runs no scripts asks
    /// ``WebViewSession/hint(at:)`` by the page's address, and sets what that says in the page's local storage.
    func load(_ url: URL, session: WebViewSession) async throws
}

/// A cookie of a site's session.
public struct WebViewCookie: Hashable, Sendable {
    /// Its name.
    public let name: String
    /// Its value: a secret, but for what the site's scripts may read.
    public let value: String
    /// The host that has set it.
    public let host: String
    /// The domain whose hosts all get it, which ``host`` is in; `nil` for that host alone: put it into the store without a
    /// domain then, so that no subdomain gets it.
    public let domain: String?
    /// Where its addresses begin.
    public let path: String
    /// Whether it goes over TLS alone.
    public let isSecure: Bool
    /// Whether scripts of the page cannot read it.
    public let isHTTPOnly: Bool
    /// Whether it is withheld where another site has the request made (`SameSite` other than `None`).
    public let isSameSite: Bool
}

extension WebViewCookie {
    /// Whether a view sends it to an address, by host, path and scheme (RFC 6265, section 5.4): for a view that keeps its
    /// cookies itself.
    public func isSent(to url: URL) -> Bool {
        guard let host = url.host()?.asciiLowercased else { return false }
        let path = url.path().isEmpty ? "/" : url.path()
        let start = self.path.utf8.last == UInt8(ascii: "/") ? self.path : self.path + "/"
        let isOfDomain = self.domain.map { host.hasSameBytes(as: $0) || host.hasBytes(atEnd: "." + $0) } ?? false
        return (isOfDomain || host.hasSameBytes(as: self.host))
            && (path.hasSameBytes(as: self.path) || path.hasBytes(atStart: start))
            && (!self.isSecure || url.scheme?.asciiLowercased.hasSameBytes(as: "https") ?? false)
    }
}

extension WebViewCookie: CustomStringConvertible, CustomReflectable {
    /// The name alone.
    public var description: String { "WebViewCookie(\(self.name))" }
    public var customMirror: Mirror { Mirror(self, children: ["name": self.name]) }
}

/// What pages of a view are told about their session.
public struct WebViewSession: Hashable, Sendable {
    /// The sites that the view's cookies are for; `nil` for a view that nobody is signed in in.
    let sites: WebViewSites?

    /// The name under which a page is told that there is a session, and `true`; `nil` for a page that is told nothing: of any
    /// address that is not `https` of a configured host.
    public func hint(at url: URL) -> (name: String, value: String)? {
        guard let sites, sites.include(url) else { return nil }
        return (sites.sessionHint, "true")
    }

    /// The same as a script, in JavaScript, for a view that runs one at the beginning of each page: it sets the hint in the
    /// local storage of a page that is told, takes it from any other, and does nothing else. Empty where nobody is signed in.
    public var documentStartScript: String {
        guard let sites else { return "" }
        let name = JSON.string(sites.sessionHint).text
        let hosts = JSON.array(sites.hosts.sorted().map(JSON.string)).text
        // A page that is not of a site, as one of `data:`, has no storage, and says so by an error.
        return """
            try {
                if (location.protocol === "https:" && \(hosts).includes(location.host)) localStorage.setItem(\(name), "true");
                else localStorage.removeItem(\(name));
            } catch {}
            """
    }
}

/// The sites whose pages an app shows in its web views, signed in.
public struct WebViewSites: Hashable, Sendable {
    /// The name under which the web site is registered at the sign-in service, as whose browser the view counts.
    public var application: String
    /// The hosts that a view is signed in at, `https` each. The app's own words; a host from an address is told from them
    /// by its bytes.
    public var hosts: Set<String>
    /// What the names of the site's cookies begin with.
    public var cookiePrefix: String
    /// The name under which a page is told, in its local storage, that there is a session.
    public var sessionHint: String

    /// Sites of a web application.
    public init(application: String, hosts: [String], cookiePrefix: String = "countersign_") {
        self.application = application
        self.hosts = Set(hosts)
        self.cookiePrefix = cookiePrefix
        self.sessionHint = "hasSession"
    }
}

extension WebViewSites {
    /// Whether a view is signed in at an address: `https`, without a user, of a configured host.
    func include(_ url: URL) -> Bool {
        guard url.scheme?.asciiLowercased.hasSameBytes(as: "https") ?? false, url.user() == nil,
            let host = url.authority
        else { return false }
        return self.hosts.containsBytes(of: host)
    }
}
