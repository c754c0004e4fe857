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

@testable import PhoneCommand

@Suite("Admin API: one person's apps, choices and names at services, against a whole server and a phone")
struct PersonalisedAppAdministrationTests {
    private static func path(_ fixture: TerminalPhoneFixture) async throws -> String {
        let account = try await fixture.server.assembly.directory.account(written: "alice").id
        let listed = try await fixture.server.database.activations(accountID: account)
        return "/admin/v1/accounts/alice/activations/\(try #require(listed.first).device.id)"
    }

    private static func entries(_ fixture: TerminalPhoneFixture, _ kind: String) async throws -> [AuditEvent] {
        try await fixture.server.auditEvents(.init(rawValue: kind))
    }

    @Test("An app is shown with how often its person failed, how long it rests, and what is left; a code as well")
    func attempts() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            _ = try await fixture.signedIn()
            let (path, offer) = (try await Self.path(fixture), try await fixture.offer())
            _ = try await fixture.server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
            let limits = Limits()
            try await fixture.server.withSocketClient { client in
                func counts() async throws -> [Int64?] {
                    let shown = try await client.send(.get, path).object
                    return try ["failuresInARow", "recentFailures", "attemptsLeft", "lockedSeconds"].map {
                        try shown.integer($0, as: Int64.self)
                    }
                }
                let most = Int64(min(limits.lockoutFailuresInARow, limits.lockoutFailuresInWindow))
                #expect(try await counts() == [0, 0, most, nil])
                let wrong = try await fixture.scan(
                    try await fixture.code(in: TestBrowser(fixture.client)), lines: ["258037"])
                #expect(wrong.refusal?.status == .lockedOut)
                let rest = limits.firstLockout.components.seconds
                #expect(try await counts() == [1, 1, most - 1, rest])
                let shown = try await client.send(.get, path).object
                #expect(try shown.string("kind") == "activation" && shown.string("name") == "Terminal")
                #expect(try shown.strings("factors") == ["device", "pin"] && shown.bool("disabled") == false)
                let until = fixture.server.clock.now() + .seconds(rest)
                #expect(try shown.string("lockedUntil") == until.description)
                // A part of a second is one that has not passed.
                fixture.server.clock.advance(by: .milliseconds(1))
                #expect(try await counts() == [1, 1, most - 1, rest])
                fixture.server.clock.advance(by: .seconds(rest))
                #expect(try await counts() == [1, 1, most - 1, nil])
                #expect(try await client.send(.get, path).object["lockedUntil"] == nil)
                fixture.server.clock.advance(by: limits.lockoutWindow)
                let left = Int64(min(limits.lockoutFailuresInARow - 1, limits.lockoutFailuresInWindow))
                #expect(try await counts() == [1, 0, left, nil])
                fixture.server.clock.advance(by: limits.activationLifetime)
            }
            let other = try await fixture.offer()
            try await fixture.server.withSocketClient { client in
                let code = "/admin/v1/accounts/alice/activations/\(other.id)"
                let waiting = try await client.send(.get, code).object
                #expect(try waiting.string("kind") == "code" && waiting["factors"] == nil)
                #expect(try waiting.string("expiresAt") == other.expiresAt.description)
                #expect(try waiting.integer("failuresInARow", as: Int64.self) == 0)
                #expect(waiting["code"] == nil && waiting["pin"] == nil)
                // The first code's time is over by now.
                for wrong in [
                    "/admin/v1/accounts/alice/activations/\(offer.id)", code.replacing("/alice/", with: "/bob/"),
                    path.replacing("/alice/", with: "/bob/"), path.replacing("/alice/", with: "/nobody/"),
                    "/admin/v1/accounts/alice/activations/none",
                ] { #expect(try await client.send(.get, wrong).response.status == .notFound, "\(wrong)") }
            }
        }
    }

    @Test(
        "An operator calls an app otherwise: its person sees it, the trail says who, and a code has no name to change")
    func rename() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let (path, offer) = (try await Self.path(fixture), try await fixture.offer())
            _ = try await fixture.server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
            try await fixture.server.withSocketClient { client in
                let renamed = try await client.send(.patch, path, ["name": .string("Old tablet")])
                #expect(try renamed.response.status == .ok && renamed.object.string("name") == "Old tablet")
                #expect(try await client.send(.get, path).object == renamed.object)
                for wrong in [" x", "a\u{202E}b", "a\nb", String(repeating: "x", count: 500)] {
                    let answer = try await client.send(.patch, path, ["name": .string(wrong)])
                    #expect(answer.response.status == .badRequest && answer.response.text.contains("one line"))
                }
                for wrong in [
                    path.replacing("/alice/", with: "/bob/"), path.replacing("/alice/", with: "/nobody/"),
                    "/admin/v1/accounts/alice/activations/\(offer.id)", "/admin/v1/accounts/alice/activations/none",
                ] {
                    let answer = try await client.send(.patch, wrong, ["name": .string("Mine")])
                    #expect(answer.response.status == .notFound, "\(wrong)")
                }
            }
            let page = try await fixture.signedIn().get("/account")
            #expect(page.text.contains("Old tablet") && !page.text.contains("Mine"))
            let entries = try await Self.entries(fixture, "activation-renamed")
            let account = try await fixture.server.assembly.directory.account(written: "alice").id
            #expect(entries.map(\.actor) == ["socket"] && entries.map(\.accountID) == [account])
            #expect(entries.first?.detail.map { path.hasSuffix($0) } == true)
        }
    }

    @Test("What a person has chosen for a service is listed by its names, and forgotten: they are asked again there")
    func choices() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            _ = try await fixture.signedIn()
            _ = try await fixture.server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
            let (path, service) = ("/admin/v1/accounts/alice/choices", fixture.party.id)
            let before = try await fixture.scan(
                try await fixture.code(in: TestBrowser(fixture.client)), lines: ["258036"])
            #expect(before.refusal == nil, "\(before.lines)")
            try await fixture.server.withSocketClient { client in
                let listed = try await client.send(.get, path)
                let choices = try listed.object.list("choices")
                #expect(try choices.map { try $0.requiredString("attribute") } == ["givenName", "email"])
                #expect(try choices.map { try $0.requiredString("service") } == [service, service])
                #expect(try choices.map { try $0.requiredString("alias") } == ["givenName", "Office"])
                #expect(!listed.response.text.contains("@"), "no value")
                #expect(try await client.send(.get, "/admin/v1/accounts/bob/choices").object.list("choices").isEmpty)
                for wrong in ["/admin/v1/accounts/nobody/choices/\(service)", "\(path)/none"] {
                    #expect(try await client.send(.delete, wrong).response.status == .notFound)
                }
                let others = "/admin/v1/accounts/bob/choices/\(service)"
                #expect(try await client.send(.delete, others).response.status == .notFound)
                #expect(try await client.send(.get, path).object == listed.object)
                #expect(try await client.send(.get, "\(path)/\(service)").object == listed.object)
                for wrong in ["\(path)/none", others, "/admin/v1/accounts/nobody/choices"] {
                    #expect(try await client.send(.get, wrong).response.status == .notFound)
                }
                #expect(try await client.send(.delete, "\(path)/\(service)").response.status == .noContent)
                #expect(try await client.send(.delete, "\(path)/\(service)").response.status == .notFound)
                #expect(try await client.send(.get, path).object.list("choices").isEmpty)
                let values = try await client.send(.get, "/admin/v1/accounts/alice/attributes").object
                #expect(try values.list("attributes").count == 3, "the values stay")
            }
            let entries = try await Self.entries(fixture, "attribute-choice-removed")
            #expect(entries.map(\.actor) == ["socket"] && entries.map(\.detail) == [service])
            // There are two addresses: nobody says again which one the service gets.
            let asked = try await fixture.scan(
                try await fixture.code(in: TestBrowser(fixture.client)), lines: ["258036"])
            #expect(asked.refusal?.status == .usage, "\(asked.lines)")
        }
    }

    @Test(
        "Who a service means is looked up either way, and the trail says who has looked; what was never told finds nobody"
    )
    func subjects() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let assembly = fixture.server.assembly
            let account = try await assembly.directory.account(written: "alice").id
            let service = fixture.party.id
            let other = try await fixture.server.relyingParty().id
            try await fixture.server.withSocketClient { client in
                func look(_ path: String) async throws -> (HTTPResponse.Status, JSONObject) {
                    let answer = try await client.send(.get, "/admin/v1" + path)
                    return (answer.response.status, answer.object)
                }
                let (_, before) = try await look("/accounts/alice/subjects/\(service)")
                let subject = try before.requiredString("subject")
                #expect(try before.bool("told") == false)
                #expect(try await look("/clients/\(service)/subjects/\(subject)").0 == .notFound, "nobody told it")

                let browser = TestBrowser(fixture.client)
                let (request, page) = try await fixture.server.signInPage(browser, fixture.party)
                let outcome = try await fixture.scan(
                    try TerminalPhoneFixture.code(on: page),
                    ["--alias", "email=Office", "--value-stdin"],
                    lines: [#"{"givenName":"Alice"}"#, "258036"])
                #expect(outcome.refusal == nil, "\(outcome.lines)")
                let back = try await browser.get("/sign-in/complete?request=\(request)")
                let tokens = try await fixture.party.exchange(
                    try #require(back.redirectParameters["code"]), fixture.client
                ).object
                #expect(try AppTokens.claims(try tokens.requiredString("id_token")).requiredString("sub") == subject)

                for path in ["/accounts/alice/subjects/\(service)", "/clients/\(service)/subjects/\(subject)"] {
                    let (status, found) = try await look(path)
                    #expect(try status == .ok && found.bool("told") == true, "\(path)")
                    #expect(try found.string("accountId") == account && found.string("username") == "alice")
                    #expect(try found.string("subject") == subject && found.string("clientId") == service)
                }
                let (_, elsewhere) = try await look("/accounts/alice/subjects/\(other)")
                #expect(try elsewhere.requiredString("subject") != subject && elsewhere.bool("told") == false)
                for wrong in [
                    "/clients/\(other)/subjects/\(subject)", "/clients/none/subjects/\(subject)",
                    "/clients/\(service)/subjects/none", "/accounts/nobody/subjects/\(service)",
                    "/accounts/alice/subjects/none",
                ] { #expect(try await look(wrong).0 == .notFound, "\(wrong)") }

                let (listed, all) = try await look("/accounts/alice/subjects")
                #expect(try listed == .ok && all.list("subjects").map { try $0.string("subject") } == [subject])
                #expect(try all.list("subjects").map { try $0.string("clientId") } == [service])
                #expect(try await look("/accounts/alice/subjects?after=\(service)").1.list("subjects").isEmpty)
                #expect(try await look("/accounts/nobody/subjects").0 == .notFound)
                let listings = try await Self.entries(fixture, "subjects-listed")
                #expect(listings.count == 2 && listings.allSatisfy { $0.accountID == account && $0.actor == "socket" })
                let entries = try await Self.entries(fixture, "subject-looked-up")
                #expect(entries.map(\.detail) == [service, service, service, other])
                #expect(entries.allSatisfy { $0.accountID == account && $0.actor == "socket" })
                try await assembly.directory.delete(username: AccountName(stored: "alice"), by: "test")
                #expect(try await look("/clients/\(service)/subjects/\(subject)").0 == .notFound, "the account is gone")
            }
        }
    }
}
