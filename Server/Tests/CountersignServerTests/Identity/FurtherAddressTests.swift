import Accounts
import CeremonyEngine
import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Records
import Settings
import Testing
import _Primitives

@Suite("An address that an invitation has brought into an account counts for nothing until its person confirms it")
struct FurtherAddressTests {
    private static let address = "new@post.example"

    /// Alice, who has a phone and an address of her own, and has taken an invitation to another one into her identity.
    private struct Place {
        let fixture: TerminalPhoneFixture
        let browser: TestBrowser
        let account: String

        init(_ fixture: TerminalPhoneFixture) async throws {
            self.fixture = fixture
            try await fixture.enterAddress()
            try await PasswordDirectory(fixture.server.assembly.passwords).importHash(
                "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", username: "alice", by: "test")
            #expect(try await fixture.enroll().refusal == nil)
            self.browser = try await fixture.signedIn()
            let made = try await fixture.server.assembly.identities.invite(
                .init(email: FurtherAddressTests.address, service: fixture.party.id, role: "resident", isMailed: false),
                by: "test")
            let elsewhere = TestBrowser(fixture.client)
            let invitation = try await elsewhere.get("/invitation?link=\(made.link)")
            let page = try await elsewhere.accept(invitation, pin: "604817")
            let merged = try await fixture.enroll(try page.words(of: "typed-code"), pins: ["604817", "258036"])
            #expect(merged.refusal == nil, "\(merged.lines)")
            #expect(try merged.line("finished").requiredString("outcome") == "merged")
            // The phone shows what the person signs.
            let shown = try merged.line("text").requiredString("text")
            #expect(shown.contains("Address: \(FurtherAddressTests.address)\nService: Demo Bank\nRole: Resident"))
            self.account = try await fixture.server.accountID()
        }

        var store: any AdditionalEmailStore & InviteStore & PersonalInformationStore { self.fixture.server.database }

        func email() async throws -> AdditionalEmail {
            try #require(try await self.store.additionalEmails(accountID: self.account).first)
        }

        /// Presses the button of the address on the person's own page.
        func ask(_ browser: TestBrowser? = nil) async throws -> TestResponse {
            let browser = browser ?? self.browser
            let id = try await self.email().id
            return try await self.fixture.fill("/account/address", ["address": id], query: "?address=\(id)", browser)
        }

        /// The secret of the link that was mailed last.
        func link() throws -> String { try PasswordPlace.secret(of: self.fixture.server.mail.link()) }

        /// Opens a link, and sends the form that its page has for this browser.
        func confirm(_ link: String, _ browser: TestBrowser? = nil) async throws -> TestResponse {
            try await (browser ?? self.browser).confirmAddress(link)
        }

        func confirm() async throws {
            #expect(try await self.ask().status == .ok)
            #expect(try await self.fixture.sendMail() == [.delivered])
            #expect(try await self.confirm(try self.link()).status == .ok)
        }

        /// To whom the letters went that were sent since.
        func recipients(after count: Int) -> [String] {
            self.fixture.server.mail.messages.dropFirst(count).compactMap { message in
                message.firstMatch(of: /To: <([^>]*)>/).map { String($0.1) }
            }
        }
    }

    /// What stands however the address counts: nobody signs in by it, and letters that open something go to the first one.
    private func expectNoWayIn(_ place: Place) async throws {
        let (fixture, mail) = (place.fixture, place.fixture.server.mail)
        let resets = PasswordResets(fixture.server.assembly.passwords)
        // Sign-in: it is no name of an account.
        await #expect(throws: AccountError(.notFound)) { () async throws in
            _ = try await fixture.server.assembly.directory.account(username: "new@post.example")
        }
        // Recovery: nobody has it as a name, and the account's own letter goes to its first address.
        try await resets.ask(username: Self.address, source: "192.0.2.1")
        #expect(try await resets.sendLinks() == [.unknownName])
        let before = mail.messages.count
        try await resets.ask(username: "alice", source: "192.0.2.1")
        #expect(try await resets.sendLinks() == [])
        #expect(try await fixture.sendMail() == [.delivered])
        // Receiving activations.
        _ = try await fixture.newActivation(name: "Tablet", isMailed: true)
        #expect(try await fixture.sendMail() == [.delivered])
        #expect(place.recipients(after: before) == ["alice@post.example", "alice@post.example"])
    }

    @Test(
        "Until then it is no way in, no alias, no claim and finds nobody; then it is a verified value, and still no way in"
    )
    func confirmed() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let place = try await Place(fixture)
            let identities = fixture.server.assembly.identities
            try await self.expectNoWayIn(place)
            #expect(try await place.store.accounts(verifiedEmail: Self.address, limit: 9).isEmpty)
            let page = try await place.browser.get("/account")
            #expect(try page.words(of: "address-state").contains("not confirmed"))
            #expect(page.text.contains(Self.address) && page.text.contains("data-testid=\"confirm-address\""))
            #expect(!page.text.contains("Email: <bdi>email"))

            // Another service, which wants an address that somebody has verified.
            let hall = try await fixture.server.service(TerminalPhoneFixture.profile)
            func comes(_ alias: String) async throws -> (refusal: String?, request: String, aliases: [String]) {
                let (request, outcome) = try await fixture.signIn(
                    ["--alias", "email=\(alias)"], lines: ["258036"], at: hall, in: place.browser, "&prompt=login")
                let asked = try outcome.line("request").list("attributes").first {
                    try $0.requiredString("attribute") == "email"
                }
                return (outcome.reason, request, try asked?.strings("aliases") ?? [])
            }
            let early = try await comes("email 3")
            #expect(early.refusal != nil && Set(early.aliases) == ["Home", "Office"])

            try await place.confirm()
            let mail = fixture.server.mail
            #expect(mail.messages.last?.contains("To: <\(Self.address)>") == true)
            #expect(mail.text.contains("The name alice") && !mail.text.contains("alice@"))
            #expect(try await place.email().isVerified)
            #expect(try await place.store.accounts(verifiedEmail: Self.address, limit: 9) == [place.account])
            let shown = try await place.browser.get("/account")
            #expect(try shown.words(of: "address-state") == "confirmed")
            #expect(!shown.text.contains("confirm-address") && shown.text.contains("Email: <bdi>email 3</bdi>"))

            let late = try await comes("email 3")
            #expect(late.refusal == nil && Set(late.aliases) == ["Home", "Office", "email 3"])
            let tokens = try await hall.complete(late.request, in: place.browser)
            func told() async throws -> JSONObject {
                try await fixture.client.userinfo(try tokens.object.requiredString("access_token")).object
            }
            #expect(try await told().string("email") == Self.address)
            #expect(try await told().bool("email_verified") == true)
            try await self.expectNoWayIn(place)

            // An operator takes it back, and what stood on it with it.
            try await identities.setEmailVerified(false, try await place.email().id, of: "alice", by: "test")
            #expect(try await told().bool("email_verified") == false)
            #expect(try await place.store.accounts(verifiedEmail: Self.address, limit: 9).isEmpty)
        }
    }

    @Test(
        "The link is good once, for the account that it is of, in a session of that account; opening it changes nothing"
    )
    func link() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let place = try await Place(fixture)
            #expect(try await place.ask().status == .ok)
            #expect(try await fixture.sendMail() == [.delivered])
            let link = try place.link()
            let opened = try await TestBrowser(fixture.client).get("/account/address/confirm?link=\(link)")
            #expect(opened.status == .ok && opened.text.contains(Self.address))
            #expect(try await place.confirm(link, TestBrowser(fixture.client)).status == .forbidden)
            #expect(try await !place.email().isVerified)
            // Bob reads the mailbox, and is signed in as himself.
            let bobs = try await fixture.bobSignedIn()
            #expect(try await bobs.get("/account").text.contains("bob"))
            #expect(try await place.confirm(link, bobs).status == .notFound)
            let bobsForm = try TerminalPhoneFixture.confirmation(of: try await bobs.get("/account/activation"))
            let others = try await fixture.post(
                "/account/address", ["confirmation": bobsForm, "address": try await place.email().id], bobs)
            #expect(others.status == .forbidden, "nor does he have a link mailed to it")
            #expect(try await fixture.sendMail().isEmpty)
            #expect(try await !place.email().isVerified)

            #expect(try await place.confirm(link).status == .ok)
            #expect(try await place.email().isVerified)
            let over = try await place.confirm(link)
            #expect(over.status == .notFound, "once")
            // Another link is mailed from there, and not from the page of a forgotten password.
            #expect(over.text.contains("href=\"/account\"") && !over.text.contains("/account/forgotten"))
        }
    }

    @Test("A forged form, an old sign-in, an address that is gone, and a person who asks too often have no link mailed")
    func refusals() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let place = try await Place(fixture)
            let id = try await place.email().id
            let forged = try await fixture.post(
                "/account/address", ["confirmation": "forged", "address": id], place.browser)
            #expect(forged.status == .badRequest)
            #expect(
                try await fixture.post("/account/address", ["address": id], TestBrowser(fixture.client)).status
                    == .forbidden)
            let confirmation = try TerminalPhoneFixture.confirmation(of: try await place.browser.get("/account"))
            func ask(_ address: String) async throws -> HTTPResponse.Status {
                try await fixture.post(
                    "/account/address", ["confirmation": confirmation, "address": address], place.browser
                ).status
            }
            #expect(try await ask("none") == .forbidden)
            #expect(try await ask(id) == .seeOther, "the phone has not confirmed it")
            for _ in 0..<Limits().mail.mailsInARow { #expect(try await place.ask().status == .ok) }
            #expect(try await place.ask().status == .forbidden, "they rest")
            #expect(try await fixture.sendMail().count == Limits().mail.mailsInARow)
            let link = try place.link()
            fixture.server.clock.advance(by: Limits().freshSignIn)
            #expect(try await place.browser.get("/account").status == .ok, "still signed in")
            #expect(try await ask(id) == .seeOther)
            #expect(try await fixture.sendMail().isEmpty)
            fixture.server.clock.advance(by: Limits().mail.mailedLinkLifetime)
            #expect(try await place.confirm(link).status == .notFound, "too late")

            let fresh = try await fixture.signedIn(isFirst: false)
            #expect(try await place.ask(fresh).status == .ok)
            try await fixture.server.assembly.identities.removeEmail(id, of: "alice", by: "test")
            #expect(try await fixture.sendMail() == [.givenUp], "it is nobody's any more")
            #expect(
                try await place.store.personalValues(accountID: place.account).allSatisfy { $0.value != Self.address })
        }
    }
}
