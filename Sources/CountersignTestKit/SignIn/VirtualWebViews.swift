public import Countersign
public import Foundation

/// An app's web views without pages. The type records cookies and loads.
// Safe to share: every access to `made` is within `lock`.
public final class VirtualWebViews: WebViews, @unchecked Sendable {
    private let lock = NSLock()
    private var made: [VirtualWebView] = []
    private var isRefusing = false
    private var loadError: (any Error)?

    /// Creates an app without a view.
    public init() {}

    /// All views, oldest first.
    public var views: [VirtualWebView] { self.lock.withLock { self.made } }

    /// Makes the cookie stores of later views refuse cookies, as under a device setting that forbids cookies, or accept
    /// cookies again. Present views stay as they are.
    public func refuseCookies(_ isRefusing: Bool) { self.lock.withLock { self.isRefusing = isRefusing } }

    /// Makes present and later views throw the error instead of loading a page; `nil` lets the views load again.
    public func failLoads(with error: (any Error)?) {
        self.lock.withLock {
            self.loadError = error
            for view in self.made { view.failLoads(with: error) }
        }
    }

    /// Creates an empty view.
    public func makeView(displayTitle: String) async throws -> any SignInWebView {
        self.lock.withLock {
            let view = VirtualWebView(displayTitle: displayTitle, isRefusing: self.isRefusing)
            view.failLoads(with: self.loadError)
            self.made.append(view)
            return view
        }
    }

    /// Deletes the cookies of all views.
    public func clear() async throws { for view in self.views { try await view.clear() } }
}

/// A view without a page.
// Safe to share: every access to the state is within `lock`.
public final class VirtualWebView: SignInWebView, @unchecked Sendable {
    /// A loaded page.
    public struct Load: Sendable {
        /// The page.
        public let url: URL
        /// The names of the cookies in the page's request.
        public let cookieNames: [String]
        /// The session data for a page of the view, by the page's address.
        public let session: WebViewSession
    }

    /// The title above the view.
    public let displayTitle: String
    private let lock = NSLock()
    private var store: [WebViewCookie] = []
    private var done: [Load] = []
    private let isRefusing: Bool
    private var loadError: (any Error)?

    init(displayTitle: String, isRefusing: Bool) {
        self.displayTitle = displayTitle
        self.isRefusing = isRefusing
    }

    /// The cookies in the view's store.
    public var cookies: [WebViewCookie] { self.lock.withLock { self.store } }
    /// The loaded pages, oldest first.
    public var loads: [Load] { self.lock.withLock { self.done } }
    /// Stores a cookie, unless the store refuses cookies.
    public func setCookie(_ cookie: WebViewCookie) async throws {
        self.lock.withLock { if !self.isRefusing { self.store.append(cookie) } }
    }

    /// Returns the names of the cookies for an address, by host, path and scheme.
    public func cookieNames(for url: URL) async throws -> [String] { self.names(for: url) }

    /// Empties the store.
    public func clear() async throws { self.lock.withLock { self.store = [] } }

    /// Records the page, or throws the error that the test has set.
    public func load(_ url: URL, session: WebViewSession) async throws {
        let names = self.names(for: url)
        try self.lock.withLock {
            if let loadError { throw loadError }
            self.done.append(Load(url: url, cookieNames: names, session: session))
        }
    }

    func failLoads(with error: (any Error)?) { self.lock.withLock { self.loadError = error } }

    private func names(for url: URL) -> [String] { self.cookies.filter { $0.isSent(to: url) }.map(\.name) }
}
