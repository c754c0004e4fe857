import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Passwords
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

@Suite(
    "A change that gives a way into an account is confirmed on the account's phone (threat model: a relayed sign-in)")
struct AccountChangeTests {
    // MARK: A personalised identity

    /// A person with a personalised identity who was talked into approving the sign-in of a stranger's browser.
    private static func relayed(_ test: @escaping @Sendable (TerminalPhoneFixture, TestBrowser) async throws -> Void)
        async throws
    {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            try await test(fixture, try await fixture.signedIn())
        }
    }

    private static func offers(_ fixture: TerminalPhoneFixture) async throws -> Int {
        try await fixture.server.assembly.ceremonies.identities.listings.offers(
            accountID: try await fixture.server.accountID()
        ).count
    }

    @Test("whoever has a relayed session gets no device by it, however fresh: the phone names the device, and says no")
    func relayedDevice() async throws {
        try await Self.relayed { fixture, stranger async throws in
            let question = try await stranger.get("/account/activation")
            #expect(question.status == .ok && question.text.contains("Confirm on your phone"))
            #expect(!question.text.contains("name=\"pin\""))
            let form = ["pin": "604817", "pin-again": "604817"]
            let confirmation = try TerminalPhoneFixture.confirmation(of: question)
            for change in [nil, "", "AAAAAAAAAAAAAAAAAAAAAA"] {
                var fields = form.merging(["confirmation": confirmation]) { $1 }
                fields["change"] = change
                #expect(try await fixture.post("/account/activation", fields, stranger).asksForPhone)
            }
            let asked = try await fixture.post("/account/activation", ["confirmation": confirmation], stranger)
            let waiting = try #require(asked.headers[.location])
            let reference = String(try #require(waiting.split(separator: "=").last))
            let page = try await stranger.get(waiting)
            #expect(page.text.contains("set up another device. Whoever has its code and its PIN is you."))
            // The question is no message on the phone: whoever does not read the code sees nothing of it.
            #expect(
                try await fixture.server.database.waitingOperations(
                    accountID: try await fixture.server.accountID(), deviceID: "any", at: fixture.server.clock.now(),
                    limit: 9
                ).isEmpty)
            let before = try await stranger.get("/account/change/complete?request=\(reference)")
            #expect(before.headers[.location] == waiting)
            let denied = try await fixture.scan(
                try TerminalPhoneFixture.code(on: page), answers: ["--deny"], lines: [])
            #expect(denied.refusal != nil)
            let end = try await stranger.get(waiting)
            #expect(end.text.contains("Nothing was changed.") && end.text.contains("somebody else is signed in as you"))
            let late = form.merging(["confirmation": confirmation, "change": reference]) { $1 }
            #expect(try await fixture.post("/account/activation", late, stranger).asksForPhone)
            #expect(try await Self.offers(fixture) == 0)
        }
    }

    @Test("the person's own phone confirms a device once; the trail has the change, and no other account's phone can")
    func ownDevice() async throws {
        try await Self.relayed { fixture, browser async throws in
            let confirmation = try TerminalPhoneFixture.confirmation(of: try await browser.get("/account/activation"))
            let asked = try await fixture.post("/account/activation", ["confirmation": confirmation], browser)
            // Bob's phone reads the code.
            _ = try await fixture.bobSignedIn()
            let code = try TerminalPhoneFixture.code(on: try await browser.get(try #require(asked.headers[.location])))
            #expect(try await fixture.scan(code, lines: ["258036"], named: "-bob").refusal != nil)
            #expect(try await Self.offers(fixture) == 0)

            let page = try await fixture.confirm(asked, in: browser)
            let change = try #require(page.field("change"))
            func post(_ pin: String, _ again: String? = nil, in browser: TestBrowser) async throws -> TestResponse {
                try await fixture.post(
                    "/account/activation",
                    ["confirmation": confirmation, "change": change, "pin": pin, "pin-again": again ?? pin], browser)
            }
            // A PIN that cannot be spends nothing.
            #expect(try await post("604817", "604818", in: browser).status == .unprocessableContent)
            #expect(try await post("1234", in: browser).status == .unprocessableContent)
            #expect(try await post("77777", in: browser).status == .unprocessableContent)
            #expect(try await post("604817", in: browser).text.contains("data-testid=\"typed-code\""))
            #expect(try await post("604817", in: browser).asksForPhone, "once")
            #expect(try await Self.offers(fixture) == 1)
            let entries = try await fixture.server.auditEvents(.init(rawValue: "change-confirmed"))
            #expect(entries.count == 1 && entries[0].detail?.hasPrefix("device methods=") == true)
            #expect(entries[0].accountID == (try await fixture.server.accountID()))
        }
    }

    @Test("a confirmation is good for ten minutes, for the very value, in the browser and the session that asked")
    func bounds() async throws {
        try await Self.relayed { fixture, browser async throws in
            let path = "/account/value/email"
            let confirmation = try TerminalPhoneFixture.confirmation(of: try await browser.get(path))
            func ask(_ address: String) async throws -> String {
                let asked = try await fixture.post(path, ["confirmation": confirmation, "email": address], browser)
                let page = try await fixture.confirm(asked, in: browser)
                #expect(page.field("change") != nil && page.text.contains("value=\"\(address)\""))
                return try #require(page.field("change"))
            }
            func add(_ address: String, _ change: String) async throws -> TestResponse {
                try await fixture.post(
                    path, ["confirmation": confirmation, "email": address, "change": change], browser)
            }
            let change = try await ask("a@one.example")
            #expect(try await add("a@two.example", change).asksForPhone)
            #expect(try await browser.get("/account/activation?change=\(change)").field("change") == nil)
            let other = try await fixture.bobSignedIn()
            #expect(try await other.get("\(path)?change=\(change)").field("change") == nil)
            #expect(try await other.get("/account/change/wait?request=\(change)").status == .notFound)
            #expect(try await other.get("/account/change/complete?request=\(change)").status == .notFound)
            #expect(try await other.get("/account/change/again?request=\(change)").status == .notFound)
            #expect(
                try await other.post("/account/change/cancel", form: "request=\(change)").status == .notFound)
            #expect(try await add("a@one.example", change).text.contains("Look into your mailbox"))
            #expect(try await add("a@one.example", change).asksForPhone)

            let late = try await ask("a@three.example")
            fixture.server.clock.advance(by: Limits().freshSignIn)
            #expect(try await add("a@three.example", late).asksForPhone)
            let emails = try await fixture.server.database.additionalEmails(
                accountID: try await fixture.server.accountID())
            #expect(emails.map(\.address) == ["a@one.example"])
        }
    }

    @Test("a sign-in that was approved confirms no change, and a confirmed change signs nobody in")
    func otherCeremonies() async throws {
        try await Self.relayed { fixture, browser async throws in
            let confirmation = try TerminalPhoneFixture.confirmation(of: try await browser.get("/account/activation"))
            let (request, outcome) = try await fixture.signIn(lines: ["258036"], in: browser, "&prompt=login")
            #expect(outcome.refusal == nil)
            let fields = ["confirmation": confirmation, "change": request, "pin": "604817", "pin-again": "604817"]
            #expect(try await fixture.post("/account/activation", fields, browser).asksForPhone)
            let asked = try await fixture.post("/account/activation", ["confirmation": confirmation], browser)
            let change = try #require(try await fixture.confirm(asked, in: browser).field("change"))
            for path in ["/sign-in/complete", "/sign-in/wait", "/sign-in"] {
                let page = try await browser.get("\(path)?request=\(change)")
                #expect(page.status == .notFound && page.headers[.location] == nil, "\(path)")
            }
        }
    }

    @Test("the only device, and one of two, are ended once a phone has confirmed; one of three after a fresh sign-in")
    func endOfDevices() async throws {
        try await Self.relayed { fixture, browser async throws in
            let listings = fixture.server.assembly.ceremonies.identities.listings
            let account = try await fixture.server.accountID()
            for name in ["-second", "-third"] {
                #expect(try await fixture.enroll(named: name).refusal == nil)
            }
            func end(_ id: String) async throws -> TestResponse {
                let path = "/account/activation/end"
                let page = try await browser.get("\(path)?activation=\(id)")
                guard page.status == .ok else { return page }
                return try await fixture.post(
                    path, ["activation": id, "confirmation": try TerminalPhoneFixture.confirmation(of: page)], browser)
            }
            let ids = try await listings.activations(accountID: account).map(\.id)
            fixture.server.clock.advance(by: Limits().freshSignIn)
            #expect(try await end(ids[2]).status == .forbidden)
            let again = try await fixture.signIn(lines: ["258036"], in: browser, "&prompt=login")
            _ = try await browser.get("/sign-in/complete?request=\(again.request)")
            #expect(try await end(ids[2]).text.contains("It has ended"))
            let asked = try await end(ids[1])
            #expect(asked.asksForPhone)
            #expect(try await listings.activations(accountID: account).count == 2)
            let page = try await fixture.confirm(asked, in: browser)
            let done = try await browser.post("/account/activation/end", form: page.hiddenFields)
            #expect(done.text.contains("It has ended"))
            #expect(try await end(ids[0]).asksForPhone)
            #expect(try await listings.activations(accountID: account).count == 1)
        }
    }

    // MARK: A phone with keys

    @Test("an account with a phone confirms a new password there, beside the present one: the key signs the text")
    func password() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty(signInMethods: ["phone", "password"])
            let phone = try await server.enrolledPhone(client)
            try await PasswordDirectory(server.assembly.passwords).importHash(
                try await PasswordPlace.hash(PasswordPlace.password), username: "alice", by: "test")
            let browser = TestBrowser(client)
            let authorize = try await browser.get(party.authorizeAddress())
            let request = try #require(authorize.redirectParameters["request"])
            let page = try await browser.get("/sign-in?request=\(request)&by=phone")
            _ = try await phone.authenticate(try server.typedPayload(page))
            _ = try await browser.get("/sign-in/complete?request=\(request)")
            phone.person.forget()

            let question = try await browser.get("/account/password")
            #expect(question.text.contains("Confirm on your phone") && !question.text.contains("new-password"))
            let confirmation = try #require(question.field("confirmation"))
            let new = "a wholly other sentence"
            var fields = [
                "confirmation": confirmation, "password": PasswordPlace.password, "new-password": new,
            ]
            let unasked = try await browser.post("/account/password", form: PasswordPlace.form(fields))
            #expect(unasked.asksForPhone)
            let asked = try await browser.post("/account/password", form: question.hiddenFields)
            let waiting = try #require(asked.headers[.location])
            _ = try await phone.authenticate(try server.typedPayload(try await browser.get(waiting)))
            let shown = phone.person.asked.compactMap(\.transaction).map { String(decoding: $0, as: UTF8.self) }
            #expect(shown == [AccountChange.password.text])
            let form = try await browser.changePage(after: waiting)
            let change: String = try #require(form.field("change"))
            fields["change"] = change
            fields["password"] = "wrong"
            #expect(try await browser.post("/account/password", form: PasswordPlace.form(fields)).status == .forbidden)
            fields["password"] = PasswordPlace.password
            let done = try await browser.post("/account/password", form: PasswordPlace.form(fields))
            #expect(done.text.contains("You have a new password"))
        }
    }

    @Test("a link for the same device leads back to the change, in the browser that asked")
    func sameDevice() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let party = try await server.relyingParty(signInMethods: ["phone"])
            try await PasswordDirectory(server.assembly.passwords).importHash(
                try await PasswordPlace.hash(PasswordPlace.password), username: "alice", by: "test")
            let browser = TestBrowser(client)
            let (request, signIn) = try await server.signInPage(browser, party)
            _ = try await phone.authenticate(try server.typedPayload(signIn))
            _ = try await browser.get("/sign-in/complete?request=\(request)")
            let question = try await browser.get("/account/recovery-codes")
            #expect(question.text.contains("Confirm on your phone"))
            let asked = try await browser.post("/account/recovery-codes", form: question.hiddenFields)
            let waiting = try await browser.get(try #require(asked.headers[.location]))
            let result = try await phone.authenticate(
                try OutOfBandPayload(link: try waiting.attribute("href", of: "same-device-link")))
            let location = try #require(result.location?.absoluteString)
            let continued = try await browser.get(location)
            let complete = try await browser.get(try #require(continued.headers[.location]))
            let change = try #require(complete.redirectParameters["change"])
            #expect(complete.headers[.location] == "/account/recovery-codes?change=\(change)")
            #expect(try await browser.get("/account/recovery-codes?change=\(change)").field("change") == change)

            // The same link in another browser makes nothing, and the browser that asked goes on by the link once.
            let second = try await browser.post("/account/recovery-codes", form: question.hiddenFields)
            let page = try await browser.get(try #require(second.headers[.location]))
            let forwarded = try await phone.authenticate(
                try OutOfBandPayload(link: try page.attribute("href", of: "same-device-link")))
            let stranger = TestBrowser(client)
            let elsewhere = try await stranger.get(try #require(forwarded.location?.absoluteString))
            #expect(elsewhere.status == .forbidden)
            let waits = try await browser.get(try #require(second.headers[.location]))
            #expect(waits.text.contains("Confirmed in the app") && waits.headers[.location] == nil)
            let own = try await browser.get(try #require(forwarded.location?.absoluteString))
            let made = try await browser.get(try #require(own.headers[.location]))
            #expect(made.redirectParameters["change"] != nil)
            let again = try await browser.get(try #require(forwarded.location?.absoluteString))
            #expect(again.status != .seeOther)
        }
    }

    // MARK: No phone

    @Test("without a phone the password confirms, with a code where there is a second factor; wrong ones count")
    func byPassword() async throws {
        try await PasswordPlace.run { place in
            let answer = try await place.show(PasswordPlace.password, try await place.begin())
            _ = try await place.claims(after: answer)
            let form = try await place.browser.get("/account/value/phone")
            let confirmation = try #require(form.field("confirmation"))
            var fields = ["confirmation": confirmation, "phone": "+49301234567"]
            let asked = try await place.post("/account/value/phone", fields)
            let reference = String(try #require(asked.headers[.location]?.split(separator: "=").last))
            let led = try await place.browser.get("/account/change/wait?request=\(reference)")
            #expect(led.headers[.location] == "/account/change/password?request=\(reference)")
            let page = try await place.browser.get("/account/change/password?request=\(reference)")
            #expect(page.text.contains("add the phone number \u{201C}+49301234567\u{201D}"))
            let sign = try #require(page.field("confirmation"))
            func show(_ password: String, _ browser: TestBrowser, _ sign: String) async throws -> TestResponse {
                try await browser.post(
                    "/account/change/password",
                    form: PasswordPlace.form(["request": reference, "confirmation": sign, "password": password]))
            }
            #expect(try await show(PasswordPlace.password, place.browser, "forged").status == .badRequest)
            #expect(
                try await show(PasswordPlace.password, TestBrowser(place.client), sign).status == .notFound)
            #expect(try await show("wrong", place.browser, sign).status == .forbidden)
            fields["change"] = reference
            #expect(try await place.post("/account/value/phone", fields).asksForPhone)
            let right = try await show(PasswordPlace.password, place.browser, sign)
            #expect(right.headers[.location] == "/account/change/complete?request=\(reference)")
            #expect(try await place.post("/account/value/phone", fields).text.contains("Services can ask for it"))
            #expect(try await place.post("/account/value/phone", fields).asksForPhone)
        }
    }

    @Test("the password confirms nothing for an account that has a phone")
    func passwordBesidePhone() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            try await PasswordDirectory(fixture.server.assembly.passwords).importHash(
                try await PasswordPlace.hash(PasswordPlace.password), username: "alice", by: "test")
            let browser = try await fixture.signedIn()
            let page = try await browser.get("/account/activation")
            let asked = try await browser.post("/account/activation", form: page.hiddenFields)
            let reference = String(try #require(asked.headers[.location]?.split(separator: "=").last))
            let form = try await browser.get("/account/change/password?request=\(reference)")
            #expect(form.headers[.location] == "/account/change/wait?request=\(reference)")
            let shown = try await browser.post(
                "/account/change/password",
                form: PasswordPlace.form([
                    "request": reference, "password": PasswordPlace.password,
                    "confirmation": try TerminalPhoneFixture.confirmation(of: page),
                ]))
            #expect(shown.status == .forbidden)
            let complete = try await browser.get("/account/change/complete?request=\(reference)")
            #expect(complete.headers[.location] == "/account/change/wait?request=\(reference)")
        }
    }
}
