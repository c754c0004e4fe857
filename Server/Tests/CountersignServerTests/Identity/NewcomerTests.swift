import Accounts
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

@Suite("Whoever a service believes to have no identity, and what becomes of their address")
struct NewcomerTests {
    /// A service that takes newcomers, and a browser that it has sent here as one of them.
    private struct Place {
        let server: ServerFixture
        let party: RelyingParty
        let browser: TestBrowser
        let form: TestResponse
        /// What the form has beside the address.
        let fields: String

        init(_ server: ServerFixture, _ party: RelyingParty, _ browser: TestBrowser) async throws {
            (self.server, self.party, self.browser) = (server, party, browser)
            (self.form, self.fields) = try await server.newcomersPage(browser, party)
        }

        func ask(_ email: String, _ browser: TestBrowser? = nil) async throws -> TestResponse {
            try await (browser ?? self.browser).post(
                "/sign-in/newcomer", form: self.fields + "&email=\(email)")
        }

        func invites() async throws -> [InviteRecord] { try await self.server.assembly.identities.invites() }
    }

    static let profile: JSONObject = [
        "roles": .array([.role("guest", "Guest"), .resident]), "newcomers": .bool(true),
    ]

    private func run(
        limits: Limits = Limits(), _ test: @escaping @Sendable (Place) async throws -> Void
    ) async throws {
        let server = try await ServerFixture(limits: limits)
        try await server.withPublicClient { client in
            let party = try await server.service(Self.profile)
            try await test(try await Place(server, party, TestBrowser(client)))
        }
    }

    @Test("a service that takes newcomers asks for an address, and says where whoever has an identity goes on")
    func form() async throws {
        try await self.run { place async throws in
            #expect(place.form.status == .ok && place.form.text.contains("Are you new to Demo Bank?"))
            let signIn = try place.form.attribute("href", of: "have-identity").replacing("&amp;", with: "&")
            let page = try await place.browser.get(signIn)
            #expect(try page.attribute("data-state", of: "state") == "waiting")
            #expect(try page.attribute("href", of: "begin-enrolment").hasPrefix("/sign-in/newcomer?request="))
            // Only who is believed to be new is led there.
            let (_, plain) = try await place.server.signInPage(place.browser, place.party, "&prompt=login")
            #expect(plain.status == .ok && !plain.text.contains("data-testid=\"enrolment\""))
        }
    }

    @Test("what is no address is said to be none, and nobody is invited")
    func noAddress() async throws {
        try await self.run { place async throws in
            for email in ["", "nobody", "a@b@c", "j%C3%B6@post.example", "a%20b@post.example"] {
                let page = try await place.ask(email)
                #expect(page.status == .unprocessableContent, "\(email)")
                #expect(try page.words(of: "problem").contains("NAME@HOST"), "\(email)")
            }
            #expect(
                try await place.browser.post("/sign-in/newcomer", form: place.fields).status
                    == .unprocessableContent)
            #expect(try await place.ask("a%0d%0aBcc:b@post.example").status == .badRequest)
            #expect(try await place.invites().isEmpty)
        }
    }

    @Test("a newcomer's letter is a stranger's, whose letters have a share; an operator's invitation is not")
    func turn() async throws {
        try await self.run { place async throws in
            #expect(try await place.ask("new@post.example").status == .ok)
            let (store, now) = (place.server.database, place.server.clock.timeSource.now())
            let lease = now + .seconds(60)
            func turns(strangers: Int) async throws -> [MailRecord.Turn] {
                let shares = OutboxShares(most: 9, share: 9, sharesOfLanes: ["strangers": strangers])
                let letters = try await store.takeMessages(to: .mailbox, at: now, lease: lease, shares: shares)
                return try letters.map { try MailDelivery($0).turn }
            }
            #expect(try await turns(strangers: 0).isEmpty)
            #expect(try await turns(strangers: 9) == [.stranger])
            _ = try await place.server.assembly.identities.invite(
                .init(email: "b@post.example", service: place.party.id, role: "guest"), by: "root")
            #expect(try await turns(strangers: 0) == [.told])
        }
    }

    @Test("A newcomer's letter is in the language of the request", arguments: [("en-GB, qaa", "en"), ("qaa", nil)])
    func language(header: String, kept: String?) async throws {
        try await self.run { place async throws in
            let page = try await place.browser.post(
                "/sign-in/newcomer", form: place.fields + "&email=new@post.example",
                headers: [.acceptLanguage: header])
            #expect(page.status == .ok)
            let id = try #require(try await place.invites().first?.provisionalAccountID)
            #expect(try await place.server.database.account(id: id)?.language == kept)
            #expect(try await place.server.sendMail() == [.delivered])
        }
    }

    @Test("whoever asks is told the same whether somebody has the address or not; the letter says it")
    func sameAnswer() async throws {
        try await self.run { place async throws in
            _ = try await place.server.assembly.directory.create(username: "alice", displayName: nil, by: "test")
            try await place.server.enterAddress()
            let (known, unknown) = (
                try await place.ask("alice@post.example"), try await place.ask("new@post.example")
            )
            #expect(known.status == .ok && known.text.contains("Look into your mailbox"))
            #expect(known.text == unknown.text)
            let invites = try await place.invites()
            #expect(invites.map(\.email) == ["new@post.example", "alice@post.example"])
            #expect(invites.map { $0.provisionalAccountID == nil } == [false, true], "alice has an account")
            #expect(invites.map(\.isAskedFor) == [true, true], "no operator's word")
            // In the role that whoever comes has, for an hour.
            #expect(invites.allSatisfy { $0.place?.role == "resident" && $0.place?.service == place.party.id })
            #expect(invites.allSatisfy { $0.expiresAt == place.server.clock.now() + .seconds(3600) })
            #expect(try await place.server.sendMail() == [.delivered, .delivered])
            #expect(place.server.mail.messages.count == 2)
        }
    }

    @Test("an address is sent three letters in an hour, and the next one after it; the answer stays the same")
    func letters() async throws {
        try await self.run { place async throws in
            let first = try await place.ask("new@post.example")
            for _ in 0..<3 { #expect(try await place.ask("new@post.example").text == first.text) }
            #expect(try await place.invites().count == 3)
            _ = try await place.ask("other@post.example")
            #expect(try await place.invites().count == 4, "another address is another's")
            // What nobody has come to goes with its time.
            place.server.clock.advance(by: .seconds(3600))
            try await place.server.assembly.identities.sweep()
            #expect(try await place.server.assembly.directory.accounts().isEmpty)
            // A sign-in does not wait for an hour.
            let again = try await Place(place.server, place.party, place.browser)
            _ = try await again.ask("new@post.example")
            #expect(try await place.invites().count { $0.expiresAt > place.server.clock.now() } == 1)
        }
    }

    @Test("an address is sent no more letters by many who ask at once") func lettersAtOnce() async throws {
        try await self.run { place async throws in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<12 {
                    group.addTask {
                        let status = try await place.ask("new@post.example").status
                        #expect(status == .ok)
                    }
                }
                try await group.waitForAll()
            }
            let invites = try await place.invites().count
            #expect(invites == 3)
        }
    }

    @Test("newcomers have half of the invitations that can be open; the operators' own still go out")
    func share() async throws {
        var limits = Limits()
        limits.openInvites = 4
        try await self.run(limits: limits) { place async throws in
            for number in 0..<3 { #expect(try await place.ask("new\(number)@post.example").status == .ok) }
            #expect(try await place.invites().count == 2)
            for number in 0..<2 {
                _ = try await place.server.assembly.identities.invite(
                    .init(email: "our\(number)@post.example", service: place.party.id, role: "guest"), by: "test")
            }
            #expect(try await place.invites().map(\.isAskedFor) == [false, false, true, true])
        }
    }

    @Test("who has had many letters sent waits, and is told so")
    func tooMany() async throws {
        var limits = Limits()
        limits.mail.mailBurst = 2
        try await self.run(limits: limits) { place async throws in
            for number in 0..<2 { #expect(try await place.ask("new\(number)@post.example").status == .ok) }
            let late = try await place.ask("new2@post.example")
            #expect(late.status == .tooManyRequests && late.headers[.retryAfter] != nil)
            #expect(try await place.invites().count == 2)
        }
    }

    @Test("the page and its form are the browser's that began")
    func otherBrowser() async throws {
        try await self.run { place async throws in
            let stranger = TestBrowser(place.browser.client)
            #expect(try await place.ask("new@post.example", stranger).status == .notFound)
            #expect(
                try await stranger.get("/sign-in/newcomer?" + place.fields).status == .notFound)
            #expect(try await place.invites().isEmpty)
        }
    }

    @Test("a service that takes no newcomers says whom to ask, also where no mail is sent, and nobody is invited")
    func operators() async throws {
        for sendsMail in [true, false] {
            let server = try await ServerFixture(sendsMail: sendsMail)
            try await server.withPublicClient { client in
                var profile = Self.profile
                profile["newcomers"] = .bool(!sendsMail)
                let party = try await server.service(profile)
                let browser = TestBrowser(client)
                let (request, page) = try await server.signInPage(browser, party, "&prompt=create")
                #expect(try page.attribute("data-state", of: "state") == "waiting")
                #expect(page.text.contains("Ask them for an invitation") && !page.text.contains("begin-enrolment"))
                let fields = "request=\(request)&client=\(party.id)"
                for answer in [
                    try await browser.get("/sign-in/newcomer?\(fields)"),
                    try await browser.post("/sign-in/newcomer", form: "\(fields)&email=new@post.example"),
                ] {
                    #expect(answer.status == .seeOther)
                    #expect(answer.headers[.location] == "/sign-in?\(fields)")
                }
                #expect(try await server.assembly.identities.invites().isEmpty)
            }
        }
    }
}
