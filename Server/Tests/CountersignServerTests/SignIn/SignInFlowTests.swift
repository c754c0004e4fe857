import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import FreshStores
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("Sign-in in a browser with a phone (threat model, Forwarding a link)")
struct SignInFlowTests {
    @Test func personIsSignedInByATypedCodeFromAuthorizationToUserinfo() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let party = try await server.relyingParty()
            let browser = TestBrowser(client)
            let (request, page) = try await server.signInPage(browser, party)
            #expect(page.status == .ok)
            #expect(try page.attribute("data-state", of: "state") == "waiting")
            async let events = browser.get("/sign-in/wait/events?request=\(request)")
            _ = try await phone.authenticate(try server.typedPayload(page))

            let channel = try await events
            #expect(channel.headers[.contentType] == "text/event-stream")
            #expect(channel.text.hasSuffix("event: state\ndata: {\"state\":\"approved\"}\n\n"))
            let completed = try await browser.get("/sign-in/complete?request=\(request)")
            #expect(completed.status == .seeOther)
            #expect(try #require(completed.headers[.location]).hasPrefix("http://127.0.0.1:8081/callback?"))
            #expect(completed.redirectParameters["state"] == "st-1")
            #expect(completed.redirectParameters["iss"] == "http://localhost:8080")

            let tokens = try await party.exchange(try #require(completed.redirectParameters["code"]), client)
            #expect(tokens.response.status == .ok)
            let access = try tokens.object.requiredString("access_token")
            let claims = try await client.send(
                .get, "/oauth2/userinfo", headers: [.authorization: "Bearer \(access)"])
            #expect(claims.object["preferred_username"] == .string("alice"))
            #expect(claims.object["name"] == .string("Alice Example"))
        }
    }

    @Test("An answer is posted where the service wants it so: a page, not a redirect, with the session's cookie")
    func answerIsPosted() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let party = try await server.relyingParty()
            let browser = TestBrowser(client)
            let wish = "&response_mode=form_post"
            let (request, page) = try await server.signInPage(browser, party, wish)
            _ = try await phone.authenticate(try server.typedPayload(page))
            let completed = try await browser.get("/sign-in/complete?request=\(request)")
            #expect(completed.status == .ok && completed.headers[.location] == nil)
            #expect(completed.headers[.cacheControl] == "no-store")
            #expect(
                try #require(completed.headers[.contentSecurityPolicy]).contains(
                    "form-action 'self' http://127.0.0.1:8081;"))
            #expect(completed.text.contains("action=\"http://127.0.0.1:8081/callback\""))
            #expect(browser.cookies["countersign_session"] != nil)
            func field(_ name: String, _ page: TestResponse) throws -> String {
                let input = try Regex("name=\"\(name)\" value=\"([^\"]*)\"")
                let match = try #require(page.text.firstMatch(of: input), "no \(name)")
                return String(try #require(match.output[1].substring))
            }
            #expect(try field("state", completed) == "st-1")
            #expect(try field("iss", completed) == "http://localhost:8080")
            #expect(try await party.exchange(try field("code", completed), client).response.status == .ok)

            // By the session, an error, and what a form of our own comes to (RFC 9700, section 4.12: never 307).
            let again = try await browser.get(party.authorizeAddress(wish))
            #expect(try await party.exchange(try field("code", again), client).response.status == .ok)
            let error = try await browser.get(party.authorizeAddress(wish + "&prompt=none&max_age=0"))
            #expect(try field("error", error) == "login_required")
            let asked = try await browser.get(party.authorizeAddress(wish + "&prompt=login"))
            let cancelled = try await browser.post(
                "/sign-in/cancel", form: "request=\(try #require(asked.redirectParameters["request"]))")
            #expect(cancelled.status == .ok && cancelled.headers[.location] == nil)
            #expect(try field("error", cancelled) == "access_denied")
            let posted = try await browser.post(
                "/oauth2/authorize", form: String(party.authorizeAddress(wish).dropFirst("/oauth2/authorize?".count)))
            #expect(posted.status == .ok)
            #expect(try await party.exchange(try field("code", posted), client).response.status == .ok)
        }
    }

    @Test("Whoever has no account is told on the sign-in page how one gets one; a name that is hinted at is not shown")
    func newcomer() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            for (wish, isTold) in [("&prompt=create", true), ("&prompt=login&login_hint=alice-or-nobody", false)] {
                let (_, page) = try await server.signInPage(TestBrowser(client), party, wish)
                #expect(page.status == .ok)
                #expect(page.text.contains("data-testid=\"enrolment\"") == isTold)
                #expect(!page.text.contains("alice-or-nobody"))
            }
        }
    }

    @Test func phoneSeesWhoAsksAndFromWhere() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let (_, page) = try await server.signInPage(TestBrowser(client), try await server.relyingParty())
            _ = try await phone.authenticate(try server.typedPayload(page))
            let requester = try #require(phone.person.asked.compactMap(\.requester).first)
            #expect(requester.service == "Demo Bank")
            #expect(requester.origin == "http://127.0.0.1:8081")
            #expect(requester.browser == "Chrome on Linux")
        }
    }

    @Test func linkSignsInOnlyTheBrowserThatStarted() async throws {
        let server = try await ServerFixture()
        try await server.withSignIn { phone, browser, request, page in
            let link = try page.attribute("href", of: "same-device-link")
            let result = try await phone.authenticate(try OutOfBandPayload(link: link))
            let location = try #require(result.location?.absoluteString)
            #expect(location.hasPrefix("http://localhost:8080/sign-in/continue?code="))

            let waiting = try await browser.get("/sign-in/wait?request=\(request)")
            #expect(try waiting.attribute("data-state", of: "state") == "approved-on-device")
            let continued = try await browser.get(location)
            // The service goes along, as in the addresses of the other pages.
            let here = try page.attribute("href", of: "new-code")
            #expect(here.hasPrefix("/sign-in/wait?request=\(request)&client="))
            #expect(continued.headers[.location] == "/sign-in/complete" + here.dropFirst("/sign-in/wait".count))
            let completed = try await browser.get(try #require(continued.headers[.location]))
            #expect(completed.redirectParameters["code"] != nil)
        }
    }

    @Test func tabThatWaitedSaysThatAnotherTabHasFinished() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let browser = TestBrowser(client)
            let (request, page) = try await server.signInPage(browser, try await server.relyingParty())
            let link = try page.attribute("href", of: "same-device-link")
            let result = try await phone.authenticate(try OutOfBandPayload(link: link))
            let location = try #require(result.location?.absoluteString)
            async let events = browser.get("/sign-in/wait/events?request=\(request)")
            let continued = try await browser.get(location)
            // The tab that has waited looks once more before the other one has finished: it takes nothing away.
            let waiting = try await browser.get("/sign-in/wait?request=\(request)")
            #expect(try waiting.attribute("data-state", of: "state") == "approved-on-device")
            let completed = try await browser.get(try #require(continued.headers[.location]))
            #expect(completed.redirectParameters["code"] != nil)
            #expect(try await events.text.hasSuffix("event: state\ndata: {\"state\":\"completed\"}\n\n"))

            for path in ["", "/wait", "/complete"] {
                let answer = try await browser.get("/sign-in\(path)?request=\(request)")
                #expect(answer.status == .ok)
                #expect(try answer.attribute("data-state", of: "state") == "completed")
                #expect(answer.headers[.location] == nil)
                #expect(try await TestBrowser(client).get("/sign-in\(path)?request=\(request)").status == .notFound)
            }
            let again = try await browser.get("/sign-in/wait/events?request=\(request)")
            #expect(again.text.hasSuffix("data: {\"state\":\"completed\"}\n\n"), "a channel that is opened late")
        }
    }

    @Test func forwardedCodeInALinkSignsNobodyIn() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let attacker = TestBrowser(client)
            let (request, page) = try await server.signInPage(attacker, try await server.relyingParty())
            // The attacker makes a link of a code that may cross devices.
            let link = try server.typedPayload(page).link(base: "http://localhost:8080")
            await #expect(throws: OperationError(.codeCameByLink)) {
                _ = try await phone.authenticate(try OutOfBandPayload(link: link))
            }
            #expect(phone.person.asked.allSatisfy { $0.requester == nil }, "nobody is asked")

            let waiting = try await attacker.get("/sign-in/wait?request=\(request)")
            #expect(try waiting.attribute("data-state", of: "state") == "failed")
            await #expect(throws: OperationError(.tokenAlreadyRedeemed)) {
                _ = try await phone.authenticate(try server.typedPayload(page))
            }
            let completed = try await attacker.get("/sign-in/complete?request=\(request)")
            #expect(completed.headers[.location] == nil)
        }
    }

    @Test func forwardedLinkSignsNobodyIn() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let attacker = TestBrowser(client)
            let party = try await server.relyingParty()
            let (request, page) = try await server.signInPage(attacker, party)
            let link = try page.attribute("href", of: "same-device-link")
            // The victim opens the attacker's link on the own phone, which then opens the own browser.
            let result = try await phone.authenticate(try OutOfBandPayload(link: link))
            let location = try #require(result.location?.absoluteString)
            let victim = TestBrowser(client)
            _ = try await server.signInPage(victim, party)
            async let channel = attacker.get("/sign-in/wait/events?request=\(request)")
            for _ in 0..<3 {
                let continued = try await victim.get(location)
                #expect(continued.status == .forbidden)
                #expect(continued.text.contains("Go on in"))
                // The attacker's browser has waited, and waits on.
                let completed = try await attacker.get("/sign-in/complete?request=\(request)")
                #expect(completed.status == .notFound)
                #expect(completed.headers[.location] == nil)
                let state = try await attacker.get("/sign-in/wait?request=\(request)")
                #expect(try state.attribute("data-state", of: "state") == "approved-on-device")
            }
            server.clock.advance(by: server.assembly.configuration.limits.continuationLifetime)
            _ = try await server.assembly.ceremonies.sweep.run()
            let words = try await channel.text
            #expect(words.contains("approved-on-device") && words.hasSuffix("data: {\"state\":\"expired\"}\n\n"))
            #expect(!words.contains("\"approved\"") && !words.contains("completed"))
            #expect(try await attacker.get(location).status == .notFound)
            #expect(try await attacker.get("/sign-in/complete?request=\(request)").headers[.location] == nil)
            #expect(attacker.cookies["countersign_session"] == nil)
        }
    }

    @Test("A visit of another browser spends nothing: the browser that began still goes on, once")
    func visitSpendsNothing() async throws {
        let server = try await ServerFixture()
        try await server.withSignIn { phone, browser, request, page in
            let link = try page.attribute("href", of: "same-device-link")
            let result = try await phone.authenticate(try OutOfBandPayload(link: link))
            let location = try #require(result.location?.absoluteString)
            #expect(try await TestBrowser(browser.client).get(location).status == .forbidden)
            let continued = try await browser.get(location)
            let completed = try await browser.get(try #require(continued.headers[.location]))
            #expect(completed.redirectParameters["code"] != nil)
            #expect(try await browser.get(location).status == .notFound)
        }
    }

    @Test("Tabs that wait go on by the session of the one that has signed in, and wait on where it is not enough")
    func otherTabs() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let (browser, party) = (TestBrowser(client), try await server.relyingParty())
            let (waiting, _) = try await server.signInPage(browser, party)
            let (plain, _) = try await server.signInPage(browser, party)
            let (fresh, _) = try await server.signInPage(browser, party, "&prompt=login")
            let (request, page) = try await server.signInPage(browser, party)
            _ = try await phone.authenticate(try server.typedPayload(page))
            #expect(try await browser.get("/sign-in/complete?request=\(request)").redirectParameters["code"] != nil)

            // With script: the channel is opened anew and says where to go. To ask ends nothing.
            for _ in 0..<2 {
                let channel = try await browser.get("/sign-in/wait/events?request=\(waiting)")
                #expect(channel.headers[.contentType] == "text/event-stream")
                #expect(channel.text == "event: state\ndata: {\"state\":\"approved\"}\n\n")
                let asked = try await browser.get("/sign-in/wait?request=\(waiting)")
                #expect(asked.status == .seeOther)
                #expect(asked.headers[.location]?.hasPrefix("/sign-in/complete?request=\(waiting)") == true)
            }
            #expect(try await TestBrowser(client).get("/sign-in/complete?request=\(waiting)").status == .notFound)
            let completed = try await browser.get("/sign-in/complete?request=\(waiting)")
            #expect(completed.redirectParameters["code"] != nil && completed.redirectParameters["state"] == "st-1")
            // Without script, or loaded anew.
            let loaded = try await browser.get("/sign-in?request=\(plain)")
            #expect(loaded.redirectParameters["code"] != nil)
            let trail = try await server.database.auditEntries(after: 0, limit: 100).map(\.event.kind.rawValue)
            #expect(trail.count { $0 == "signed-in-by-session" } == 2)

            let still = try await browser.get("/sign-in/wait?request=\(fresh)")
            #expect(still.status == .ok)
            #expect(try still.attribute("data-state", of: "state") == "waiting")
        }
    }

    @Test("A page's channel says in words that it is still there, which scripts hear", .timeLimit(.minutes(10)))
    func heartbeat() async throws {
        var limits = Limits()
        limits.heartbeat = .seconds(1)
        let server = try await ServerFixture(limits: limits)
        try await server.withSignIn { phone, browser, request, page in
            #expect(page.text.contains(" data-heartbeat=\"1\""))
            async let channel = browser.get("/sign-in/wait/events?request=\(request)")
            // Of the real clock: a heartbeat comes after a second of silence.
            let began = ContinuousClock.now
            while ContinuousClock.now - began < .seconds(3) { await Task.yield() }
            _ = try await phone.authenticate(try server.typedPayload(page))
            #expect(try await channel.text.contains("event: heartbeat\ndata: {}\n\n"))
        }
    }

    @Test("Another browser sees and takes nothing", arguments: ["", "/wait", "/wait/events", "/complete"])
    func anotherBrowserTakesNothing(path: String) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let party = try await server.relyingParty()
            let browser = TestBrowser(client)
            let (request, page) = try await server.signInPage(browser, party)
            _ = try await phone.authenticate(try server.typedPayload(page))
            let stranger = TestBrowser(client)
            #expect(try await stranger.get("/sign-in\(path)?request=\(request)").status == .notFound)
            _ = try await server.signInPage(stranger, party)
            let answer = try await stranger.get("/sign-in\(path)?request=\(request)")
            #expect(answer.status == .notFound)
            #expect(answer.headers[.location] == nil)
            #expect(!answer.text.contains("Demo Bank"))
            #expect(try await browser.get("/sign-in/complete?request=\(request)").status == .seeOther)
        }
    }

    @Test func outcomeIsTakenOnce() async throws {
        let server = try await ServerFixture()
        try await server.withSignIn { phone, browser, request, page in
            _ = try await phone.authenticate(try server.typedPayload(page))
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<20 {
                    group.addTask { try await browser.get("/sign-in/complete?request=\(request)").status.code }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.count { $0 == 303 } == 1)
            #expect(statuses.count { $0 == 200 } == 19, "a page that says so, and no code")
        }
    }

    @Test("What the store could not keep is kept by loading the page again", arguments: ["/complete", ""])
    func completionThatFailedCanBeDoneAgain(path: String) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let browser = TestBrowser(client)
            let party = try await server.relyingParty()
            let (request, page) = try await server.signInPage(browser, party)
            _ = try await phone.authenticate(try server.typedPayload(page))
            server.hooks.failNext(.completion, with: StoreError(.unavailable, "a full disk"))
            let failed = try await browser.get("/sign-in/complete?request=\(request)")
            #expect(failed.status == .serviceUnavailable)
            #expect(failed.text.contains("Nothing is lost."))
            #expect(failed.headers[.setCookie] == nil)

            // The approval would be too old by now for a first completion.
            server.clock.advance(by: Limits().outcomeLifetime)
            var again = try await browser.get("/sign-in\(path)?request=\(request)")
            if path.isEmpty {
                #expect(again.headers[.location] == "/sign-in/complete?request=\(request)")
                again = try await browser.get(try #require(again.headers[.location]))
            }
            #expect(again.status == .seeOther)
            let code = try #require(again.redirectParameters["code"])
            #expect(try await party.exchange(code, client).response.status == .ok)
            let third = try await browser.get("/sign-in/complete?request=\(request)")
            #expect(try third.attribute("data-state", of: "state") == "completed")
            let account = try await server.assembly.directory.account(username: "alice")
            let notices = try await server.database.notices(accountID: account.id, limit: 9)
            #expect(notices.count { $0.kind == .signedIn } == 1)
        }
    }

    @Test func deviceThatWentBeforeTheEndOfASignInIsToldToTheService() async throws {
        let server = try await ServerFixture()
        try await server.withSignIn { phone, browser, request, page in
            _ = try await phone.authenticate(try server.typedPayload(page))
            server.hooks.failNext(.completion, with: StoreError(.notFound, "the device is gone"))
            let answer = try await browser.get("/sign-in/complete?request=\(request)")
            #expect(answer.status == .seeOther)
            #expect(answer.redirectParameters["error"] == "access_denied")
            let again = try await browser.get("/sign-in/complete?request=\(request)")
            #expect(again.redirectParameters["code"] == nil)
        }
    }

    @Test(.timeLimit(.minutes(10))) func pageThatWaitsForAnotherTabDoesNotReadWithoutEnd() async throws {
        let server = try await ServerFixture()
        try await server.withSignIn { phone, browser, request, page in
            let link = try page.attribute("href", of: "same-device-link")
            let result = try await phone.authenticate(try OutOfBandPayload(link: link))
            server.clock.advance(by: Limits().continuationLifetime - .seconds(1))
            _ = try await browser.get(try #require(result.location?.absoluteString))
            // The phase before is over, the success is not yet.
            server.clock.advance(by: Limits().outcomeLifetime - .seconds(1))
            let secret = try #require(browser.cookies["countersign_browser"])
            let events = try await server.assembly.ceremonies.signIns.events(reference: request, browser: secret)
            let before = server.hooks.work.reads
            let watcher = Task {
                var states: [SignInState] = []
                for try await state in events { states.append(state) }
                return states
            }
            // The watcher would make about as many readings meanwhile, were it not to wait.
            let own = 1_000
            for _ in 0..<own { _ = try await server.database.notices(accountID: "none", limit: 1) }
            #expect((0...2).contains(server.hooks.work.reads - before - own))
            _ = try await browser.get("/sign-in/complete?request=\(request)")
            #expect(try await watcher.value.last == .completed)
        }
    }

    @Test(.timeLimit(.minutes(10))) func successThatNobodyTakesUpIsToldToBeOver() async throws {
        let server = try await ServerFixture()
        try await server.withSignIn { phone, browser, request, page in
            let link = try page.attribute("href", of: "same-device-link")
            let result = try await phone.authenticate(try OutOfBandPayload(link: link))
            _ = try await browser.get(try #require(result.location?.absoluteString))
            let secret = try #require(browser.cookies["countersign_browser"])
            var events = try await server.assembly.ceremonies.signIns.events(reference: request, browser: secret)
                .makeAsyncIterator()
            #expect(try await events.next() == .approvedOnDevice)
            server.clock.advance(by: Limits().outcomeLifetime)
            #expect(try await events.next() == .expired)
            #expect(try await events.next() == nil)
        }
    }

    @Test func refusalOnThePhoneIsShownAndCanBeTriedAgain() async throws {
        let server = try await ServerFixture()
        try await server.withSignIn { phone, browser, request, page in
            phone.person.script.reactions[.pin] = .cancels
            phone.person.script.reactions[.authenticator] = .cancels
            await #expect(throws: OperationError.self) {
                try await phone.authenticate(try server.typedPayload(page))
            }
            let denied = try await browser.get("/sign-in/wait?request=\(request)")
            #expect(try denied.attribute("data-state", of: "state") == "denied")
            #expect(try await browser.get("/sign-in/complete?request=\(request)").status == .notFound)

            phone.person.script.reactions = [:]
            let again = try await browser.get(try denied.attribute("href", of: "retry"))
            #expect(try again.attribute("data-state", of: "state") == "waiting")
            _ = try await phone.authenticate(try server.typedPayload(again))
            #expect(try await browser.get("/sign-in/complete?request=\(request)").status == .seeOther)
        }
    }

    @Test func codesAreRenewedByThePageAndTheOldOnesAreDead() async throws {
        let server = try await ServerFixture()
        try await server.withSignIn { phone, browser, request, page in
            #expect(try page.words(of: "expires") == "This code works for 60 seconds.")
            server.clock.advance(by: .seconds(61))
            let renewed = try await browser.get("/sign-in/wait?request=\(request)")
            #expect(try renewed.attribute("data-state", of: "state") == "waiting")
            #expect(try renewed.words(of: "typed-code") != page.words(of: "typed-code"))
            await #expect(throws: OperationError.self) {
                try await phone.authenticate(try server.typedPayload(page))
            }
            _ = try await phone.authenticate(try server.typedPayload(renewed))
            #expect(try await browser.get("/sign-in/complete?request=\(request)").status == .seeOther)
        }
    }

    @Test func pageWithoutScriptLeadsOnAfterApproval() async throws {
        let server = try await ServerFixture()
        try await server.withSignIn { phone, browser, request, page in
            #expect(page.text.contains("<form method=\"get\" action=\"/sign-in/wait\">"))
            #expect(
                try #require(page.headers[.contentSecurityPolicy]).contains("form-action 'self' http://127.0.0.1:8081;")
            )
            _ = try await phone.authenticate(try server.typedPayload(page))
            let waited = try await browser.get("/sign-in/wait?request=\(request)")
            #expect(waited.status == .seeOther)
            #expect(waited.headers[.location] == "/sign-in/complete?request=\(request)")
        }
    }

    @Test func cancellingTellsTheServiceAndEndsTheCodes() async throws {
        let server = try await ServerFixture()
        try await server.withSignIn { phone, browser, request, page in
            let cancelled = try await browser.post("/sign-in/cancel", form: "request=\(request)")
            #expect(cancelled.status == .seeOther)
            #expect(cancelled.redirectParameters["error"] == "access_denied")
            #expect(cancelled.redirectParameters["state"] == "st-1")
            await #expect(throws: OperationError.self) {
                try await phone.authenticate(try server.typedPayload(page))
            }
            #expect(try await browser.get("/sign-in?request=\(request)").status == .notFound)
        }
    }

    @Test func requestOfAnEndedTimeIsGone() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let browser = TestBrowser(client)
            let (request, _) = try await server.signInPage(browser, try await server.relyingParty())
            server.clock.advance(by: Limits().authorizationRequestLifetime + .seconds(1))
            let page = try await browser.get("/sign-in/wait?request=\(request)")
            #expect(page.status == .notFound)
            #expect(page.text.contains("data-testid=\"error\""))
        }
    }

    @Test(
        "An address without its parameter is a page that says so",
        arguments: [
            "/sign-in", "/sign-in?request=", "/sign-in?request=a&request=b", "/sign-in?request=%FF",
            "/sign-in/wait?x=1",
            "/sign-in/complete", "/sign-in/continue", "/sign-in/continue?code=%00%",
        ])
    func addressWithoutParameterIsRefused(address: String) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let answer = try await TestBrowser(client).get(address)
            #expect(answer.status == .badRequest)
            #expect(answer.headers[.contentType] == "text/html; charset=utf-8")
            #expect(answer.text.contains("data-testid=\"error\""))
        }
    }

    @Test func unknownContinuationIsAPage() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let answer = try await TestBrowser(client).get("/sign-in/continue?code=unknown")
            #expect(answer.status == .notFound)
            #expect(answer.text.contains("data-testid=\"error\""))
        }
    }

    @Test func errorPageRepeatsNothingOfTheAddress() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let answer = try await TestBrowser(client).get("/sign-in?request=%3Cscript%3Emarker")
            #expect(answer.status == .notFound)
            #expect(!answer.text.contains("marker"))
        }
    }
}
