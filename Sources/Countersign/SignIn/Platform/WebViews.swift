import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The app's web views: pages of sites that are shown within the app.
///
/// A person never signs in in a web view; the sign-in uses ``WebAuthentication``. Each view has its own cookies and
/// storage. No other view and no browser sees them, and closing the view deletes them.
public protocol WebViews: Sendable {
    /// Creates an empty view with a title. Throws if the app cannot show a view now.
    func makeView(displayTitle: String) async throws -> any SignInWebView

    /// Deletes the cookies and storage of all views, including open views: the person has signed out.
    func clear() async throws
}

/// A web view.
public protocol SignInWebView: Sendable {
    /// Puts a cookie into the view's own store, exactly as given. Throws if the store does not accept the cookie.
    func setCookie(_ cookie: WebViewCookie) async throws

    /// Returns the names of the cookies that the view would send to an address.
    func cookieNames(for url: URL) async throws -> [String]

    /// Deletes the view's cookies and storage.
    func clear() async throws

    /// Shows a page.
    ///
    /// At the beginning of each resulting page, redirects and links included, and before any of the page's own scripts,
    /// the view runs ``WebViewSession/documentStartScript``. A view that runs no scripts calls
    /// ``WebViewSession/hint(at:)`` with the page's address, and stores the returned hint in the page's local storage.
    func load(_ url: URL, session: WebViewSession) async throws
}

/// A cookie of a site's session.
public struct WebViewCookie: Hashable, Sendable {
    /// The name of the cookie.
    public let name: String
    /// The value of the cookie: a secret, except for the cookie that the site's scripts may read.
    public let value: String
    /// The host that has set the cookie.
    public let host: String
    /// The domain whose hosts all receive the cookie; ``host`` belongs to the domain. `nil` if only ``host`` receives
    /// the cookie: put the cookie into the store without a domain then, so that no subdomain receives it.
    public let domain: String?
    /// The path prefix of the addresses that receive the cookie.
    public let path: String
    /// `true` if the cookie is sent only over TLS.
    public let isSecure: Bool
    /// `true` if scripts of the page cannot read the cookie.
    public let isHTTPOnly: Bool
    /// `true` if the cookie is withheld from requests that another site causes (`SameSite` other than `None`).
    public let isSameSite: Bool

    package init(
        name: String, value: String, host: String, domain: String?, path: String, isSecure: Bool, isHTTPOnly: Bool,
        isSameSite: Bool
    ) {
        self.name = name
        self.value = value
        self.host = host
        self.domain = domain
        self.path = path
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        self.isSameSite = isSameSite
    }
}

extension WebViewCookie {
    /// Returns `true` if a view sends the cookie to an address, by host, path and scheme (RFC 6265, section 5.4). Meant
    /// for a view that keeps its cookies itself.
    public func isSent(to url: URL) -> Bool {
        CookieScope(
            domain: self.domain ?? self.host, isHostOnly: self.domain == nil, path: self.path, isSecure: self.isSecure
        ).includes(url)
    }

    /// Returns `true` if a view sends a cookie of its store to an address. The store writes a dot before a domain whose
    /// hosts all receive the cookie, and none before a single host.
    package static func isSent(storedDomain: String, path: String, isSecure: Bool, to url: URL) -> Bool {
        let isHostOnly = storedDomain.utf8.first != UInt8(ascii: ".")
        return CookieScope(
            domain: String(isHostOnly ? storedDomain[...] : storedDomain.dropFirst()).asciiLowercased,
            isHostOnly: isHostOnly, path: path, isSecure: isSecure
        ).includes(url)
    }
}

extension WebViewCookie: CustomStringConvertible, CustomReflectable {
    /// The name only.
    public var description: String { "WebViewCookie(\(self.name))" }
    public var customMirror: Mirror { Mirror(self, children: ["name": self.name]) }
}

/// The information about a view's session for the pages of the view.
public struct WebViewSession: Hashable, Sendable {
    /// The sites of the view's cookies; `nil` for a view without a session.
    let sites: WebViewSites?

    /// Returns the local-storage name that tells a page of the session, with the value `true`. Returns `nil` for every
    /// page whose address is not an `https` address of a configured host.
    public func hint(at url: URL) -> (name: String, value: String)? {
        guard let sites, sites.include(url) else { return nil }
        return (sites.sessionHint, "true")
    }

    /// The hint as a script in JavaScript, for a view that runs a script at the beginning of each page.
    ///
    /// The script sets the hint in the local storage of the configured pages, removes the hint from any other page, and
    /// does nothing else. Empty if the view has no session.
    public var documentStartScript: String {
        guard let sites else { return "" }
        let name = JSON.string(sites.sessionHint).text
        let hosts = JSON.array(sites.hosts.sorted().map(JSON.string)).text
        // A page that belongs to no site, such as a `data:` page, has no storage and throws an error.
        return """
            try {
                if (location.protocol === "https:" && \(hosts).includes(location.host)) localStorage.setItem(\(name), "true");
                else localStorage.removeItem(\(name));
            } catch {}
            """
    }
}

/// The sites whose pages an app shows signed in in its web views.
public struct WebViewSites: Hashable, Sendable {
    /// The name of the web site's registration at the sign-in service. The view counts as a browser of this
    /// registration.
    public var application: String
    /// The hosts at which a view is signed in, all with `https`. The texts are the app's own words; a host from an
    /// address is compared with them byte by byte.
    public var hosts: Set<String>  // check: unicode-words
    /// The prefix of the names of the site's cookies.
    public var cookiePrefix: String
    /// The name in a page's local storage that tells the page of a session.
    public var sessionHint: String

    /// Creates the sites of a web application.
    public init(application: String, hosts: [String], cookiePrefix: String = "countersign_") {
        self.application = application
        self.hosts = Set(hosts)
        self.cookiePrefix = cookiePrefix
        self.sessionHint = "hasSession"
    }
}

extension WebViewSites {
    /// Returns `true` if a view is signed in at an address: `https`, without a user, and with a configured host.
    func include(_ url: URL) -> Bool {
        guard url.scheme?.asciiLowercased.hasSameBytes(as: "https") ?? false, url.user() == nil,
            let host = url.authority
        else { return false }
        return self.hosts.containsBytes(of: host)
    }
}
