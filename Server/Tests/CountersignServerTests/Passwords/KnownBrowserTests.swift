import Accounts
import CountersignServer
import CountersignTestKit
import FreshStores
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import OAuthProvider
import Passwords
import Records
import Settings
import Testing
import _Primitives

extension PasswordPlace {
    /// Has others type wrong passwords until those of the account rest.
    fileprivate func haveRest(_ name: String = "alice") async throws {
        let bot = TestBrowser(self.client)
        let request = try await self.begin(bot)
        for _ in 0..<Limits().passwords.passwordAttempts { _ = try await self.show("wrong", as: name, request, bot) }
    }

    /// Signs in by the password, and says what it came to.
    @discardableResult
    fileprivate func signIn(
        _ browser: TestBrowser? = nil, as name: String = "alice", password: String = PasswordPlace.password
    ) async throws -> HTTPResponse.Status {
        try await self.show(password, as: name, try await self.begin(browser), browser).status
    }

    /// Another person with the same password.
    fileprivate func addBob() async throws {
        _ = try await self.server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
        try await self.passwords.importHash(
            try await Self.hash(Self.password), username: "bob", by: "test")
    }

    /// The cookie by which the browser is known to an account.
    fileprivate var knownCookie: String? { self.browser.cookies["countersign_known"] }
}

@Suite("Decision 92: a browser that has signed in has a few passwords of its own, and all together are bounded")
struct KnownBrowserTests {
    @Test("while bots keep an account's attempts resting, the browser of its owner signs in, and no other one does")
    func botsKeepNobodyOut() async throws {
        try await PasswordPlace.run { place in
            #expect(try await place.signIn() == .seeOther)
            for _ in 0..<3 {
                try await place.haveRest()
                #expect(try await place.signIn() == .seeOther)
                let other = try await place.signIn(TestBrowser(place.client))
                #expect(other == .forbidden, "the account's attempts rest on")
            }
        }
    }

    @Test("a known browser has five wrong passwords past the rest, then it is like any other; a right one begins anew")
    func fiveWrongOnesEndIt() async throws {
        try await PasswordPlace.run { place in
            try await place.signIn()
            try await place.haveRest()
            for _ in 0..<2 {
                for _ in 0..<4 { #expect(try await place.signIn(password: "wrong") == .forbidden) }
                #expect(try await place.signIn() == .seeOther)
            }
            for _ in 0..<5 { #expect(try await place.signIn(password: "wrong") == .forbidden) }
            #expect(try await place.signIn() == .forbidden)
            place.server.clock.advance(by: Limits().passwords.longestAttemptRest)
            #expect(try await place.signIn() == .seeOther, "the account's rest is over")
        }
    }

    @Test("the cookie comes with a complete sign-in, names nobody, and is out of reach of scripts and other sites")
    func theCookie() async throws {
        try await PasswordPlace.run { place in
            let (totp, _) = try await place.giveSecondFactor()
            let request = try await place.begin()
            let first = try await place.show(PasswordPlace.password, request)
            #expect(first.headers[.setCookie] == nil && place.knownCookie == nil, "a code is missing")
            let code = try #require(totp.code(at: place.server.clock.timeSource.now()))
            let last = try await place.post("/sign-in/code", ["request": request, "code": code])
            let cookie = try #require(last.headers[.setCookie])
            let value = try #require(place.knownCookie)
            #expect(cookie == "countersign_known=\(value); Path=/; Max-Age=15552000; HttpOnly; SameSite=Lax")
            let account = try await place.server.assembly.directory.account(username: "alice").id
            #expect(value.count == 43 && !value.contains("alice") && !value.contains(account))
        }
    }

    @Test("a browser is known to one account alone")
    func ofOneAccount() async throws {
        try await PasswordPlace.run { place in
            try await place.addBob()
            try await place.signIn(as: "bob")
            try await place.haveRest()
            #expect(try await place.signIn() == .forbidden)
            try await place.haveRest("bob")
            #expect(try await place.signIn(as: "bob") == .seeOther)
        }
    }

    @Test("an account knows five browsers, those that were used last")
    func fiveBrowsers() async throws {
        try await PasswordPlace.run { place in
            let browsers = (0..<6).map { _ in TestBrowser(place.client) }
            for browser in browsers {
                try await place.signIn(browser)
                place.server.clock.advance(by: .seconds(1))
            }
            try await place.haveRest()
            for (number, browser) in browsers.enumerated() {
                #expect(try await place.signIn(browser) == (number == 0 ? .forbidden : .seeOther), "\(number)")
            }
        }
    }

    @Test(
        "known browsers end with another password, a lock, the end of all sessions, and their time",
        arguments: ["password", "lock", "sessions", "time"])
    func theyEnd(with end: String) async throws {
        try await PasswordPlace.run { place in
            try await place.signIn()
            let directory = place.server.assembly.directory
            switch end {
            case "password":
                try await place.passwords.importHash(
                    try await PasswordPlace.hash(PasswordPlace.password), username: "alice", by: "test")
            case "lock":
                for isLocked in [true, false] {
                    _ = try await directory.setLocked(isLocked, username: "alice", by: "test")
                }
            case "sessions":
                let account = try await directory.account(username: "alice").id
                _ = try await place.server.assembly.provider.sessions.endAll(ofAccount: account, by: "test")
            default: place.server.clock.advance(by: Limits().passwords.knownBrowserLifetime)
            }
            try await place.haveRest()
            #expect(try await place.signIn() == .forbidden)
        }
    }

    @Test("whoever changes their password keeps the browser known in which they do")
    func aChangeOfOnesOwn() async throws {
        try await PasswordPlace.run { place in
            let request = try await place.begin()
            _ = try await place.claims(after: try await place.show(PasswordPlace.password, request))
            let page = try await place.browser.get("/account/password")
            let fields = [
                "confirmation": PasswordPlace.hidden("confirmation", page), "password": PasswordPlace.password,
                "new-password": "mine from now on",
            ]
            #expect(try await place.post("/account/password", fields).status == .ok)
            try await place.haveRest()
            #expect(try await place.signIn(password: "mine from now on") == .seeOther)
            #expect(try await place.signIn(TestBrowser(place.client), password: "mine from now on") == .forbidden)
        }
    }

    // MARK: All attempts together

    @Test(
        "of all attempts so many are judged in 30 days, by whomever; right ones do not count, and a reset begins anew")
    func allTogether() async throws {
        var limits = Limits()
        limits.passwords.attemptsInAll = 12
        try await PasswordPlace.run(limits: limits) { place in
            try await place.enter()
            for _ in 0..<14 { #expect(try await place.signIn() == .seeOther) }
            for _ in 0..<2 {
                try await place.haveRest()
                for _ in 0..<2 { #expect(try await place.signIn(password: "wrong") == .forbidden) }
                #expect(try await place.signIn() == .forbidden, "neither by the known browser")
                place.server.clock.advance(by: Limits().passwords.longestAttemptRest)
                #expect(try await place.signIn() == .forbidden, "nor after the rest")
                place.server.clock.advance(by: .seconds(29 * 24 * 60 * 60))
                #expect(try await place.signIn() == .forbidden, "nor before the days are over")
                place.server.clock.advance(by: .seconds(2 * 24 * 60 * 60))
                #expect(try await place.signIn() == .seeOther, "then it is judged")
            }
            try await place.haveRest()
            for _ in 0..<2 { _ = try await place.signIn(password: "wrong") }
            #expect(try await place.reset(try await place.mailedLink()).status == .ok)
            #expect(try await place.signIn(password: "mine from now on") == .seeOther)
            for _ in 0..<12 { _ = try await place.signIn(password: "wrong") }
            #expect(try await place.signIn(password: "mine from now on") == .forbidden)
            try await place.passwords.importHash(
                try await PasswordPlace.hash(PasswordPlace.password), username: "alice", by: "test")
            #expect(try await place.signIn() == .seeOther, "an operator helps, too")
        }
    }

    @Test("a name that nobody has takes the same steps, also with a cookie, and while attempts rest or are used up")
    func theStepsAreTheSame() async throws {
        var limits = Limits()
        limits.passwords.attemptsInAll = 12
        limits.passwords.passwordBurst = 100
        limits.passwords.passwordsPerMinute = 0
        try await PasswordPlace.run(limits: limits) { place in
            try await place.signIn()
            let request = try await place.begin()
            func work(_ name: String) async throws -> HookedDatabase.Work {
                let done = place.server.assembly.passwords.load.done
                let work = try await place.server.hooks.work { () async throws in
                    _ = try await place.show("wrong", as: name, request)
                }
                #expect(place.server.assembly.passwords.load.done == done + 1, "one hash for \(name)")
                return work
            }
            let usual = try await work("nobody")
            #expect(usual.steps == [NamedStep.attemptReservation.rawValue])
            for count in 0..<20 {
                for name in ["alice", "nobody"] { #expect(try await work(name) == usual, "\(name) \(count)") }
            }
            for _ in 0..<59 { _ = try await work("somebody") }
            // Past the network's budget it is also looked for visits of the network and of the browser.
            var more = usual
            more.reads += 1
            for name in ["alice", "nobody"] { #expect(try await work(name) == more, "\(name)") }
        }
    }

    // MARK: Mailed links

    @Test("a mailed link has the account know a browser whose owner keeps the password, once, and signs nobody in")
    func aLinkLetsTheBrowserIn() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            try await place.haveRest()
            #expect(try await place.signIn() == .forbidden)
            let link = try await place.mailedLink()
            let page = try await place.browser.get("/account/reset?link=\(link)")
            #expect(try page.attribute("value", of: "keep") == "yes")
            let answer = try await place.post("/account/reset", ["link": link, "keep": "yes"])
            #expect(answer.status == .ok && place.browser.cookies["countersign_session"] == nil)
            #expect(try await place.trail().last == "browser-known")
            #expect(try await place.signIn(TestBrowser(place.client)) == .forbidden)
            #expect(try await place.signIn() == .seeOther)
            let other = TestBrowser(place.client)
            let again = try await other.post(
                "/account/reset", form: PasswordPlace.form(["link": link, "keep": "yes"]))
            #expect(again.status == .notFound && other.cookies["countersign_known"] == nil)
        }
    }

    @Test("a reset has the account know the browser, and signs nobody in")
    func aResetLetsTheBrowserIn() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            #expect(try await place.reset(try await place.mailedLink()).status == .ok)
            #expect(place.browser.cookies["countersign_session"] == nil)
            try await place.haveRest()
            #expect(try await place.signIn(password: "mine from now on") == .seeOther)
        }
    }

    @Test("a link that is over, or of a locked account, has no browser known")
    func aLinkThatIsOver() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            let link = try await place.mailedLink()
            _ = try await place.server.assembly.directory.setLocked(true, username: "alice", by: "test")
            for shown in [link, "none"] {
                let answer = try await place.post("/account/reset", ["link": shown, "keep": "yes"])
                #expect(answer.status == .notFound && place.knownCookie == nil)
            }
        }
    }

    @Test("links that are none are counted for the network, cost the writer nothing, and keep no right one out")
    func linksAreGuessedInVain() async throws {
        var limits = Limits()
        limits.passwords.passwordBurst = 3
        limits.passwords.passwordsPerMinute = 0
        try await PasswordPlace.run(limits: limits) { place in
            try await place.enter()
            let link = try await place.mailedLink()
            for number in 0..<5 {
                let work = try await place.server.hooks.work { () async throws in
                    let answer = try await place.post("/account/reset", ["link": "none", "keep": "yes"])
                    #expect(answer.status == (number < 3 ? .notFound : .tooManyRequests))
                }
                #expect(work.steps.isEmpty)
            }
            let work = try await place.server.hooks.work { () async throws in
                let answer = try await place.post("/account/reset", ["link": link, "keep": "yes"])
                #expect(answer.status == .ok)
            }
            #expect(work.steps == [NamedStep.knownBrowser.rawValue])
        }
    }

    // MARK: A network's budget

    @Test(
        "a network that has used its budget up keeps nobody out who signed in from there before; the rest still holds")
    func neighbours() async throws {
        var limits = Limits()
        limits.passwords.passwordBurst = 20
        limits.passwords.passwordsPerMinute = 0
        try await PasswordPlace.run(limits: limits) { place in
            try await place.addBob()
            try await place.signIn()
            place.browser.forgetCookies()
            let bot = TestBrowser(place.client)
            let request = try await place.begin(bot)
            for number in 0..<20 { _ = try await place.show("wrong", as: "nobody\(number)", request, bot) }
            #expect(try await place.signIn() == .seeOther, "from there before, without a cookie")
            place.browser.forgetCookies()
            for (name, password) in [
                ("bob", PasswordPlace.password), ("nobody", PasswordPlace.password), ("alice", "wrong"),
            ] {
                let answer = try await place.show(password, as: name, request, bot)
                #expect(answer.status == .tooManyRequests, "\(name)")
            }
            for _ in 0..<Limits().passwords.passwordAttempts {
                _ = try await place.show("wrong", as: "alice", request, bot)
            }
            #expect(try await place.signIn() == .tooManyRequests, "the account's attempts rest")
        }
    }

    @Test("a code beside a password is judged past the network's budget where its account signed in from there before")
    func neighboursWithCodes() async throws {
        var limits = Limits()
        limits.passwords.passwordBurst = 6
        limits.passwords.passwordsPerMinute = 0
        try await PasswordPlace.run(limits: limits) { place in
            let (totp, _) = try await place.giveSecondFactor()
            func signIn(_ request: String) async throws -> HTTPResponse.Status {
                place.server.clock.advance(by: .seconds(60))
                let code = try #require(totp.code(at: place.server.clock.timeSource.now()))
                return try await place.post("/sign-in/code", ["request": request, "code": code]).status
            }
            let first = try await place.begin()
            _ = try await place.show(PasswordPlace.password, first)
            let bot = TestBrowser(place.client)
            let request = try await place.begin(bot)
            for number in 0..<6 { _ = try await place.show("wrong", as: "nobody\(number)", request, bot) }
            #expect(try await signIn(first) == .tooManyRequests, "nobody signed in from there before")
        }
        limits.passwords.passwordBurst = 8
        try await PasswordPlace.run(limits: limits) { place in
            let (totp, _) = try await place.giveSecondFactor()
            func signIn() async throws -> HTTPResponse.Status {
                let request = try await place.begin()
                _ = try await place.show(PasswordPlace.password, request)
                // The code of before is spent.
                place.server.clock.advance(by: .seconds(60))
                let code = try #require(totp.code(at: place.server.clock.timeSource.now()))
                return try await place.post("/sign-in/code", ["request": request, "code": code]).status
            }
            #expect(try await signIn() == .seeOther)
            let bot = TestBrowser(place.client)
            let request = try await place.begin(bot)
            for number in 0..<8 { _ = try await place.show("wrong", as: "nobody\(number)", request, bot) }
            #expect(try await signIn() == .seeOther)
        }
    }
}
