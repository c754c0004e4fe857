import Accounts
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Records
import SQLStore
import Testing
import _Primitives

@testable import PhoneCommand

@Suite("Decision 65: the terminal phone with a personalised identity, against a whole server")
struct TerminalPhoneTests {
    private static let values = TerminalPhoneFixture.values

    private func word(_ line: JSONObject, _ name: String) -> String? { (try? line.string(name)) ?? nil }

    @Test("An activation's code and its PIN personalise the phone, which trusts the server of its own machine")
    func enroll() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let outcome = try await fixture.enroll()
            #expect(outcome.refusal == nil)
            #expect(try outcome.line("trusted").string("server") == "http://localhost:8080")
            let finished = try outcome.line("finished")
            #expect(self.word(finished, "outcome") == "personalized" && self.word(finished, "name") == "Terminal")
            #expect(try finished.strings("factors") == ["device", "pin"])
            let again = try await fixture.enroll()
            #expect(again.refusal?.reason == "already-personalized")
        }
    }

    @Test("A wrong PIN of an activation is a lockout, which is sat out; the next one is taken")
    func enrollWithAWrongPIN() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let code = try await fixture.offer().code
            let before = fixture.server.clock.now()
            let outcome = try await fixture.enroll(code, pins: ["111222", "258036"])
            #expect(outcome.refusal == nil)
            let seconds = try outcome.line("lockout").requiredInteger("seconds", as: Int.self)
            #expect(fixture.server.clock.now() - before >= .seconds(seconds))
            #expect(self.word(try outcome.line("finished"), "outcome") == "personalized")
        }
    }

    @Test("Without another PIN a script ends as locked out, with the time")
    func enrollWithOnePIN() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let outcome = try await fixture.enroll(pins: ["111222"])
            #expect(outcome.refusal?.status == .lockedOut && outcome.refusal?.reason == "locked-out")
            #expect(try outcome.line("lockout").string("lockedUntil")?.isEmpty == false)
        }
    }

    @Test("A service gets the address that was chosen and the name that was missing, and the browser is signed in")
    func scan() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let (request, outcome) = try await fixture.signIn(
                ["--alias", "email=Office", "--value-stdin"], lines: [Self.values, "258036"], in: fixture.browser)
            #expect(outcome.refusal == nil, "\(outcome.lines)")
            let asked = try outcome.line("request")
            let roles = try asked.array("roles")
            #expect(self.word(asked, "service") == "Demo Bank" && roles?.count == 1)
            #expect(self.word(try outcome.line("finished"), "outcome") == "approved")
            // What the account has is shown by its alias, and what was typed not at all.
            let said = outcome.lines.map { JSON.object($0).text }.joined()
            #expect(!said.contains("office.example") && !said.contains("Alice") && said.contains("Office"))
            let tokens = try await fixture.party.complete(request, in: fixture.browser)
            #expect(tokens.response.status == .ok)
            let claims = try await fixture.client.userinfo(try tokens.object.requiredString("access_token")).object
            #expect(try claims.strings("roles") == ["resident"])
            #expect(self.word(claims, "given_name") == "Alice")
            #expect(self.word(claims, "email") == "alice@office.example")
            // The choice is remembered, and the name is the account's now.
            let second = try await fixture.scan(
                try await fixture.code(in: TestBrowser(fixture.client)), lines: ["258036"])
            #expect(second.refusal == nil, "\(second.lines)")
            #expect(JSON.object(try second.line("disclosure")).text.contains("Office"))
        }
    }

    @Test("Nobody comes past a service's own questions by a session that they have elsewhere")
    func sessionOfAnotherService() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let other = try await fixture.server.service(TerminalPhoneFixture.profile)
            let plain = try await fixture.server.relyingParty()
            _ = try await fixture.signedIn(fixture.browser)

            // A session is one for the service that it was begun at, and for clients that ask people nothing themselves.
            for party in [fixture.party, plain] {
                let again = try await fixture.browser.get(party.authorizeAddress())
                #expect(again.redirectParameters["code"] != nil, "\(party.id)")
            }
            let silent = try await fixture.browser.get(other.authorizeAddress("&prompt=none"))
            #expect(silent.redirectParameters["error"] == "login_required")
            let (_, asked) = try await fixture.server.signInPage(fixture.browser, other)
            #expect(try !TerminalPhoneFixture.code(on: asked).isEmpty)
        }
    }

    @Test(
        "What a script has not answered is refused with the option that answers it, and nothing is signed",
        arguments: [
            (["--value-stdin"], [values, "258036"], "usage", "--alias email"),
            (["--alias", "email=Office"], ["258036"], "usage", "--value-stdin"),
            (["--alias", "email=Attic", "--value-stdin"], [values, "258036"], "no-such-alias", "Office"),
            (["--role", "mayor", "--value-stdin"], [values, "258036"], "no-such-role", "Resident"),
            (
                ["--alias", "email=Office", "--value-stdin", "--factor", "pin"], [values, "258036"], "usage",
                "pin,device"
            ),
            (
                ["--alias", "email=Office", "--value-stdin"], [#"{"givenName":""}"#, "258036"], "value-refused",
                "givenName"
            ),
        ])
    func missingAnswers(options: [String], lines: [String], reason: String, words: String) async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let outcome = try await fixture.scan(nil, options, lines: lines)
            #expect(outcome.refusal?.reason == reason)
            #expect(outcome.refusal?.sentence.contains(words) == true, "\(outcome.refusal?.sentence ?? "")")
        }
    }

    @Test("Several roles are chosen from by name; the factors of the role are what is signed with")
    func roles() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            for role in ["resident", "official"] {
                _ = try await fixture.server.assembly.identities.assign(
                    role, to: "alice", service: fixture.party.id, by: "test")
            }
            #expect(try await fixture.enroll(biometric: true).refusal == nil)
            let unanswered = try await fixture.scan(
                nil, ["--alias", "email=Home", "--value-stdin"], lines: [Self.values, "258036"])
            #expect(unanswered.refusal?.sentence.contains("--role") == true)
            let outcome = try await fixture.scan(
                nil,
                ["--role", "Official", "--alias", "email=Home", "--value-stdin", "--factor", "biometric,device"],
                lines: [Self.values])
            #expect(outcome.refusal == nil, "\(outcome.lines)")
            #expect(self.word(try outcome.line("finished"), "role") == "Official")
            #expect(try outcome.line("sensor").bool("simulated") == true)
        }
    }

    @Test("After a wrong PIN the phone waits as long as the server wants, and tries again with the next one")
    func wrongPIN() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let options = ["--alias", "email=Home", "--value-stdin"]
            let outcome = try await fixture.scan(nil, options, lines: [Self.values, "999111", "258036"])
            #expect(outcome.refusal == nil, "\(outcome.lines)")
            #expect(try outcome.line("lockout").bool("pending") == false)
            let alone = try await fixture.scan(
                try await fixture.code(in: TestBrowser(fixture.client)), lines: ["999111"])
            #expect(alone.refusal?.status == .lockedOut)
            // While it rests, nothing is begun.
            let pending = try await fixture.scan(
                try await fixture.code(in: TestBrowser(fixture.client)), lines: ["258036"])
            #expect(pending.refusal?.status == .lockedOut)
        }
    }

    @Test("A person who denies is not signed in, and the page has another code for whoever sits there")
    func denial() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let (request, page) = try await fixture.server.signInPage(fixture.browser, fixture.party)
            let outcome = try await fixture.scan(
                try TerminalPhoneFixture.code(on: page), ["--alias", "email=Home", "--value-stdin"],
                answers: ["--deny"], lines: [Self.values, "258036"])
            #expect(outcome.refusal?.outcome == .denied)
            // Whoever sits there gets another code at once, without a click, and the one before is good for nothing.
            let wait = "/sign-in/wait?request=\(request)"
            let anew = try await fixture.browser.get(wait)
            #expect(try anew.attribute("data-state", of: "state") == "waiting")
            let over = try await fixture.scan(try TerminalPhoneFixture.code(on: page), lines: ["258036"])
            #expect(over.refusal != nil)
            let signedIn = try await fixture.scan(
                try TerminalPhoneFixture.code(on: anew), ["--alias", "email=Home", "--value-stdin"],
                lines: [Self.values, "258036"])
            #expect(signedIn.refusal == nil)
            let answer = try await fixture.browser.get("/sign-in/complete?request=\(request)")
            #expect(answer.headers[.location]?.contains("code=") == true)
        }
    }

    @Test("Each kind of code has its command, and a damaged one none")
    func kinds() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let activation = try await fixture.offer().code
            let scanned = try await fixture.scan(activation, lines: ["258036"])
            #expect(scanned.refusal?.sentence.contains("`enroll`") == true)
            let enrolled = try await fixture.enroll(try await fixture.code())
            #expect(enrolled.refusal?.sentence.contains("`scan`") == true)
            var letters = Array(activation)
            letters[letters.count - 30] = letters[letters.count - 30] == "A" ? "B" : "A"
            let damaged = try await fixture.enroll(String(letters))
            #expect(damaged.refusal?.reason == "server-signature-invalid")
            let nothing = try await fixture.enroll("a~b")
            #expect(nothing.refusal?.reason == "malformed-data")
        }
    }

    @Test("A changed PIN is the one that counts; a simple or the same one is refused with the reason")
    func changePIN() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            for (pin, reason) in [("111111", "pin-too-simple"), ("258036", "pin-unchanged"), ("12", "pin-too-short")] {
                let outcome = try await fixture.phone(lines: ["258036", pin]) { phone, person async throws in
                    try await OwnIdentity(phone, answeredBy: person).changePin()
                }
                #expect(outcome.refusal?.reason == reason)
            }
            let outcome = try await fixture.phone(lines: ["258036", "904817"]) { phone, person async throws in
                try await OwnIdentity(phone, answeredBy: person).changePin()
            }
            #expect(outcome.refusal == nil, "\(outcome.lines)")
            let options = ["--alias", "email=Home", "--value-stdin"]
            #expect(try await fixture.scan(nil, options, lines: [Self.values, "904817"]).refusal == nil)
            let former = try await fixture.scan(
                try await fixture.code(in: TestBrowser(fixture.client)), lines: ["258036"])
            #expect(former.refusal?.status == .lockedOut)
        }
    }

    @Test("A finger can be added once")
    func addFactor() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            func add() async throws -> TerminalPhoneFixture.Outcome {
                try await fixture.phone(lines: ["258036"]) { phone, person async throws in
                    try await OwnIdentity(phone, answeredBy: person).addFactor()
                }
            }
            let outcome = try await add()
            #expect(outcome.refusal == nil, "\(outcome.lines)")
            #expect(try await add().refusal?.reason == "factor-already-enrolled")
        }
    }

    @Test("A finger that ended with those of the phone is replaced, the person is told so, and the new one signs")
    func replacedFinger() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            _ = try await fixture.server.assembly.identities.assign(
                "official", to: "alice", service: fixture.party.id, by: "test")
            #expect(try await fixture.enroll(biometric: true).refusal == nil)
            _ = try await fixture.phone { phone, _ async throws in
                try phone.device.fingerprintSensor.set(.changed)
            }
            func signIn(_ lines: [String]) async throws -> TerminalPhoneFixture.Outcome {
                try await fixture.scan(
                    try await fixture.code(in: TestBrowser(fixture.client)),
                    ["--role", "Official", "--alias", "email=Home", "--value-stdin", "--factor", "biometric,device"],
                    lines: lines)
            }
            #expect(try await signIn([Self.values]).refusal?.reason == "biometric-invalidated")
            let outcome = try await fixture.phone(lines: ["258036"]) { phone, person async throws in
                try await OwnIdentity(phone, answeredBy: person).addFactor()
            }
            #expect(outcome.refusal == nil, "\(outcome.lines)")
            #expect(self.word(try outcome.line("text"), "text")?.contains("replaced") == true)
            let signed = try await signIn([Self.values])
            #expect(signed.refusal == nil, "\(signed.lines)")
            #expect(self.word(try signed.line("finished"), "role") == "Official")
        }
    }

    @Test("Another phone is personalised by a code that the first one has made, with a PIN of its own")
    func newActivation() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let code = try await fixture.newActivation(name: "Tablet", isMailed: false)
            let enrolled = try await fixture.enroll(code, pins: ["604817"], named: "-second")
            #expect(enrolled.refusal == nil, "\(enrolled.lines)")
            let options = ["--alias", "email=Home", "--value-stdin"]
            let signedIn = try await fixture.scan(nil, options, lines: [Self.values, "604817"], named: "-second")
            #expect(signedIn.refusal == nil, "\(signedIn.lines)")
        }
    }

    @Test("A deleted account is gone, and with it the identity on the phone")
    func deletion() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let unasked = try await fixture.phone(lines: ["258036"]) { phone, person async throws in
                try await OwnIdentity(phone, answeredBy: person).deleteAccount(isAgreed: false)
            }
            #expect(unasked.refusal?.status == .usage)
            let outcome = try await fixture.phone(lines: ["258036"]) { phone, person async throws in
                try await OwnIdentity(phone, answeredBy: person).deleteAccount(isAgreed: true)
            }
            #expect(outcome.refusal == nil, "\(outcome.lines)")
            let after = try await fixture.phone { phone, _ in _ = try await phone.identity() }
            #expect(after.refusal?.reason == "not-personalized")
        }
    }

    /// Signs a phone's person in at the service, in a browser of their own: the access token, and what it calls them.
    private func tokens(
        _ fixture: TerminalPhoneFixture, _ options: [String], lines: [String], named name: String = ""
    ) async throws -> (access: String, subject: String) {
        let browser = TestBrowser(fixture.client)
        let (request, outcome) = try await fixture.signIn(options, lines: lines, named: name, in: browser)
        #expect(outcome.refusal == nil, "\(outcome.lines)")
        let access = try await fixture.party.complete(request, in: browser).object.requiredString("access_token")
        let claims = try await fixture.client.userinfo(access)
        #expect(claims.response.status == .ok)
        return (access, try claims.object.requiredString("sub"))
    }

    @Test("A deleted account opens nothing, is left in the trail alone, and touches neither services nor anybody else")
    func deletedAccount() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let (server, party) = (fixture.server, fixture.party)
            let account = try await server.accountID()
            _ = try await server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
            _ = try await server.assembly.identities.addValue(
                .init(attribute: "email", value: "bob@home.example", alias: "Home", isVerified: true), to: "bob",
                by: "test")
            let offer = try await server.offer(to: "bob", pin: "391752")
            #expect(try await fixture.enroll(offer.code, pins: ["391752"], named: "-bob").refusal == nil)
            let other = try await self.tokens(
                fixture, ["--value-stdin"], lines: [#"{"givenName":"Bob"}"#, "391752"], named: "-bob")

            #expect(try await fixture.enroll().refusal == nil)
            let second = try await fixture.newActivation(name: "Tablet", isMailed: false)
            #expect(try await fixture.enroll(second, pins: ["604817"], named: "-second").refusal == nil)
            let own = try await self.tokens(
                fixture, ["--alias", "email=Office", "--value-stdin"], lines: [Self.values, "258036"])
            let client = try await server.database.client(party.id)
            let profile = try await server.database.serviceProfile(party.id)
            #expect(client != nil && profile != nil)
            func tables(with text: String) async throws -> Set<String> {
                Set(try await server.cells().filter { $0.contains(text) }.map(\.table))
            }
            let before = try await tables(with: account)
            #expect(
                before.isSuperset(of: [
                    "account", "attribute_selection", "audit", "ceremony", "credential", "device", "identity_consent",
                    "identity_history", "oauth_authentication", "oauth_session", "oauth_subject", "personal_value",
                ]), "the search would find something: \(before.sorted())")
            #expect(try await tables(with: own.subject).contains("oauth_subject"))

            let outcome = try await fixture.phone(lines: ["258036"]) { phone, person async throws in
                try await OwnIdentity(phone, answeredBy: person).deleteAccount(isAgreed: true)
            }
            #expect(outcome.refusal == nil, "\(outcome.lines)")
            #expect(try await fixture.client.userinfo(own.access).response.status == .unauthorized)
            let refused = try await fixture.scan(
                try await fixture.code(in: TestBrowser(fixture.client)), lines: ["604817"], named: "-second")
            #expect(refused.refusal != nil, "no activation answers any more")
            #expect(try await tables(with: account) == ["audit"])
            #expect(try await tables(with: own.subject).isEmpty)

            #expect(try await server.database.client(party.id) == client)
            #expect(try await server.database.serviceProfile(party.id) == profile)
            #expect(try await fixture.client.userinfo(other.access).response.status == .ok)
            #expect(try await self.tokens(fixture, [], lines: ["391752"], named: "-bob").subject == other.subject)
        }
    }

    @Test("What goes by a phone that has no identity, or that is not trusted, says what to do")
    func nobody() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let scanned = try await fixture.scan(lines: ["258036"])
            #expect(scanned.refusal?.status == .notFound && scanned.refusal?.reason == "not-personalized")
            #expect(scanned.refusal?.sentence.contains("enroll CODE") == true)
        }
    }
}
