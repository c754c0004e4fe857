import Accounts
import CountersignServer
import CountersignTestKit
import Foundation
import FreshStores
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import OAuthProvider
import Passwords
import Records
import SQLStore
import Settings
import Synchronization
import Testing
import _Primitives

/// Keeps mail in the place of sending it, or refuses it.
final class CaughtMail: MailTransport {
    private let state = Mutex((messages: [String](), refusal: String?.none))

    var messages: [String] { self.state.withLock { $0.messages } }
    func refuse(_ reason: String?) { self.state.withLock { $0.refusal = reason } }

    func send(_ message: [UInt8]) async throws(MailFailure) -> String {
        let refusal = self.state.withLock { state in
            if state.refusal == nil { state.messages.append(String(decoding: message, as: UTF8.self)) }
            return state.refusal
        }
        if let refusal { throw MailFailure(refusal, said: "mailer: no way out") }
        return ""
    }

    /// The text of the last message.
    var text: String { self.messages.last.map(Self.text) ?? "" }

    static func text(of message: String) -> String {
        let body = message.components(separatedBy: "\n\n").dropFirst().joined()
        return Data(base64Encoded: body, options: .ignoreUnknownCharacters).map { String(decoding: $0, as: UTF8.self) }
            ?? ""
    }

    /// The link in it, without the server's own address.
    func link(_ issuer: String = "http://localhost:8080") throws -> String {
        let line = try #require(self.text.split(separator: "\n").first { $0.hasPrefix(issuer) })
        return String(line.dropFirst(issuer.count))
    }
}

extension PasswordPlace {
    func enter(_ address: String? = "alice@post.example", isVerified: Bool = true) async throws {
        try await self.server.enterAddress(address, isVerified: isVerified)
    }

    func askForReset(_ name: String = "alice", source: String = "192.0.2.1") async throws -> TestResponse {
        try await self.post("/account/forgotten", ["username": name])
    }

    func sendMail() async throws -> [OutboxResult] { try await self.server.sendMail() }

    /// Asks for a link, has it sent, and gives what it carries.
    func mailedLink() async throws -> String {
        _ = try await self.askForReset()
        let results = try await self.sendMail()
        #expect(results == [.delivered])
        return try Self.secret(of: self.server.mail.link())
    }

    /// Connects an account with an identity at another provider, by a request of this browser.
    func connect(_ account: String) async throws {
        let (store, now) = (self.server.database, self.server.clock.timeSource.now())
        let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: now)
        let request = try await self.begin()
        try await store.addProvider(
            UpstreamProvider(
                name: "staff", title: "Staff", kind: .openID, issuer: "https://staff.example", clientID: "here",
                usualLevel: "urn:x", createdAt: now), limit: 9, audit: event)
        let identity = UpstreamIdentity(provider: "staff", issuer: "https://staff.example", subject: "s")
        _ = try await store.arrive(
            UpstreamArrival(request: request, identity: identity, at: now, acr: "urn:x", amr: []), at: now,
            newcomer: nil
        ) { (event, NoticeRecord(id: $0, accountID: $0, kind: .signedIn, at: now, subject: "")) }
        #expect(try await store.wantLink(request: request, provider: "staff"))
        _ = try await store.connect(request: request, provider: "staff", account: account, limit: 9) { identity in
            (
                UpstreamLink(id: "link", identity: identity, accountID: account, createdAt: now), event,
                NoticeRecord(id: "linked", accountID: account, kind: .identityLinked, at: now, subject: "Staff")
            )
        }
    }

    static func secret(of link: String) throws -> String { String(try #require(link.split(separator: "=").last)) }

    func reset(_ link: String, _ password: String = "mine from now on", code: String? = nil) async throws
        -> TestResponse
    {
        var fields = ["link": link, "new-password": password]
        fields["code"] = code
        return try await self.post("/account/reset", fields)
    }
}

@Suite("A forgotten password, by a link in mail (decision 44)")
struct PasswordResetTests {
    @Test("a link leads to a new password, once; opening it changes nothing, everything before ends, and mail says so")
    func aLinkIsSpentByItsForm() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            let request = try await place.begin()
            _ = try await place.claims(after: try await place.show(PasswordPlace.password, request))
            #expect(try await place.browser.get("/account/forgotten").status == .ok)
            let link = try await place.mailedLink()
            #expect(try place.server.mail.link() == "/account/reset?link=\(link)")
            for _ in 0..<2 {
                let page = try await place.browser.get("/account/reset?link=\(link)")
                #expect(page.status == .ok)
                #expect(try page.attribute("autocomplete", of: "new-password") == "new-password")
                #expect(try page.attribute("value", of: "username") == "alice")
                #expect(!page.text.contains("one-time-code"))
            }
            #expect(try await place.show(PasswordPlace.password, try await place.beginAnew()).status == .seeOther)
            let short = try await place.reset(link, "short")
            #expect(short.status == .unprocessableContent)
            let done = try await place.reset(link)
            #expect(done.status == .ok && done.text.contains("You have a new password"))
            #expect(try await place.reset(link, "another one of mine").status == .notFound)
            #expect(try await place.browser.get("/account/reset?link=\(link)").status == .notFound)
            // The session that there was has ended.
            let silent = try await place.browser.get(place.party.authorizeAddress("&prompt=none"))
            #expect(silent.redirectParameters["error"] == "login_required")
            let again = try await place.begin()
            #expect(try await place.show(PasswordPlace.password, again).status == .forbidden)
            #expect(try await place.show("mine from now on", again).status == .seeOther)
            let account = try await place.server.assembly.directory.account(username: "alice").id
            let told = try await place.server.assembly.directory.notices(accountID: account)
            #expect(told.contains { $0.kind == .passwordChanged })
            #expect(try await place.trail().contains("password-reset"))
            #expect(try await place.sendMail() == [.delivered])
            #expect(place.server.mail.text.contains("is another one now"))
            #expect(place.server.mail.messages.count == 2)
        }
    }

    @Test("what a person changes themselves is mailed to them, too; to an address that is not confirmed nothing is")
    func aChangeIsMailed() async throws {
        for isVerified in [true, false] {
            try await PasswordPlace.run { place in
                try await place.enter(isVerified: isVerified)
                let request = try await place.begin()
                _ = try await place.claims(after: try await place.show(PasswordPlace.password, request))
                let page = try await place.browser.get("/account/password")
                let done = try await place.post(
                    "/account/password",
                    [
                        "confirmation": PasswordPlace.hidden("confirmation", page),
                        "password": PasswordPlace.password, "new-password": "mine from now on",
                    ])
                #expect(done.status == .ok)
                #expect(try await place.sendMail() == (isVerified ? [.delivered] : []))
                #expect(place.server.mail.messages.count == (isVerified ? 1 : 0))
            }
        }
    }

    @Test("a link is over once its person has chosen a new password at the sign-in")
    func aLinkEndsWithAPasswordChosenAtTheSignIn() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            try await place.passwords.setOneTime("for this once", username: "alice", by: "test")
            let request = try await place.begin()
            #expect(try await place.show("for this once", request).status == .seeOther)
            let link = try await place.mailedLink()
            #expect(try await place.browser.get("/account/reset?link=\(link)").status == .ok)
            _ = try await place.claims(
                after: try await place.post(
                    "/sign-in/new-password", ["request": request, "new-password": "mine from now on"]))
            #expect(try await place.reset(link, "somebody else's").status == .notFound)
            place.browser.forgetCookies()
            #expect(try await place.show("mine from now on", try await place.begin()).status == .seeOther)
        }
    }

    @Test("a link lives for 15 minutes, and ends with the password, the address and a lock")
    func aLinkEnds() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            let late = try await place.mailedLink()
            place.server.clock.advance(by: .seconds(15 * 60) - .milliseconds(1))
            #expect(try await place.browser.get("/account/reset?link=\(late)").status == .ok)
            place.server.clock.advance(by: .milliseconds(1))
            #expect(try await place.browser.get("/account/reset?link=\(late)").status == .notFound)
            #expect(try await place.reset(late).status == .notFound)
            let before = try await place.mailedLink()
            try await place.passwords.importHash(
                try await PasswordPlace.hash(PasswordPlace.password), username: "alice", by: "test")
            #expect(try await place.reset(before).status == .notFound)
            let moved = try await place.mailedLink()
            try await place.enter("alice@elsewhere.example")
            #expect(try await place.reset(moved).status == .notFound)
            place.server.clock.advance(by: .seconds(60))
            let locked = try await place.mailedLink()
            for isLocked in [true, false] {
                _ = try await place.server.assembly.directory.setLocked(isLocked, username: "alice", by: "test")
                #expect(try await place.reset(locked).status == .notFound)
            }
            #expect(try await place.reset("AAAA").status == .notFound)
            #expect(try await place.reset("").status == .notFound)
            #expect(try await place.show(PasswordPlace.password, try await place.begin()).status == .seeOther)
        }
    }

    @Test(
        "whoever asks is told the same for a name with a password and without, that nobody has, and that cannot be mailed"
    )
    func theAnswerIsUniform() async throws {
        try await PasswordPlace.run { place in
            for name in ["unverified", "addressless", "phone-only", "locked"] {
                _ = try await place.server.assembly.directory.create(username: name, displayName: nil, by: "test")
                if name != "addressless" {
                    _ = try await place.server.assembly.directory.setEmail(
                        AccountEmail(address: "\(name)@post.example", isVerified: name != "unverified"),
                        username: try #require(AccountName(name, limits: Limits())),
                        by: "test")
                }
                guard name != "phone-only" else { continue }
                try await place.passwords.importHash(
                    try await PasswordPlace.hash(PasswordPlace.password), username: name, by: "test")
            }
            _ = try await place.server.assembly.directory.setLocked(true, username: "locked", by: "test")
            try await place.enter()
            var answers: Set<String> = []
            for name in ["alice", "nobody", "a b", "unverified", "addressless", "phone-only", "locked"] {
                let answer = try await place.askForReset(name)
                #expect(answer.status == .ok, "\(name)")
                answers.insert(answer.text)
            }
            // And where one more is not sent.
            for _ in 0..<Limits().mail.mailsInARow { answers.insert(try await place.askForReset().text) }
            #expect(answers.count == 1)
            #expect(try await place.sendMail() == [.delivered, .delivered, .delivered])
            #expect(place.server.mail.messages.allSatisfy { $0.contains("To: <alice@post.example>\n") })
        }
    }

    @Test(
        "what is done before the answer is the same for every name: it is kept that somebody asked, and nobody is looked for"
    )
    func theWorkIsUniform() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            let trail = try await place.trail()
            for name in ["alice", "nobody", "a b", "alice"] {
                let work = try await place.server.hooks.work { () async throws in
                    #expect(try await place.askForReset(name).status == .ok)
                }
                #expect(work == .init(steps: [NamedStep.keptAsk.rawValue]), "\(name)")
            }
            #expect(try await place.trail() == trail)
            #expect(
                try await place.server.database.waitingMessages(to: .mailbox).count == 0,
                "nothing is left for anybody yet")
            #expect(try await place.sendMail() == [.delivered, .delivered])
        }
    }

    @Test("what was asked for is done by another node where one was killed over it, and no more waits than may")
    func askedForIsNotLost() async throws {
        var limits = Limits()
        limits.mail.waitingMails = 2
        try await PasswordPlace.run(limits: limits) { place in
            try await place.enter()
            for name in ["alice", "nobody", "alice"] { #expect(try await place.askForReset(name).status == .ok) }
            let now = place.server.clock.timeSource.now()
            let lease = now + Limits().mail.mailLease
            #expect(try await place.server.database.takeAsks(at: now, lease: lease, limit: 9).count == 2)
            #expect(try await place.sendMail() == [])
            place.server.clock.advance(by: Limits().mail.mailLease)
            #expect(try await place.sendMail() == [.delivered])
        }
    }

    @Test("however long a letter waits, its link works for 15 minutes from when it is handed over")
    func aLinkBeginsWithItsLetter() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            _ = try await place.askForReset()
            place.server.mail.refuse("busy")
            #expect(try await place.sendMail() == [.failed])
            for _ in 0..<50 {
                place.server.clock.advance(by: .seconds(60))
                // As from time to time on each node.
                try await place.server.assembly.passwords.sweep()
            }
            place.server.mail.refuse(nil)
            #expect(try await place.sendMail() == [.delivered])
            let link = try PasswordPlace.secret(of: place.server.mail.link())
            place.server.clock.advance(by: .seconds(15 * 60) - .milliseconds(1))
            #expect(try await place.browser.get("/account/reset?link=\(link)").status == .ok)
            place.server.clock.advance(by: .milliseconds(1))
            #expect(try await place.browser.get("/account/reset?link=\(link)").status == .notFound)
            #expect(try await place.reset(link).status == .notFound)
        }
    }

    @Test("a letter whose link is not wanted any more is not sent")
    func aLetterGoesWithItsLink() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            _ = try await place.askForReset()
            let outbox = try place.server.outbox(.mailbox)
            let taken = try await outbox.takeDue()
            #expect(taken.count == 1)
            try await place.passwords.importHash(
                try await PasswordPlace.hash(PasswordPlace.password), username: "alice", by: "test")
            for letter in taken { #expect(try await outbox.deliver(letter) == .givenUp) }
            #expect(!place.server.mail.messages.contains { $0.contains("A new password") })
            #expect(place.server.mail.messages.isEmpty)
        }
    }

    @Test("the log says what the page does not, and no link")
    func theLogKnowsWhy() async throws {
        let server = try await ServerFixture()
        let (events, continuation) = AsyncStream.makeStream(of: LogEvent.self)
        let lines = try await server.requestLines { client in
            let place = PasswordPlace(
                server: server, client: client, party: try await server.relyingParty(signInMethods: ["password"]),
                browser: TestBrowser(client))
            _ = try await server.assembly.directory.create(username: "alice", displayName: nil, by: "test")
            _ = try await place.askForReset("zoe")
            _ = try await place.askForReset()
            _ = try await place.browser.get("/account/reset?link=my-secret")
            _ = try await place.reset("my-secret")
        }
        #expect(lines.compactMap { $0["error"] } == ["link-over", "link-over"])
        let outbox = try server.outbox(
            .mailbox, logger: Logger(label: "test") { _ in HandedLog(lines: continuation) })
        #expect(try await outbox.takeDue().isEmpty)
        continuation.finish()
        var reasons: [Logger.Metadata] = []
        for await event in events { reasons.append(event.metadata ?? [:]) }
        #expect(reasons.compactMap { $0["error"] } == ["no-mail-unknown-name", "no-mail-no-password"])
        #expect(reasons.allSatisfy { !"\($0)".contains("zoe") && !"\($0)".contains("alice") })
        #expect(lines.allSatisfy { !"\($0)".contains("zoe") && !"\($0)".contains("my-secret") })
    }

    @Test("an account is mailed three links in a row, then one after a minute, and then ever more seldom")
    func anAccountHasABudget() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            for _ in 0..<5 { _ = try await place.askForReset() }
            #expect(try await place.sendMail().count == 3)
            place.server.clock.advance(by: .seconds(60))
            for _ in 0..<2 { _ = try await place.askForReset() }
            #expect(try await place.sendMail().count == 1)
            place.server.clock.advance(by: .seconds(119))
            _ = try await place.askForReset()
            #expect(try await place.sendMail().isEmpty)
            place.server.clock.advance(by: .seconds(1))
            _ = try await place.askForReset()
            #expect(try await place.sendMail().count == 1)
            #expect(try await place.trail().count { $0 == "password-attempts-rest" } == 1)
        }
    }

    @Test func aSourceHasABudgetOfLetters() async throws {
        var limits = Limits()
        limits.mail.mailBurst = 3
        limits.mail.mailsPerMinute = 6
        try await PasswordPlace.run(limits: limits) { place in
            for name in ["a", "b", "c"] { #expect(try await place.askForReset(name).status == .ok) }
            let refused = try await place.askForReset("d")
            #expect(refused.status == .tooManyRequests)
            #expect(refused.headers[.retryAfter] == "10")
            place.server.clock.advance(by: .seconds(10))
            #expect(try await place.askForReset("d").status == .ok)
        }
    }

    @Test("a second factor is asked for beside the link, is counted and spent, and a wrong one spends no link")
    func theSecondFactorStays() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            let (totp, codes) = try await place.giveSecondFactor()
            // The person is told of it, by mail too.
            #expect(try await place.sendMail() == [.delivered])
            let link = try await place.mailedLink()
            #expect(try await place.browser.get("/account/reset?link=\(link)").text.contains("one-time-code"))
            for code in [nil, "", "000000", "000000", "000000"] {
                #expect(try await place.reset(link, code: code).status == .forbidden)
            }
            // They rest, as at a sign-in.
            #expect(try await place.reset(link, code: codes[0].shownOnce).status == .forbidden)
            place.server.clock.advance(by: .seconds(60))
            let done = try await place.reset(link, code: codes[0].shownOnce)
            #expect(done.status == .ok)
            #expect(RecoveryCode(typed: try done.words(of: "code")) != nil)
            #expect(try await place.trail().contains("recovery-code-spent"))
            #expect(try await place.passwords.summary(username: "alice").recoveryCodes == 10)
            #expect(try await place.passwords.summary(username: "alice").hasSecondFactor)
            let next = try await place.show("mine from now on", try await place.begin())
            #expect(next.headers[.location]?.hasPrefix("/sign-in/code?") == true)
            // Of the password, and of the recovery code.
            #expect(try await place.sendMail() == [.delivered, .delivered])
            let second = try await place.mailedLink()
            #expect(try await place.reset(second, code: codes[0].shownOnce).status == .forbidden)
            let code = totp.code(at: place.server.clock.timeSource.now())
            #expect(try await place.reset(second, "yet another of mine", code: code).status == .ok)
        }
    }

    @Test("what was connected with the account at other providers ends with the forgotten password")
    func connectionsEnd() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            let account = try await place.server.assembly.directory.account(username: "alice").id
            try await place.connect(account)
            #expect(try await place.server.assembly.upstreamProviders.links(ofAccount: account).count == 1)
            #expect(try await place.reset(try await place.mailedLink()).status == .ok)
            #expect(try await place.server.assembly.upstreamProviders.links(ofAccount: account).isEmpty)
            #expect(try await place.trail().contains("identity-unlinked"))
        }
    }

    @Test("a new password that cannot be costs neither an attempt at the code nor the link")
    func nothingIsCountedInVain() async throws {
        try await PasswordPlace.run(breached: SHA1Text.list()) { place in
            try await place.enter()
            let (_, codes) = try await place.giveSecondFactor()
            #expect(try await place.sendMail() == [.delivered])
            let link = try await place.mailedLink()
            for _ in 0..<6 {
                let refused = try await place.reset(link, SHA1Text.breached, code: codes[0].shownOnce)
                #expect(refused.status == .unprocessableContent)
            }
            #expect(try await place.reset(link, code: codes[0].shownOnce).status == .ok)
        }
    }

    @Test("links begin with the issuer, whatever host a request names")
    func linksAreOfTheIssuer() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            let answer = try await place.client.execute(
                uri: "/account/forgotten", method: .post,
                headers: [
                    .contentType: "application/x-www-form-urlencoded",
                    HTTPField.Name("X-Forwarded-Host")!: "evil.example",
                    HTTPField.Name("Forwarded")!: "host=evil.example",
                ], body: ByteBuffer(string: "username=alice"))
            #expect(answer.status == .ok)
            #expect(try await place.sendMail() == [.delivered])
            #expect(!place.server.mail.messages.joined().contains("evil.example"))
            #expect(!place.server.mail.text.contains("evil.example"))
            #expect(try place.server.mail.link().hasPrefix("/account/reset?link="))
        }
    }

    // MARK: The outbox

    @Test("mail that is not taken is tried again, later and later, and given up when its link has ended")
    func mailIsTriedAgain() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            place.server.mail.refuse("out of order")
            _ = try await place.askForReset()
            #expect(try await place.sendMail() == [.failed])
            #expect(try await place.sendMail() == [])
            place.server.clock.advance(by: .seconds(5))
            #expect(try await place.sendMail() == [.failed])
            place.server.clock.advance(by: .seconds(10))
            place.server.mail.refuse(nil)
            #expect(try await place.sendMail() == [.delivered])
            // The link is the one that it would have been.
            #expect(try await place.reset(PasswordPlace.secret(of: place.server.mail.link())).status == .ok)
            #expect(try await place.sendMail() == [.delivered])
            place.server.mail.refuse("out of order")
            _ = try await place.askForReset()
            var results: [OutboxResult] = []
            while results.last != .givenUp, results.count < 20 {
                results += try await place.sendMail()
                place.server.clock.advance(by: .seconds(4 * 60))
            }
            #expect(results.last == .givenUp)
            #expect(try await place.trail().contains("mail-unsent"))
        }
    }

    @Test("what a node had taken when it was killed is sent when its lease is over, with the same link")
    func aKilledNodeLosesNothing() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            _ = try await place.askForReset()
            let killed = try place.server.outbox(.mailbox)
            #expect(try await killed.takeDue().count == 1)
            #expect(try await place.sendMail() == [])
            place.server.clock.advance(by: Limits().mail.mailLease)
            #expect(try await place.sendMail() == [.delivered])
            #expect(try await place.reset(PasswordPlace.secret(of: place.server.mail.link())).status == .ok)
        }
    }

    @Test("an address that was taken away, or is not confirmed any more, gets nothing")
    func theAddressIsAskedForWhenItIsSent() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            _ = try await place.askForReset()
            try await place.enter(nil)
            #expect(try await place.sendMail() == [])
            try await place.enter()
            _ = try await place.askForReset()
            try await place.enter(isVerified: false)
            #expect(try await place.sendMail() == [])
            #expect(place.server.mail.messages.isEmpty)
            try await place.enter()
            #expect(try await place.reset(try await place.mailedLink()).status == .ok)
            try await place.enter(isVerified: false)
            #expect(try await place.sendMail() == [.givenUp])
            #expect(place.server.mail.messages.count == 1)
        }
    }

    @Test("where no mail is sent there are no such pages, and no link to them")
    func withoutMailThereIsNothing() async throws {
        let server = try await ServerFixture(sendsMail: false)
        try await server.withPublicClient { client in
            let place = PasswordPlace(
                server: server, client: client, party: try await server.relyingParty(signInMethods: ["password"]),
                browser: TestBrowser(client))
            for path in ["forgotten", "reset", "address", "address/confirm"] {
                #expect(try await place.browser.get("/account/\(path)").status == .notFound)
            }
            let request = try await place.begin()
            #expect(try await !place.browser.get("/sign-in/password?request=\(request)").text.contains("forgotten"))
        }
        try await PasswordPlace.run { place in
            let request = try await place.begin()
            let page = try await place.browser.get("/sign-in/password?request=\(request)")
            #expect(try page.attribute("href", of: "forgotten") == "/account/forgotten")
        }
    }
}

extension PasswordPlace {
    /// A sign-in that begins in a browser that nobody knows.
    fileprivate func beginAnew() async throws -> String {
        self.browser.forgetCookies()
        return try await self.begin()
    }
}

@Suite("An e-mail address is confirmed by a link that is mailed there (decision 44)")
struct AddressConfirmationTests {
    @Test("a link of a signed-in person's own page confirms the address, once, by its form")
    func anAddressIsConfirmed() async throws {
        try await PasswordPlace.run { place in
            try await place.enter(isVerified: false)
            #expect(try await place.browser.get("/account/address").status == .forbidden)
            #expect(try await place.post("/account/address", ["confirmation": "x"]).status == .forbidden)
            _ = try await place.claims(
                after: try await place.show(PasswordPlace.password, try await place.begin()))
            let page = try await place.browser.get("/account/address")
            #expect(page.status == .ok && page.text.contains("alice@post.example"))
            let token = PasswordPlace.hidden("confirmation", page)
            #expect(try await place.post("/account/address", ["confirmation": "other"]).status == .badRequest)
            #expect(try await place.post("/account/address", ["confirmation": token]).status == .ok)
            #expect(try await place.sendMail() == [.delivered])
            let address = try place.server.mail.link()
            #expect(address.hasPrefix("/account/address/confirm?link="))
            let link = try PasswordPlace.secret(of: address)
            // It opens nothing else.
            #expect(try await place.reset(link).status == .notFound)
            func isVerified() async throws -> Bool? {
                try await place.server.assembly.directory.account(username: "alice").email?.isVerified
            }
            #expect(try await place.browser.get(address).status == .ok)
            let opened = try await isVerified()
            #expect(opened == false)
            // A mistyped address is a stranger's, who can read the mail: the person is signed in where it is confirmed.
            let other = TestBrowser(place.client)
            let stranger = try await other.post("/account/address/confirm", form: PasswordPlace.form(["link": link]))
            #expect(stranger.status == .forbidden && stranger.text.contains("Sign in"))
            let stolen = try await isVerified()
            #expect(stolen == false)
            let form = ["link": link, "confirmation": token]
            #expect(try await place.post("/account/address/confirm", form).status == .ok)
            let confirmed = try await isVerified()
            #expect(confirmed == true)
            #expect(try await place.post("/account/address/confirm", form).status == .notFound)
            #expect(try await place.browser.get("/account/address").text.contains("is known to be yours"))
            let again = try await place.post("/account/address", ["confirmation": token])
            #expect(again.status == .forbidden)
        }
    }

    @Test("whoever reads the mailbox has the person's browser confirm nothing: a form needs the sign of its own page")
    func aFormOfAnotherPageConfirmsNothing() async throws {
        try await PasswordPlace.run { place in
            try await place.enter(isVerified: false)
            _ = try await place.claims(
                after: try await place.show(PasswordPlace.password, try await place.begin()))
            let token = PasswordPlace.hidden("confirmation", try await place.browser.get("/account/address"))
            _ = try await place.post("/account/address", ["confirmation": token])
            #expect(try await place.sendMail() == [.delivered])
            let address = try place.server.mail.link()
            let link = try PasswordPlace.secret(of: address)
            // The stranger has the link, and a page of their own.
            let strangers = try await TestBrowser(place.client).get(address)
            #expect(strangers.status == .ok && PasswordPlace.hidden("confirmation", strangers).isEmpty)
            for sign in ["other", String(token.dropLast())] {
                let forged = try await place.post("/account/address/confirm", ["link": link, "confirmation": sign])
                #expect(forged.status == .badRequest)
            }
            // One that was opened before the person had signed in asks once more.
            let again = try await place.post("/account/address/confirm", ["link": link])
            #expect(again.status == .forbidden && PasswordPlace.hidden("confirmation", again) == token)
            let before = try await place.server.assembly.directory.account(username: "alice").email?.isVerified
            #expect(before == false)
            let form = ["link": PasswordPlace.hidden("link", again), "confirmation": token]
            #expect(try await place.post("/account/address/confirm", form).status == .ok)
            let after = try await place.server.assembly.directory.account(username: "alice").email?.isVerified
            #expect(after == true)
        }
    }

    @Test("a link that was mailed to the address before confirms no other")
    func aLinkIsOfItsAddress() async throws {
        try await PasswordPlace.run { place in
            try await place.enter("old@post.example", isVerified: false)
            _ = try await place.claims(
                after: try await place.show(PasswordPlace.password, try await place.begin()))
            let token = PasswordPlace.hidden("confirmation", try await place.browser.get("/account/address"))
            _ = try await place.post("/account/address", ["confirmation": token])
            #expect(try await place.sendMail() == [.delivered])
            let link = try PasswordPlace.secret(of: place.server.mail.link())
            try await place.enter("new@post.example", isVerified: false)
            let form = ["link": link, "confirmation": token]
            #expect(try await place.post("/account/address/confirm", form).status == .notFound)
            let email = try await place.server.assembly.directory.account(username: "alice").email
            #expect(email == AccountEmail(address: "new@post.example", isVerified: false))
        }
    }
}
