import Accounts
import CeremonyEngine
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("Where the link of an invitation leads (identity parity, row 83)")
struct InvitationTests {
    private struct Place {
        let fixture: TerminalPhoneFixture
        let organisation: String

        init(_ fixture: TerminalPhoneFixture) async throws {
            self.fixture = fixture
            self.organisation = try await fixture.server.assembly.identities.addOrganisation(
                "Rowing Club", by: "test"
            ).id
        }

        var identities: IdentityDirectory { self.fixture.server.assembly.identities }

        func invite(_ email: String = "new@post.example", isMailed: Bool? = nil) async throws
            -> (id: String, address: String)
        {
            let made = try await self.identities.invite(
                .init(
                    email: email, organisation: self.organisation, service: self.fixture.party.id, role: "official",
                    isMailed: isMailed), by: "test")
            return (made.record.id, "/invitation?link=\(made.link)")
        }

        func members() async throws -> [String] {
            try await self.identities.members(self.organisation, after: nil).map(\.id)
        }

        func roles(_ account: String) async throws -> [String] {
            try await self.fixture.server.database.standing(accountID: account, service: self.fixture.party.id)?
                .roles.map(\.id) ?? []
        }

        /// Sends the form of an invitation's page.
        func accept(_ address: String, _ fields: [String: String], _ browser: TestBrowser) async throws -> TestResponse
        {
            var fields = fields
            fields["link"] = String(try #require(address.split(separator: "=").last))
            return try await self.fixture.post("/invitation", fields, browser)
        }
    }

    private static let pins = ["pin": "604817", "pin-again": "604817"]

    @Test(
        "An invitation that was prolonged is accepted by its link after its first time; one that is over is not prolonged"
    )
    func prolonged() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let place = try await Place(fixture)
            let (kept, left) = (try await place.invite(), try await place.invite("other@post.example"))
            let lifetime = Limits().inviteLifetime
            fixture.server.clock.advance(by: lifetime - .seconds(1))
            let later = try await place.identities.prolongInvite(kept.id, for: lifetime, by: "ann")
            #expect(later.expiresAt == fixture.server.clock.now() + lifetime && later.state == .open)
            fixture.server.clock.advance(by: .seconds(1))
            await #expect(throws: AccountError(.conflict)) { () async throws in
                _ = try await place.identities.prolongInvite(left.id, for: lifetime, by: "ann")
            }
            _ = try await place.identities.sweep()
            #expect(try await fixture.server.database.invite(kept.id)?.state == .open)
            let browser = TestBrowser(fixture.client)
            #expect(try await browser.get(kept.address).text.contains("name=\"pin\""))
            #expect(try await !browser.get(left.address).text.contains("name=\"pin\""))
            let made = try await place.accept(kept.address, Self.pins, browser)
            let enrolled = try await fixture.enroll(
                try made.words(of: "typed-code"), pins: ["604817"], named: "-new")
            #expect(enrolled.refusal == nil, "\(enrolled.lines)")
            #expect(try await fixture.server.database.invite(kept.id)?.state == .accepted)
            let entries = try await fixture.server.auditEvents(.inviteProlonged)
            #expect(entries.map(\.actor) == ["ann"] && entries.map(\.detail) == [kept.id])
        }
    }

    @Test("row 83, case 1: whoever has the invited address signs in, says yes, and is a member; nobody else is")
    func knownAddress() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let place = try await Place(fixture)
            try await fixture.enterAddress()
            #expect(try await fixture.enroll().refusal == nil)
            let (id, address) = try await place.invite("alice@post.example")
            let stranger = TestBrowser(fixture.client)
            let told = try await stranger.get(address)
            #expect(told.status == .ok && told.text.contains("You are invited to Rowing Club"))
            #expect(told.text.contains("As Official at Demo Bank"))
            #expect(told.text.contains("Sign in to a service with your app") && !told.text.contains("<form"))
            #expect(try await place.accept(address, Self.pins, stranger).status == .forbidden)

            // Somebody else has the link, and a session of their own.
            let bobs = try await fixture.bobSignedIn()
            let other = try await bobs.get(address)
            #expect(other.text.contains("In this browser bob is signed in") && !other.text.contains("<form"))
            let confirmation = try TerminalPhoneFixture.confirmation(of: try await bobs.get("/account/activation"))
            #expect(try await place.accept(address, ["confirmation": confirmation], bobs).status == .forbidden)
            #expect(try await place.members().isEmpty)

            let browser = try await fixture.signedIn()
            let question = try await browser.get(address)
            #expect(question.text.contains("You are signed in as alice"))
            #expect(try await place.accept(address, ["confirmation": "forged"], browser).status == .badRequest)
            #expect(try await place.members().isEmpty, "opening it, and a forged form, change nothing")
            let accepted = try await place.accept(
                address, ["confirmation": try TerminalPhoneFixture.confirmation(of: question)], browser)
            #expect(accepted.status == .ok && accepted.text.contains("You have accepted"))
            let alice = try await fixture.server.accountID()
            #expect(try await place.members() == [alice])
            #expect(try await place.roles(alice) == ["resident", "official"])
            #expect(try await place.identities.invite(id).state == .accepted)
            let again = try await browser.get(address)
            #expect(again.status == .notFound && again.text.contains("This invitation is accepted"))
        }
    }

    @Test("row 83, case 3: whoever has no account gets a code, and the activation makes the account and accepts")
    func nobodysAddress() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let place = try await Place(fixture)
            let (id, address) = try await place.invite()
            let account = try #require(try await place.identities.invite(id).provisionalAccountID)
            let browser = TestBrowser(fixture.client)
            let form = try await browser.get(address)
            #expect(form.status == .ok && form.text.contains("You are invited to Rowing Club"))
            for (fields, sentence) in [
                (["pin": "604817", "pin-again": "1"], "These are not the same PIN."),
                (["pin": "1", "pin-again": "1"], "A PIN has 5 to 32 digits, and nothing else."),
                (
                    ["pin": "123123", "pin-again": "123123"],
                    "Others try that PIN first. Choose one that is no date, no row like 123456, and nothing that repeats."
                ),
            ] {
                let refused = try await place.accept(address, fields, browser)
                #expect(refused.status == .unprocessableContent)
                #expect(try refused.words(of: "problem") == sentence)
            }
            #expect(try await place.identities.invite(id).state == .open)
            let lost = try await place.accept(address, Self.pins, browser)
            #expect(lost.status == .ok)
            #expect(try lost.attribute("data-activation", of: "activation") == id)
            // The page of a code that was lost leads to another one, by which that one is none any more.
            #expect(try lost.attribute("href", of: "new-code") == address)
            let page = try await place.accept(address, Self.pins, browser)
            let late = try await fixture.enroll(try lost.words(of: "typed-code"), pins: ["604817"], named: "-lost")
            #expect(late.refusal != nil)
            #expect(try await place.members().isEmpty)

            let enrolled = try await fixture.enroll(
                try page.words(of: "typed-code"), pins: ["604817"], named: "-new")
            #expect(enrolled.refusal == nil, "\(enrolled.lines)")
            #expect(try await place.members() == [account])
            #expect(try await place.roles(account) == ["resident", "official"])
            #expect(try await place.identities.invite(id).acceptedBy == account)
            #expect(
                try await browser.get(TerminalPhoneFixture.address(page)).text.contains("This device is personalised"))
            for answer in [try await browser.get(address), try await place.accept(address, Self.pins, browser)] {
                #expect(answer.status == .notFound && answer.text.contains("This invitation is accepted"))
            }
        }
    }

    @Test("An invitation that was taken back, or is over, and a link that is none, say so and change nothing")
    func noInvitation() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let place = try await Place(fixture)
            let browser = TestBrowser(fixture.client)
            let (revoked, left) = (try await place.invite("a@post.example"), try await place.invite("b@post.example"))
            try await place.identities.revokeInvite(revoked.id, by: "test")
            fixture.server.clock.advance(by: .seconds(14 * 24 * 60 * 60))
            let link = left.address.dropFirst("/invitation?link=".count)
            let damaged = [
                "/invitation?link=\(link.dropLast())", "/invitation?link=x\(link)", "/invitation?link=\(left.id)",
                "/invitation?link=\(left.id).", "/invitation?link=..", "/invitation?link=%00.%FF",
            ]
            for (address, sentence) in [
                (revoked.address, "This invitation was taken back"), (left.address, "This invitation is over"),
            ] + damaged.map({ ($0, "This link opens no invitation") }) {
                let page = try await browser.get(address)
                #expect([.notFound, .badRequest].contains(page.status), "\(address)")
                #expect(page.status == .badRequest || page.text.contains(sentence), "\(address)")
                let posted = try await place.accept(address, Self.pins, browser)
                #expect([.notFound, .badRequest].contains(posted.status), "\(address)")
            }
            #expect(try await browser.get("/invitation").status == .badRequest)
        }
    }

    @Test("Who is invited gets one letter, with the link; without mail the link is the operator's to hand over")
    func letter() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let place = try await Place(fixture)
            try await fixture.enterAddress()
            _ = try await place.invite("quiet@post.example", isMailed: false)
            #expect(try await fixture.sendMail().isEmpty)
            for email in ["new@post.example", "alice@post.example"] {
                let (_, address) = try await place.invite(email)
                #expect(try await fixture.sendMail() == [.delivered])
                #expect(fixture.server.mail.messages.last?.contains("To: <\(email)>") == true)
                #expect(try fixture.server.mail.link() == address)
                #expect(!fixture.server.mail.text.contains("PIN"))
            }
            #expect(try await fixture.sendMail().isEmpty)
            let (gone, _) = try await place.invite("alice@post.example")
            try await place.identities.revokeInvite(gone, by: "test")
            #expect(try await fixture.sendMail() == [.givenUp], "nobody needs it any more")
            #expect(fixture.server.mail.messages.count == 2)
        }
        let silent = try await ServerFixture(sendsMail: false)
        try await silent.withSocketClient { client in
            let organisation = try await silent.assembly.identities.addOrganisation("Club", by: "test").id
            let body: JSONObject = ["email": .string("a@post.example"), "organisation": .string(organisation)]
            let made = try await client.send(.post, "/admin/v1/invites", body)
            #expect(made.response.status == .created)
            #expect(try made.object.bool("mailed") == false)
            #expect(try made.object.requiredString("link").hasPrefix("http://localhost:8080/invitation?link="))
            var asked = body
            asked["mail"] = .bool(true)
            #expect(try await client.send(.post, "/admin/v1/invites", asked).response.status == .badRequest)
        }
    }
}
