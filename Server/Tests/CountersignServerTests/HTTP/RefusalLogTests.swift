import CountersignServer
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import OAuthProvider
import Store
import Testing
import _Primitives

@Suite("A refusal can be explained: the number on its page finds the line in the log")
struct RefusalLogTests {
    /// What one request was answered, and the metadata of its line.
    private func refusal(
        _ server: ServerFixture, _ body: @escaping @Sendable (any TestClientProtocol) async throws -> TestResponse
    ) async throws -> (page: String, line: Logger.Metadata) {
        let (lines, continuation) = AsyncStream.makeStream(of: LogEvent.self)
        let application = Application(
            router: server.assembly.publicRouter(),
            logger: Logger(label: "test") { _ in HandedLog(lines: continuation) })
        let response = try await application.test(.router) { try await body($0) }
        continuation.finish()
        var last: Logger.Metadata = [:]
        for await line in lines where line.metadata?["status"] != nil { last = line.metadata ?? [:] }
        return (String(buffer: response.body), last)
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
        let address = party.authorizeAddress().replacing(#/&code_challenge=[^&]*/#, with: "")
        let (_, line) = try await self.refusal(server) { try await $0.send(.get, address).response }
        #expect(line["client"]?.description == party.id && line["setting"] == "--pkce" && line["status"] == "303")
    }

    @Test("a code that is not valid: the reason that its client is not told")
    func token() async throws {
        let server = try await ServerFixture()
        let party = try await server.relyingParty()
        let (body, line) = try await self.refusal(server) { try await party.exchange("made-up", $0).response }
        #expect(line["client"]?.description == party.id && line["error"] == "invalid_grant")
        #expect(line["reason"]?.description.hasSuffix("unknown") == true && !body.contains("unknown"))
    }

    @Test("every page of an error has a number of its own, and a request that succeeds has none in the log")
    func everyPage() async throws {
        let server = try await ServerFixture()
        var references: Set<String> = []
        for path in [
            "/sign-in?request=nobody", "/sign-in", "/sign-in/complete?request=nobody", "/sign-in/continue?code=none",
            "/oauth2/authorize", "/oauth2/logout?id_token_hint=none", "/nowhere",
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
}
