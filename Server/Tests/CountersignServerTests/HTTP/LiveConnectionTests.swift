import Countersign
import CountersignServer
import CountersignTestKit
import Endpoints
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing

@Suite("HTML, section 9.2: server-sent events over a connection")
struct LiveConnectionTests {
    @Test func waitingPageHearsTheLastStateAndThenTheEnd() async throws {
        let server = try await ServerFixture()
        let application = Application(
            router: server.assembly.publicRouter(), configuration: .init(address: .hostname("127.0.0.1", port: 0)))
        try await application.test(.live) { client in
            let phone = try await server.enrolledPhone(client)
            let browser = TestBrowser(client)
            let (request, page) = try await server.signInPage(browser, try await server.relyingParty())
            _ = try await phone.authenticate(try server.typedPayload(page))
            let channel = try await browser.get("/sign-in/wait/events?request=\(request)")
            #expect(channel.text == "retry: 1000\n\nevent: state\ndata: {\"state\":\"approved\"}\n\n")
            #expect(channel.headers[.cacheControl] == "no-store")
        }
    }

    @Test(
        "Forwarded addresses count only from configured proxies (founding decision, Proxies)",
        arguments: [
            (["127.0.0.0/8"], "203.0.113.7", "203.0.113.7"), (["127.0.0.0/8"], "6.6.6.6, 203.0.113.7", "203.0.113.7"),
            (["127.0.0.0/8", "10.0.0.0/8"], "203.0.113.7, 10.1.1.1", "203.0.113.7"),
            ([], "203.0.113.7", "127.0.0.1"), (["10.0.0.0/8"], "203.0.113.7", "127.0.0.1"),
            (["127.0.0.0/8"], "not-an-address", "127.0.0.1"),
        ])
    func forwardedAddressCountsFromProxies(proxies: [String], forwarded: String, seen: String) async throws {
        let server = try await ServerFixture(trustedProxies: proxies.compactMap { AddressBlock($0) })
        let application = Application(
            router: server.assembly.publicRouter(), configuration: .init(address: .hostname("127.0.0.1", port: 0)))
        try await application.test(.live) { client in
            let phone = try await server.enrolledPhone(client)
            let party = try await server.relyingParty()
            let browser = TestBrowser(client)
            let headers: HTTPFields = [try #require(HTTPField.Name("X-Forwarded-For")): forwarded]
            let authorize = try await browser.get(party.authorizeAddress(), headers: headers)
            let page = try await browser.get(try #require(authorize.headers[.location]), headers: headers)
            _ = try await phone.authenticate(try server.typedPayload(page))
            #expect(phone.person.asked.compactMap(\.requester).first?.address == seen)
        }
    }
}
