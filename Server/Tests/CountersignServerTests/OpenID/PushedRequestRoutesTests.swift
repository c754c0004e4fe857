import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import Logging
import NIOCore
import Settings
import Testing
import _Primitives

@Suite("RFC 9126: requests that clients push, over HTTP")
struct PushedRequestRoutesTests {
    private func push(_ form: String, _ party: RelyingParty, _ client: any TestClientProtocol) async throws
        -> TestResponse
    {
        try await client.execute(
            uri: "/oauth2/par", method: .post,
            headers: [.contentType: "application/x-www-form-urlencoded", .authorization: party.authorization],
            body: ByteBuffer(string: form))
    }

    private func form(_ party: RelyingParty) -> String {
        String(party.authorizeAddress().dropFirst("/oauth2/authorize?".count))
    }

    private func address(_ pushed: TestResponse, _ party: RelyingParty) throws -> String {
        guard case .object(let body) = try JSON(parsing: Array(pushed.body.readableBytesView)) else { return "" }
        return "/oauth2/authorize?client_id=\(party.id)&request_uri=\(try body.requiredString("request_uri"))"
    }

    @Test("a person signs in by one, after a reload, and once")
    func signsIn() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let phone = try await server.enrolledPhone(client)
            let pushed = try await self.push(self.form(party), party, client)
            #expect(pushed.status == .created && pushed.headers[.cacheControl] == "no-store")
            #expect(pushed.headers[.contentType] == "application/json")
            let address = try self.address(pushed, party)
            let browser = TestBrowser(client)
            let first = try await browser.get(address)
            let again = try await browser.get(address)
            #expect(first.status == .seeOther)
            let request = try #require(first.redirectParameters["request"])
            #expect(again.redirectParameters["request"] == request)
            let page = try await browser.get(try #require(again.headers[.location]))
            _ = try await phone.authenticate(try server.typedPayload(page))
            let completed = try await browser.get("/sign-in/complete?request=\(request)")
            #expect(completed.headers[.location]?.hasPrefix(party.redirectURI) == true)
            let code = try #require(completed.redirectParameters["code"])
            #expect(completed.redirectParameters["state"] == "st-1")
            #expect(try await party.exchange(code, client).response.status == .ok)
            let late = try await browser.get(address)
            #expect(late.status == .badRequest && late.headers[.location] == nil)
            #expect(late.headers[.contentType]?.hasPrefix("text/html") == true)
            #expect(late.text.contains("Begin again at the service"))
        }
    }

    @Test("every method but POST is refused, and so is a form that is none")
    func otherMethods() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            for method in [HTTPRequest.Method.get, .put, .delete, .patch, .head] {
                let answer = try await client.execute(
                    uri: "/oauth2/par?" + self.form(party), method: method,
                    headers: [.authorization: party.authorization])
                #expect(answer.status == .methodNotAllowed && answer.headers[.allow] == "POST", "\(method)")
            }
            let twice = try await self.push(self.form(party) + "&state=2", party, client)
            #expect(twice.status == .badRequest && twice.text.contains("\"error\":\"invalid_request\""))
            let long = try await self.push(
                self.form(party) + "&x=" + String(repeating: "x", count: 8192), party, client)
            #expect(long.status == .contentTooLarge)
        }
    }

    @Test("a budget that is used up is 429 with a time, and in the log with client and setting")
    func budget() async throws {
        var limits = Limits()
        limits.oauth.pushedRequestBurst = 1
        let server = try await ServerFixture(limits: limits)
        let party = try await server.relyingParty()
        let lines = try await server.requestLines { client in
            #expect(try await self.push(self.form(party), party, client).status == .created)
            let refused = try await self.push(self.form(party), party, client)
            #expect(refused.status == .tooManyRequests && refused.headers[.retryAfter] == "1")
        }
        #expect(lines.last?["setting"] == "pushedRequestsPerMinute")
        #expect(lines.last?["client"] == "\(party.id)")
    }
}
