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
    func makeView(displayTitle: String) async throws -> any WebView

    /// Deletes cookies and storage of all views, open ones too: the person has signed out.
    func clear() async throws
}

/// One view.
public protocol WebView: Sendable {
    /// Puts a cookie into the view's own store, exactly as it is. Throws where the store does not take it.
    func setCookie(_ cookie: WebViewCookie) async throws

    /// The names of the cookies that the view would send to an address.
    func cookieNames(for url: URL) async throws -> [String]

    /// Deletes the view's cookies and storage.
    func clear() async throws

    /// Shows a page. At the beginning of each page that comes of it, redirects and links included, the view asks
    /// ``WebViewSession/hint(at:)`` by the page's own address, and sets what that says in the page's local storage before any
    /// of the page's scripts runs, or removes it.
    func load(_ url: URL, session: WebViewSession) async throws
}

/// A cookie of a site's session.
public struct WebViewCookie: Hashable, Sendable {
    /// Its name.
    public let name: String
    /// Its value: a secret, but for what the site's scripts may read.
    public let value: String
    /// The one host that it is for: put it into the store without a domain of its own, so that no subdomain gets it.
    public let host: String
    /// Where its addresses begin.
    public let path: String
    /// Whether it goes over TLS alone.
    public let isSecure: Bool
    /// Whether scripts of the page cannot read it.
    public let isHTTPOnly: Bool
    /// Whether it is withheld where another site has the request made (`SameSite` other than `None`).
    public let isSameSite: Bool
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
            let host = Configuration.authority(url)
        else { return false }
        return self.hosts.containsBytes(of: host)
    }
}
