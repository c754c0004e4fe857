import Accounts
import CeremonyEngine
import CountersignServer
import CountersignTestKit
import Hummingbird
import HummingbirdTesting
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("What a person changes on their own pages: the name of a device, and what was chosen for a service")
struct OwnChangesTests {
    private static func entries(_ fixture: TerminalPhoneFixture, _ kind: String) async throws -> [AuditEvent] {
        try await fixture.server.auditEvents(.init(rawValue: kind))
    }

    @Test("A device gets another name from its own person, on our page; the trail has it without an actor")
    func rename() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let browser = try await fixture.signedIn()
            let account = try await fixture.server.accountID()
            let listings = fixture.server.assembly.ceremonies.identities.listings
            let id = try #require(try await listings.activations(accountID: account).first?.id)
            let path = "/account/activation/name"

            #expect(try await TestBrowser(fixture.client).get("\(path)?activation=\(id)").status == .forbidden)
            #expect(try await browser.get("\(path)?activation=none").status == .notFound)
            let form = try await browser.get("\(path)?activation=\(id)")
            #expect(form.status == .ok && form.text.contains("value=\"Terminal\""))
            let confirmation = try TerminalPhoneFixture.confirmation(of: form)
            func post(_ name: String?, _ id: String = id, confirmation: String = confirmation) async throws
                -> TestResponse
            {
                var values = ["activation": id, "confirmation": confirmation]
                values["name"] = name
                return try await fixture.post(path, values, browser)
            }
            #expect(try await post("Tablet", confirmation: "forged").status == .badRequest)
            #expect(try await post("Tablet", "none").status == .notFound)
            #expect(try await post("two\nlines").status == .badRequest)
            for name in [nil, "", " Tablet", "\u{202E}telbaT", String(repeating: "x", count: 129)] {
                let refused = try await post(name)
                #expect(refused.status == .unprocessableContent)
                #expect(try refused.words(of: "problem").contains("A name is one line of 1 to 128 characters"))
            }
            #expect(try await listings.activations(accountID: account).map(\.name) == ["Terminal"])
            #expect(try await Self.entries(fixture, "activation-renamed").isEmpty)

            // Another's device is nobody's: the same answer as for one that never was.
            _ = try await fixture.server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
            let theirs = try await fixture.server.offer(to: "bob", pin: "258036")
            #expect(try await post("Mine", theirs.id).status == .notFound)

            let done = try await post("Zoë <phone>")
            #expect(done.status == .ok && done.text.contains("Zoë &lt;phone&gt;"))
            #expect(try await browser.get("/account").text.contains("Zoë &lt;phone&gt;"))
            let entry = try #require(try await Self.entries(fixture, "activation-renamed").first)
            #expect(entry.accountID == account && entry.actor == nil && entry.detail == id)
            #expect(try await fixture.scan(try await fixture.code(), lines: ["258036"]).refusal == nil, "it signs in")
        }
    }

    @Test("Names have the budget of codes, so that nobody fills the trail with them")
    func budget() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let browser = try await fixture.signedIn()
            let account = try await fixture.server.accountID()
            let listings = fixture.server.assembly.ceremonies.identities.listings
            let id = try #require(try await listings.activations(accountID: account).first?.id)
            let form = try await browser.get("/account/activation/name?activation=\(id)")
            let confirmation = try TerminalPhoneFixture.confirmation(of: form)
            var names = 0
            while names < 2 * Limits().codeBurst {
                let answer = try await fixture.post(
                    "/account/activation/name",
                    ["activation": id, "confirmation": confirmation, "name": "Name \(names)"], browser)
                guard answer.status == .ok else {
                    #expect(answer.status == .tooManyRequests && answer.headers[.retryAfter] != nil)
                    break
                }
                names += 1
            }
            #expect(names > 0 && names <= Limits().codeBurst)
            #expect(try await listings.activations(accountID: account).first?.name == "Name \(names - 1)")
        }
    }

    @Test("What was chosen for a service is forgotten after a question, by its own person, who is asked again there")
    func forget() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let browser = try await fixture.signedIn()
            let account = try await fixture.server.accountID()
            let service = fixture.party.id
            let path = "/account/choice"
            let before = try await fixture.server.database.attributeSelection(accountID: account, service: service)
            #expect(!before.isEmpty)

            #expect(try await TestBrowser(fixture.client).get("\(path)?service=\(service)").status == .forbidden)
            #expect(try await browser.get("\(path)?service=none").status == .notFound)
            let overview = try await browser.get("/account")
            #expect(try overview.attribute("href", of: "forget") == "\(path)?service=\(service)")
            let question = try await browser.get("\(path)?service=\(service)")
            #expect(question.text.contains("Demo Bank gets Given name: givenName, Email: Office"))
            let confirmation = try TerminalPhoneFixture.confirmation(of: question)
            let forged = try await fixture.post(path, ["service": service], browser)
            #expect(forged.status == .badRequest)
            let other = try await fixture.post(path, ["service": "none", "confirmation": confirmation], browser)
            #expect(other.status == .notFound)
            #expect(
                try await fixture.server.database.attributeSelection(accountID: account, service: service) == before)
            #expect(try await Self.entries(fixture, "attribute-choice-removed").isEmpty)

            let values = ["service": service, "confirmation": confirmation]
            let done = try await fixture.post(path, values, browser)
            #expect(done.status == .ok && done.text.contains("You are asked again"))
            #expect(
                try await fixture.server.database.attributeSelection(accountID: account, service: service).isEmpty)
            let entry = try #require(try await Self.entries(fixture, "attribute-choice-removed").first)
            #expect(entry.accountID == account && entry.actor == nil && entry.detail == service)
            #expect(try await !browser.get("/account").text.contains("data-testid=\"forget\""))
            #expect(try await fixture.post(path, values, browser).status == .notFound)
        }
    }
}
