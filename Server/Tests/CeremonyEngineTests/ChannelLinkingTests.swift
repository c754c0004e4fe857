import CeremonyEngine
import Records
import Testing
import UAF
import _Primitives

@Suite("Operations parity 90: a text that page and phone show")
struct ChannelLinkingTests {
    private static func request(_ account: AccountRecord, _ value: JSON = .bool(true)) -> DispatchRequest {
        DispatchRequest(
            dispatcher: "link", operation: .authentication,
            context: [
                "subject": .string("bank|\(account.id)"), "channelLinking": value,
                "transaction": .array([.object(Transaction(content: Array("Pay 1 EUR".utf8)).json)]),
            ])
    }

    private static func linking(_ client: DispatchingClient) -> DispatchingClient {
        var client = client
        client.linksChannels = true
        return client
    }

    @Test("The dispatch's answer and the phone's request have the same text, new for each dispatch")
    func sameText() async throws {
        let server = try TestServer()
        let (account, _) = try await server.enrol()
        var texts: [String] = []
        for _ in 0..<8 {
            let dispatched = try await server.engine.dispatches.dispatch(
                Self.request(account), client: Self.linking(server.bank))
            let text = try #require(dispatched.channelLinking)
            let request = try await server.engine.redemptions.redeem(
                token: try #require(dispatched.token), operation: .authentication)
            #expect(request.requester?.channelLinking == text)
            #expect(text.utf8.count == 4 && text.utf8.allSatisfy { $0 < 0x80 })
            texts.append(text)
        }
        #expect(Set(texts.map(ExactText.init)).count > 1)
    }

    @Test("A client has no text unless its setting says so, and none without asking")
    func offByDefault() async throws {
        let server = try TestServer()
        let (account, _) = try await server.enrol()
        await #expect(throws: CeremonyError(.forbidden)) {
            try await server.engine.dispatches.dispatch(Self.request(account), client: server.bank)
        }
        for client in [server.bank, Self.linking(server.bank)] {
            let dispatched = try await server.engine.dispatches.dispatch(
                Self.request(account, .bool(false)), client: client)
            #expect(dispatched.channelLinking == nil)
            let request = try await server.engine.redemptions.redeem(
                token: try #require(dispatched.token), operation: .authentication)
            #expect(request.requester?.channelLinking == nil)
        }
        await #expect(throws: CeremonyError(.invalidRequest)) {
            try await server.engine.dispatches.dispatch(
                Self.request(account, .string("yes")), client: Self.linking(server.bank))
        }
    }

    @Test("An answer after a comparison counts as one factor")
    func oneFactor() async throws {
        for isLinked in [true, false] {
            let server = try TestServer()
            let (account, phone) = try await server.enrol()
            let dispatched = try await server.engine.dispatches.dispatch(
                Self.request(account, .bool(isLinked)), client: Self.linking(server.bank))
            let request = try await server.engine.redemptions.redeem(
                token: try #require(dispatched.token), operation: .authentication)
            let answer = try await server.engine.authenticationAnswers.judge(
                try phone.authenticate(request, counter: 2))
            #expect(answer.response.statusCode == .ok)
            let status = try await server.engine.sessions.status(
                sessionID: try #require(dispatched.sessionID), clientID: "bank")
            #expect(status.confirmation?.amr == (isLinked ? ["pin", "swk"] : ["pin", "swk", "mfa"]))
        }
    }
}
