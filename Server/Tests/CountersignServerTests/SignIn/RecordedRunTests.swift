import Ceremony
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing
import _Primitives

@Suite("Recorded runs (founding decision, Recorded flows)")
struct RecordedRunTests {
    @Test func signInRecordsTheServersArrowsInOrder() async throws {
        let path = FileManager.default.temporaryDirectory.path + "/trace-\(RandomSource.system.token())"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let server = try await ServerFixture(trace: try TraceRecorder(path: path))
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let party = try await server.relyingParty()
            let browser = TestBrowser(client)
            let (request, page) = try await server.signInPage(browser, party)
            _ = try await phone.authenticate(try server.typedPayload(page))
            _ = try await browser.get("/sign-in/wait/events?request=\(request)")
            let completed = try await browser.get("/sign-in/complete?request=\(request)")
            _ = try await party.exchange(try #require(completed.redirectParameters["code"]), client)
        }
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let events = text.matches(of: /"event":"([^"]+)"/).map { String($0.1) }
        #expect(
            events == [
                "request-answered", "confirmation-number-shown", "authorization-requested", "code-shown",
                "request-answered", "authentication-accepted", "approval-announced", "sign-in-completed",
                "authorization-code-sent", "tokens-issued",
            ])
    }
}
