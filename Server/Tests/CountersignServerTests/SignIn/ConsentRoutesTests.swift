import Accounts
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import OAuthProvider
import Records
import Testing
import _Primitives

@Suite("The page on which people decide what a service may have (decision 37)")
struct ConsentRoutesTests {
    /// Runs a test with a phone, a browser that has signed in at the operator's own service, and a service of somebody
    /// else's.
    private func run(
        _ test: @escaping @Sendable (ServerFixture, TestBrowser, RelyingParty) async throws -> Void
    ) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let browser = try await server.signedInBrowser(client, try await server.relyingParty())
            try await test(server, browser, try await server.relyingParty(party: .third))
        }
    }

    private func question(_ browser: TestBrowser, _ shop: RelyingParty, _ more: String = "") async throws
        -> TestResponse
    {
        let asked = try await browser.get(shop.authorizeAddress(more))
        let location = try #require(asked.headers[.location])
        #expect(asked.status == .seeOther && location.hasPrefix("/sign-in/consent?request="))
        return try await browser.get(location)
    }

    @Test("After the phone the person is asked, and with their yes the service gets what it wants")
    func afterThePhone() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let shop = try await server.relyingParty(party: .third)
            let browser = TestBrowser(client)
            let (request, page) = try await server.signInPage(browser, shop)
            _ = try await phone.authenticate(try server.typedPayload(page))
            let completed = try await browser.get("/sign-in/complete?request=\(request)")
            #expect(completed.status == .seeOther && completed.redirectParameters["code"] == nil)
            let location = try #require(completed.headers[.location])
            #expect(location == "/sign-in/consent?request=\(request)&client=\(shop.id)")
            #expect(browser.cookies["countersign_session"] != nil)
            // Loading the pages before it again leads there.
            let again = try await browser.get("/sign-in?request=\(request)")
            #expect(again.headers[.location] == "/sign-in/complete?request=\(request)")
            #expect(try await browser.get("/sign-in/complete?request=\(request)").headers[.location] == location)

            let asked = try await browser.get(location)
            #expect(asked.status == .ok && asked.text.contains("data-testid=\"consent\""))
            #expect(asked.text.contains("<bdi>alice</bdi>") && asked.text.contains("<li>your user name</li>"))
            #expect(asked.headers[.cacheControl] == "no-store")
            #expect(
                try #require(asked.headers[.contentSecurityPolicy]).contains(
                    "form-action 'self' http://127.0.0.1:8081; frame-ancestors 'none'"))
            let allowed = try await browser.post("/sign-in/consent", form: asked.hiddenFields + "&decision=allow")
            #expect(allowed.status == .seeOther)
            #expect(try #require(allowed.headers[.location]).hasPrefix("http://127.0.0.1:8081/callback?"))
            #expect(allowed.redirectParameters["state"] == "st-1")
            let code = try #require(allowed.redirectParameters["code"])
            #expect(try await shop.exchange(code, client).response.status == .ok)
            #expect(try await browser.get(shop.authorizeAddress()).redirectParameters["code"] != nil, "asked once")
        }
    }

    @Test("A service of personalised identities that takes the person no more when they say yes gets nothing")
    func service() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let shop = try await fixture.server.relyingParty(party: .third)
            let identities = fixture.server.assembly.identities
            var profile = TerminalPhoneFixture.profile
            profile["attributes"] = nil
            _ = try await identities.setService(shop.id, to: profile, by: "test")
            #expect(try await fixture.enroll().refusal == nil)
            for isActive in [false, true] {
                let browser = TestBrowser(fixture.client)
                let (request, page) = try await fixture.server.signInPage(browser, shop)
                let outcome = try await fixture.scan(try TerminalPhoneFixture.code(on: page), lines: ["258036"])
                #expect(outcome.refusal == nil, "\(outcome.lines)")
                let completed = try await browser.get("/sign-in/complete?request=\(request)")
                let asked = try await browser.get(try #require(completed.headers[.location]))
                #expect(asked.text.contains("data-testid=\"consent\""))
                _ = try await identities.changeService(shop.id, by: ["active": .bool(isActive)], by: "test")
                let said = try await browser.post("/sign-in/consent", form: asked.hiddenFields + "&decision=allow")
                _ = try await identities.changeService(shop.id, by: ["active": .bool(true)], by: "test")
                #expect(said.status == .seeOther && said.redirectParameters["state"] == "st-1")
                #expect((said.redirectParameters["code"] != nil) == isActive)
                #expect(said.redirectParameters["error"] == (isActive ? nil : "access_denied"))
            }
        }
    }

    @Test("With their no the service is told, by 303 and with its state, and nothing is remembered")
    func no() async throws {
        try await self.run { _, browser, shop in
            let asked = try await self.question(browser, shop)
            let denied = try await browser.post("/sign-in/consent", form: asked.hiddenFields + "&decision=deny")
            #expect(denied.status == .seeOther && denied.redirectParameters["error"] == "access_denied")
            #expect(denied.redirectParameters["state"] == "st-1")
            #expect(denied.redirectParameters["iss"] == "http://localhost:8080")
            #expect(try await self.question(browser, shop).text.contains("data-testid=\"consent\""))
            let silent = try await browser.get(shop.authorizeAddress("&prompt=none"))
            #expect(silent.redirectParameters["error"] == "consent_required")
        }
    }

    @Test("A form that stood on no page of this session, or has no word, decides nothing: the question comes again")
    func forged() async throws {
        try await self.run { _, browser, shop in
            let asked = try await self.question(browser, shop)
            let fields = asked.hiddenFields
            let token = try #require(fields.firstMatch(of: /confirmation=([^&]*)/)?.1)
            for form in [
                fields, fields + "&decision=", fields + "&decision=yes", fields + "&decision=Allow",
                fields.replacing(token, with: "") + "&decision=allow",
                fields.replacing(token, with: String(repeating: "A", count: 43)) + "&decision=allow",
                fields.replacing("confirmation=\(token)", with: "x=1") + "&decision=allow",
            ] {
                let answer = try await browser.post("/sign-in/consent", form: form)
                #expect(answer.status == .seeOther)
                #expect(try #require(answer.headers[.location]).hasPrefix("/sign-in/consent?request="), "\(form)")
            }
            let allowed = try await browser.post("/sign-in/consent", form: fields + "&decision=allow")
            #expect(allowed.redirectParameters["code"] != nil)
            let twice = try await browser.post("/sign-in/consent", form: fields + "&decision=allow")
            #expect(twice.status == .notFound && twice.headers[.location] == nil)
        }
    }

    @Test("Another browser sees nothing, and whoever has no session is led to the sign-in page")
    func others() async throws {
        try await self.run { _, browser, shop in
            let asked = try await browser.get(shop.authorizeAddress())
            let location = try #require(asked.headers[.location])
            let stranger = TestBrowser(browser.client)
            #expect(try await stranger.get(location).status == .notFound)
            let form = String(location.dropFirst("/sign-in/consent?".count)) + "&decision=allow"
            #expect(try await stranger.post("/sign-in/consent", form: form).status == .notFound)
            // A request that waits for the phone.
            let waiting = try await browser.get(shop.authorizeAddress("&prompt=login"))
            let page = try #require(waiting.headers[.location])
            #expect(
                try await browser.get(page.replacing("/sign-in?", with: "/sign-in/consent?")).headers[.location] == page
            )
            #expect(try await browser.get("/sign-in/consent?request=unknown").status == .notFound)
            #expect(try await browser.get("/sign-in/consent").status == .badRequest)
        }
    }

    @Test("A person's phone lists what services may have, and takes it back; an operator does, too")
    func takenBack() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let shop = try await server.relyingParty(party: .third)
            let browser = TestBrowser(client)
            let (request, page) = try await server.signInPage(browser, shop)
            _ = try await phone.authenticate(try server.typedPayload(page))
            _ = try await browser.get("/sign-in/complete?request=\(request)")
            let asked = try await browser.get("/sign-in/consent?request=\(request)")
            let allowed = try await browser.post("/sign-in/consent", form: asked.hiddenFields + "&decision=allow")
            let code = try #require(allowed.redirectParameters["code"])
            let access = try await shop.exchange(code, client).object.requiredString("access_token")
            func userinfo() async throws -> HTTPResponse.Status {
                try await client.send(.get, "/oauth2/userinfo", headers: [.authorization: "Bearer \(access)"]).response
                    .status
            }
            #expect(try await userinfo() == .ok)
            let result: AuthenticationSuccess = try await phone.client.operations.authentication.username("alice")
                .authenticatorSelector(phone.person).pinUserVerifier(phone.person).execute()
            let provider = try #require(result.authorizationProvider)
            let headers: HTTPFields = [.authorization: try #require(provider.headers.first).value]
            let mallory: HTTPFields = [.authorization: try await server.deviceAuthorization(username: "mallory")]
            let listed = try await client.send(.get, "/account/v1/consents", headers: headers)
            #expect(listed.object["username"] == .string("alice"))
            guard case .object(let consent)? = try listed.object.array("consents")?.first else {
                Issue.record("nothing is listed: \(listed.object)")
                return
            }
            #expect(consent["name"] == .string("Demo Bank") && consent["clientId"] == .string(shop.id))
            #expect(try consent.strings("items") == ["identity", "username", "name", "profile"])
            let id = try consent.requiredString("id")
            #expect(
                try await client.send(.get, "/account/v1/consents", headers: mallory).object.array("consents") == [])
            let path = "/account/v1/consents/\(id)"
            #expect(try await client.send(.delete, path, headers: mallory).response.status == .notFound)
            #expect(try await userinfo() == .ok)
            #expect(try await client.send(.delete, path, headers: headers).response.status == .noContent)
            #expect(try await client.send(.delete, path, headers: headers).response.status == .notFound)
            #expect(try await userinfo() == .unauthorized)

            // Given once more, and taken back by an operator.
            let more = try await self.question(browser, shop)
            let given = try await browser.post("/sign-in/consent", form: more.hiddenFields + "&decision=allow")
            #expect(given.redirectParameters["code"] != nil)
            try await server.withSocketClient { administrator in
                let consents = "/admin/v1/accounts/alice/consents"
                let told = try await administrator.send(.get, consents).object
                guard case .object(let consent)? = try told.array("consents")?.first else {
                    Issue.record("nothing is listed: \(told)")
                    return
                }
                let path = "\(consents)/\(try consent.requiredString("id"))"
                for wrong in [path + "x", path.replacing("/alice/", with: "/mallory/")] {
                    #expect(try await administrator.send(.delete, wrong).response.status == .notFound)
                }
                #expect(try await administrator.send(.delete, path).response.status == .noContent)
                #expect(try await administrator.send(.get, consents).object.array("consents") == [])
                #expect(
                    try await administrator.send(.get, "/admin/v1/accounts/nobody/consents").response.status
                        == .notFound)
            }
            #expect(try await self.question(browser, shop).text.contains("data-testid=\"consent\""))
        }
    }
}
