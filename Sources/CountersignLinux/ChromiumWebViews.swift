public import Countersign
import Foundation
import _Primitives

/// An app's web views as windows of Chromium, for an app on a desktop.
///
/// Each view is a browser of its own, with a profile of its own in memory, which no other view and no other browser of the
/// person sees. Cookies reach it through a pipe that only this program and that browser have: no other program can speak to
/// it, and they are in no list of processes. Its window is the person's to close; it closes when the program ends.
public struct ChromiumWebViews: WebViews {
    private let program: String
    private let open = OpenViews()

    /// - Parameter program: The browser: the name of a program, or its path. One that takes Chromium's arguments and leaves
    ///   its third and fourth file open.
    public init(program: String = "chromium") { self.program = program }

    /// Starts a browser. Throws ``SignInError`` `misconfigured` where there is none, or it does not start.
    public func makeView(displayTitle: String) async throws -> any SignInWebView {
        let view = ChromiumView(program: self.program)
        // Known before it is there, so that a sign-out that comes meanwhile ends it.
        await self.open.add(view)
        try await view.start()
        return view
    }

    /// Closes all windows.
    public func clear() async throws { for view in await self.open.all { await view.clear() } }

    /// Waits until the person has closed all windows that are open now.
    public func untilClosed() async { for view in await self.open.all { await view.untilClosed() } }
}

/// The views of one app's process.
private actor OpenViews {
    private(set) var all: [ChromiumView] = []
    func add(_ view: ChromiumView) { self.all.append(view) }
}

/// One view: a browser that is there from the first thing that is put into it until it is emptied.
private actor ChromiumView: SignInWebView {
    private let program: String
    /// The browser, from when it is begun to be started: whoever comes meanwhile waits for the same one.
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
            // One that has not started is no reason for the next not to be tried.
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
        // Without a domain it is for the address's host alone.
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

    /// The browser ends, and its profile with it: the next thing that is put into the view starts another one.
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
