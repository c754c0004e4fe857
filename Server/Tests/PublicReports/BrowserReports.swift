import Accounts
import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import OAuth
import OAuthProvider
import Passwords
import Records
import Testing
import _Primitives

@testable import CountersignServerTests

@Suite("Reports of browsers and their sessions (RFC 6265, RFC 9110, section 9.2.1, and RFC 9700, section 4.16)")
struct BrowserReports {
    /// A right server gives a browser another session when somebody signs in: a planted one stays nobody's.
    ///
    /// Source: CWE-384 (session fixation); CVE-2023-6787 (Keycloak).
    @Test("a session that was there before a sign-in is another one afterwards")
    func fixation() async throws {
        try await ReportPlace.run { place in
            let browser = try await place.signedIn()
            let planted = try #require(browser.cookies["countersign_session"])
            let page = try await browser.get(place.address(["prompt": "login"]))
            let request = try #require(page.redirectParameters["request"])
            let answer = try await place.show(PasswordPlace.password, request, browser)
            _ = try await browser.get(try #require(answer.headers[.location]))
            #expect(browser.cookies["countersign_session"] != planted)
            let thief = try await place.client.execute(
                uri: place.address(["prompt": "none"]), method: .get,
                headers: [.cookie: "countersign_session=\(planted)"])
            #expect(thief.redirectParameters["error"] == "login_required")
        }
    }

    /// A right server's cookies are bound to its host, are read by no script, and are sent with no form of another site.
    ///
    /// Source: RFC 6265bis, section 4.1.3.
    @Test("cookies have the prefix of their host, HttpOnly, Secure and SameSite")
    func cookies() async throws {
        let server = try await ServerFixture(issuer: "https://id.example.com")
        try await server.withPublicClient { client in
            let party = try await ReportPlace.service(server)
            let answer = try await TestBrowser(client).get(party.authorizeAddress())
            let lines = answer.headers[values: .setCookie]
            #expect(!lines.isEmpty)
            for line in lines {
                #expect(line.hasPrefix("__Host-") && line.contains("; HttpOnly") && line.contains("; Secure"))
                #expect(line.contains("; SameSite=Lax") && !line.contains("Domain="))
            }
            #expect(answer.headers[.strictTransportSecurity] != nil)
        }
    }

    /// A right server's pages stand in no frame, run no script of a page's own, and tell nobody where a person comes from.
    ///
    /// Source: RFC 9700, section 4.16; CVE-2020-1728 (Keycloak: headers against clickjacking).
    @Test("no page can be framed")
    func framing() async throws {
        try await ReportPlace.run { place in
            for path in ["/sign-in?request=x", "/device", "/account", "/oauth2/logout", "/nothing"] {
                let answer = try await TestBrowser(place.client).get(path, headers: [.accept: "text/html"])
                let policy = try #require(answer.headers[.contentSecurityPolicy])
                #expect(policy.contains("frame-ancestors 'none'") && policy.contains("default-src 'none'"))
                #expect(!policy.contains("unsafe-inline"))
                #expect(answer.headers[.xContentTypeOptions] == "nosniff")
                #expect(answer.headers[try #require(HTTPField.Name("Referrer-Policy"))] == "no-referrer")
            }
        }
    }

    /// A right server signs nobody out by an address that any page can have a browser open.
    ///
    /// Source: OpenID Connect RP-Initiated Logout 1.0, section 2 (denial of service).
    @Test("a sign-out without a hint is asked about, and a form of another page is no answer")
    func forcedSignOut() async throws {
        try await ReportPlace.run { place in
            let browser = try await place.signedIn()
            #expect(try await browser.get("/oauth2/logout").headers[.location] == nil)
            for form in ["", "confirmation=", "confirmation=\(String(repeating: "A", count: 43))"] {
                _ = try await browser.post("/oauth2/logout", form: form)
                #expect(try await place.outcome(browser.get(place.address())) == "code")
            }
        }
    }

    /// A right server signs out whoever shows an old or broken hint, and asks first: a page of errors would leave the person
    /// signed in.
    ///
    /// Source: OpenID Connect RP-Initiated Logout 1.0, section 2; https://github.com/zitadel/zitadel/issues/5232.
    @Test("a hint that is broken or of long ago leaves nobody signed in for good")
    func oldHint() async throws {
        try await ReportPlace.run { place in
            let browser = try await place.signedIn()
            let hint = try await place.redeem(try await place.code(in: browser)).object.requiredString("id_token")
            for hint in ["e30.e30.e30", String(hint.dropLast(4)) + "AAAA"] {
                let asked = try await browser.get(
                    "/oauth2/logout?client_id=\(place.party.id)&id_token_hint=\(hint)"
                        + "&post_logout_redirect_uri=http%3A%2F%2F127.0.0.1%3A8081%2Fbye")
                #expect(asked.status == .ok && asked.headers[.location] == nil)
                #expect(asked.text.contains("data-testid=\"sign-out\""))
                let left = try await browser.post("/oauth2/logout", form: asked.hiddenFields)
                #expect(left.headers[.location] == "http://127.0.0.1:8081/bye")
                #expect(browser.cookies["countersign_session"] == nil)
                _ = try await place.code(in: browser)
            }
        }
    }

    /// A right server signs out by a hint the person whom the hint names, and asks everybody else.
    ///
    /// Source: OpenID Connect RP-Initiated Logout 1.0, section 2; https://github.com/Abblix/Oidc.Server/issues/549.
    @Test("somebody else's ID token signs nobody out")
    func othersHint() async throws {
        try await ReportPlace.run { place in
            let alice = try await place.redeem(try await place.code()).object.requiredString("id_token")
            _ = try await place.server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
            try await PasswordDirectory(place.server.assembly.passwords).importHash(
                try await PasswordPlace.hash(PasswordPlace.password), username: "bob", by: "test")
            let browser = TestBrowser(place.client)
            let request = try #require(try await browser.get(place.address()).redirectParameters["request"])
            let answer = try await place.show(PasswordPlace.password, as: "bob", request, browser)
            _ = try await browser.get(try #require(answer.headers[.location]))
            let asked = try await browser.get("/oauth2/logout?id_token_hint=\(alice)")
            #expect(asked.headers[.location] == nil)
            #expect(try await place.outcome(browser.get(place.address())) == "code")
        }
    }

    /// A right server's consent is given by the form of its own page, in the browser of the person who was asked.
    ///
    /// Source: RFC 6749, section 10.12; CVE-2022-39222 (dex: the approval of another browser's request).
    @Test("a consent that stood on no page, and one of another browser, give nothing")
    func consent() async throws {
        try await ReportPlace.run { place in
            let shop = try await ReportPlace.service(place.server, party: .third)
            let browser = try await place.signedIn()
            let asked = try await browser.get(place.address(of: shop))
            let location = try #require(asked.headers[.location])
            #expect(location.hasPrefix("/sign-in/consent?request="))
            let fields = try await browser.get(location).hiddenFields
            let token = try #require(fields.firstMatch(of: /confirmation=([^&]*)/)?.1)
            let forged = fields.replacing(token, with: String(repeating: "A", count: 43)) + "&decision=allow"
            let answer = try await browser.post("/sign-in/consent", form: forged)
            #expect(answer.redirectParameters["code"] == nil)
            let mallory = TestBrowser(place.client)
            _ = try await mallory.get(place.address())
            let other = try await mallory.post("/sign-in/consent", form: fields + "&decision=allow")
            #expect(other.redirectParameters["code"] == nil)
            #expect(try await mallory.get(location).redirectParameters["code"] == nil)
            let allowed = try await browser.post("/sign-in/consent", form: fields + "&decision=allow")
            #expect(allowed.redirectParameters["code"] != nil)
        }
    }

    /// A right server ends a sign-in in the browser that began it: a forwarded address signs nobody in.
    ///
    /// Source: RFC 9700, section 4.7 (login CSRF); decision 3.
    @Test("another browser ends and sees nothing of a sign-in")
    func otherBrowser() async throws {
        try await ReportPlace.run { place in
            let browser = TestBrowser(place.client)
            let request = try #require(try await browser.get(place.address()).redirectParameters["request"])
            let mallory = TestBrowser(place.client)
            _ = try await mallory.get(place.address())
            for path in ["/sign-in?request=\(request)", "/sign-in/complete?request=\(request)"] {
                let answer = try await mallory.get(path)
                #expect(answer.status == .notFound && answer.redirectParameters["code"] == nil, "\(path)")
            }
            #expect(try await place.show(PasswordPlace.password, request, mallory).status == .notFound)
            #expect(mallory.cookies["countersign_session"] == nil)
        }
    }

    /// A right server says nothing of a session to a page that asks in silence, but whether there is one for this service.
    ///
    /// Source: OpenID Connect Core 1.0, section 3.1.2.1.
    @Test("who asks in silence gets an error and no page, and a third party nothing that nobody agreed to")
    func silence() async throws {
        try await ReportPlace.run { place in
            let silent: [String: String?] = ["prompt": "none"]
            #expect(try await place.outcome(silent) == "login_required")
            let browser = try await place.signedIn()
            #expect(try await place.outcome(browser.get(place.address(silent))) == "code")
            let shop = try await ReportPlace.service(place.server, party: .third)
            #expect(try await place.outcome(browser.get(place.address(silent, of: shop))) == "consent_required")
            let app = try await ReportPlace.service(
                place.server, redirectURIs: ["com.example.app:/in"]
            ) { $0.authenticationMethod = "none" }
            let taken = silent.merging(["redirect_uri": "com.example.app:/in"]) { $1 }
            #expect(try await place.outcome(browser.get(place.address(taken, of: app))) == "interaction_required")
            place.server.clock.advance(by: .seconds(60))
            let fresh = silent.merging(["max_age": "10"]) { $1 }
            #expect(try await place.outcome(browser.get(place.address(fresh))) == "login_required")
            #expect(try await place.outcome(["prompt": "none login"]) == "invalid_request")
        }
    }

    /// A right server signs nobody in but the person of the hint, and believes no hint that it has not signed.
    ///
    /// Source: OpenID Connect Core 1.0, section 3.1.2.1.
    @Test("a hint that is nobody's, or another service's, is refused")
    func hints() async throws {
        try await ReportPlace.run { place in
            let id = try await place.tokens().requiredString("id_token")
            let payload = String(id.split(separator: ".")[1])
            for hint in ["x", "e30.\(payload).", "\(id)x", ReportPlace.jws(["alg": .string("none")], [:])] {
                let outcome = try await place.outcome(["id_token_hint": hint])
                #expect(outcome != "code" && outcome != "/sign-in", "\(hint): \(outcome)")
            }
            let browser = try await place.signedIn()
            #expect(try await place.outcome(browser.get(place.address(["id_token_hint": id]))) == "code")
        }
    }

    /// A right server does by GET alone nothing that programs set off that look at links, and by HEAD nothing at all.
    ///
    /// Source: RFC 9110, section 9.2.1; https://github.com/supabase/auth/issues/1214.
    @Test("a look at an address signs nobody in or out, and spends nothing")
    func looking() async throws {
        try await ReportPlace.run { place in
            let browser = try await place.signedIn()
            let pushed = try await place.post("/oauth2/par", place.request())
            let name = try pushed.object.requiredString("request_uri")
            let address = "/oauth2/authorize?client_id=\(place.party.id)&request_uri=\(name)"
            for path in [address, place.address(), "/oauth2/logout"] {
                let head = try await browser.head(path)
                #expect(head.headers[.location] == nil && head.headers[.setCookie] == nil)
                let purpose = try #require(HTTPField.Name("Sec-Purpose"))
                let ahead = try await browser.get(path, headers: [purpose: "prefetch"])
                #expect(ahead.headers[.location] == nil && ahead.headers[.setCookie] == nil)
            }
            #expect(try await place.outcome(browser.get(address)) == "code")
        }
    }

    /// A right server lets scripts of a service's own pages read answers, and no page anything with a person's cookies.
    ///
    /// Source: CWE-942; the Fetch standard, "CORS protocol and credentials".
    @Test("no origin but a registered one reads an answer, and none with cookies")
    func origins() async throws {
        try await ReportPlace.run { place in
            let app = try await ReportPlace.service(place.server, redirectURIs: ["https://app.example/in"]) {
                settings in
                settings.authenticationMethod = "none"
                settings.profile.origins = ["https://app.example"]
            }
            func answer(_ origin: String, _ path: String) async throws -> TestResponse {
                try await place.client.execute(
                    uri: path, method: .post,
                    headers: [.origin: origin, .contentType: "application/x-www-form-urlencoded"],
                    body: ByteBuffer(string: "client_id=\(app.id)&grant_type=x"))
            }
            let own = try await answer("https://app.example", "/oauth2/token")
            #expect(own.headers[.accessControlAllowOrigin] == "https://app.example")
            #expect(own.headers[.accessControlAllowCredentials] == nil)
            for origin in ["https://evil.example", "null", "https://app.example.evil.example", "http://app.example"] {
                #expect(
                    try await answer(origin, "/oauth2/token").headers[.accessControlAllowOrigin] == nil, "\(origin)")
            }
            for path in ["/sign-in/password", "/oauth2/logout", "/account", "/oauth2/introspect"] {
                #expect(try await answer("https://app.example", path).headers[.accessControlAllowOrigin] == nil)
            }
        }
    }

    /// A right server writes what came with a request as text, where it writes it at all.
    ///
    /// Source: CVE-2023-6134 (Keycloak, `form_post`), CVE-2019-8400 (ORY Hydra, the error page).
    @Test("markup in a state, a name or an error stays text")
    func markup() async throws {
        try await ReportPlace.run { place in
            let markup = "\"><script>alert(1)</script>"
            let browser = try await place.signedIn()
            let posted = try await browser.get(place.address(["state": markup, "response_mode": "form_post"]))
            #expect(posted.text.contains("name=\"code\"") && !posted.text.contains("<script>alert"))
            let pages = [
                place.address(["client_id": markup]), place.address(["login_hint": markup, "prompt": "login"]),
                "/sign-in?request=" + ReportPlace.parameters(["x": markup]).encoded,
                "/device?" + ReportPlace.parameters(["user_code": markup]).encoded,
                "/oauth2/logout?" + ReportPlace.parameters(["client_id": place.party.id, "state": markup]).encoded,
                "/error?" + ReportPlace.parameters(["error": markup, "error_description": markup]).encoded,
            ]
            for page in pages {
                var answer = try await browser.get(page)
                if let location = answer.headers[.location], location.hasPrefix("/") {
                    answer = try await browser.get(location)
                }
                #expect(!answer.text.contains("<script>alert"), "\(page)")
            }
        }
    }

    /// A right server takes two cookies of one name for none: one of them was planted by a neighbour of the host.
    ///
    /// Source: RFC 6265, sections 5.4 and 8.6 (weak integrity; cookie tossing).
    @Test("a second cookie of the same name signs nobody in")
    func tossedCookies() async throws {
        try await ReportPlace.run { place in
            let browser = try await place.signedIn()
            let cookies = browser.cookies.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
            let planted = String(repeating: "A", count: 43)
            for (line, isKnown) in [(cookies, true), ("\(cookies); countersign_session=\(planted)", false)] {
                let answer = try await place.client.execute(
                    uri: place.address(["prompt": "none"]), method: .get, headers: [.cookie: line])
                #expect((place.outcome(answer) == "code") == isKnown)
            }
        }
    }
}
