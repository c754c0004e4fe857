public import Countersign
public import Foundation

/// An app's web views without pages: what is put into them and loaded is noted.
// Safe to share: every access to `made` is within `lock`.
public final class VirtualWebViews: WebViews, @unchecked Sendable {
    private let lock = NSLock()
    private var made: [VirtualWebView] = []
    private var isRefusing = false
    private var loadError: (any Error)?

    /// No view yet.
    public init() {}

    /// The views that were made, oldest first.
    public var views: [VirtualWebView] { self.lock.withLock { self.made } }

    /// The stores take no cookies any more, or again: as where the device's settings forbid them.
    public func refuseCookies(_ isRefusing: Bool) { self.lock.withLock { self.isRefusing = isRefusing } }

    /// The views, and those that are made later, load no page any more but throw that; `nil` lets them load again.
    public func failLoads(with error: (any Error)?) {
        self.lock.withLock {
            self.loadError = error
            for view in self.made { view.failLoads(with: error) }
        }
    }

    /// A view with nothing in it.
    public func makeView(displayTitle: String) async throws -> any SignInWebView {
        self.lock.withLock {
            let view = VirtualWebView(displayTitle: displayTitle, isRefusing: self.isRefusing)
            view.failLoads(with: self.loadError)
            self.made.append(view)
            return view
        }
    }

    /// Deletes the cookies of all of them.
    public func clear() async throws { for view in self.views { try await view.clear() } }
}

/// One view without a page.
// Safe to share: every access to the state is within `lock`.
public final class VirtualWebView: SignInWebView, @unchecked Sendable {
    /// A page that was loaded.
    public struct Load: Sendable {
        /// The page.
        public let url: URL
        /// The names of the cookies that its request carried.
        public let cookieNames: [String]
        /// What a page of the view is told about its session, by the page's address.
        public let session: WebViewSession
    }

    /// What stands above the view.
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
    /// The pages that were loaded, oldest first.
    public var loads: [Load] { self.lock.withLock { self.done } }
    /// Takes a cookie, unless it refuses.
    public func setCookie(_ cookie: WebViewCookie) async throws {
        self.lock.withLock { if !self.isRefusing { self.store.append(cookie) } }
    }

    /// The names by host, path and scheme.
    public func cookieNames(for url: URL) async throws -> [String] { self.names(for: url) }

    /// Empties the store.
    public func clear() async throws { self.lock.withLock { self.store = [] } }

    /// Notes the page, or throws what it was told to.
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
