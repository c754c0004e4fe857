import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing
import _Primitives

@Suite("RFC 6749, section 3.1: the authorization endpoint")
struct AuthorizationRoutesTests {
    @Test func formFromAnotherSiteBecomesANavigation() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let form = String(party.authorizeAddress().split(separator: "?")[1])
            let browser = TestBrowser(client)
            let first = try await browser.post("/oauth2/authorize", form: form)
            #expect(first.status == .seeOther)
            #expect(first.headers[.location] == "/oauth2/authorize?\(form)")
            #expect(browser.cookies.isEmpty)
            let second = try await browser.get(try #require(first.headers[.location]))
            #expect(try #require(second.headers[.location]).hasPrefix("/sign-in?request="))
            let third = try await browser.post("/oauth2/authorize", form: form)
            #expect(try #require(third.headers[.location]).hasPrefix("/sign-in?request="))
        }
    }

    @Test(
        "A form that no browser would send is refused",
        arguments: ["a=b\r\nSet-Cookie: x=y", "a=b#c"])
    func unencodedFormIsRefused(form: String) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let answer = try await TestBrowser(client).post("/oauth2/authorize", form: form)
            #expect(answer.status == .badRequest)
            #expect(answer.headers[.location] == nil)
        }
    }

    @Test func unknownClientGetsAPageAndNobodyIsSentAnywhere() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let address = party.authorizeAddress().replacing(party.id, with: "unknown")
            let answer = try await TestBrowser(client).get(address)
            #expect(answer.status == .badRequest)
            #expect(answer.headers[.location] == nil)
            #expect(answer.text.contains("data-testid=\"error\""))
        }
    }

    @Test func mistakeOfTheClientIsToldToTheClient() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let address = party.authorizeAddress().replacing("response_type=code", with: "response_type=token")
            let answer = try await TestBrowser(client).get(address)
            #expect(answer.status == .seeOther)
            #expect(answer.redirectParameters["error"] == "unsupported_response_type")
            #expect(answer.redirectParameters["state"] == "st-1")
        }
    }

    @Test func promptNoneWithoutSessionNeedsALogin() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let answer = try await TestBrowser(client).get(party.authorizeAddress("&prompt=none"))
            #expect(answer.redirectParameters["error"] == "login_required")
        }
    }

    @Test func sessionOfTheBrowserGivesACodeWithoutAPage() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let browser = try await server.signedInBrowser(client, party)
            let answer = try await browser.get(party.authorizeAddress())
            #expect(answer.redirectParameters["code"] != nil)
        }
    }
}

@Suite("OpenID Connect RP-Initiated Logout 1.0, section 2: signing out")
struct LogoutRoutesTests {
    private static let parameters = "post_logout_redirect_uri=http%3A%2F%2F127.0.0.1%3A8081%2Fbye&state=s-9&client_id="

    @Test func personIsAskedAndTheButtonEndsTheSession() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let browser = try await server.signedInBrowser(client, party)
            let asked = try await browser.get("/oauth2/logout?\(Self.parameters)\(party.id)")
            #expect(asked.status == .ok)
            #expect(asked.text.contains("Demo Bank asks to end your session"))
            #expect(
                try #require(asked.headers[.contentSecurityPolicy]).contains(
                    "form-action 'self' http://127.0.0.1:8081;"))
            let left = try await browser.post("/oauth2/logout", form: asked.hiddenFields)
            #expect(left.headers[.location] == "http://127.0.0.1:8081/bye?state=s-9")
            #expect(browser.cookies["countersign_session"] == nil)
            let next = try await browser.get(party.authorizeAddress())
            #expect(next.redirectParameters["code"] == nil)
        }
    }

    @Test func formThatStoodOnNoPageOfOursIsNoAnswer() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let browser = try await server.signedInBrowser(client, party)
            for confirmation in ["", "&confirmation=", "&confirmation=\(String(repeating: "A", count: 43))"] {
                let form = "\(Self.parameters)\(party.id)\(confirmation)"
                let answer = try await browser.post("/oauth2/logout", form: form)
                #expect(answer.status == .ok)
                #expect(answer.text.contains("data-testid=\"sign-out\""))
            }
            #expect(try await browser.get(party.authorizeAddress()).redirectParameters["code"] != nil)
        }
    }

    @Test func formFromAnotherSiteBecomesANavigation() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let answer = try await TestBrowser(client).post("/oauth2/logout", form: "client_id=\(party.id)")
            #expect(answer.headers[.location] == "/oauth2/logout?client_id=\(party.id)")
        }
    }

    @Test("What comes with the request stays within its attribute", arguments: ["&", "<", ">", "\"", "'"])
    func hostileStateStaysInItsAttribute(character: String) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let browser = try await server.signedInBrowser(client, party)
            // A combining mark makes one Character of the two, which is none of those that a page must escape.
            let hostile = "\(character)\u{301} id=sign-in data-state=approved"
            let encoded = try #require(hostile.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
            let address = Self.parameters.replacing("s-9", with: encoded) + party.id
            let asked = try await browser.get("/oauth2/logout?\(address)")
            #expect(asked.status == .ok)
            let page = Array(asked.body.readableBytesView)
            #expect(page.contains(Array("\u{301} id=sign-in".utf8)))
            #expect(!page.contains(Array("\(character)\u{301}".utf8)))
        }
    }

    @Test func formCarriesOnWhatMeansSomethingAlone() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let browser = try await server.signedInBrowser(client, party)
            let asked = try await browser.get(
                "/oauth2/logout?x=1&confirmation=2&ui_locales=de&\(Self.parameters)\(party.id)")
            let names = asked.text.matches(of: /<input type="hidden" name="([^"]*)"/).map { String($0.1) }
            #expect(names == ["client_id", "post_logout_redirect_uri", "state", "confirmation"])
        }
    }

    @Test func tokenOfTheSamePersonNeedsNoQuestion() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let browser = try await server.signedInBrowser(client, party)
            let code = try #require(try await browser.get(party.authorizeAddress()).redirectParameters["code"])
            let token = try await party.exchange(code, client).object.requiredString("id_token")
            let left = try await browser.get("/oauth2/logout?\(Self.parameters)\(party.id)&id_token_hint=\(token)")
            #expect(left.headers[.location] == "http://127.0.0.1:8081/bye?state=s-9")
            #expect(browser.cookies["countersign_session"] == nil)
        }
    }

    @Test func brokenHintIsAskedAboutOnceAndTheButtonEndsTheSession() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let browser = try await server.signedInBrowser(client, party)
            let asked = try await browser.get("/oauth2/logout?\(Self.parameters)\(party.id)&id_token_hint=e30.e30.e30")
            #expect(asked.status == .ok)
            #expect(!asked.hiddenFields.contains("id_token_hint"))
            let left = try await browser.post("/oauth2/logout", form: asked.hiddenFields)
            #expect(left.headers[.location] == "http://127.0.0.1:8081/bye?state=s-9")
            #expect(browser.cookies["countersign_session"] == nil)
            #expect(try await browser.get(party.authorizeAddress()).redirectParameters["code"] == nil)
        }
    }

    @Test func brokenHintWithoutAClientLeadsNowhere() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let browser = try await server.signedInBrowser(client, party)
            let address = Self.parameters.replacing("&client_id=", with: "&id_token_hint=x")
            let asked = try await browser.get("/oauth2/logout?\(address)")
            #expect(asked.text.contains("data-testid=\"sign-out\""))
            let left = try await browser.post("/oauth2/logout", form: asked.hiddenFields)
            #expect(left.status == .ok && left.text.contains("data-testid=\"signed-out\""))
            #expect(browser.cookies["countersign_session"] == nil)
        }
    }

    @Test func browserWithoutSessionIsSignedOut() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let answer = try await TestBrowser(client).get("/oauth2/logout")
            #expect(answer.status == .ok)
            #expect(answer.text.contains("data-testid=\"signed-out\""))
        }
    }

    @Test func addressThatIsNotRegisteredIsNotFollowed() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let answer = try await TestBrowser(client).get(
                "/oauth2/logout?client_id=\(party.id)&post_logout_redirect_uri=https%3A%2F%2Fevil.example")
            #expect(answer.status == .badRequest)
            #expect(answer.headers[.location] == nil)
        }
    }
}

extension TestResponse {
    /// What the page's form would send.
    var hiddenFields: String {
        self.text.matches(of: /<input type="hidden" name="([^"]*)" value="([^"]*)">/).map { field in
            let value = String(field.2).replacing("&amp;", with: "&")
            return "\(field.1)=\(value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
        }.joined(separator: "&")
    }
}

extension ServerFixture {
    /// A browser with a session.
    func signedInBrowser(_ client: any TestClientProtocol, _ party: RelyingParty) async throws -> TestBrowser {
        let phone = try await self.enrolledPhone(client)
        let browser = TestBrowser(client)
        let (request, page) = try await self.signInPage(browser, party)
        _ = try await phone.authenticate(try self.typedPayload(page))
        #expect(try await browser.get("/sign-in/complete?request=\(request)").status == .seeOther)
        return browser
    }
}
