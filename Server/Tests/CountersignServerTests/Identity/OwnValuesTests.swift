import Accounts
import CountersignServer
import CountersignTestKit
import FreshStores
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import PersonalInformation
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("What a person adds to what services can ask for, calls otherwise, and takes away, on their own pages")
struct OwnValuesTests {
    private struct Place {
        let fixture: TerminalPhoneFixture
        let browser: TestBrowser
        let account: String

        init(_ fixture: TerminalPhoneFixture) async throws {
            self.fixture = fixture
            #expect(try await fixture.enroll().refusal == nil)
            self.browser = try await fixture.signedIn()
            self.account = try await fixture.server.accountID()
        }

        func values(_ attribute: PersonalAttribute = .email) async throws -> [PersonalValueRecord] {
            try await self.fixture.server.database.personalValues(accountID: self.account)
                .filter { $0.attribute == attribute }
        }

        func emails() async throws -> [AdditionalEmail] {
            try await self.fixture.server.database.additionalEmails(accountID: self.account)
        }

        /// Sends the form of a page, as it stands there.
        func post(_ path: String, _ fields: [String: String], query: String = "", _ browser: TestBrowser? = nil)
            async throws -> TestResponse
        {
            try await self.fixture.fill(path, fields, query: query, browser ?? self.browser)
        }

        func add(_ address: String) async throws -> TestResponse {
            try await self.post("/account/value/email", ["email": address])
        }

        /// Opens the link that was mailed last, in the person's browser, and sends the form of its page.
        func confirm() async throws -> HTTPResponse.Status { try await self.confirmation().status }

        func confirmation() async throws -> TestResponse {
            #expect(try await self.fixture.sendMail() == [.delivered])
            return try await self.browser.confirmAddress(try PasswordPlace.secret(of: self.fixture.server.mail.link()))
        }

        func entries(_ kind: AuditEvent.Kind) async throws -> [AuditEvent] {
            try await self.fixture.server.auditEvents(kind).filter { $0.actor == nil }
        }
    }

    @Test("An address is a value once its link was opened, and is offered to a service; until then it is none")
    func email() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let place = try await Place(fixture)
            let overview = try await place.browser.get("/account")
            #expect(try overview.attribute("href", of: "add-email") == "/account/value/email")
            let sent = try await place.add("Alice@new.example")
            #expect(sent.status == .ok && sent.text.contains("Look into your mailbox"))
            #expect(try await place.values().count == 2)
            #expect(try await place.emails().map(\.isVerified) == [false])
            #expect(try await fixture.sendMail() == [.delivered])
            #expect(fixture.server.mail.messages.last?.contains("To: <Alice@new.example>") == true)
            #expect(try await place.entries(.additionalEmailAdded).map(\.accountID) == [place.account])
            // Asked for once more, it is the same address.
            #expect(try await place.add("alice@new.example").status == .ok)
            #expect(try await place.emails().count == 1)
            #expect(try await place.confirm() == .ok)
            let value = try #require(try await place.values().last)
            #expect(value.value == "Alice@new.example" && value.isVerified && value.source == .person)
            #expect(try await place.add("alice@NEW.example").text.contains("You have this address"))

            let hall = try await fixture.server.service(TerminalPhoneFixture.profile)
            let (request, outcome) = try await fixture.signIn(
                ["--alias", "email=\(value.alias)"], lines: ["258036"], at: hall, in: place.browser, "&prompt=login")
            #expect(outcome.refusal == nil, "\(outcome.lines)")
            let tokens = try await hall.complete(request, in: place.browser)
            let told = try await fixture.client.userinfo(try tokens.object.requiredString("access_token")).object
            #expect(try told.string("email") == "Alice@new.example" && told.bool("email_verified") == true)
        }
    }

    @Test("The account's own address is a value at once where it is confirmed, and else after its link")
    func ownAddress() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let place = try await Place(fixture)
            try await fixture.enterAddress("alice@post.example", isVerified: false)
            #expect(try await place.add("alice@post.example").text.contains("add it here once more"))
            #expect(try await place.confirm() == .ok)
            #expect(try await place.values().count == 2)
            #expect(try await place.emails().isEmpty)
            #expect(try await place.add("Alice@post.example").text.contains("known to be yours"))
            let value = try #require(try await place.values().last)
            #expect(value.value == "alice@post.example" && value.isVerified)
            #expect(try await place.entries(.personalValueAdded).last?.detail == "email \(value.id)")
            #expect(try await fixture.sendMail().isEmpty)
        }
    }

    @Test("Whoever has no link mailed is told why: letters rest, or there is nothing to confirm any more")
    func noLetter() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let place = try await Place(fixture)
            // It is removed in another window as soon as it is there.
            fixture.server.hooks.atNext(.addedEmail, .after) { [server = fixture.server, account = place.account] in
                let emails = try await server.database.additionalEmails(accountID: account)
                try await server.assembly.identities.removeEmail(
                    try #require(emails.first).id, of: "alice", by: "test")
            }
            let gone = try await place.add("alice@new.example")
            #expect(gone.status == .forbidden && gone.text.contains("nothing to confirm any more"))
            for _ in 0..<Limits().mail.mailsInARow {
                #expect(try await place.add("alice@new.example").status == .ok)
            }
            let resting = try await place.add("alice@new.example")
            #expect(resting.status == .forbidden && resting.text.contains("add the address here once more"))
        }
    }

    @Test("An address that another request of the same person has added meanwhile is that address, and none too many")
    func twice() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let place = try await Place(fixture)
            fixture.server.hooks.atNext(.addedEmail) { [server = fixture.server] in
                _ = try await server.assembly.identities.addEmail(
                    "alice@new.example", isVerified: false, to: "alice", by: "test")
            }
            let answer = try await place.add("alice@new.example")
            #expect(answer.status == .ok && answer.text.contains("Look into your mailbox"))
            #expect(try await place.emails().count == 1)
        }
    }

    @Test("A known address whose value another request of the same person has deleted meanwhile is a value again")
    func deletedMeanwhile() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let place = try await Place(fixture)
            try await fixture.enterAddress("alice@post.example")
            let added = try await fixture.server.assembly.identities.addValue(
                .init(attribute: "email", value: "alice@post.example", alias: "Post"), to: "alice", by: "test")
            fixture.server.hooks.atNext(.changedValue) { [server = fixture.server] in
                try await server.assembly.identities.removeValue(added.id, of: "alice", by: "test")
            }
            #expect(try await place.add("alice@post.example").text.contains("known to be yours"))
            let value = try #require(try await place.values().last)
            #expect(value.value == "alice@post.example" && value.isVerified && value.alias != "Post")
        }
    }

    @Test("An address that is confirmed where there are enough values is none, and its person is told what to do")
    func noRoom() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let place = try await Place(fixture)
            #expect(try await place.add("alice@new.example").status == .ok)
            for number in try await place.values().count..<Limits().valuesPerAttribute {
                _ = try await fixture.server.assembly.identities.addValue(
                    .init(attribute: "email", value: "alice\(number)@post.example", alias: "No. \(number)"),
                    to: "alice",
                    by: "test")
            }
            let confirmed = try await place.confirmation()
            #expect(confirmed.status == .ok && confirmed.text.contains("as many e-mail addresses"))
            #expect(confirmed.text.contains("href=\"/account\""))
            #expect(try await place.emails().map(\.isVerified) == [true])
            #expect(try await place.values().count == Limits().valuesPerAttribute)
        }
    }

    @Test("Where no mail is sent, the form says which addresses can be given, and promises no link")
    func withoutMail() async throws {
        try await TerminalPhoneFixture.run(sendsMail: false) { fixture async throws in
            let place = try await Place(fixture)
            let form = try await place.browser.get("/account/value/email")
            #expect(form.text.contains("no link is mailed here") && !form.text.contains("Mail me the link"))
            #expect(try await place.add("alice@new.example").text.contains("ask the people who run this service"))
            try await fixture.enterAddress("alice@post.example")
            #expect(try await place.add("alice@post.example").text.contains("known to be yours"))
        }
    }

    @Test("No field of a form and no part of an address has U+0000, which the database takes for a name's end")
    func endOfText() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let place = try await Place(fixture)
            let value = try #require(try await place.values().first)
            let path = "/account/value/name"
            let page = try await place.browser.get("\(path)?value=\(value.id)")
            #expect(page.status == .ok)
            #expect(try await place.browser.get("\(path)?value=\(value.id)%00x").status == .badRequest)
            let token = try TerminalPhoneFixture.confirmation(of: page)
            for (id, name) in [("\(value.id)%00x", "Mine"), (value.id, "Mine%00x")] {
                let form = "value=\(id)&name=\(name)&confirmation=\(token)"
                #expect(try await place.browser.post(path, form: form).status == .badRequest)
            }
            #expect(try await place.values().map(\.alias) == ["Home", "Office"])
        }
    }

    @Test("What is no address or number is refused with what one is; there are no more of either than can be")
    func refusals() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let place = try await Place(fixture)
            for address in ["alice", "", "alice@", "zoë@post.example"] {
                let refused = try await place.add(address)
                #expect(refused.status == .unprocessableContent)
                #expect(try refused.words(of: "problem").contains("NAME@HOST"))
            }
            for number in ["030 123456", "", "+0", "+49 30 12345 x"] {
                let refused = try await place.post("/account/value/phone", ["phone": number])
                #expect(refused.status == .unprocessableContent && refused.text.contains("plus sign"))
            }
            #expect(try await place.emails().isEmpty)
            #expect(try await place.values(.phoneNumber).isEmpty)
            fixture.server.clock.advance(by: .seconds(60))
            let limits = Limits()
            for number in 0..<limits.valuesPerAttribute {
                #expect(try await place.post("/account/value/phone", ["phone": "+49 30 12345\(number)"]).status == .ok)
                fixture.server.clock.advance(by: .seconds(10))
            }
            let more = try await place.post("/account/value/phone", ["phone": "+49 30 999999"])
            #expect(more.status == .conflict && more.text.contains("remove one first"))
            #expect(try await place.values(.phoneNumber).count == limits.valuesPerAttribute)
        }
    }

    @Test(
        "Nothing is changed by a form of elsewhere, long after the sign-in, without one, or of what is another's; nor added before the phone has confirmed it"
    )
    func strangers() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let place = try await Place(fixture)
            let value = try #require(try await place.values().first)
            let bob = try await fixture.server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
            let theirs = try await fixture.server.assembly.identities.addValue(
                .init(attribute: "email", value: "bob@post.example", alias: "Bob"), to: "bob", by: "test")
            let further = try await fixture.server.assembly.identities.addEmail(
                "b@post.example", isVerified: false, to: "bob", by: "test")
            let forms: [(path: String, fields: [String: String], query: String)] = [
                ("/account/value/email", ["email": "x@post.example"], ""),
                ("/account/value/phone", ["phone": "+49301234567"], ""),
                ("/account/value/name", ["value": value.id, "name": "Mine"], "?value=\(value.id)"),
                ("/account/value/remove", ["value": value.id], "?value=\(value.id)"),
            ]
            for form in forms {
                var fields = form.fields
                fields["confirmation"] = "forged"
                #expect(try await fixture.post(form.path, fields, place.browser).status == .badRequest, "\(form.path)")
                let stranger = TestBrowser(fixture.client)
                #expect(try await fixture.post(form.path, fields, stranger).status == .forbidden)
                #expect(try await stranger.get(form.path + form.query).status == .forbidden)
            }
            let token = try TerminalPhoneFixture.confirmation(of: try await place.browser.get("/account/value/phone"))
            for (path, fields) in [
                ("/account/value/name", ["value": theirs.id, "name": "Mine"]),
                ("/account/value/remove", ["value": theirs.id]), ("/account/value/remove", ["value": "none"]),
                ("/account/address/remove", ["address": further.id]),
            ] {
                let posted = fields.merging(["confirmation": token]) { $1 }
                #expect(try await fixture.post(path, posted, place.browser).status == .notFound, "\(path)")
            }
            for path in ["/account/value/name?value=\(theirs.id)", "/account/address/remove?address=\(further.id)"] {
                #expect(try await place.browser.get(path).status == .notFound)
            }
            fixture.server.clock.advance(by: Limits().freshSignIn)
            for form in forms.prefix(2) {
                let posted = form.fields.merging(["confirmation": token]) { $1 }
                #expect(try await fixture.post(form.path, posted, place.browser).asksForPhone)
            }
            for form in forms.dropFirst(2) {
                #expect(try await place.browser.get(form.path + form.query).text.contains("Sign in once more"))
                let posted = form.fields.merging(["confirmation": token]) { $1 }
                #expect(try await fixture.post(form.path, posted, place.browser).status == .forbidden)
            }
            let left = try await fixture.server.database.personalValues(accountID: bob.id)
            #expect(left.map(\.alias) == ["Bob"])
            #expect(try await fixture.server.database.additionalEmails(accountID: bob.id).count == 1)
            #expect(try await place.values().map(\.alias) == ["Home", "Office"])
            #expect(try await place.emails().isEmpty)
            #expect(try await place.values(.phoneNumber).isEmpty)
        }
    }

    @Test("A phone number is told as not verified; a value is called otherwise, and removed with what was chosen by it")
    func changes() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let place = try await Place(fixture)
            #expect(try await place.post("/account/value/phone", ["phone": "+49 (30) 123-456"]).status == .ok)
            let phone = try #require(try await place.values(.phoneNumber).first)
            #expect(phone.value == "+4930123456" && !phone.isVerified && phone.source == .person)
            #expect(try await place.post("/account/value/phone", ["phone": "+4930123456"]).text.contains("have this"))
            #expect(try await place.browser.get("/account").text.contains("not confirmed"))

            let office = try #require(try await place.values().last)
            let query = "?value=\(office.id)"
            for name in ["", " Work", "\u{202E}kroW", String(repeating: "x", count: 129)] {
                let refused = try await place.post(
                    "/account/value/name", ["value": office.id, "name": name], query: query)
                #expect(refused.status == .unprocessableContent && refused.text.contains("one line of 1 to 128"))
            }
            fixture.server.clock.advance(by: .seconds(60))
            let renamed = try await place.post(
                "/account/value/name", ["value": office.id, "name": "Work"], query: query)
            #expect(renamed.status == .ok && renamed.text.contains("Work"))
            #expect(try await place.values().map(\.alias) == ["Home", "Work"])
            #expect(try await place.entries(.personalValueChanged).map(\.detail) == [office.id])

            let question = try await place.browser.get("/account/value/remove" + query)
            #expect(question.text.contains("Email: Work") && question.text.contains("Demo Bank"))
            let database = fixture.server.database
            let service = fixture.party.id
            #expect(
                try await database.attributeSelection(accountID: place.account, service: service)[.email] == office.id)
            let removed = try await place.post("/account/value/remove", ["value": office.id], query: query)
            #expect(removed.status == .ok && removed.text.contains("It is removed"))
            #expect(try await place.values().map(\.alias) == ["Home"])
            #expect(try await database.attributeSelection(accountID: place.account, service: service)[.email] == nil)
            #expect(try await place.entries(.personalValueRemoved).map(\.detail) == [office.id])
        }
    }

    @Test("A further address is taken away by its person, also one that was mistyped, and counts for nothing then")
    func furtherAddress() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let place = try await Place(fixture)
            #expect(try await place.add("alcie@new.example").status == .ok)
            let email = try #require(try await place.emails().first)
            let overview = try await place.browser.get("/account")
            let path = try overview.attribute("href", of: "remove-address")
            #expect(path == "/account/address/remove?address=\(email.id)")
            #expect(try await place.browser.get(path).text.contains("counts for nothing"))
            let removed = try await place.post(
                "/account/address/remove", ["address": email.id], query: "?address=\(email.id)")
            #expect(removed.status == .ok)
            #expect(try await place.emails().isEmpty)
            #expect(try await place.entries(.additionalEmailRemoved).map(\.detail) == [email.id])
            #expect(try await fixture.sendMail() == [.givenUp], "the letter is nobody's any more")
        }
    }

    @Test("Changes have the budget of codes, so that nobody fills the trail with them")
    func budget() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let place = try await Place(fixture)
            let value = try #require(try await place.values().first)
            let path = "/account/value/name"
            let token = try TerminalPhoneFixture.confirmation(
                of: try await place.browser.get("\(path)?value=\(value.id)"))
            var last = HTTPResponse.Status.ok
            for number in 0..<2 * Limits().codeBurst where last == .ok {
                let fields = ["value": value.id, "name": "Name \(number)", "confirmation": token]
                last = try await fixture.post(path, fields, place.browser).status
            }
            #expect(last == .tooManyRequests)
        }
    }
}
