import Accounts
import CountersignServer
import CountersignTestKit
import Endpoints
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import OAuthProvider
import Passwords
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("Signing in by another server of ours: pages, cookies, metrics (decision 45)")
struct UpstreamRoutesTests {
    private static let created: JSONObject = ["newcomers": .string("created")]

    @Test("a service that takes one provider leads there at once, and gets the person")
    func wholeWay() async throws {
        try await TwoServers.run(settings: Self.created) { two async throws in
            let claims = try await two.claims(try await two.signIn(try await two.open()))
            #expect(try claims.string("acr") == "urn:countersign:acr:one-factor")
            #expect(try claims.strings("amr") == ["pwd"])
            #expect(claims["sid"] != nil)
            let accounts = try await two.server.assembly.directory.accounts()
            #expect(accounts.map(\.displayName) == ["Pat Example"] && accounts[0].username == nil)
            #expect(accounts[0].email == AccountEmail(address: "pat@staff.example", isVerified: false))
            let numbers = two.server.assembly.configuration.metrics.registry.text
            #expect(numbers.contains("countersign_sign_ins_total{by=\"provider\"} 1"))
            #expect(numbers.contains("countersign_provider_steps_total{result=\"away\"} 1"))
            #expect(numbers.contains("countersign_provider_steps_total{result=\"finished\"} 1"))
            // The session is one of this server, and signs in without the other.
            let again = try await two.here.get(two.party.authorizeAddress())
            #expect(again.headers[.location]?.hasPrefix(two.party.redirectURI) == true)
            // Once it has ended here, the other server is asked anew.
            #expect(try await two.server.assembly.provider.sessions.endAll(ofAccount: accounts[0].id) == 1)
            #expect(try await two.open().headers[.location]?.hasPrefix(TwoServers.upstream) == true)
        }
    }

    @Test("who came by another provider alone confirms no other device by a session: the provider is asked afresh")
    func noOtherDevice() async throws {
        var settings = Self.created
        settings["usualLevel"] = .string("urn:countersign:acr:two-factor")
        try await TwoServers.run(settings: settings) { two async throws in
            let claims = try await two.claims(try await two.signIn(try await two.open()))
            #expect(try claims.string("acr") == "urn:countersign:acr:two-factor")
            #expect(try await two.here.get("/account").status == .ok)
            let page = try await two.here.get("/account/activation")
            let asked = try await two.here.post("/account/activation", form: page.hiddenFields)
            let led = try await TwoServers.follow(two.here, asked, at: "http://127.0.0.1:8080")
            #expect(led.text.contains("data-testid=\"change-provider\""))
        }
    }

    @Test("where more come back at once than can wait, a page says so and leads the same way again")
    func crowded() async throws {
        var limits = Limits()
        (limits.oauth.arrivalsAtOncePerProvider, limits.oauth.waitingArrivals) = (0, 0)
        try await TwoServers.run(settings: Self.created, limits: limits) { two async throws in
            var page = try await two.signIn(try await two.open())
            for _ in 0..<2 {
                #expect(page.status == .serviceUnavailable)
                #expect(page.text.contains("Very many people are signing in") && page.text.contains("nothing is lost"))
                let target = try page.attribute("href", of: "link").replacing("&amp;", with: "&")
                #expect(target.hasPrefix("/sign-in/provider/staff/callback?") && target.contains("state="))
                #expect(target.contains("code=") && target.contains("iss="))
                page = try await two.here.get(target)
            }
            let numbers = two.server.assembly.configuration.metrics.registry.text
            #expect(numbers.contains("countersign_provider_steps_total{result=\"providers-busy\"} 3"))
            #expect(numbers.contains("countersign_provider_waiting 0"))
        }
    }

    @Test("where there are several ways the person is asked, by the provider's title")
    func chooser() async throws {
        try await TwoServers.run(methods: ["phone", "provider:staff", "provider:gone"], settings: Self.created) {
            two async throws in
            let page = try await two.open()
            #expect(page.status == .ok && page.text.contains("Sign in with Staff &lt;&amp;&gt; accounts"))
            let target = try page.attribute("href", of: "by-staff")
            #expect(target.hasPrefix("/sign-in/provider/staff?request="))
            #expect(page.text.contains("by-gone") == false)
            _ = try await two.claims(try await two.signIn(try await two.here.get(target)))
            let phone = try await two.here.get(try page.attribute("href", of: "by-phone"))
            #expect(phone.status == .notFound, "the sign-in is over")
        }
        // One that is not there is no way.
        try await TwoServers.run(methods: ["phone", "provider:gone"]) { two async throws in
            #expect(try await two.open().text.contains("data-testid=\"qr-code\""))
        }
    }

    @Test("who is not known is told what to do, and connects the account that they have")
    func connecting() async throws {
        try await TwoServers.run(methods: ["password", "provider:staff"]) { two async throws in
            _ = try await two.server.assembly.directory.create(username: "alice", displayName: nil, by: "test")
            try await PasswordDirectory(two.server.assembly.passwords).importHash(
                try await PasswordPlace.hash(TwoServers.password), username: "alice", by: "test")
            let choice = try await two.open()
            let page = try await two.signIn(try await two.here.get(try choice.attribute("href", of: "by-staff")))
            #expect(page.status == .forbidden && page.text.contains("You are not known here yet"))
            #expect(page.text.contains("data-testid=\"unknown-person\""))
            let request = try #require(TwoServers.field("request", page))
            let confirmation = try #require(TwoServers.field("confirmation", page))
            let path = "/sign-in/provider/staff/connect"
            // A form that stood on no page of ours connects nothing, nor does another browser's.
            for (fields, browser) in [
                (["request": request], two.here), (["request": request, "confirmation": "AAAA"], two.here),
                (["request": request, "confirmation": confirmation], TestBrowser(two.client)),
                (["request": "unknown", "confirmation": confirmation], two.here),
            ] {
                #expect(try await browser.post(path, form: PasswordPlace.form(fields)).status == .notFound)
            }
            let asked = try await two.here.post(
                path, form: PasswordPlace.form(["request": request, "confirmation": confirmation]))
            #expect(asked.status == .seeOther && asked.headers[.location]?.hasPrefix("/sign-in?request=") == true)
            let signedIn = try await two.here.post(
                "/sign-in/password",
                form: PasswordPlace.form(["request": request, "username": "alice", "password": TwoServers.password]))
            // Signed in, and asked: whoever relays a sign-in would else have the account for good.
            let question = try await TwoServers.follow(two.here, signedIn, at: "http://127.0.0.1:8080")
            #expect(question.text.contains("data-testid=\"connection\"") && question.text.contains("alice"))
            let first = try await two.claims(try await two.connect(question))
            let account = try await two.server.assembly.directory.account(username: "alice").id
            let told = try await two.server.assembly.directory.notices(accountID: account)
            #expect(told.contains { $0.kind.name == "identity-linked" })
            #expect(try first.strings("amr") == ["pwd"])
            let numbers = two.server.assembly.configuration.metrics.registry.text
            #expect(numbers.contains("countersign_provider_steps_total{result=\"upstream-unknown-person\"} 1"))
            // From then on the other server will do, in any browser.
            let next = TwoServers(
                server: two.server, other: two.other, client: two.client, party: two.party,
                here: TestBrowser(two.client), there: TestBrowser(two.there.client))
            let again = try await next.here.get(try await next.open().attribute("href", of: "by-staff"))
            let claims = try await next.claims(try await next.signIn(again))
            #expect(claims["sub"] == first["sub"])
        }
    }

    @Test(
        "the person's phone lists what the account is connected with and ends it, with what began by it, and nobody else's"
    )
    func ownConnections() async throws {
        try await TwoServers.run(settings: Self.created) { two async throws in
            let claims = try await two.claims(try await two.signIn(try await two.open()))
            let account = try #require(try await two.server.assembly.directory.accounts().first)
            let own: HTTPFields = [.authorization: try await two.server.deviceAuthorization(of: account)]
            let mallory: HTTPFields = [.authorization: try await two.server.deviceAuthorization(username: "mallory")]
            let path = "/account/v1/links"
            let listed = try await two.client.send(.get, path, headers: own)
            #expect(listed.response.status == .ok && listed.object["username"] == .string("id:\(account.id)"))
            let links = try #require(try listed.object.array("links"))
            guard case .object(let link)? = links.first, links.count == 1 else {
                Issue.record("not one: \(links)")
                return
            }
            #expect(link["provider"] == .string("staff") && link["title"] == .string("Staff <&> accounts"))
            #expect(link["connectedAt"] == .string(two.server.clock.now().description))
            #expect(Set(link.members.map(\.name)) == ["id", "provider", "title", "connectedAt"])
            #expect(try await two.client.send(.get, path, headers: mallory).object.array("links") == [])
            let id = try link.requiredString("id")
            let foreign = try await two.client.send(.delete, "\(path)/\(id)", headers: mallory)
            #expect(foreign.response.status == .notFound)
            #expect(try await two.server.assembly.provider.sessions.running(ofAccount: account.id).count == 1)
            let ended = try await two.client.send(.delete, "\(path)/\(id)", headers: own)
            #expect(ended.response.status == .noContent && ended.response.headers[.cacheControl] == "no-store")
            let again = try await two.client.send(.delete, "\(path)/\(id)", headers: own)
            #expect(again.response.status == .notFound)
            #expect(try await two.client.send(.get, path, headers: own).object.array("links") == [])
            #expect(try await two.server.assembly.provider.sessions.running(ofAccount: account.id).isEmpty)
            let trail = try await two.server.database.auditEntries(after: 0, limit: 99).map(\.event)
            #expect(trail.contains { $0.kind == .identityUnlinked && $0.accountID == account.id && $0.actor == nil })
            // Whoever comes from there is somebody new.
            two.there.forgetCookies()
            two.here.forgetCookies()
            let next = try await two.claims(try await two.signIn(try await two.open()))
            #expect(next["sub"] != claims["sub"] && claims["sub"] != nil)
        }
    }

    @Test("a relayed sign-in connects nothing: the person's phone is shown who would sign them in, and says no")
    func relayedConnection() async throws {
        try await TwoServers.run(methods: ["phone", "provider:staff"]) { two async throws in
            let phone = try await two.enrolledPhone()
            let choice = try await two.open()
            let page = try await two.signIn(try await two.here.get(try choice.attribute("href", of: "by-staff")))
            let request = try #require(TwoServers.field("request", page))
            _ = try await two.here.post(
                "/sign-in/provider/staff/connect",
                form: PasswordPlace.form([
                    "request": request, "confirmation": try #require(TwoServers.field("confirmation", page)),
                ]))
            // The person is talked into approving this very sign-in.
            let codes = try await two.here.get("/sign-in?request=\(request)&by=phone")
            _ = try await phone.authenticate(try two.typedPayload(codes))
            let complete = try await two.here.get("/sign-in/complete?request=\(request)")
            let question = try await TwoServers.follow(two.here, complete, at: "http://127.0.0.1:8080")
            #expect(question.text.contains("data-testid=\"connection\""))
            var fields = [
                "request": request, "connection": "staff", "decision": "allow",
                "confirmation": try #require(TwoServers.field("confirmation", question)),
            ]
            let asked = try await two.here.post("/sign-in/consent", form: PasswordPlace.form(fields))
            let waiting = try #require(asked.headers[.location])
            #expect(asked.asksForPhone)
            fields["change"] = request
            #expect(try await two.here.post("/sign-in/consent", form: PasswordPlace.form(fields)).asksForPhone)
            phone.person.forget()
            for question in [VirtualPerson.Question.pin, .authenticator] {
                phone.person.script.reactions[question] = .cancels
            }
            _ = try? await phone.authenticate(try two.typedPayload(try await two.here.get(waiting)))
            let shown = phone.person.asked.compactMap(\.transaction).map { String(decoding: $0, as: UTF8.self) }
            #expect(shown.first?.contains("let \u{201C}Staff <&> accounts\u{201D} sign you in from now on.") == true)
            fields["change"] = String(try #require(waiting.split(separator: "=").last))
            #expect(try await two.here.post("/sign-in/consent", form: PasswordPlace.form(fields)).asksForPhone)
            let account = try await two.server.assembly.directory.account(username: "alice").id
            #expect(try await two.server.assembly.upstreamProviders.links(ofAccount: account).isEmpty)
            // Without the connection the stranger has the session that was approved, and nothing more.
            fields["decision"] = "deny"
            _ = try await two.claims(try await two.here.post("/sign-in/consent", form: PasswordPlace.form(fields)))
        }
    }

    @Test("who could not be connected after all is told so on a page that leads on, signed in all the same")
    func notConnected() async throws {
        try await TwoServers.run(methods: ["password", "provider:staff"]) { two async throws in
            for name in ["alice", "bob"] {
                _ = try await two.server.assembly.directory.create(username: name, displayName: nil, by: "test")
                try await PasswordDirectory(two.server.assembly.passwords).importHash(
                    try await PasswordPlace.hash(TwoServers.password), username: name, by: "test")
            }
            func ask(_ two: TwoServers) async throws -> String {
                let choice = try await two.open()
                let page = try await two.signIn(try await two.here.get(try choice.attribute("href", of: "by-staff")))
                let request = try #require(TwoServers.field("request", page))
                let confirmation = try #require(TwoServers.field("confirmation", page))
                _ = try await two.here.post(
                    "/sign-in/provider/staff/connect",
                    form: PasswordPlace.form(["request": request, "confirmation": confirmation]))
                return request
            }
            func connect(_ two: TwoServers, _ request: String, as name: String) async throws -> TestResponse {
                let signedIn = try await two.here.post(
                    "/sign-in/password",
                    form: PasswordPlace.form(["request": request, "username": name, "password": TwoServers.password]))
                return try await two.connect(
                    try await TwoServers.follow(two.here, signedIn, at: "http://127.0.0.1:8080"))
            }
            let other = TwoServers(
                server: two.server, other: two.other, client: two.client, party: two.party,
                here: TestBrowser(two.client), there: TestBrowser(two.there.client))
            let (first, second) = (try await ask(two), try await ask(other))
            _ = try await two.claims(try await connect(other, second, as: "alice"))
            let told = try await connect(two, first, as: "bob")
            #expect(told.status == .ok && told.text.contains("data-testid=\"not-connected\""))
            #expect(
                told.text.contains("accounts is connected with another account here. You are signed in all the same."))
            #expect(told.headers[.cacheControl] == "no-store")
            let next = try told.attribute("href", of: "link")
            #expect(next.hasPrefix(two.party.redirectURI))
            let code = try #require(next.firstMatch(of: /[?&]code=([^&]+)/)?.output.1)
            #expect(try await two.party.exchange(String(code), two.client).response.status == .ok)
            let bob = try await two.server.assembly.directory.account(username: "bob").id
            #expect(try await two.server.assembly.upstreamProviders.links(ofAccount: bob).isEmpty)
        }
    }

    @Test("who was not authenticated surely enough goes back to the service, which is told, and nobody is added")
    func unmet() async throws {
        try await TwoServers.run(settings: Self.created) { two async throws in
            let back = try await two.signIn(try await two.open("&acr_values=urn:countersign:acr:two-factor"))
            #expect(back.headers[.location]?.hasPrefix(two.party.redirectURI) == true)
            #expect(back.redirectParameters["error"] == "unmet_authentication_requirements")
            #expect(back.redirectParameters["state"] == "st-1")
            #expect(try await two.server.database.accounts(after: nil, limit: 9).isEmpty)
            let numbers = two.server.assembly.configuration.metrics.registry.text
            #expect(numbers.contains("countersign_provider_steps_total{result=\"upstream-unmet\"} 1"))
        }
    }

    @Test("where a service takes no other way nobody can be connected, and the page leads back to the service")
    func noOtherWay() async throws {
        try await TwoServers.run { two async throws in
            let page = try await two.signIn(try await two.open())
            #expect(page.status == .forbidden && page.text.contains("Ask the people who run Demo Bank"))
            #expect(page.text.contains("action=\"/sign-in/cancel\""))
            let request = try #require(TwoServers.field("request", page))
            let back = try await two.here.post("/sign-in/cancel", form: "request=\(request)")
            #expect(back.redirectParameters["error"] == "access_denied")
        }
    }

    @Test("who gives up there is told so, and can begin anew or go back to the service")
    func declined() async throws {
        try await TwoServers.run(settings: Self.created) { two async throws in
            let there = try await two.otherPage(try await two.open())
            let request = try #require(TwoServers.field("request", there))
            let page = try await two.comeBack(
                try await two.there.post("/sign-in/cancel", form: "request=\(request)"))
            #expect(page.status == .forbidden)
            #expect(page.text.contains("You did not sign in at Staff &lt;&amp;&gt; accounts"))
            #expect(page.headers[.contentSecurityPolicy]?.contains("form-action 'self' http://127.0.0.1:8081;") == true)
            let retry = try page.attribute("href", of: "link")
            let again = try await TwoServers.follow(
                two.here, try await two.here.get(retry), at: "http://127.0.0.1:8080")
            _ = try await two.claims(try await two.signIn(again))
        }
    }

    @Test("a browser that did not begin it, and an address that no provider sends, see nothing")
    func strangers() async throws {
        try await TwoServers.run(settings: Self.created) { two async throws in
            let away = try await two.open()
            let state = try #require(away.redirectParameters["state"])
            let query = "?state=\(state)&code=abc"
            for browser in [TestBrowser(two.client)] {
                let page = try await browser.get("/sign-in/provider/staff/callback\(query)")
                #expect(page.status == .notFound)
            }
            let stranger = TestBrowser(two.client)
            _ = try await stranger.get(two.party.authorizeAddress())
            #expect(try await stranger.get("/sign-in/provider/staff/callback\(query)").status == .notFound)
            for path in ["/sign-in/provider/gone/callback\(query)", "/sign-in/provider/staff/callback"] {
                #expect(try await two.here.get(path).status == .notFound, "\(path)")
            }
            for query in ["?state=%ZZ", "?state=a&state=b"] {
                let page = try await two.here.get("/sign-in/provider/staff/callback\(query)")
                #expect(page.status == .badRequest && page.text.contains("This address is not complete"))
            }
        }
    }

    @Test("the log says what an operator can do, and the page says nothing of it")
    func log() async throws {
        let server = try await ServerFixture(issuer: "http://127.0.0.1:8080")
        var change = UpstreamChange()
        change.clientID = "c"
        change.secret = SecretBytes(utf8: "the secret")
        _ = try await server.assembly.upstreamProviders.add(
            name: "staff", kind: .openID, issuer: "https://up.example", change, by: "test")
        let lines = try await server.requestLines { client in
            let party = try await server.relyingParty(signInMethods: ["provider:staff"])
            let browser = TestBrowser(client)
            let page = try await TwoServers.follow(
                browser, try await browser.get(party.authorizeAddress()), at: "http://127.0.0.1:8080")
            #expect(page.status == .forbidden && page.text.contains("Signing in with staff did not work"))
            #expect(page.text.contains("calls nobody") == false)
        }
        let refused = try #require(lines.last)
        #expect(refused["error"]?.description == "upstream-failed")
        #expect(refused["reason"]?.description.contains("this server calls nobody") == true)
        #expect(lines.allSatisfy { !$0.description.contains("the secret") })
    }
}
