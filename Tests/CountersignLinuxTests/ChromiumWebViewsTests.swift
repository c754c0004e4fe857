import Countersign
import CountersignLinux
import Foundation
import Testing

/// What pages see of it is held by `Tests/Browser/test_web_views.py`, with the browser itself.
@Suite("Parity sign-in D6.6: web views in windows of a browser that does not start")
struct ChromiumWebViewsTests {
    @Test(
        "where there is no such program, or it is none that is spoken to, no view is made",
        arguments: ["/nowhere/chromium", "true", "echo"])
    func notStarted(program: String) async throws {
        let views = ChromiumWebViews(program: program)
        await #expect(throws: SignInError(.misconfigured)) { _ = try await views.makeView(displayTitle: "Records") }
        // Nothing is open: neither of these waits for anybody.
        try await views.clear()
        await views.untilClosed()
    }
}
