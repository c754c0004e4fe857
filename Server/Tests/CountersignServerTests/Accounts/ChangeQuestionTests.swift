import Accounts
import CeremonyEngine
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import OAuthProvider
import Passwords
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("\u{201C}This was not me\u{201D}: what a change has added rests (decision 91; threat model: a relayed sign-in)")
struct ChangeQuestionTests {
    private static let question = "/account/changes/question"

    /// A person who was talked into confirming a change as well: a stranger's device has the identity.
    private static func tricked(
        _ test: @escaping @Sendable (TerminalPhoneFixture, _ stranger: TestBrowser) async throws -> Void
    ) async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            try await fixture.server.enterAddress()
            let stranger = try await fixture.signedIn()
            fixture.server.clock.advance(by: .seconds(1))
            let page = try await fixture.makeCode(stranger)
            fixture.server.clock.advance(by: .seconds(1))
            let code = try page.words(of: "typed-code")
            #expect(try await fixture.enroll(code, pins: ["604817"], named: "-stranger").refusal == nil)
            try await test(fixture, stranger)
        }
    }

    /// The address in the letter that was mailed last.
    private static func link(_ server: ServerFixture) throws -> String {
        let link = try server.mail.link()
        #expect(link.hasPrefix("\(Self.question)?id="))
        return link
    }

    /// The identifier of the change that a letter's link is about.
    private static func change(in link: String) throws -> String {
        String(try #require(link.firstMatch(of: /[?]id=([^&]+)/)).1)
    }

    /// Sends the form of a question, and has a phone confirm the answer: the page that makes the decision.
    private static func confirmed(
        _ link: String, _ fixture: TerminalPhoneFixture, in browser: TestBrowser, pin: String = "258036",
        named name: String = ""
    ) async throws -> TestResponse {
        let page = try await browser.get(link)
        let asked = try await browser.post(Self.question, form: page.hiddenFields)
        let waiting = try #require(asked.headers[.location])
        let code = try TerminalPhoneFixture.code(on: try await browser.get(waiting))
        let outcome = try await fixture.scan(code, lines: [pin], named: name)
        #expect(outcome.refusal == nil, "\(outcome.lines)")
        return try await browser.changePage(after: waiting)
    }

    private static func disabled(_ fixture: TerminalPhoneFixture) async throws -> [Bool] {
        try await fixture.server.database.activations(accountID: try await fixture.server.accountID())
            .sorted { $0.device.createdAt < $1.device.createdAt }.map(\.lockout.isPermanent)
    }

    @Test("a letter tells of the change; its link opens the question, and the older phone lets the device rest")
    func device() async throws {
        try await Self.tricked { fixture, stranger async throws in
            let server = fixture.server
            #expect(try await server.sendMail() == [.delivered])
            #expect(server.mail.text.contains("was changed") && server.mail.text.contains("another device"))
            let link = try Self.link(server)
            let browser = TestBrowser(fixture.client)
            // Programs that look after mailboxes open links: nothing happens by that.
            for _ in 0..<3 { #expect(try await browser.get(link).text.contains("This was not me")) }
            let page = try await Self.confirmed(link, fixture, in: browser)
            #expect(page.text.contains("Let it rest, and sign out everywhere"))
            #expect(try await Self.disabled(fixture) == [false, false])
            let done = try await browser.post(Self.question, form: page.hiddenFields)
            #expect(done.text.contains("The change rests"))
            #expect(try await Self.disabled(fixture) == [false, true])
            // Everybody is signed out, the stranger with the relayed session too.
            #expect(try await stranger.get("/account").status == .forbidden)
            let again = try await fixture.signIn(
                lines: ["604817"], named: "-stranger", in: TestBrowser(fixture.client))
            #expect(again.outcome.refusal != nil)
            let own = try await fixture.signIn(lines: ["258036"], in: TestBrowser(fixture.client))
            #expect(own.outcome.refusal == nil)
            #expect(try await browser.post(Self.question, form: page.hiddenFields).status == .forbidden, "once")
            #expect(try await browser.get(link).status == .notFound, "the link is spent")
            #expect(try await server.auditEvents(.init(rawValue: "change-disowned")).map(\.detail) == ["device"])
        }
    }

    @Test("a device that came by the change confirms neither answer, and a session cannot ask without one")
    func youngerDevice() async throws {
        try await Self.tricked { fixture, stranger async throws in
            #expect(try await fixture.server.sendMail() == [.delivered])
            let link = try Self.link(fixture.server)
            let page = try await Self.confirmed(
                link, fixture, in: TestBrowser(fixture.client), pin: "604817", named: "-stranger")
            #expect(page.text.contains("Let it rest"))
            let browser = TestBrowser(fixture.client)
            #expect(try await browser.post(Self.question, form: page.hiddenFields).status == .forbidden)
            #expect(try await Self.disabled(fixture) == [false, false])
            // A list and its questions are of the session's own account.
            let bobs = try await fixture.bobSignedIn()
            let id = try Self.change(in: link)
            #expect(try await bobs.get("\(Self.question)?id=\(id)").status == .notFound)
            #expect(try await bobs.get("/account/changes").text.contains("no-changes"))
            #expect(try await TestBrowser(fixture.client).get("/account/changes").status == .forbidden)
            let list = try await stranger.get("/account/changes")
            #expect(list.text.contains("another device") && list.text.contains("This was not me"))
            let forged = try await fixture.post(Self.question, ["id": id, "confirmation": "x"], stranger)
            #expect(forged.status == .badRequest)
        }
    }

    @Test("the other direction works once as well; after that an operator decides")
    func reclaimed() async throws {
        try await Self.tricked { fixture, _ async throws in
            let server = fixture.server
            #expect(try await server.sendMail() == [.delivered])
            let browser = TestBrowser(fixture.client)
            let first = try await Self.confirmed(try Self.link(server), fixture, in: browser)
            #expect(try await browser.post(Self.question, form: first.hiddenFields).status == .ok)
            #expect(try await server.sendMail() == [.delivered])
            #expect(server.mail.text.contains("It rests now"))
            let second = try await Self.confirmed(try Self.link(server), fixture, in: browser)
            #expect(second.text.contains("Let it count again"))
            #expect(try await browser.post(Self.question, form: second.hiddenFields).status == .ok)
            #expect(try await Self.disabled(fixture) == [false, false])
            #expect(try await server.sendMail() == [.delivered])
            #expect(server.mail.text.contains("counts again") && !server.mail.text.contains(Self.question))
            let own = try await fixture.signedIn(isFirst: false)
            let list = try await own.get("/account/changes")
            #expect(list.text.contains("another device") && !list.text.contains("data-testid=\"question\""))
        }
    }

    @Test("a link lives for a quarter of an hour; for seven days another one is mailed, and then no more")
    func links() async throws {
        try await Self.tricked { fixture, _ async throws in
            let (server, browser) = (fixture.server, TestBrowser(fixture.client))
            #expect(try await server.sendMail() == [.delivered])
            let link = try Self.link(server)
            server.clock.advance(by: Limits().mail.mailedLinkLifetime)
            let over = try await browser.get(link)
            #expect(over.status == .notFound && over.text.contains("Mail another link"))
            #expect(try await browser.post("/account/changes/again", form: over.hiddenFields).status == .ok)
            #expect(try await server.sendMail() == [.delivered])
            let next = try Self.link(server)
            #expect(next != link)
            #expect(try await browser.get(next).text.contains("This was not me"))
            // Whoever knows no change learns nothing, and nothing is mailed.
            #expect(try await fixture.post("/account/changes/again", ["id": "none"], browser).status == .ok)
            #expect(try await server.sendMail().isEmpty)
            server.clock.advance(by: Limits().changeQuestionLifetime)
            #expect(try await browser.post("/account/changes/again", form: over.hiddenFields).status == .ok)
            #expect(try await server.sendMail().isEmpty)
            try await server.assembly.passwords.sweep()
            let id = try Self.change(in: next)
            #expect(try await server.database.accountChange(id) == nil)
        }
    }

    @Test("a new password rests: the old one counts for nothing, the new one does not confirm, a phone does")
    func password() async throws {
        let server = try await ServerFixture(hashing: .cheap)
        try await server.withPublicClient { client in
            let party = try await server.relyingParty(signInMethods: ["phone", "password"])
            let phone = try await server.enrolledPhone(client)
            try await server.enterAddress()
            try await PasswordDirectory(server.assembly.passwords).importHash(
                try await PasswordPlace.hash(PasswordPlace.password), username: "alice", by: "test")
            server.clock.advance(by: .seconds(1))
            let place = PasswordPlace(server: server, client: client, party: party, browser: TestBrowser(client))
            // Somebody reads the mailbox and takes the account by it.
            let reset = try await place.reset(try await place.mailedLink(), "a stranger's sentence")
            #expect(reset.text.contains("You have a new password"))
            #expect(try await server.sendMail() == [.delivered])
            let link = try Self.link(server)
            let browser = TestBrowser(client)
            let asked = try await browser.post(Self.question, form: try await browser.get(link).hiddenFields)
            let waiting = try #require(asked.headers[.location])
            _ = try await phone.authenticate(try server.typedPayload(try await browser.get(waiting)))
            let page = try await browser.changePage(after: waiting)
            #expect(try await browser.post(Self.question, form: page.hiddenFields).text.contains("The change rests"))
            for password in ["a stranger's sentence", PasswordPlace.password] {
                let refused = try await place.show(password, try await place.begin())
                #expect(refused.status == .forbidden || refused.status == .ok, "\(password)")
                #expect(refused.headers[.location] == nil, "\(password)")
            }
            #expect(try await server.sendMail() == [.delivered])
            // The way back is another mailed link.
            let back = try await place.reset(try await place.mailedLink(), "mine from now on")
            #expect(back.text.contains("You have a new password"))
            _ = try await place.claims(after: try await place.show("mine from now on", try await place.begin()))
        }
    }

    @Test("a password confirms if it is older than the change, without a session, and with a mailed code")
    func byPassword() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            place.server.clock.advance(by: .seconds(1))
            _ = try await place.claims(after: try await place.show(PasswordPlace.password, try await place.begin()))
            let stranger = place.browser
            let asked = try await place.post(
                "/account/value/phone",
                [
                    "confirmation": try #require(try await stranger.get("/account/value/phone").field("confirmation")),
                    "phone": "+49301234567",
                ])
            let change = try await Self.byPassword(asked, place, stranger)
            let added = try await stranger.post(
                "/account/value/phone", form: change.hiddenFields + "&phone=%2B49301234567")
            #expect(added.text.contains("Services can ask for it"))
            #expect(try await place.server.sendMail() == [.delivered])
            #expect(place.server.mail.text.contains("a phone number (+49301234567)"))
            let browser = TestBrowser(place.client)
            let question = try await browser.get(try Self.link(place.server))
            let answered = try await browser.post(Self.question, form: question.hiddenFields)
            let page = try await Self.byPassword(answered, place, browser)
            #expect(try await browser.post(Self.question, form: page.hiddenFields).text.contains("The change rests"))
            let account = try await place.server.accountID()
            #expect(try await place.server.database.personalValues(accountID: account).isEmpty)

            // The present password is younger than the change that set it.
            #expect(try await place.server.sendMail() == [.delivered])
            _ = try await place.reset(try await place.mailedLink())
            #expect(try await place.server.sendMail() == [.delivered])
            let own = try await browser.get(try Self.link(place.server))
            let led = try await browser.post(Self.question, form: own.hiddenFields)
            let wait = try await browser.get(try #require(led.headers[.location]))
            let form = try await browser.get(try #require(wait.headers[.location]))
            #expect(form.status == .forbidden && form.text.contains("younger than the change"))
        }
    }

    /// Confirms a change by the password and the code that is mailed: the page that makes the change.
    private static func byPassword(_ asked: TestResponse, _ place: PasswordPlace, _ browser: TestBrowser) async throws
        -> TestResponse
    {
        let waiting = try #require(asked.headers[.location])
        let address = try #require(try await browser.get(waiting).headers[.location])
        let form = try await browser.get(address)
        let shown = try await browser.post(
            "/account/change/password",
            form: form.hiddenFields + "&" + PasswordPlace.form(["password": PasswordPlace.password]))
        #expect(shown.headers[.location] == address, "a code is mailed")
        #expect(try await place.server.sendMail() == [.delivered])
        let code = try #require(place.server.mail.text.firstMatch(of: /[0-9A-Z]{5}-[0-9A-Z]{5}/)).0
        let codeForm = try await browser.get(address)
        #expect(codeForm.text.contains("mailed-code") && !codeForm.text.contains("name=\"password\""))
        for wrong in ["", "00000-00000", "x"] {
            let refused = try await browser.post(
                "/account/change/password",
                form: codeForm.hiddenFields + "&" + PasswordPlace.form(["mailed-code": wrong]))
            #expect(refused.status == .forbidden && refused.text.contains("does not count"))
        }
        let right = try await browser.post(
            "/account/change/password",
            form: codeForm.hiddenFields + "&" + PasswordPlace.form(["mailed-code": code.lowercased()]))
        #expect(right.headers[.location]?.hasPrefix("/account/change/complete?") == true)
        return try await browser.changePage(after: waiting)
    }

    @Test("a mailed code confirms the change that it names, in the browser that asked, after the password alone")
    func mailedCodes() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            _ = try await place.claims(after: try await place.show(PasswordPlace.password, try await place.begin()))
            func ask(_ number: String) async throws -> (address: String, form: TestResponse) {
                let page = try await place.browser.get("/account/value/phone")
                let asked = try await place.post(
                    "/account/value/phone",
                    ["confirmation": try #require(page.field("confirmation")), "phone": number])
                let led = try await place.browser.get(try #require(asked.headers[.location]))
                let address = try #require(led.headers[.location])
                return (address, try await place.browser.get(address))
            }
            func send(_ form: TestResponse, _ fields: [String: String]) async throws -> TestResponse {
                try await place.browser.post(
                    "/account/change/password", form: form.hiddenFields + "&" + PasswordPlace.form(fields))
            }
            let first = try await ask("+49301234567")
            // A code counts for nothing before the password.
            #expect(try await send(first.form, ["mailed-code": "00000-00000"]).status == .forbidden)
            #expect(
                try await send(first.form, ["password": PasswordPlace.password]).headers[.location] == first.address)
            #expect(try await place.sendMail() == [.delivered])
            #expect(place.server.mail.text.contains("add the phone number \u{201C}+49301234567\u{201D}"))
            let code = String(try #require(place.server.mail.text.firstMatch(of: /[0-9A-Z]{5}-[0-9A-Z]{5}/)).0)
            let second = try await ask("+49301234568")
            #expect(try await send(second.form, ["password": PasswordPlace.password]).headers[.location] != nil)
            #expect(try await send(second.form, ["mailed-code": code]).status == .forbidden, "another change's code")
            #expect(try await send(first.form, ["mailed-code": code]).headers[.location] != nil)
            // Wrong codes rest.
            var statuses: [Int] = []
            for _ in 0..<Limits().passwords.secondFactorAttempts {
                statuses.append(try await send(second.form, ["mailed-code": "00000-00001"]).status.code)
            }
            #expect(Set(statuses) == [403])
            #expect(try await place.sendMail() == [.delivered])
            let late = String(try #require(place.server.mail.text.firstMatch(of: /[0-9A-Z]{5}-[0-9A-Z]{5}/)).0)
            #expect(try await send(second.form, ["mailed-code": late]).status == .forbidden, "it rests")
        }
    }
}
