import Accounts
import Ceremony
import CeremonyEngine
import CountersignServer
import CountersignTestKit
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("A person's own pages: what the server has of their identity, its history, and codes for other devices")
struct OwnIdentityTests {
    // MARK: Seeing

    @Test("A person sees devices, values, roles, choices and organisations; whoever is not signed in sees nothing")
    func overview() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let identities = fixture.server.assembly.identities
            let club = try await identities.addOrganisation("Rowing <Club>", by: "test")
            try await identities.addMember("alice", to: club.id, by: "test")
            #expect(try await fixture.enroll().refusal == nil)
            let browser = try await fixture.signedIn()
            let page = try await browser.get("/account")
            #expect(page.status == .ok && page.headers[.cacheControl] == "no-store")
            for text in [
                "Terminal", "the device itself, PIN", "alice@office.example", "alice@home.example", "Alice",
                "Rowing &lt;Club&gt;", "Demo Bank", "Resident", "Gets Given name: givenName, Email: Office",
            ] { #expect(page.text.contains(text), "\(text)") }
            #expect(!page.text.contains("<Club>"))
            for path in ["/account", "/account/history", "/account/activation", "/account/activation/end?activation=a"]
            {
                let other = try await TestBrowser(fixture.client).get(path)
                #expect(other.status == .forbidden && !other.text.contains("alice"), "\(path)")
                #expect(other.text.contains("Nobody is signed in here"))
            }
        }
    }

    @Test("row 109: the person, and an operator, see each session with service, role and time, and nothing of factors")
    func history() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let browser = try await fixture.signedIn()
            let first = fixture.server.clock.now()
            // One is given up on the page, and one is left.
            fixture.server.clock.advance(by: .seconds(60))
            let denied = try await fixture.scan(
                try await fixture.code(in: TestBrowser(fixture.client)), answers: ["--deny"], lines: [])
            #expect(denied.refusal != nil)
            fixture.server.clock.advance(by: .seconds(60))
            try await fixture.claim(try await fixture.code(in: TestBrowser(fixture.client)))
            fixture.server.clock.advance(by: .seconds(181))
            try await fixture.server.assembly.ceremonies.sweep.run()
            let store = fixture.server.database
            let account = try #require(try await store.account(username: "alice"))
            let page = try await browser.get("/account/history")
            let outcomes = page.text.matches(of: /data-outcome="([a-z]*)"/).map { String($0.1) }
            #expect(outcomes == ["failed", "aborted", "finished"])
            #expect(page.text.contains("<strong>Sign-in</strong>: <bdi>Demo Bank</bdi>"))
            #expect(page.text.contains("as <bdi>Resident</bdi>"))
            #expect(page.text.contains("datetime=\"\(first.description)\""))
            let list = try #require(page.text.firstMatch(of: /<ul[\s\S]*<\/ul>/)).output
            for word in ["PIN", "pin", "finger", "factor", "device", "Terminal"] {
                #expect(!list.contains(word), "\(word)")
            }
            try await fixture.server.withSocketClient { client in
                let listed = try await client.send(.get, "/admin/v1/accounts/alice/identity-sessions").object
                let sessions = try listed.list("sessions")
                #expect(try sessions.map { try $0.requiredString("outcome") } == outcomes)
                #expect(try sessions.allSatisfy { try $0.requiredString("service") == fixture.party.id })
                let finished = try #require(sessions.last)
                #expect(try finished.requiredString("role") == "resident")
                #expect(try finished.requiredString("at") == first.description)
                #expect(Set(finished.members.map(\.name)) == ["purpose", "service", "role", "outcome", "at", "number"])
                #expect(listed["older"] == nil)
            }
            // What was agreed to: neither the session that was given up nor the one that was left.
            #expect(page.text.matches(of: /data-testid="agreement"/).count == 1)
            #expect(page.text.contains("It got: <bdi>Given name, as you have typed it, Email: Office</bdi>"))
            try await Self.evidence(fixture)
            #expect(try await store.identityHistory(accountID: account.id, limit: 9).count == 3)
        }
    }

    @Test("row 109: every session of a year is shown, a page after the other, by links, and by an operator's numbers")
    func pages() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let (store, clock) = (fixture.server.database, fixture.server.clock)
            let account = try #require(try await store.account(username: "alice"))
            let once = try await fixture.server.service(TerminalPhoneFixture.profile)
            // The service that was visited once, long before all others.
            for service in [once.id] + [String](repeating: fixture.party.id, count: 249) {
                try await store.applyIdentityOutcome(
                    IdentityOutcomeChange(
                        accountID: account.id, service: service, at: clock.now(),
                        history: IdentityHistoryRecord(
                            purpose: "userLogin", service: service, role: "resident", outcome: .finished,
                            at: clock.now()), limits: Limits()))
                clock.advance(by: .seconds(60 * 60))
            }
            let browser = try await fixture.signedIn()
            try await fixture.server.assembly.ceremonies.sweep.run()
            let overview = try await browser.get("/account")
            #expect(overview.text.matches(of: /data-testid="service"/).count == 2)

            var (path, counts): (String?, [Int]) = ("/account/history", [])
            while let next = path {
                let page = try await browser.get(next)
                counts.append(page.text.matches(of: /data-testid="entry"/).count)
                #expect(page.text.contains("data-testid=\"back\""))
                #expect(page.text.contains("data-testid=\"newest\"") == (counts.count > 1))
                #expect(page.text.contains("data-testid=\"agreement\"") == (counts.count == 1))
                path = page.text.firstMatch(of: /href="([^"]*)" data-testid="older"/).map { String($0.1) }
            }
            #expect(counts == [100, 100, 51])
            // An address that somebody has changed leads on all the same.
            for query in ["before=1", "before=-5"] {
                let page = try await browser.get("/account/history?\(query)")
                #expect(page.status == .ok && page.text.contains("Nothing older."))
                #expect(page.text.contains("data-testid=\"newest\""))
            }
            for query in ["before=x", "before=%FF", "before="] {
                let page = try await browser.get("/account/history?\(query)")
                #expect(page.text.matches(of: /data-testid="entry"/).count == 100, "\(query)")
            }

            try await fixture.server.withSocketClient { client in
                let path = "/admin/v1/accounts/alice/identity-sessions"
                var (query, numbers): (String?, [Int64]) = ("", [])
                while let next = query {
                    let listed = try await client.send(.get, path + next).object
                    numbers += try listed.list("sessions").compactMap { try $0.integer("number") }
                    query = try listed.integer("older", as: Int64.self).map { "?before=\($0)" }
                }
                #expect(numbers == [Int64](1...251).reversed())
                let few = try await client.send(.get, path + "?before=9&limit=3").object
                #expect(try few.list("sessions").map { try $0.integer("number", as: Int.self) } == [8, 7, 6])
                #expect(try few.integer("older", as: Int.self) == 6)
                #expect(try await client.send(.get, path + "?limit=1000").object.list("sessions").count == 100)
                for wrong in ["?before=x", "?limit=0", "?limit=-1", "?before=0", "?before=%FF"] {
                    #expect(try await client.send(.get, path + wrong).response.status == .badRequest, "\(wrong)")
                }
            }
        }
    }

    /// What an operator is shown of the one agreement, and nobody else's.
    private static func evidence(_ fixture: TerminalPhoneFixture) async throws {
        _ = try await fixture.server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
        try await fixture.server.withSocketClient { client in
            let path = "/admin/v1/accounts/alice/agreements"
            let listed = try await client.send(.get, path).object.list("agreements")
            let agreement = try #require(listed.first)
            #expect(listed.count == 1)
            #expect(try agreement.requiredString("service") == fixture.party.id)
            #expect(try agreement.strings("attributes") == ["givenName", "email"])
            #expect(try agreement.strings("factors") == ["device", "pin"])
            let session = try agreement.requiredString("session")
            let shown = try await client.send(.get, path + "/" + session)
            let document = try #require(Base64URL.decode(try shown.object.requiredString("document")))
            #expect(try SessionDocument(parsing: document).service.name == "Demo Bank")
            let hash = Base64URL.encode(Array(SHA256.hash(data: document)))
            #expect(try agreement.requiredString("documentHash") == hash)
            let trail = try await fixture.server.database.auditEntries(after: 0, limit: 999).map(\.event)
            #expect(trail.contains { $0.ceremonyID == session && $0.detail?.contains("document=\(hash)") ?? false })
            let signatures = try shown.object.list("signatures")
            #expect(try signatures.map { try $0.string("assertion") == nil } == [false, true])
            let root = try await fixture.client.send(.get, "/identity/root").object
            let keys = try ManagerKeySet(
                verifying: try await fixture.client.send(.get, "/identity/keys").response.text,
                server: "http://localhost:8080",
                roots: JWKSet([JWK(publicJSON: root)]), at: fixture.server.clock.now())
            let statement = try ConsentStatement(
                verifying: try shown.object.requiredString("statement"), server: "http://localhost:8080",
                keys: keys.signingKeys)
            #expect(statement.session == session && Base64URL.encode(statement.documentHash) == hash)
            for other in [
                "/admin/v1/accounts/bob/agreements/\(session)", path + "/none", "/admin/v1/accounts/x/agreements",
            ] {
                #expect(try await client.send(.get, other).response.status == .notFound, "\(other)")
            }
            #expect(try await client.send(.get, "/admin/v1/accounts/bob/agreements").object.list("agreements").isEmpty)
        }
    }

    private static func listed(_ client: any TestClientProtocol) async throws -> JSONObject {
        try await client.send(.get, "/admin/v1/accounts/alice/activations").object
    }

    @Test("An operator lists a person's apps and codes, and ends them; nobody else's")
    func administration() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let offer = try await fixture.offer()
            _ = try await fixture.server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
            try await fixture.server.withSocketClient { client in
                let listed = try await Self.listed(client)
                let activation = try #require(try listed.list("activations").first)
                #expect(try activation.requiredString("name") == "Terminal")
                #expect(try activation.strings("factors") == ["device", "pin"])
                #expect(try activation.bool("disabled") == false)
                #expect(try listed.list("offers").map { try $0.requiredString("id") } == [offer.id])
                for id in [offer.id, try activation.requiredString("id")] {
                    let path = "/accounts/NAME/activations/\(id)"
                    for (name, status) in [
                        ("bob", HTTPResponse.Status.notFound), ("alice", .noContent), ("alice", .notFound),
                    ] {
                        let answer = try await client.send(
                            .delete, "/admin/v1" + path.replacing("NAME", with: name)
                        ).response
                        #expect(answer.status == status, "\(name)")
                    }
                }
                let left = try await Self.listed(client)
                #expect(try left.list("activations").isEmpty)
                #expect(try left.list("offers").isEmpty)
            }
        }
    }

    // MARK: Roles

    @Test(
        "Who has lost their role or membership, or came to a service that takes nobody, is told of no more by userinfo; of a service that is none any more, the name alone"
    )
    func userinfoOfWhoIsNotTaken() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let browser = try await fixture.signedIn()
            let (party, identities) = (fixture.party, fixture.server.assembly.identities)
            let back = try await browser.get(party.authorizeAddress()).redirectParameters
            let tokens = try await party.exchange(try #require(back["code"]), fixture.client)
            let access = try tokens.object.requiredString("access_token")
            func told() async throws -> (status: HTTPResponse.Status, body: JSONObject) {
                let answer = try await fixture.client.userinfo(access)
                return (answer.response.status, answer.object)
            }
            let first = try await told()
            #expect(first.status == .ok && first.body["roles"] == .array([.string("resident")]))
            #expect(try first.body.string("given_name") == "Alice")

            let club = try await identities.addOrganisation("Club", by: "test").id
            let account = try await fixture.server.accountID()
            let (store, audit) = (
                fixture.server.database,
                AuditEvent(AuditEvent.Kind(rawValue: "test"), at: fixture.server.clock.now())
            )
            let losses: [(lost: () async throws -> Void, found: () async throws -> Void)] = [
                (
                    {
                        _ = try await store.revokeRole(
                            "resident", accountID: account, service: party.id, audit: audit)
                    },
                    {
                        _ = try await store.assignRole(
                            "resident", accountID: account, service: party.id, audit: audit)
                    }
                ),
                (
                    {
                        _ = try await identities.changeService(party.id, by: ["active": .bool(false)], by: "test")
                    },
                    { _ = try await identities.changeService(party.id, by: ["active": .bool(true)], by: "test") }
                ),
                (
                    {
                        _ = try await identities.changeService(
                            party.id, by: ["organisation": .string(club)], by: "test")
                    },
                    { try await identities.addMember("alice", to: club, by: "test") }
                ),
            ]
            for (lost, found) in losses {
                try await lost()
                let refused = try await told()
                #expect(refused.status == .unauthorized)
                #expect(try refused.body.string("error") == "invalid_token")
                #expect(refused.body["given_name"] == nil && refused.body["sub"] == nil)
                try await found()
                #expect(try await told().body == first.body)
            }
            #expect(try await store.removeServiceProfile(client: party.id, audit: audit))
            let left = try await told()
            #expect(left.status == .ok && left.body.members.map(\.name) == ["sub"])
            #expect(left.body["sub"] == first.body["sub"])
        }
    }

    @Test("Who has lost the role that they came in is asked anew, and gets no code for it, before and after they sign")
    func lostRole() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let browser = try await fixture.signedIn()
            let party = fixture.party
            func code() async throws -> String? {
                try await browser.get(party.authorizeAddress()).redirectParameters["code"]
            }
            func has(_ role: String, _ isHeld: Bool) async throws {
                let store = fixture.server.database
                let account = try await fixture.server.accountID()
                let audit = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: fixture.server.clock.now())
                let isChanged =
                    try await isHeld
                    ? store.assignRole(role, accountID: account, service: party.id, audit: audit)
                    : store.revokeRole(role, accountID: account, service: party.id, audit: audit)
                #expect(isChanged)
            }
            #expect(try await code() != nil, "as long as they are that")
            try await has("resident", false)
            let asked = try await browser.get(party.authorizeAddress())
            #expect(asked.headers[.location]?.hasPrefix("/sign-in?request=") == true)
            let silent = try await browser.get(party.authorizeAddress("&prompt=none"))
            #expect(silent.redirectParameters["error"] == "login_required")
            try await has("resident", true)
            #expect(try await code() != nil)

            // It is lost after the phone has signed, and before the browser comes back.
            let other = TestBrowser(fixture.client)
            let (request, outcome) = try await fixture.signIn(lines: ["258036"], in: other)
            #expect(outcome.refusal == nil, "\(outcome.lines)")
            try await has("resident", false)
            let refused = try await other.get("/sign-in/complete?request=\(request)")
            #expect(refused.redirectParameters["error"] == "access_denied")
            #expect(refused.redirectParameters["code"] == nil)
        }
    }

    // MARK: Another device

    @Test(
        "rows 73, 76: a page makes a code that personalises another device, which is listed by the name it was given"
    )
    func anotherDevice() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let browser = try await fixture.signedIn()
            let page = try await fixture.makeCode(browser)
            #expect(page.status == .ok)
            let code = try page.words(of: "typed-code")
            #expect(try TerminalPhoneFixture.code(on: page) == code)
            #expect(try page.attribute("href", of: "same-device-link") == "http://localhost:8080/open#\(code)")
            let state = try TerminalPhoneFixture.address(page)
            let waiting = try await browser.get(state)
            #expect(waiting.status == .ok && waiting.text.contains("This code still waits for a device"))

            // Nobody else learns anything, with all that an address can have.
            for stranger in [TestBrowser(fixture.client), try await fixture.signedIn(isFirst: false)] {
                for address in [state, try TerminalPhoneFixture.address(page, "/activation/events")] {
                    #expect(try await stranger.get(address).status == .notFound)
                }
            }
            let enrolled = try await fixture.enroll(code, pins: ["604817"], named: "-second")
            #expect(enrolled.refusal == nil, "\(enrolled.lines)")
            let done = try await browser.get(state)
            #expect(done.status == .ok && done.text.contains("This device is personalised"))
            let overview = try await browser.get("/account")
            #expect(overview.text.contains("<bdi>Tablet</bdi>") && overview.text.contains("<bdi>Terminal</bdi>"))
        }
    }

    @Test("The code is in the answer that made it and nowhere else: no header, no address, no log, no cache")
    func secrecy() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let browser = try await fixture.signedIn()
            let page = try await fixture.makeCode(browser)
            let code = try page.words(of: "typed-code")
            let secret = try #require(code.split(separator: "~").last)
            #expect(secret.utf8.count >= 40)
            #expect(page.headers[.cacheControl] == "no-store")
            #expect(page.headers.contains { $0.name.rawName == "Referrer-Policy" && $0.value == "no-referrer" })
            #expect(!page.headers.contains { $0.value.contains(secret) })
            let pages = [
                try await browser.get(TerminalPhoneFixture.address(page)), try await browser.get("/account"),
                try await browser.get("/account/activation"), try await browser.get("/account/history"),
            ]
            for other in pages { #expect(!other.text.contains(secret)) }
            let lines = try await fixture.server.requestLines { client in
                _ = try await TestBrowser(client).get(TerminalPhoneFixture.address(page))
            }
            #expect(!lines.isEmpty)
            let ticket = try page.attribute("data-ticket", of: "activation")
            for line in lines { #expect(!"\(line)".contains(ticket)) }
        }
    }

    @Test("A code is made once the phone has confirmed it, on our page, with a PIN; every refusal says what to do")
    func refusals() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let browser = try await fixture.signedIn()
            let different = try await fixture.makeCode(browser, again: "604818")
            #expect(different.status == .unprocessableContent)
            #expect(try different.words(of: "problem") == "These are not the same PIN.")
            // The page keeps the confirmation.
            func post(_ pin: String) async throws -> TestResponse {
                try await browser.post(
                    "/account/activation", form: different.hiddenFields + "&pin=\(pin)&pin-again=\(pin)")
            }
            for pin in ["1234", "letters", String(repeating: "7", count: 33)] {
                let refused = try await post(pin)
                #expect(refused.status == .unprocessableContent)
                #expect(try refused.words(of: "problem") == "A PIN has 5 to 32 digits, and nothing else.")
            }
            for pin in ["77777", "123456", "9876543210", "484848", "311299", "19991231"] {
                let refused = try await post(pin)
                #expect(refused.status == .unprocessableContent)
                #expect(try refused.words(of: "problem").contains("Choose one that is no date, no row"))
            }
            let forged = try await fixture.post(
                "/account/activation", ["confirmation": "forged", "pin": "604817", "pin-again": "604817"], browser)
            #expect(forged.status == .badRequest)
            let account = try await fixture.server.accountID()
            let listings = fixture.server.assembly.ceremonies.identities.listings
            #expect(try await listings.offers(accountID: account).isEmpty)

            for _ in 0..<4 { #expect(try await fixture.makeCode(browser).status == .ok) }
            let fifth = try await fixture.makeCode(browser)
            #expect(fifth.status == .conflict)
            #expect(fifth.text.contains("Take one of them back first"))

            fixture.server.clock.advance(by: .seconds(601))
            #expect(try await post("604817").asksForPhone, "the confirmation is over")
            #expect(try await listings.offers(accountID: account).count == 4)
        }
    }

    @Test("row 74: a code that nobody used in time is over, and leads to another; one that was taken back is, too")
    func overCodes() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let browser = try await fixture.signedIn()
            let (left, taken) = (
                try await fixture.makeCode(browser), try await fixture.makeCode(browser, name: "Other")
            )
            let id = try taken.attribute("data-activation", of: "activation")
            let question = try await browser.get("/account/activation/end?activation=\(id)")
            #expect(question.text.contains("Take this code back?"))
            let ended = try await fixture.post(
                "/account/activation/end",
                ["activation": id, "confirmation": try TerminalPhoneFixture.confirmation(of: question)], browser)
            #expect(ended.status == .ok)
            let over = try await browser.get(TerminalPhoneFixture.address(taken))
            #expect(over.text.contains("This code does not work any more"))
            let refused = try await fixture.enroll(
                try taken.words(of: "typed-code"), pins: ["604817"], named: "-second")
            #expect(refused.refusal != nil)

            #expect(try await browser.get("/account").text.contains("Tablet"))
            fixture.server.clock.advance(by: .seconds(15 * 60 + 1))
            let late = try await browser.get(TerminalPhoneFixture.address(left))
            #expect(late.text.contains("This code does not work any more"))
            #expect(try late.attribute("href", of: "link") == "/account/activation")
            let tooLate = try await fixture.enroll(try left.words(of: "typed-code"), pins: ["604817"], named: "-third")
            #expect(tooLate.refusal != nil)
            #expect(try await !browser.get("/account").text.contains("Tablet"), "it is gone from the list")
        }
    }

    @Test("A device is ended after a question, by its own person; what it has signed in to ends with it")
    func end() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let browser = try await fixture.signedIn()
            let account = try await fixture.server.accountID()
            let listings = fixture.server.assembly.ceremonies.identities.listings
            let id = try #require(try await listings.activations(accountID: account).first?.id)
            let bob = try await fixture.server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
            let theirs = try await fixture.server.offer(to: "bob", pin: "258036")

            let question = try await browser.get("/account/activation/end?activation=\(id)")
            #expect(question.text.contains("It is the last device that you have"))
            let confirmation = try TerminalPhoneFixture.confirmation(of: question)
            #expect(try await browser.get("/account/activation/end?activation=\(theirs.id)").status == .notFound)
            let stolen = try await fixture.post(
                "/account/activation/end", ["activation": theirs.id, "confirmation": confirmation], browser)
            #expect(stolen.status == .notFound)
            #expect(try await listings.offers(accountID: bob.id).count == 1)
            let forged = try await fixture.post("/account/activation/end", ["activation": id], browser)
            #expect(forged.status == .badRequest)
            #expect(try await listings.activations(accountID: account).count == 1)

            let asked = try await fixture.post(
                "/account/activation/end", ["activation": id, "confirmation": confirmation], browser)
            #expect(asked.asksForPhone)
            #expect(try await listings.activations(accountID: account).count == 1)
            let confirmed = try await fixture.confirm(asked, in: browser)
            let ended = try await browser.post("/account/activation/end", form: confirmed.hiddenFields)
            #expect(ended.status == .ok && ended.text.contains("It has ended"))
            #expect(try await listings.activations(accountID: account).isEmpty)
            #expect(try await browser.get("/account").status == .forbidden, "the device's sessions have ended")
            let refused = try await fixture.scan(try await fixture.code(), lines: ["258036"])
            #expect(refused.refusal != nil)
        }
    }

    // MARK: The letter

    @Test(
        "row 75: exactly one letter is sent where the person wants one, and none otherwise; it has the code, and no PIN",
        arguments: [true, false])
    func letter(isMailed: Bool) async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            try await fixture.enterAddress()
            #expect(try await fixture.enroll().refusal == nil)
            let code = try await fixture.newActivation(name: "Tablet", isMailed: isMailed)
            #expect(try await fixture.sendMail() == (isMailed ? [.delivered] : []))
            #expect(try await fixture.sendMail().isEmpty)
            let mail = fixture.server.mail
            #expect(mail.messages.count == (isMailed ? 1 : 0))
            guard isMailed else { return }
            #expect(try #require(mail.messages.first).contains("To: <alice@post.example>"))
            let link = try mail.link()
            #expect(link.hasPrefix("/open#") && !mail.text.contains("604817") && !mail.text.contains("258036"))
            let mailed = String(link.dropFirst("/open#".count))
            #expect(mailed.hasSameBytes(as: code))
            let enrolled = try await fixture.enroll(mailed, pins: ["604817"], named: "-second")
            #expect(enrolled.refusal == nil, "\(enrolled.lines)")
        }
    }

    @Test("A letter is not sent where its code was used or taken back before, or the address is nobody's")
    func unsentLetters() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let listings = fixture.server.assembly.ceremonies.identities.listings
            let account = try await fixture.server.accountID()
            for isVerified in [false, true] {
                try await fixture.enterAddress(isVerified: isVerified)
                _ = try await fixture.newActivation(name: nil, isMailed: true)
                if isVerified {
                    for offer in try await listings.offers(accountID: account) {
                        #expect(try await listings.end(offer.id, accountID: account))
                    }
                }
                #expect(try await fixture.sendMail() == [.givenUp])
                #expect(fixture.server.mail.messages.isEmpty)
            }
        }
    }
}
