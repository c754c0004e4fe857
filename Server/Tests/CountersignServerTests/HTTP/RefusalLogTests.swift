import Accounts
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import OAuthProvider
import Records
import SQLStore
import Settings
import Synchronization
import Testing
import UAF
import _Primitives

@Suite("A refusal can be explained: the number on its page finds the line in the log")
struct RefusalLogTests {
    /// What one request was answered, and the metadata of its line.
    private func refusal(
        _ server: ServerFixture, _ body: @escaping @Sendable (any TestClientProtocol) async throws -> TestResponse
    ) async throws -> (page: String, line: Logger.Metadata) {
        let answer = Mutex<TestResponse?>(nil)
        let lines = try await server.requestLines { client in
            let response = try await body(client)
            answer.withLock { $0 = response }
        }
        let response = try #require(answer.withLock { $0 })
        return (String(buffer: response.body), try #require(lines.last))
    }

    /// The number that a page shows.
    private func reference(_ page: String) throws -> String {
        let match = try #require(page.firstMatch(of: #/<code>([0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4})</code>/#))
        return String(match.1)
    }

    @Test("a redirect address that is not registered: client, reason and setting")
    func redirectAddress() async throws {
        let server = try await ServerFixture()
        let party = try await server.relyingParty()
        let address = party.authorizeAddress().replacing("callback", with: "elsewhere")
        let (page, line) = try await self.refusal(server) { try await $0.send(.get, address).response }
        #expect(line["reference"]?.description == (try self.reference(page)))
        #expect(line["client"]?.description == party.id && line["setting"] == "--redirect-uri")
        #expect(line["error"] == "invalid_request" && line["status"] == "400")
        #expect(line["reason"]?.description.contains("not registered") == true)
        #expect(!line.description.contains("elsewhere"))
    }

    @Test("a client that nobody has, by the name that it gave itself, unless that is no name")
    func unknownClient() async throws {
        let server = try await ServerFixture()
        let party = RelyingParty(id: "no-such-client", secret: "")
        let (page, line) = try await self.refusal(server) { try await $0.send(.get, party.authorizeAddress()).response }
        #expect(line["reference"]?.description == (try self.reference(page)))
        #expect(line["client"] == "no-such-client")
        let other = RelyingParty(id: "a%0Ab", secret: "")
        let (_, unnamed) = try await self.refusal(server) { try await $0.send(.get, other.authorizeAddress()).response }
        #expect(unnamed["error"] == "invalid_request" && unnamed["client"] == nil)
    }

    @Test("a sign-in past its network's budget: the setting that raises it")
    func budget() async throws {
        var limits = Limits()
        limits.signInBurst = 1
        let server = try await ServerFixture(limits: limits)
        let party = try await server.relyingParty()
        let (page, line) = try await self.refusal(server) { client in
            _ = try await client.send(.get, party.authorizeAddress())
            return try await client.send(.get, party.authorizeAddress()).response
        }
        #expect(line["reference"]?.description == (try self.reference(page)))
        #expect(line["setting"] == "signInsPerMinute" && line["status"] == "429")
    }

    @Test("a sign-in that is sent back to its service: what it was told, and the setting")
    func sentBack() async throws {
        let server = try await ServerFixture()
        let party = try await server.relyingParty()
        let address = party.authorizeAddress().replacing(
            #/&(code_challenge|code_challenge_method|nonce)=[^&]*/#, with: "")
        let (_, line) = try await self.refusal(server) { try await $0.send(.get, address).response }
        #expect(line["client"]?.description == party.id && line["setting"] == "--pkce" && line["status"] == "303")
    }

    @Test("a code that is not valid: the reason that its client is not told")
    func token() async throws {
        let server = try await ServerFixture()
        let party = try await server.relyingParty()
        let (body, line) = try await self.refusal(server) { try await party.exchange("made-up", $0).response }
        #expect(line["client"]?.description == party.id && line["error"] == "invalid_grant")
        #expect(line["reason"]?.description.hasSuffix("unknown, or revoked") == true && !body.contains("unknown"))
    }

    @Test("every page of an error has a number of its own, and a request that succeeds has none in the log")
    func everyPage() async throws {
        let server = try await ServerFixture()
        var references: Set<String> = []
        for path in [
            "/sign-in?request=nobody", "/sign-in", "/sign-in/complete?request=nobody", "/sign-in/continue?code=none",
            "/oauth2/authorize", "/oauth2/logout?client_id=none", "/nowhere",
        ] {
            let (page, line) = try await self.refusal(server) {
                try await $0.send(.get, path, headers: [.accept: "text/html"]).response
            }
            #expect(line["reference"]?.description == (try self.reference(page)), "\(path)")
            #expect(line["reason"] != nil && line["error"] != nil, "\(path)")
            references.insert(try self.reference(page))
        }
        #expect(references.count == 7)
        let (_, line) = try await self.refusal(server) { try await $0.send(.get, "/oauth2/jwks").response }
        #expect(line["status"] == "200" && line["reference"] == nil && line["error"] == nil)
    }

    /// Sends a UAF message.
    private func send(
        _ body: String, to path: String, _ authorization: String?, _ client: any TestClientProtocol
    ) async throws -> TestResponse {
        var headers: HTTPFields = [.contentType: "application/fido+uaf"]
        headers[.authorization] = authorization
        return try await client.execute(uri: path, method: .post, headers: headers, body: ByteBuffer(string: body))
    }

    @Test(
        "a UAF message that cannot be read: what is wrong with it, and nothing of it",
        arguments: ["request/authentication", "authentication", "registration"])
    func unreadableMessage(path: String) async throws {
        let server = try await ServerFixture()
        let (body, line) = try await self.refusal(server) {
            try await self.send("{\"op\":\"Auth\",Mallory", to: "/uaf/1.1/\(path)", nil, $0)
        }
        #expect(body.contains("1400") && line["error"] == "1400" && line["status"] == "200")
        #expect(line["reason"]?.description.contains("UAFError") == true)
        #expect(line["reference"] != nil && !line.description.contains("Mallory"))
    }

    @Test("a UAF request with what its caller may not send, and one for another operation")
    func refusedRequest() async throws {
        let server = try await ServerFixture()
        let authorization = try await server.deviceAuthorization(username: "bob")
        let (_, line) = try await self.refusal(server) {
            try await self.send(
                #"{"op":"Auth","context":"{\"policy\":\"strict\"}"}"#, to: "/uaf/1.1/request/authentication", nil, $0)
        }
        #expect(line["error"] == "1400" && line["reason"]?.description.contains("may not send") == true)
        let (_, other) = try await self.refusal(server) {
            try await self.send(#"{"op":"Auth"}"#, to: "/uaf/1.1/request/registration", authorization, $0)
        }
        #expect(other["error"] == "1400" && other["reason"] == "another operation")
        let (_, unknown) = try await self.refusal(server) {
            try await self.send(
                #"{"op":"Reg","context":"{\"policy\":\"none\"}"}"#, to: "/uaf/1.1/request/registration", authorization,
                $0)
        }
        #expect(unknown["error"] == "1400" && unknown["reason"]?.description.contains("policy") == true)
    }

    @Test("a deregistration that is refused: which client may not, or whose device it is, or what is not understood")
    func refusedDeregistration() async throws {
        let server = try await ServerFixture()
        let party = try await server.relyingParty()
        let path = "/uaf/1.1/request/deregistration"
        let message = #"{"op":"Dereg","context":"{\"mode\":\"username\",\"username\":\"alice\"}"}"#
        let (body, line) = try await self.refusal(server) {
            try await self.send(message, to: path, party.authorization, $0)
        }
        #expect(body.contains("1403") && line["error"] == "1403" && line["client"]?.description == party.id)
        #expect(line["reason"] == "the client may not have keys deleted")
        let device = try await server.deviceAuthorization(username: "bob")
        let (_, other) = try await self.refusal(server) { try await self.send(message, to: path, device, $0) }
        #expect(other["error"] == "1401" && other["reason"] == "the device is another person's")
        let (_, unclear) = try await self.refusal(server) {
            try await self.send(
                #"{"op":"Dereg","context":"{\"mode\":\"some\",\"username\":\"bob\"}"}"#, to: path, device, $0)
        }
        #expect(unclear["error"] == "1400" && unclear["reason"] == "an unknown mode of deregistration")
    }

    @Test("an answer with a wrong signature: the rule that refused it")
    func wrongSignature() async throws {
        let server = try await ServerFixture()
        let lines = try await server.requestLines { client in
            let phone = try await server.enrolledPhone(WrongSignatures(client: client))
            await #expect(throws: OperationError.self) { try await phone.authenticate(username: "alice") }
        }
        let refused = lines.filter { $0["error"] == "1498" }
        #expect(refused.count == 1)
        #expect(refused.first?["reason"]?.description.hasPrefix("signature: ") == true)
    }

    @Test("a right token behind which there is no request any more: the code that the phone gets, and what has gone")
    func redeemedForNothing() async throws {
        let server = try await ServerFixture()
        let party = try await server.relyingParty()
        let (body, line) = try await self.refusal(server) { client in
            // A service dispatches to those whom it knows.
            try await server.signInTwice(TestBrowser(client), party, try await server.enrolledPhone(client))
            let account = try await server.assembly.directory.account(username: "alice").id
            let subject = server.assembly.provider.keys.subject(ofAccount: account, client: party.id)
            let dispatched = try await client.send(
                .post, "/token/dispatch/authentication",
                [
                    "dispatcher": .string("png-qr-code"),
                    "getUafRequest": .object([
                        "op": .string("Auth"), "context": .string(#"{"subject":"\#(subject)"}"#),
                    ]),
                ], headers: [.authorization: party.authorization])
            let device = try #require(try await server.database.devices(accountID: account).first)
            _ = try await server.database.deleteDevice(
                id: device.id, audit: AuditEvent(.init(rawValue: "device-revoked"), at: server.clock.now()),
                ending: { _ in nil })
            return try await client.send(
                .post, "/token/redeem/authentication",
                ["token": .string(try dispatched.object.requiredString("token"))]
            ).response
        }
        let code = String(UAFStatusCode.unacceptableAuthenticator.rawValue)
        #expect(body.contains(code) && line["error"]?.description == code && line["status"] == "200")
        #expect(line["reason"]?.description.contains("last key") == true && line["reference"] != nil)
    }

    @Test("a dispatch to nobody: the client, and that it knows no such person")
    func dispatchToNobody() async throws {
        let server = try await ServerFixture()
        let party = try await server.relyingParty()
        let (body, line) = try await self.refusal(server) {
            try await $0.send(
                .post, "/token/dispatch/authentication",
                [
                    "dispatcher": .string("link"),
                    "getUafRequest": .object([
                        "op": .string("Auth"), "context": .string(#"{"subject":"Mallory"}"#),
                    ]),
                ], headers: [.authorization: party.authorization]
            ).response
        }
        #expect(body.contains("userNotFound") && line["error"] == "userNotFound" && line["status"] == "200")
        #expect(line["client"]?.description == party.id && line["reference"] != nil)
        #expect(line["reason"]?.description.contains("knows nobody") == true && !line.description.contains("Mallory"))
    }
}
