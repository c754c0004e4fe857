import Accounts
import CountersignServer
import HTTPTypes
import HummingbirdTesting
import OAuth
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

@Suite("An account of another provider alone confirms changes there, and waits a day (decision 91)")
struct ProviderConfirmationTests {
    private static let number = "+49301234567"
    private static let day = Duration.seconds(24 * 60 * 60)

    /// pat, whose account at this server was made at the first sign-in by the provider, is signed in here. The provider has
    /// authenticated pat a while ago.
    private static func signedIn(
        settings: JSONObject = [:], _ body: @escaping @Sendable (TwoServers) async throws -> Void
    ) async throws {
        var settings = settings
        settings["newcomers"] = .string("created")
        settings["emailDomains"] = .array([.string("staff.example")])
        try await TwoServers.run(settings: settings) { two async throws in
            _ = try await two.claims(try await two.signIn(try await two.open()))
            two.advance(by: .seconds(600))
            try await body(two)
        }
    }

    /// Asks for the number in a browser: where the browser is led, and the fields of the form that makes the change.
    private static func ask(_ two: TwoServers, in browser: TestBrowser? = nil) async throws -> (
        page: TestResponse, reference: String, fields: [String: String]
    ) {
        let browser = browser ?? two.here
        let form = try await browser.get("/account/value/phone")
        var fields = ["confirmation": try #require(form.field("confirmation")), "phone": Self.number]
        let asked = try await browser.post("/account/value/phone", form: PasswordPlace.form(fields))
        #expect(asked.asksForPhone)
        let reference = String(try #require(asked.headers[.location]?.split(separator: "=").last))
        fields["change"] = reference
        let page = try await TwoServers.follow(browser, asked, at: "http://127.0.0.1:8080")
        return (page, reference, fields)
    }

    private static func add(_ two: TwoServers, _ fields: [String: String]) async throws -> TestResponse {
        try await two.here.post("/account/value/phone", form: PasswordPlace.form(fields))
    }

    private static func numbers(_ two: TwoServers) async throws -> [String] {
        let events = try await two.server.auditEvents(.init(rawValue: "change-confirmed"))
        return events.map { $0.detail ?? "" }
    }

    @Test("the provider is asked afresh, and the change can be made a day later, once, in the browser that asked")
    func wholeWay() async throws {
        try await Self.signedIn { two async throws in
            let (page, reference, fields) = try await Self.ask(two)
            #expect(page.text.contains("add the phone number \u{201C}\(Self.number)\u{201D}"))
            #expect(page.text.contains("Confirm by <bdi>Staff &lt;&amp;&gt; accounts</bdi>"))
            #expect(page.text.contains("24 hours"))
            #expect(try await Self.add(two, fields).asksForPhone)
            let left = try await two.here.post("/account/change/provider", form: page.hiddenFields)
            let location = try #require(left.headers[.location])
            #expect(location.contains("max_age=0") && location.contains("state=change."))
            // Whoever is signed in at the provider has to authenticate once more.
            let waits = try await two.signIn(left)
            #expect(waits.text.contains("This change waits"), "\(waits.text)")
            #expect(try await Self.add(two, fields).asksForPhone, "the day has not passed")
            #expect(try await two.server.sendMail() == [.delivered])
            #expect(two.server.mail.text.contains(Self.number))
            #expect(two.server.mail.text.contains("http://127.0.0.1:8080/account/changes"))
            two.advance(by: Self.day - .seconds(5))
            // The session of yesterday has ended; the browser is the same.
            _ = try await two.claims(try await two.signIn(try await two.open()))
            let list = try await two.here.get("/account/changes")
            #expect(list.text.contains("data-testid=\"delayed\"") && !list.text.contains("data-testid=\"go-on\""))
            var early = fields
            early["confirmation"] = try await two.here.get("/account/value/phone").field("confirmation")
            #expect(try await Self.add(two, early).asksForPhone, "the day has not passed")
            two.advance(by: .seconds(5))
            let now = try await two.here.get("/account/changes")
            let target = try now.attribute("href", of: "go-on")
            let other = TestBrowser(two.client)
            #expect(try await other.get(target).headers[.location] == nil)
            let form = try await TwoServers.follow(
                two.here, try await two.here.get(target), at: "http://127.0.0.1:8080")
            #expect(form.field("change") == reference)
            var again = fields
            again["confirmation"] = form.field("confirmation")
            var another = again
            another["phone"] = "+49309999999"
            #expect(try await Self.add(two, another).asksForPhone, "another value")
            #expect(try await Self.add(two, again).text.contains("Services can ask for it"))
            #expect(try await Self.add(two, again).asksForPhone, "once")
            #expect(try await Self.numbers(two) == ["phone methods=provider:staff"])
        }
    }

    @Test("the person stops the change in any browser that is signed in; a forged form and a stranger stop nothing")
    func stopped() async throws {
        try await Self.signedIn { two async throws in
            let (page, reference, fields) = try await Self.ask(two)
            _ = try await two.signIn(try await two.here.post("/account/change/provider", form: page.hiddenFields))
            let list = try await two.here.get("/account/changes")
            func stop(_ browser: TestBrowser, _ confirmation: String) async throws -> TestResponse {
                try await browser.post(
                    "/account/changes/stop",
                    form: PasswordPlace.form(["request": reference, "confirmation": confirmation]))
            }
            #expect(try await stop(two.here, "forged").status == .badRequest)
            #expect(try await stop(TestBrowser(two.client), "x").headers[.location] == "/account/changes")
            let sign = try #require(list.field("confirmation"))
            #expect(try await stop(two.here, sign).text.contains("The change is stopped"))
            #expect(try await stop(two.here, sign).status == .notFound)
            two.advance(by: Self.day)
            _ = try await two.claims(try await two.signIn(try await two.open()))
            var again = fields
            again["confirmation"] = try await two.here.get("/account/value/phone").field("confirmation")
            #expect(try await Self.add(two, again).asksForPhone)
            #expect(try await Self.numbers(two).isEmpty)
            #expect(try await two.server.auditEvents(.init(rawValue: "change-stopped")).map(\.detail) == ["phone"])
        }
    }

    @Test("a return counts once, in the browser that left, for a person of this account who was asked just now")
    func returns() async throws {
        try await Self.signedIn { two async throws in
            let (page, reference, fields) = try await Self.ask(two)
            let forged = try await two.here.post(
                "/account/change/provider",
                form: PasswordPlace.form(["request": reference, "provider": "staff", "confirmation": "forged"]))
            #expect(forged.status == .badRequest)
            let unknown = try await two.here.post(
                "/account/change/provider",
                form: PasswordPlace.form([
                    "request": reference, "provider": "gone",
                    "confirmation": try #require(page.field("confirmation")),
                ]))
            #expect(unknown.status == .forbidden)
            // Another trip takes the place of the first one.
            let first = try await two.here.post("/account/change/provider", form: page.hiddenFields)
            let second = try await two.here.post("/account/change/provider", form: page.hiddenFields)
            let stale = try #require(first.headers[.location]?.firstMatch(of: /state=([^&]+)/)).1
            let late = try await two.here.get(
                "/sign-in/provider/staff/callback?code=x&state=\(stale)&iss=http%3A%2F%2F127.0.0.1%3A9090")
            #expect(late.status == .notFound)
            let state = try #require(second.headers[.location]?.firstMatch(of: /state=([^&]+)/)).1
            let elsewhere = try await TestBrowser(two.client).get(
                "/sign-in/provider/staff/callback?code=x&state=\(state)")
            #expect(elsewhere.status != .ok && elsewhere.status != .seeOther)
            let declined = try await two.here.get(
                "/sign-in/provider/staff/callback?error=access_denied&state=\(state)&iss=http%3A%2F%2F127.0.0.1%3A9090")
            #expect(declined.status == .forbidden && declined.text.contains("You did not sign in there."))
            // The trip is spent by the answer.
            let again = try await two.here.get("/sign-in/provider/staff/callback?code=x&state=\(state)")
            #expect(again.status == .notFound)
            #expect(try await Self.add(two, fields).asksForPhone)
        }
    }

    @Test("somebody else of the same provider confirms nothing")
    func somebodyElse() async throws {
        try await Self.signedIn { two async throws in
            _ = try await two.other.assembly.directory.create(username: "sam", displayName: nil, by: "test")
            try await PasswordDirectory(two.other.assembly.passwords).importHash(
                try await PasswordPlace.hash(TwoServers.password), username: "sam", by: "test")
            let (page, _, fields) = try await Self.ask(two)
            let left = try await two.here.post("/account/change/provider", form: page.hiddenFields)
            let stranger = TwoServers(
                server: two.server, other: two.other, client: two.client, party: two.party, here: two.here,
                there: TestBrowser(two.there.client))
            let answer = try await stranger.signIn(left, as: "sam")
            #expect(answer.status == .forbidden && answer.text.contains("You signed in there as somebody else."))
            two.advance(by: Self.day)
            #expect(try await two.here.get("/account/changes").text.contains("data-testid=\"delayed\"") == false)
            #expect(try await Self.add(two, fields).status != .ok)
        }
    }

    @Test("a change that waits cannot be made any more once the account has a phone")
    func phoneSince() async throws {
        try await Self.signedIn { two async throws in
            let (page, _, fields) = try await Self.ask(two)
            _ = try await two.signIn(try await two.here.post("/account/change/provider", form: page.hiddenFields))
            let accounts = try await two.server.database.accounts(after: nil, limit: 2)
            let pat = try #require(accounts.first)
            _ = try await two.server.assembly.directory.rename(pat.reference, username: "pat", by: "operator")
            _ = try await two.server.enrolledPhone(
                two.client, username: "pat", origin: "http://127.0.0.1:8080", isNew: false)
            two.advance(by: Self.day)
            _ = try await two.claims(try await two.signIn(try await two.open()))
            var now = fields
            now["confirmation"] = try await two.here.get("/account/value/phone").field("confirmation")
            #expect(try await Self.add(two, now).asksForPhone)
            #expect(try await Self.numbers(two).isEmpty)
        }
    }

    @Test("a change that waits cannot be made after seven days")
    func tooLate() async throws {
        try await Self.signedIn { two async throws in
            let (page, _, fields) = try await Self.ask(two)
            _ = try await two.signIn(try await two.here.post("/account/change/provider", form: page.hiddenFields))
            two.advance(by: .seconds(7 * 24 * 60 * 60))
            _ = try await two.claims(try await two.signIn(try await two.open()))
            var late = fields
            late["confirmation"] = try await two.here.get("/account/value/phone").field("confirmation")
            #expect(try await Self.add(two, late).asksForPhone)
            #expect(try await two.here.get("/account/changes").text.contains("data-testid=\"delayed\"") == false)
            #expect(try await Self.numbers(two).isEmpty)
        }
    }
}
