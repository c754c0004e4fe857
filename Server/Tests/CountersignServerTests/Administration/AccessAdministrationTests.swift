import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import OAuthProvider
import Records
import Testing
import _Primitives

@Suite("Admin API: where people are signed in, and what services have (threat model, Staying signed in unseen)")
struct AccessAdministrationTests {
    /// Signs a browser in to a service that goes on without it.
    private func signIn(_ server: ServerFixture, _ client: any TestClientProtocol, _ phone: VirtualPhone) async throws
        -> RelyingParty
    {
        let party = try await server.relyingParty()
        _ = try await server.assembly.provider.clients.change(
            party.id, ClientChange(grantTypes: ["authorization_code", "refresh_token"]))
        let browser = TestBrowser(client)
        let page = try await browser.get(
            party.authorizeAddress().replacing("scope=openid%20profile", with: "scope=openid%20offline_access"))
        let location = try #require(page.headers[.location])
        let request = try #require(page.redirectParameters["request"])
        _ = try await phone.authenticate(try server.typedPayload(try await browser.get(location)))
        let completed = try await browser.get("/sign-in/complete?request=\(request)")
        _ = try await party.exchange(try #require(completed.redirectParameters["code"]), client)
        return party
    }

    private func list(_ kind: String, _ client: any TestClientProtocol) async throws -> [JSONObject] {
        let answer = try await client.send(.get, "/admin/v1/accounts/alice/\(kind)")
        return try (answer.object.array(kind) ?? []).compactMap { value in
            guard case .object(let object) = value else { return nil }
            return object
        }
    }

    @Test("an operator lists sessions and grants, and ends one, all of a service, and all")
    func access() async throws {
        let server = try await ServerFixture()
        let (first, second, third) = try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            var parties: [RelyingParty] = []
            for _ in 0..<3 {
                server.clock.advance(by: .seconds(1))
                parties.append(try await self.signIn(server, client, phone))
            }
            return (parties[0], parties[1], parties[2])
        }
        try await server.withSocketClient { client in
            let grants = try await self.list("grants", client)
            #expect(try grants.map { try $0.requiredString("client") } == [third.id, second.id, first.id])
            #expect(try grants[0].requiredString("service") == "Demo Bank")
            #expect(grants[0]["scopes"] == .array([.string("openid"), .string("offline_access")]))
            #expect(try grants[0].string("usedAt") == nil && grants[0].requiredString("kind") == "grant")
            #expect(try grants[0].requiredString("since") == server.clock.now().description)
            let sessions = try await self.list("sessions", client)
            #expect(sessions.count == 3)
            #expect(try sessions[0].requiredString("browser") == "Chrome on Linux")

            let path = "/admin/v1/accounts/alice"
            let grant = try grants[0].requiredString("id")
            let one = try await client.send(.delete, "\(path)/grants/\(grant)")
            #expect(one.response.status == .noContent)
            let again = try await client.send(.delete, "\(path)/grants/\(grant)")
            #expect(again.response.status == .notFound)
            #expect(try again.object.string("detail") == "The account has no such grant.")
            #expect(try await self.list("grants", client).count == 2)
            let wrong = try await client.send(.delete, "\(path)/grants?clients=\(first.id)")
            #expect(wrong.response.status == .badRequest)
            let ofService = try await client.send(.delete, "\(path)/grants?client=\(first.id)")
            #expect(ofService.object == ["ended": .integer(1)])
            let session = try sessions[1].requiredString("id")
            #expect(try await client.send(.delete, "\(path)/sessions/\(session)").response.status == .noContent)
            let gone = try await client.send(.delete, "\(path)/sessions/\(session)")
            #expect(try gone.object.string("detail") == "The account has no such session.")
            // With its session the second service's grant has gone.
            #expect(try await self.list("grants", client).isEmpty)
            #expect(try await client.send(.delete, "\(path)/grants").object == ["ended": .integer(0)])
            #expect(try await client.send(.delete, "\(path)/sessions").object == ["ended": .integer(2)])
            #expect(try await self.list("sessions", client).isEmpty)
        }
    }
}
