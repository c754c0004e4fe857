import Countersign
import Foundation
import Synchronization
import _Primitives

/// The app's web views in a terminal. A view fetches a page with its cookies and reports the result, without the values
/// of cookies.
struct TerminalWebViews: WebViews {
    let network: any Transport
    let report: Report

    func makeView(displayTitle: String) async throws -> any SignInWebView {
        TerminalWebView(displayTitle: displayTitle, network: self.network, report: self.report)
    }

    /// Does nothing: a view ends with the command that has opened it.
    func clear() async throws {}
}

/// One view, which lives as long as its command.
private final class TerminalWebView: SignInWebView {
    private let displayTitle: String
    private let network: any Transport
    private let report: Report
    private let cookies = Mutex<[WebViewCookie]>([])

    init(displayTitle: String, network: any Transport, report: Report) {
        self.displayTitle = displayTitle
        self.network = network
        self.report = report
    }

    func setCookie(_ cookie: WebViewCookie) async throws { self.cookies.withLock { $0.append(cookie) } }
    func cookieNames(for url: URL) async throws -> [String] { self.cookies(for: url).map(\.name) }
    func clear() async throws { self.cookies.withLock { $0 = [] } }

    func load(_ url: URL, session: WebViewSession) async throws {
        let cookies = self.cookies(for: url)
        let hint = session.hint(at: url)
        var headers: [(name: String, value: String)] = [("Accept", "text/html")]
        if !cookies.isEmpty {
            headers.append(("Cookie", cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")))
        }
        let answer = try await self.network.send(
            TransportRequest(
                method: "GET", url: url, headers: headers, body: [], timeout: PhoneLimits.pageTime,
                maximumResponseLength: PhoneLimits.pageBytes))
        self.report.say([
            "event": .string("page"), "title": .string(self.displayTitle), "status": .integer(Int64(answer.status)),
            "cookies": .array(cookies.map { .string($0.name) }), "hint": .bool(hint != nil),
        ]) { terminal in
            terminal.table(
                title: self.displayTitle,
                rows: [
                    ("page", url.host() ?? ""), ("status", String(answer.status)),
                    ("cookies", cookies.isEmpty ? "none" : cookies.map(\.name).joined(separator: ", ")),
                    ("told of a session", hint == nil ? "no" : "yes"),
                ])
        }
    }

    private func cookies(for url: URL) -> [WebViewCookie] {
        self.cookies.withLock { $0 }.filter { $0.isSent(to: url) }
    }
}
