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

    @Test(
        "Phone and server name each other's events: a run is drawn in its order, whatever their clocks say",
        arguments: [-7_200_000, 0, 7_200_000])
    func signInIsDrawnInOrder(skew: Int64) async throws {
        let paths = ["server", "phone"].map {
            FileManager.default.temporaryDirectory.path + "/\($0)-\(RandomSource.system.token())"
        }
        defer { for path in paths { try? FileManager.default.removeItem(atPath: path) } }
        let clock = FakeClock()
        let server = try await ServerFixture(trace: try TraceRecorder(path: paths[0], time: clock.timeSource))
        let phones = try TraceRecorder(
            path: paths[1], time: TimeSource { clock.timeSource.now() + .milliseconds(skew) })
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client, trace: phones)
            clock.advance(by: .seconds(10))
            let browser = TestBrowser(client)
            let (request, page) = try await server.signInPage(browser, try await server.relyingParty())
            clock.advance(by: .seconds(10))
            _ = try await phone.authenticate(try server.typedPayload(page))
            clock.advance(by: .seconds(10))
            _ = try await browser.get("/sign-in/complete?request=\(request)")
        }
        let texts = try paths.map { try String(contentsOfFile: $0, encoding: .utf8) }
        #expect(
            try SequenceDiagram(files: texts.reversed()).events == [
                .tokenRedeemed, .requestAnswered, .personVerified, .registrationSent, .confirmationNumberShown,
                .authorizationRequested, .codeShown,
                .tokenRedeemed, .requestAnswered, .personVerified, .authenticationSent, .authenticationAccepted,
                .signInCompleted, .authorizationCodeSent,
            ])
        // The phone's recorder has heard of the server's event, and the server's of the phone's.
        for (file, other) in [(texts[0], texts[1]), (texts[1], texts[0])] {
            let recorder = try #require(other.firstMatch(of: /"recorder":"([0-9a-f]{8})"/)).1
            let causes = file.matches(of: /"cause":"([0-9a-f]{8})[0-9a-f]{8}"/).map(\.1)
            #expect(causes.count >= 2 && causes.allSatisfy { $0 == recorder })
        }
        // A browser's requests have no header, and are one run all the same.
        let sessions = try texts[0].matches(of: /"trace":"([0-9a-f]{32})"[^\n]*"authorization-(?:requested|code-sent)"/)
            .map { try #require(TraceID($0.1)) }
        #expect(sessions.count == 2)
        #expect(
            try SequenceDiagram(files: texts, traces: Set(sessions)).events == [
                .authorizationRequested, .codeShown, .signInCompleted, .authorizationCodeSent,
            ])
        #expect(Set(sessions).count == 1)
    }

    @Test("Without a recorder answers name no event")
    func answersNameNothing() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let browser = TestBrowser(client)
            let answer = try await browser.get(try await server.relyingParty().authorizeAddress())
            #expect(answer.status == .seeOther)
            #expect(HTTPField.Name("traceresponse").map { answer.headers[$0] == nil } ?? false)
        }
    }
}
