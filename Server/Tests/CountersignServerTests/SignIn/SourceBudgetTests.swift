import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Endpoints
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import NIOCore
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("Decision 3: what strangers can have the server keep")
struct SourceBudgetTests {
    private static func limits() -> Limits {
        var limits = Limits()
        limits.signInBurst = 3
        limits.signInsPerMinute = 6
        limits.codeBurst = 2
        limits.codesPerMinute = 6
        limits.guessBurst = 2
        limits.guessesPerMinute = 6
        limits.refusalBurst = 2
        limits.refusalsPerMinute = 6
        return limits
    }

    /// A server behind a proxy, so that a test's requests can come from anywhere.
    private func server() async throws -> ServerFixture {
        try await ServerFixture(limits: Self.limits(), trustedProxies: ["127.0.0.0/8"].compactMap { AddressBlock($0) })
    }

    private func from(_ address: String) throws -> HTTPFields {
        [try #require(HTTPField.Name("X-Forwarded-For")): address]
    }

    private func live(_ server: ServerFixture) -> some ApplicationProtocol {
        Application(
            router: server.assembly.publicRouter(), configuration: .init(address: .hostname("127.0.0.1", port: 0)))
    }

    @Test func pastItsBudgetASourceIsShownAPageThatSaysWhenToComeBack() async throws {
        let server = try await self.server()
        try await self.live(server).test(.live) { client in
            let party = try await server.relyingParty()
            let here = try self.from("192.0.2.1")
            for _ in 0..<3 {
                let answer = try await TestBrowser(client).get(party.authorizeAddress(), headers: here)
                #expect(answer.status == .seeOther)
            }
            let refused = try await TestBrowser(client).get(party.authorizeAddress(), headers: here)
            #expect(refused.status == .tooManyRequests)
            #expect(refused.headers[.retryAfter] == "10")
            #expect(refused.headers[.contentType] == "text/html; charset=utf-8")
            #expect(refused.text.contains("Wait 10 seconds, then try again."))
            #expect(refused.headers[.setCookie] == nil)
            // Neither a mistake of the client nor another source is counted with them.
            let mistake = try await TestBrowser(client).get(
                party.authorizeAddress("&prompt=none"), headers: here)
            #expect(mistake.redirectParameters["error"] == "login_required")
            let elsewhere = try await TestBrowser(client).get(
                party.authorizeAddress(), headers: try self.from("192.0.2.2"))
            #expect(elsewhere.status == .seeOther)
            server.clock.advance(by: .seconds(10))
            #expect(try await TestBrowser(client).get(party.authorizeAddress(), headers: here).status == .seeOther)
        }
    }

    @Test func pageThatAsksForTooManyCodesIsToldToWait() async throws {
        let server = try await self.server()
        try await self.live(server).test(.live) { client in
            let browser = TestBrowser(client)
            let (request, _) = try await server.signInPage(browser, try await server.relyingParty())
            #expect(try await browser.get("/sign-in/wait?request=\(request)").status == .ok)
            for path in ["", "/wait"] {
                let refused = try await browser.get("/sign-in\(path)?request=\(request)")
                #expect(refused.status == .tooManyRequests)
                #expect(refused.headers[.retryAfter] == "10")
                #expect(refused.text.contains("Wait 10 seconds, then try again."))
            }
            server.clock.advance(by: .seconds(10))
            #expect(try await browser.get("/sign-in/wait?request=\(request)").status == .ok)
        }
    }

    @Test func guessedCodesAreLimitedAndTheLinkOfAPhoneIsNot() async throws {
        let server = try await self.server()
        try await self.live(server).test(.live) { client in
            let phone = try await server.enrolledPhone(client)
            let (_, page) = try await server.signInPage(TestBrowser(client), try await server.relyingParty())
            var statuses: [Int] = []
            for _ in 0..<3 {
                let answer = try await client.send(
                    .post, "/token/redeem/authentication", ["token": .string("AAAAA-AAAAA")])
                statuses.append(answer.response.status.code)
            }
            #expect(statuses == [404, 404, 429])
            let link = try page.attribute("href", of: "same-device-link")
            #expect(try await phone.authenticate(try OutOfBandPayload(link: link)).location != nil)
        }
    }

    @Test func guessedDeviceSecretsAreLimitedForEachSource() async throws {
        let server = try await self.server()
        let exchange = "urn:ietf:params:oauth:grant-type:token-exchange"
        let app = try await server.assembly.provider.clients.register(
            name: "App", redirectURIs: ["https://app.example/cb"],
            settings: ClientSettings(
                idTokenAlgorithm: .es256, grantTypes: ["authorization_code", exchange], authenticationMethod: "none",
                tokens: TokenSettings(group: "apps")))
        try await self.live(server).test(.live) { client async throws in
            let form =
                "grant_type=\(exchange)&client_id=\(app.client.id)&subject_token=x&actor_token=x"
                + "&subject_token_type=urn:ietf:params:oauth:token-type:id_token"
                + "&actor_token_type=urn:openid:params:token-type:device-secret&audience=http://localhost:8080"
            func answer(_ address: String) async throws -> TestResponse {
                var headers = try self.from(address)
                headers[.contentType] = "application/x-www-form-urlencoded"
                return try await client.execute(
                    uri: "/oauth2/token", method: .post, headers: headers, body: ByteBuffer(string: form))
            }
            for status in [400, 400, 429] { #expect(try await answer("192.0.2.1").status.code == status) }
            #expect(try await answer("192.0.2.1").headers[.retryAfter] == "10")
            #expect(try await answer("192.0.2.2").status.code == 400)
        }
    }

    @Test(
        "An IPv6 source is its first 64 bits",
        arguments: [
            (["2001:db8::1", "2001:db8::2", "2001:db8:0:0:ffff::9", "2001:DB8::A"], true),
            (["2001:db8:0:1::1", "2001:db8:0:2::1", "2001:db8:0:3::1", "2001:db8:0:4::1"], false),
            (["::ffff:192.0.2.1", "192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1"], true),
            (["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"], false),
        ])
    func sourcesAreCountedByNetwork(addresses: [String], isOne: Bool) async throws {
        let server = try await self.server()
        try await self.live(server).test(.live) { client in
            let party = try await server.relyingParty()
            var statuses: [Int] = []
            for address in addresses {
                let answer = try await TestBrowser(client).get(
                    party.authorizeAddress(), headers: try self.from(address))
                statuses.append(answer.status.code)
            }
            #expect(statuses == [303, 303, 303, isOne ? 429 : 303])
        }
    }

    @Test("Refused answers of phones, to a registration and to an authentication, are counted together")
    func refusedAnswers() async throws {
        let server = try await self.server()
        try await self.live(server).test(.live) { client in
            func answer(_ operation: String, _ address: String) async throws -> TestResponse {
                var headers = try self.from(address)
                headers[.contentType] = "application/fido+uaf; charset=utf-8"
                return try await client.execute(
                    uri: "/uaf/1.1/\(operation)", method: .post, headers: headers,
                    body: ByteBuffer(string: #"{"uafResponse":"[]"}"#))
            }
            for operation in ["registration", "authentication"] {
                let refused = try await answer(operation, "192.0.2.1")
                #expect(refused.status == .ok && String(buffer: refused.body).contains("1400"))
            }
            for operation in ["registration", "authentication"] {
                let refused = try await answer(operation, "192.0.2.1")
                #expect(refused.status == .tooManyRequests)
                #expect(refused.headers[.retryAfter] == "10")
                #expect(refused.headers[.contentType] == "application/problem+json")
            }
            #expect(try await answer("authentication", "192.0.2.2").status == .ok)
        }
    }

    @Test func sourceThatHasPassedItsBudgetLeavesNothingBehind() async throws {
        let server = try await self.server()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let before = try await server.database.auditEntries(after: 0, limit: 999).count
            for _ in 0..<20 {
                let browser = TestBrowser(client)
                let answer = try await browser.get(party.authorizeAddress())
                if let location = answer.headers[.location] { _ = try await browser.get(location) }
            }
            #expect(try await server.database.auditEntries(after: 0, limit: 999).count == before)
            server.clock.advance(by: Limits().authorizationRequestLifetime)
            // Two ceremonies and three requests, and not twenty; the ceremonies are kept a while for their watchers.
            #expect(try await server.assembly.ceremonies.sweep.run() == 2)
            #expect(try await server.assembly.provider.sweep() == 3)
            server.clock.advance(by: Limits().endedRetention + .seconds(1))
            #expect(try await server.assembly.ceremonies.sweep.run() == 2)
            #expect(try await server.assembly.ceremonies.sweep.run() == 0)
        }
    }
}
