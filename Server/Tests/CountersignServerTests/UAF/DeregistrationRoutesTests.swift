import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

@Suite("Deregistration over HTTP (uaf-sections §6, §8.5), and what ends with a device")
struct DeregistrationRoutesTests {
    private static let address = "/uaf/1.1/request/deregistration"

    /// What an authentication in the app gives: the value of `Authorization`.
    private func token(_ phone: VirtualPhone, _ username: String = "alice") async throws -> String {
        let result: AuthenticationSuccess = try await phone.client.operations.authentication.username(username)
            .authenticatorSelector(phone.person).pinUserVerifier(phone.person).execute()
        return try #require(result.authorizationProvider?.headers.first?.value)
    }

    private func ask(_ context: JSONObject, _ authorization: String?, _ client: any TestClientProtocol) async throws
        -> (response: TestResponse, answer: ReturnUAFRequest?)
    {
        var headers: HTTPFields = [.contentType: "application/fido+uaf;charset=UTF-8"]
        headers[.authorization] = authorization
        let response = try await client.execute(
            uri: Self.address, method: .post, headers: headers,
            body: ByteBuffer(bytes: GetUAFRequest(operation: .deregistration, context: context).serialized))
        return (response, try? ReturnUAFRequest(parsing: response.body.readableBytesView))
    }

    private static let everything: JSONObject = ["username": .string("alice"), "mode": .string("username")]

    private func signIn(
        _ browser: TestBrowser, _ phone: VirtualPhone, _ party: RelyingParty, _ server: ServerFixture
    ) async throws -> (access: String, subject: String) {
        let (request, page) = try await server.signInPage(browser, party)
        _ = try await phone.authenticate(try server.typedPayload(page))
        let completed = try await browser.get("/sign-in/complete?request=\(request)")
        let tokens = try await party.exchange(
            try #require(completed.redirectParameters["code"]), browser.client
        ).object.requiredString("access_token")
        let info = try await browser.client.send(
            .get, "/oauth2/userinfo", headers: [.authorization: "Bearer \(tokens)"])
        return (tokens, try info.object.requiredString("sub"))
    }

    @Test("the device's keys, sessions and tokens end, and the device is told what to delete")
    func device() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let party = try await server.relyingParty()
            let browser = TestBrowser(client)
            let access = try await self.signIn(browser, phone, party, server).access
            let token = try await self.token(phone)

            let (response, answer) = try await self.ask(Self.everything, token, client)
            #expect(response.status == .ok)
            #expect(response.headers[.contentType] == "application/fido+uaf;charset=UTF-8")
            #expect(response.headers[.cacheControl] == "no-store")
            let message = try DeregistrationRequest(parsing: (answer?.uafRequest ?? "").utf8)
            #expect(message.authenticators == [.everything])

            let refused = try await client.send(
                .get, "/oauth2/userinfo", headers: [.authorization: "Bearer \(access)"])
            #expect(refused.response.status == .unauthorized)
            let again = try await browser.get(party.authorizeAddress())
            #expect(try #require(again.headers[.location]).hasPrefix("/sign-in?request="))
            #expect(
                try await client.send(.get, "/account/v1/notices", headers: [.authorization: token]).response.status
                    == .unauthorized)
            // The answer may have been lost on its way: asking again does no harm.
            #expect(try await self.ask(Self.everything, token, client).answer == answer)
        }
    }

    @Test("an operator's revocation refuses the device's token at once, everywhere, and deletes nothing by it")
    func revocation() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let account = try await server.assembly.directory.account(username: "alice")
            let token = try await self.token(phone)
            // A second device, so that there is something to delete.
            let enrolment = try await server.assembly.ceremonies.enrolments.createEnrolmentLink(
                username: "alice", by: "test")
            let second = try await VirtualPhone(
                configuration: phone.client.configuration, transport: RouterTransport(client: client),
                clock: server.clock)
            let enrolled = try await second.enroll(try OutOfBandPayload(link: enrolment.link))
            _ = try await server.assembly.ceremonies.enrolments.confirmEnrolment(
                id: enrolment.id, number: try #require(enrolled.confirmation?.number), by: "test")
            let party = try await server.relyingParty()
            let access = try await self.signIn(TestBrowser(client), phone, party, server).access
            let kept = try await self.signIn(TestBrowser(client), second, party, server).access
            let device = try await server.database.devices(accountID: account.id)[0].id

            let before = try await client.send(.get, "/account/v1/sessions", headers: [.authorization: token])
            #expect(before.response.status == .ok)
            let revoked = try await server.withSocketClient { socket in
                try await socket.send(.delete, "/admin/v1/devices/\(device)").response.status
            }
            #expect(revoked == .noContent)
            for path in ["/account/v1/sessions", "/account/v1/notices"] {
                #expect(
                    try await client.send(.get, path, headers: [.authorization: token]).response.status
                        == .unauthorized)
            }
            let registration = try await client.execute(
                uri: "/uaf/1.1/request/registration", method: .post,
                headers: [.authorization: token, .contentType: "application/fido+uaf"],
                body: ByteBuffer(bytes: GetUAFRequest(operation: .registration).serialized))
            #expect(registration.status == .unauthorized)
            for (token, status) in [(access, HTTPResponse.Status.unauthorized), (kept, .ok)] {
                #expect(
                    try await client.send(.get, "/oauth2/userinfo", headers: [.authorization: "Bearer \(token)"])
                        .response.status == status)
            }
            #expect(try await self.ask(Self.everything, token, client).answer?.statusCode == .ok)
            #expect(try await server.database.devices(accountID: account.id).count == 1)
            let event = try await server.database.auditEntries(after: 0, limit: 999).map(\.event).last {
                $0.kind.rawValue == "device-deleted"
            }
            #expect(event?.accountID == account.id && event?.detail == device && event?.actor == "socket")
        }
    }

    @Test("a relying party deregisters its own people alone")
    func relyingParty() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let account = try await server.assembly.directory.account(username: "alice")
            let party = try await server.relyingParty(mayDeregister: true)
            let other = try await server.relyingParty(mayDeregister: true)
            let subject = try await self.signIn(TestBrowser(client), phone, party, server).subject
            let context: JSONObject = ["subject": .string(subject), "mode": .string("username")]
            let strangers = try await self.ask(context, other.authorization, client)
            #expect(try await server.database.credentials(accountID: account.id).count == 1)
            let own = try await self.ask(context, party.authorization, client)
            #expect(try await server.database.credentials(accountID: account.id).isEmpty)
            #expect(own.answer?.statusCode == .ok && own.answer == strangers.answer)
        }
    }

    @Test("a relying party without the permission has nothing deleted: 1403, and 403 where it dispatches")
    func permission() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let account = try await server.assembly.directory.account(username: "alice")
            let party = try await server.relyingParty()
            let subject = try await self.signIn(TestBrowser(client), phone, party, server).subject
            let context: JSONObject = ["subject": .string(subject), "mode": .string("username")]
            let dispatch: JSONObject = [
                "dispatcher": .string("link"),
                "getUafRequest": .object(["op": .string("Dereg"), "context": .string(JSON.object(context).text)]),
            ]
            func dispatched() async throws -> (response: TestResponse, object: JSONObject) {
                try await client.send(
                    .post, "/token/dispatch/deregistration", dispatch, headers: [.authorization: party.authorization])
            }
            let (response, answer) = try await self.ask(context, party.authorization, client)
            #expect(response.status == .ok && answer?.statusCode == .forbidden && answer?.uafRequest == nil)
            let refused = try await dispatched()
            #expect(refused.response.status == .forbidden)
            #expect(refused.object["type"] == .string("urn:countersign:error:forbidden"))
            #expect(try await server.database.credentials(accountID: account.id).count == 1)
            // Given by an operator, it counts at once.
            _ = try await server.assembly.provider.clients.change(party.id, ClientChange(mayDeregister: true))
            #expect(try await dispatched().response.status == .ok)
            #expect(try await self.ask(context, party.authorization, client).answer?.statusCode == .ok)
            #expect(try await server.database.credentials(accountID: account.id).isEmpty)
        }
    }

    @Test("a caller that shows nothing, too much or what is false is refused with 401")
    func unauthorized() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let account = try await server.assembly.directory.account(username: "alice")
            let party = try await server.relyingParty()
            let access = try await self.signIn(TestBrowser(client), phone, party, server).access
            let token = try await self.token(phone)
            for authorization in [
                nil, "", "Bearer x", "Bearer \(access)", token + "x", "Basic eDp5", party.authorization + "x",
                "Digest x",
            ] {
                let response = try await self.ask(Self.everything, authorization, client).response
                #expect(response.status == .unauthorized, "\(authorization ?? "nothing")")
                #expect(response.headers[.wwwAuthenticate] != nil)
            }
            var twice: HTTPFields = [.contentType: "application/fido+uaf", .authorization: token]
            twice.append(HTTPField(name: .authorization, value: party.authorization))
            let response = try await client.execute(
                uri: Self.address, method: .post, headers: twice,
                body: ByteBuffer(
                    bytes: GetUAFRequest(operation: .deregistration, context: Self.everything).serialized))
            #expect(response.status == .unauthorized)
            server.clock.advance(by: Limits().deviceTokenLifetime + .seconds(61))
            #expect(try await self.ask(Self.everything, token, client).response.status == .unauthorized)
            #expect(try await server.database.credentials(accountID: account.id).count == 1)
        }
    }
}
