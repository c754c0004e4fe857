import Accounts
import CountersignServer
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import OAuthProvider
import Passwords
import Records
import SQLStore
import Testing
import _Primitives

@Suite("The page of the operator's terms (decision 46)")
struct TermsRoutesTests {
    /// alice at the page of the terms, with the request's name.
    private func run(
        _ body:
            @escaping @Sendable (ServerFixture, RelyingParty, TestBrowser, TestResponse, String) async throws -> Void
    ) async throws {
        let server = try await ServerFixture(
            terms: Terms(version: "2027-01", address: "https://id.example/terms?a=b&c"))
        try await server.withPublicClient { client in
            _ = try await server.assembly.directory.create(username: "alice", displayName: nil, by: "test")
            try await PasswordDirectory(server.assembly.passwords).importHash(
                try await PasswordPlace.hash(PasswordPlace.password), username: "alice", by: "test")
            let party = try await server.relyingParty(signInMethods: ["password"])
            let browser = TestBrowser(client)
            let authorize = try await browser.get(party.authorizeAddress())
            let request = try #require(authorize.redirectParameters["request"])
            let fields = ["request": request, "username": "alice", "password": PasswordPlace.password]
            let signedIn = try await browser.post("/sign-in/password", form: PasswordPlace.form(fields))
            let page = try await TwoServers.follow(browser, signedIn, at: "http://localhost:8080")
            try await body(server, party, browser, page, request)
        }
    }

    @Test("it names the version and where the terms are, and leads on for who agrees, with scripts or without")
    func agreeing() async throws {
        try await self.run { server, party, browser, page, request async throws in
            #expect(page.status == .ok && page.text.contains("data-testid=\"terms\""))
            #expect(try page.attribute("href", of: "terms-link") == "https://id.example/terms?a=b&c")
            #expect(page.text.contains("version 2027-01"))
            #expect(page.headers[.contentSecurityPolicy]?.contains("form-action 'self' http://127.0.0.1:8081;") == true)
            let confirmation = try #require(TwoServers.field("confirmation", page))
            let right = ["request": request, "confirmation": confirmation, "decision": "allow", "terms": "2027-01"]
            for (name, value) in [("confirmation", "AAAA"), ("terms", "2026-12"), ("terms", ""), ("decision", "yes")] {
                var wrong = right
                wrong[name] = value
                let again = try await browser.post("/sign-in/consent", form: PasswordPlace.form(wrong))
                #expect(again.headers[.location]?.hasPrefix("/sign-in/consent?") == true, "\(name) \(value)")
            }
            let done = try await browser.post("/sign-in/consent", form: PasswordPlace.form(right))
            let code = try #require(done.redirectParameters["code"])
            #expect(try await party.exchange(code, browser.client).response.status == .ok)
            // The session gives the next code without a page.
            let next = try await browser.get(party.authorizeAddress())
            #expect(next.redirectParameters["code"] != nil)
        }
    }

    @Test("who does not agree goes back to the service, which is told")
    func refusing() async throws {
        try await self.run { server, party, browser, page, request async throws in
            let confirmation = try #require(TwoServers.field("confirmation", page))
            let fields = ["request": request, "confirmation": confirmation, "decision": "deny", "terms": "2027-01"]
            let done = try await browser.post("/sign-in/consent", form: PasswordPlace.form(fields))
            #expect(done.redirectParameters["error"] == "access_denied")
            let silent = try await browser.get(party.authorizeAddress("&prompt=none"))
            #expect(silent.redirectParameters["error"] == "interaction_required")
        }
    }
}
