import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import OAuthProvider
import Testing
import UAFClient
import _Primitives

@Suite("Operations parity 90: a client's setting, which is off, lets a dispatch have a text to compare")
struct ChannelLinkingRoutesTests {
    private static func dispatch(_ party: RelyingParty, _ client: any TestClientProtocol) async throws -> (
        response: TestResponse, object: JSONObject
    ) {
        let context = JSON.object(["channelLinking": .bool(true)]).text
        return try await client.send(
            .post, "/token/dispatch/authentication",
            [
                "dispatcher": .string("link"),
                "getUafRequest": .object(["op": .string("Auth"), "context": .string(context)]),
            ], headers: [.authorization: party.authorization])
    }

    @Test("The answer of the dispatch has the text that the phone shows; without the setting the dispatch is refused")
    func sameText() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let party = try await server.relyingParty()
            #expect(try await Self.dispatch(party, client).response.status == .forbidden)
            var change = ClientChange()
            change.tokens.linksChannels = true
            _ = try await server.assembly.provider.clients.change(party.id, change)
            let (response, object) = try await Self.dispatch(party, client)
            #expect(response.status == .ok)
            let text = try object.requiredObject("dispatcherInformation").requiredString("channelLinking")
            #expect(text.utf8.count == 4)
            _ = try await phone.authenticate(try OutOfBandPayload(link: try object.requiredString("link")))
            #expect(phone.person.asked.compactMap { $0.requester?.channelLinking }.last == text)
        }
    }

    @Test("The server's own page shows no text to compare, whatever the client's setting is")
    func ownPage() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let party = try await server.relyingParty()
            var change = ClientChange()
            change.tokens.linksChannels = true
            _ = try await server.assembly.provider.clients.change(party.id, change)
            let (_, page) = try await server.signInPage(TestBrowser(client), party)
            _ = try await phone.authenticate(try server.typedPayload(page))
            let asked = phone.person.asked.compactMap(\.requester)
            #expect(!asked.isEmpty && asked.allSatisfy { $0.channelLinking == nil })
        }
    }
}
