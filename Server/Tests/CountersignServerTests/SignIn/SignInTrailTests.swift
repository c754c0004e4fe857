import CountersignTestKit
import Records
import SQLStore
import Testing

@Suite("The audit trail of sign-ins, as browsers make them")
struct SignInTrailTests {
    @Test("A sign-in has service, methods and address, by the phone and by a session")
    func entries() async throws {
        let server = try await ServerFixture()
        let party = try await server.relyingParty()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let browser = TestBrowser(client)
            try await server.signInTwice(browser, party, phone)
        }
        let events = try await server.database.auditEntries(after: 0, limit: 1000).map(\.event)
        for kind in ["signed-in", "signed-in-by-session"] {
            let event = try #require(events.first { $0.kind == .init(rawValue: kind) }, "\(kind)")
            #expect(event.detail?.hasPrefix("service=\(party.id) methods=") == true, "\(kind)")
            #expect(event.address?.isEmpty == false, "\(kind)")
        }
    }
}
