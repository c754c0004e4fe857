import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import FreshStores
import HTTPTypes
import HummingbirdTesting
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

@Suite("Decision 126: \"Ask my phone\" at the sign-in page, over HTTP (threat model, Asking for a person at the page)")
struct AskedPhoneRoutesTests {
    /// Alice with her phone, and a service at which people sign in by a phone that asks.
    private struct Place: Sendable {
        let server: ServerFixture
        let client: any TestClientProtocol
        let party: RelyingParty
        let phone: VirtualPhone

        /// Opens the sign-in of the service in a browser. Returns the name of the request, and the page.
        func begin(_ browser: TestBrowser, _ more: String = "") async throws -> (request: String, page: TestResponse) {
            try await self.server.signInPage(browser, self.party, more)
        }

        func ask(_ name: String, _ request: String, _ browser: TestBrowser) async throws -> TestResponse {
            try await browser.post(
                "/sign-in/ask", form: PasswordPlace.form(["request": request, "username": name]))
        }

        /// Names a person in a new browser. Returns the browser, the request, the answer and the page with the number.
        func asked(_ name: String) async throws -> (
            browser: TestBrowser, request: String, answer: TestResponse, page: TestResponse
        ) {
            let browser = TestBrowser(self.client)
            let (request, _) = try await self.begin(browser)
            let answer = try await self.ask(name, request, browser)
            return (browser, request, answer, try await browser.get(try #require(answer.headers[.location])))
        }

        func pending() async throws -> [PendingOutOfBandOperation] {
            let pending: PendingOutOfBandOperationsResult = try await self.phone.client.operations
                .pendingOutOfBandOperations.execute()
            return pending.operations
        }

        /// Has the phone answer what waits, with a number.
        func answer(typing number: String) async throws {
            self.phone.person.script.numbers = [number]
            _ = try await self.phone.authenticate(try #require(try await self.pending().first).payload)
        }
    }

    private static func with(
        methods: [String] = ["asked-phone"], limits: Limits = Limits(),
        _ body: @escaping @Sendable (Place) async throws -> Void
    ) async throws {
        let server = try await ServerFixture(limits: limits)
        try await server.withPublicClient { client in
            let party = try await server.relyingParty(signInMethods: methods)
            try await body(
                Place(server: server, client: client, party: party, phone: try await server.enrolledPhone(client)))
        }
    }

    @Test("From the choice of ways to the tokens: a name, a number, the wait")
    func signsIn() async throws {
        try await Self.with(methods: ["phone", "asked-phone"]) { place in
            let browser = TestBrowser(place.client)
            let (request, choice) = try await place.begin(browser, "&login_hint=alice")
            #expect(try choice.words(of: "by-asked-phone") == "Ask my phone")
            let form = try await browser.get(try choice.attribute("href", of: "by-asked-phone"))
            #expect(try form.attribute("value", of: "username") == "alice")
            #expect(try form.attribute("autocomplete", of: "username") == "username")
            #expect(form.headers[.contentSecurityPolicy]?.contains("form-action 'self' http://127.0.0.1:8081;") == true)
            let answer = try await place.ask("alice", request, browser)
            #expect(answer.status == .seeOther && answer.headers[.location] == "/sign-in/wait?request=\(request)")
            let page = try await browser.get(try #require(answer.headers[.location]))
            let number = try page.words(of: "number")
            #expect(number.utf8.count == 6 && page.status == .ok)
            #expect(!page.text.contains("qr-code") && !page.text.contains("typed-code"))
            #expect(try page.attribute("data-state", of: "state") == "waiting")
            #expect(try await browser.get("/sign-in/wait?request=\(request)").words(of: "number") == number)
            try await place.answer(typing: number)
            #expect(place.phone.person.asked.contains { $0.question == .number })
            let approved = try await browser.get("/sign-in/wait?request=\(request)")
            #expect(approved.headers[.location] == "/sign-in/complete?request=\(request)")
            let tokens = try await place.party.complete(request, in: browser).object
            #expect(tokens["id_token"] != nil)
            let session = try #require(try await place.server.auditEvents(.init(rawValue: "signed-in")).first)
            #expect(session.detail?.contains("pin") == true)
        }
    }

    @Test("A name that nobody has, a locked account and a denial look the same as a name that waits, to the letter")
    func looks() async throws {
        try await Self.with { place in
            let directory = place.server.assembly.directory
            _ = try await directory.create(username: "bob", displayName: nil, by: "test")
            let carol = try await directory.create(username: "carol", displayName: nil, by: "test")
            _ = try await directory.setLocked(true, username: carol.reference, by: "test")
            var pages: [String] = []
            var heads: [[String]] = []
            var denied: (browser: TestBrowser, request: String, number: String)?
            for name in ["alice", "mallory", "bob", "carol", "two words", String(repeating: "x", count: 500)] {
                let (browser, request, answer, page) = try await place.asked(name)
                #expect(answer.status == .seeOther && page.status == .ok)
                let number = try page.words(of: "number")
                pages.append(page.text.replacing(request, with: "REQUEST").replacing(number, with: "NUMBER"))
                heads.append((Array(answer.headers) + Array(page.headers)).map { "\($0.name)" }.sorted())
                if name == "alice" { denied = (browser, request, number) }
            }
            #expect(Set(pages).count == 1)
            #expect(Set(heads).count == 1)
            for name in ["alice", "mallory"] { #expect(pages.first?.contains(name) == false) }
            let (browser, request, number) = try #require(denied)
            place.phone.person.script.numbers = [number == "123456" ? "654321" : "123456"]
            let operation = try #require(try await place.pending().first)
            await #expect(throws: (any Error).self) { try await place.phone.authenticate(operation.payload) }
            let after = try await browser.get("/sign-in/wait?request=\(request)")
            #expect(
                after.text.replacing(request, with: "REQUEST").replacing(number, with: "NUMBER") == pages.first)
            place.server.clock.advance(by: .seconds(180))
            let over = try await browser.get("/sign-in/wait?request=\(request)")
            #expect(try over.attribute("data-state", of: "state") == "expired")
            #expect(try over.attribute("href", of: "retry").hasPrefix("/sign-in/ask?request=\(request)&"))
        }
    }

    @Test("The answer does not wait for the devices, and its work is the same for every name")
    func work() async throws {
        try await Self.with { place in
            let account = try await place.server.assembly.directory.account(written: "alice")
            let device = try #require(try await place.server.database.devices(accountID: account.id).first)
            try await place.server.database.changeDispatchTarget(
                DispatchTargetChange(
                    deviceID: device.id, accountID: account.id, dispatcher: .changed(to: "device-stream"),
                    address: .changed(to: "none"),
                    audit: AuditEvent(AuditEvent.Kind(rawValue: "test"), at: place.server.clock.now())))
            let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
            let (gates, gate) = AsyncStream.makeStream(of: Void.self)
            place.server.hooks.atNext(.pushCount) {
                arrival.yield()
                for await _ in gates { break }
            }
            let (_, _, answer, page) = try await place.asked("alice")
            for await _ in arrivals { break }
            #expect(answer.status == .seeOther && page.status == .ok)
            #expect(try await place.server.database.waitingMessages(to: .device).count == 0)
            gate.yield()
            while try await place.server.database.waitingMessages(to: .device).count == 0 { await Task.yield() }
            _ = try await place.server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
            var steps: [[String]] = []
            for name in ["nobody", "bob"] {
                let browser = TestBrowser(place.client)
                let (request, _) = try await place.begin(browser)
                let before = place.server.hooks.work.steps.count
                _ = try await place.ask(name, request, browser)
                steps.append(Array(place.server.hooks.work.steps.dropFirst(before)))
            }
            #expect(steps == [["ceremony.create"], ["ceremony.create"]])
        }
    }

    @Test("The page's channel says that the page waits, and that its time is over, and nothing of the phone")
    func channel() async throws {
        try await Self.with { place in
            let (browser, request, _, page) = try await place.asked("alice")
            let number = try page.words(of: "number")
            place.phone.person.script.numbers = [number == "123456" ? "654321" : "123456"]
            let operation = try #require(try await place.pending().first)
            await #expect(throws: OperationError(.wrongNumber)) {
                try await place.phone.authenticate(operation.payload)
            }
            place.server.clock.advance(by: .seconds(180))
            let events = try await browser.get("/sign-in/wait/events?request=\(request)")
            #expect(events.text.contains(#""state":"expired""#))
            #expect(!events.text.contains("failed") && !events.text.contains("claimed"))
        }
    }

    @Test("A service that does not take the way, another browser and a form without a name are refused")
    func refusals() async throws {
        try await Self.with(methods: ["phone"]) { place in
            let browser = TestBrowser(place.client)
            let (request, _) = try await place.begin(browser)
            #expect(try await browser.get("/sign-in/ask?request=\(request)").status == .notFound)
            #expect(try await place.ask("alice", request, browser).status == .notFound)
            #expect(try await place.pending().isEmpty)
        }
        try await Self.with { place in
            let browser = TestBrowser(place.client)
            let (request, page) = try await place.begin(browser)
            #expect(page.headers[.location]?.hasPrefix("/sign-in/ask?request=\(request)") == true, "the only way")
            #expect(try await place.ask("alice", request, TestBrowser(place.client)).status == .notFound)
            for form in ["request=\(request)", "request=\(request)&username=a&username=b"] {
                #expect(try await browser.post("/sign-in/ask", form: form).status == .badRequest)
            }
            #expect(try await browser.post("/sign-in/ask", form: "username=alice").status == .badRequest)
            #expect(try await browser.get("/sign-in/ask?request=none").status == .notFound)
            #expect(try await place.pending().isEmpty)
        }
    }

    @Test("Past the budget of a network nobody is asked, whatever the name is")
    func budget() async throws {
        var limits = Limits()
        limits.codeBurst = 2
        try await Self.with(limits: limits) { place in
            let browser = TestBrowser(place.client)
            let (request, _) = try await place.begin(browser)
            for _ in 0..<2 { #expect(try await place.ask("nobody", request, browser).status == .seeOther) }
            for name in ["alice", "nobody"] {
                let answer = try await place.ask(name, request, browser)
                #expect(answer.status == .tooManyRequests)
            }
            #expect(try await place.pending().isEmpty)
        }
    }

    @Test("A sign-in by a number is none where the service takes codes alone, and the other way round")
    func wayOfService() async throws {
        try await Self.with(methods: ["phone", "asked-phone"]) { place in
            let (browser, request, _, page) = try await place.asked("alice")
            try await place.answer(typing: try page.words(of: "number"))
            var change = ClientChange()
            change.signInMethods = ["phone"]
            _ = try await place.server.assembly.provider.clients.change(place.party.id, change, by: "test")
            let refused = try await browser.get("/sign-in/complete?request=\(request)")
            #expect(refused.redirectParameters["code"] == nil)
            change.signInMethods = ["asked-phone"]
            _ = try await place.server.assembly.provider.clients.change(place.party.id, change, by: "test")
            #expect(try await browser.get("/sign-in/complete?request=\(request)").redirectParameters["code"] != nil)
        }
    }
}
