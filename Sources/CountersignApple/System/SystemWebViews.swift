#if canImport(WebKit)
    public import Countersign
    import Foundation
    public import WebKit

    /// The app's web views, by WebKit. Each view has a store of its own that is never on the disk.
    public struct SystemWebViews: WebViews {
        private let present: @MainActor @Sendable (_ view: WKWebView, _ displayTitle: String) throws -> Void
        private let open = OpenViews()

        /// Creates the views. `present` shows a view with a title; the app closes the view.
        public init(
            present: @escaping @MainActor @Sendable (_ view: WKWebView, _ displayTitle: String) throws -> Void
        ) {
            self.present = present
        }

        /// Creates an empty view with a title, and has the app show it; see `WebViews`.
        public func makeView(displayTitle: String) async throws -> any SignInWebView {
            try await SystemWebView.shown(displayTitle, self.present, self.open)
        }

        /// Deletes the cookies and storage of all views that the app has not closed; see `WebViews`.
        public func clear() async throws { await self.open.clear() }
    }

    /// The views that the app has not closed.
    @MainActor
    private final class OpenViews: Sendable {
        private struct Entry {
            weak var view: WKWebView?
        }

        private var entries: [Entry] = []

        nonisolated init() {}

        func add(_ view: WKWebView) {
            self.entries.removeAll { $0.view == nil }
            self.entries.append(Entry(view: view))
        }

        func clear() async {
            for view in self.entries.compactMap(\.view) { await view.removeEverything() }
        }
    }

    /// A view of WebKit.
    @MainActor
    private final class SystemWebView: SignInWebView {
        private let view: WKWebView

        private init(_ view: WKWebView) { self.view = view }

        static func shown(
            _ displayTitle: String, _ present: @MainActor (WKWebView, String) throws -> Void, _ open: OpenViews
        ) throws -> SystemWebView {
            let configuration = WKWebViewConfiguration()
            configuration.websiteDataStore = .nonPersistent()
            let view = WKWebView(frame: .zero, configuration: configuration)
            try present(view, displayTitle)
            open.add(view)
            return SystemWebView(view)
        }

        func setCookie(_ cookie: WebViewCookie) async throws {
            // The parser of the system makes the cookie: it alone knows the attributes that no property has.
            guard let field = cookie.setCookieField, let origin = cookie.origin,
                let made = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": field], for: origin).first
            else { throw StorageError(.unavailable, "the view does not take the cookie") }
            await self.store.setCookie(made)
        }

        func cookieNames(for url: URL) async throws -> [String] {
            await self.store.allCookies().filter { $0.isSent(to: url) }.map(\.name)
        }

        func clear() async throws { await self.view.removeEverything() }

        func load(_ url: URL, session: WebViewSession) async throws {
            let controller = self.view.configuration.userContentController
            controller.removeAllUserScripts()
            let script = session.documentStartScript
            if !script.isEmpty {
                controller.addUserScript(
                    WKUserScript(source: script, injectionTime: .atDocumentStart, forMainFrameOnly: true))
            }
            _ = self.view.load(URLRequest(url: url))
        }

        private var store: WKHTTPCookieStore { self.view.configuration.websiteDataStore.httpCookieStore }
    }

    extension WKWebView {
        fileprivate func removeEverything() async {
            let store = self.configuration.websiteDataStore
            await store.removeData(ofTypes: WKWebsiteDataStore.allWebsiteDataTypes(), modifiedSince: .distantPast)
        }
    }

    extension HTTPCookie {
        /// Returns `true` if a view sends the cookie to an address. The system writes the domain of a cookie of one host
        /// without a dot at the start.
        fileprivate func isSent(to url: URL) -> Bool {
            WebViewCookie.isSent(storedDomain: self.domain, path: self.path, isSecure: self.isSecure, to: url)
        }
    }
#endif
