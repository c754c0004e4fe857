public import Countersign
import Foundation
import _Primitives

/// An app's web views as windows of Chromium, for an app on a desktop.
///
/// Each view is a separate browser with a profile in memory, which no other view and no other browser of the person can
/// see. Cookies reach the browser through a pipe between this program and the browser. No other program can speak to
/// the browser, and the cookies appear in no list of processes. The person can close the window, and the window closes
/// when the program ends.
public struct ChromiumWebViews: WebViews {
    private let program: String
    private let open = OpenViews()

    /// Creates web views.
    ///
    /// - Parameter program: The browser: the name of a program, or its path. The program has to accept Chromium's
    ///   arguments and leave its third and fourth file open.
    public init(program: String = "chromium") { self.program = program }

    /// Starts a browser. Throws ``SignInError`` `misconfigured` if the browser is missing or does not start.
    public func makeView(displayTitle: String) async throws -> any SignInWebView {
        let view = ChromiumView(program: self.program)
        // The view is registered before the browser runs, so a sign-out in the meantime ends the browser.
        await self.open.add(view)
        try await view.start()
        return view
    }

    /// Closes all windows.
    public func clear() async throws { for view in await self.open.all { await view.clear() } }

    /// Waits until the person has closed all windows that are open now.
    public func untilClosed() async { for view in await self.open.all { await view.untilClosed() } }
}

/// The web views of an app's process.
private actor OpenViews {
    private(set) var all: [ChromiumView] = []
    func add(_ view: ChromiumView) { self.all.append(view) }
}

/// A web view: a browser that exists from the first cookie or page until the view is cleared.
private actor ChromiumView: SignInWebView {
    private let program: String
    /// The browser, from the beginning of its start. A caller during the start waits for the same browser.
    private var browser: Task<ChromiumProcess, any Error>?
    private var script: String?

    init(program: String) { self.program = program }

    func start() async throws {
        _ = try await self.running()
        guard Task.isCancelled else { return }
        await self.clear()
        throw CancellationError()
    }

    private func running() async throws -> ChromiumProcess {
        if let browser { return try await browser.value }
        let browser = Task { [program] in try await ChromiumProcess.start(program: program) }
        self.browser = browser
        do {
            return try await browser.value
        } catch {
            // After a failed start, the next call may try again.
            if self.browser == browser { self.browser = nil }
            throw error
        }
    }

    func setCookie(_ cookie: WebViewCookie) async throws {
        var parameters: JSONObject = [
            "name": .string(cookie.name), "value": .string(cookie.value),
            "url": .string("\(cookie.isSecure ? "https" : "http")://\(cookie.host)\(cookie.path)"),
            "path": .string(cookie.path), "secure": .bool(cookie.isSecure), "httpOnly": .bool(cookie.isHTTPOnly),
        ]
        // Without a domain the cookie is for the address's host alone.
        parameters["domain"] = cookie.domain.map { .string(".\($0)") }
        if cookie.isSameSite { parameters["sameSite"] = .string("Lax") }
        guard try await self.running().call("Network.setCookie", parameters).bool("success") == true else {
            throw SignInError(.storageError, "the browser has not taken a cookie")
        }
    }

    func cookieNames(for url: URL) async throws -> [String] {
        let found = try await self.running().call(
            "Network.getCookies", ["urls": .array([.string(url.absoluteString)])])
        return try (found.array("cookies") ?? []).map {
            guard case .object(let cookie) = $0 else { throw SignInError(.protocolError, "a cookie is no object") }
            return try cookie.requiredString("name")
        }
    }

    /// Ends the browser with its profile. The next cookie or page starts another browser.
    func clear() async {
        let former = self.browser
        (self.browser, self.script) = (nil, nil)
        await (try? former?.value)?.end()
    }

    func load(_ url: URL, session: WebViewSession) async throws {
        let browser = try await self.running()
        if let script {
            _ = try await browser.call("Page.removeScriptToEvaluateOnNewDocument", ["identifier": .string(script)])
        }
        self.script = try await browser.call(
            "Page.addScriptToEvaluateOnNewDocument", ["source": .string(session.documentStartScript)]
        ).requiredString("identifier")
        let answer = try await browser.call("Page.navigate", ["url": .string(url.absoluteString)])
        guard let failure = try answer.string("errorText") else { return }
        let isUntrusted = failure.hasBytes(atStart: "net::ERR_CERT_") || failure.hasBytes(atStart: "net::ERR_SSL_")
        throw TransportError(isUntrusted ? .untrustedServer : .unreachable, "the page has not loaded")
    }

    func untilClosed() async { await (try? self.browser?.value)?.untilEnded() }
}
