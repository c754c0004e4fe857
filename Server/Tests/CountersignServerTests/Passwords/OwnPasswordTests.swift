import Accounts
import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Passwords
import Records
import SQLStore
import Settings
import Testing
import _Primitives

extension PasswordPlace {
    /// Signs alice in, with a code where one is asked for.
    fileprivate func signIn(_ password: String = PasswordPlace.password, code: String? = nil) async throws {
        let request = try await self.begin()
        var answer = try await self.show(password, request)
        if let code { answer = try await self.post("/sign-in/code", ["request": request, "code": code]) }
        #expect(try await self.browser.get(Self.next(after: answer)).redirectParameters["code"] != nil)
    }

    /// Fills in the form of one of the person's own pages.
    fileprivate func change(_ path: String, _ fields: [String: String]) async throws -> TestResponse {
        let page = try await self.browser.get(path)
        return try await self.post(
            path, fields.merging(["confirmation": Self.hidden("confirmation", page)]) { own, _ in own })
    }

    /// What a hidden field of a page holds.
    static func hidden(_ name: String, _ page: TestResponse) -> String {
        guard let start = page.text.firstRange(of: "name=\"\(name)\" value=\"") else { return "" }
        return String(page.text[start.upperBound...].prefix { $0 != "\"" })
    }
}

@Suite("A person's own pages for password and second factor (decision 33)")
struct OwnPasswordTests {
    private static let paths = ["/account/password", "/account/second-factor", "/account/recovery-codes"]

    @Test func aPasswordIsChangedByWhoKnowsTheOneBefore() async throws {
        try await PasswordPlace.run { place in
            try await place.signIn()
            let page = try await place.browser.get("/account/password")
            #expect(try page.attribute("autocomplete", of: "password") == "current-password")
            #expect(try page.attribute("autocomplete", of: "new-password") == "new-password")
            #expect(try page.attribute("value", of: "username") == "alice")
            let wrong = try await place.change(
                "/account/password", ["password": "wrong", "new-password": "mine from now on"])
            #expect(wrong.status == .forbidden)
            let short = try await place.change(
                "/account/password", ["password": PasswordPlace.password, "new-password": "short"])
            #expect(short.status == .unprocessableContent)
            let done = try await place.change(
                "/account/password", ["password": PasswordPlace.password, "new-password": "mine from now on"])
            #expect(done.status == .ok && done.text.contains("You have a new password"))
            #expect(try await place.trail().contains("password-changed"))
            let account = try await place.server.assembly.directory.account(username: "alice").id
            let told = try await place.server.assembly.directory.notices(accountID: account)
            #expect(told.contains { $0.kind.name == "password-changed" && $0.subject == "alice" })
            // Every session has ended, this one too.
            let silent = try await place.browser.get(place.party.authorizeAddress("&prompt=none"))
            #expect(silent.redirectParameters["error"] == "login_required")
            let request = try await place.begin()
            #expect(try await place.show(PasswordPlace.password, request).status == .forbidden)
            #expect(try await place.show("mine from now on", request).status == .seeOther)
        }
    }

    @Test("a code is not spent on a new password that cannot be, whether it is short or in the list")
    func codesAreNotSpentInVain() async throws {
        try await PasswordPlace.run(breached: SHA1Text.list()) { place in
            let (_, codes) = try await place.giveSecondFactor()
            try await place.signIn(code: codes[0].shownOnce)
            func change(to new: String) async throws -> TestResponse {
                try await place.change(
                    "/account/password",
                    ["password": PasswordPlace.password, "code": codes[1].shownOnce, "new-password": new])
            }
            for _ in 0..<6 {
                for refused in ["short", SHA1Text.breached] {
                    #expect(try await change(to: refused).status == .unprocessableContent)
                }
            }
            #expect(try await place.passwords.summary(username: "alice").recoveryCodes == 10)
            #expect(try await change(to: "mine from now on").status == .ok)
            #expect(try await place.passwords.summary(username: "alice").recoveryCodes == 9)
        }
    }

    @Test func anAppIsEnrolledByItsFirstCode() async throws {
        try await PasswordPlace.run { place in
            try await place.signIn()
            let offer = try await place.change("/account/second-factor", ["password": PasswordPlace.password])
            #expect(offer.status == .ok && offer.text.contains("<svg"))
            let secret = try Self.base32(try offer.words(of: "secret"))
            let totp = try #require(TOTP(secret: secret, algorithm: .sha1, digits: 6, periodSeconds: 30))
            func confirm(_ code: String) async throws -> TestResponse {
                try await place.post(
                    "/account/second-factor/code",
                    [
                        "confirmation": PasswordPlace.hidden("confirmation", offer),
                        "offer": PasswordPlace.hidden("offer", offer), "code": code,
                    ])
            }
            let wrong = try await confirm("000000")
            #expect(wrong.status == .forbidden)
            // Nothing is kept before.
            #expect(try await place.passwords.summary(username: "alice").hasSecondFactor == false)
            let code = try #require(totp.code(at: place.server.clock.timeSource.now()))
            let codes = try await confirm(code)
            #expect(codes.status == .ok)
            let shown = codes.text.matches(of: try Regex("<code>([0-9A-Z-]{15})</code>")).count
            #expect(shown == 10)
            let summary = try await place.passwords.summary(username: "alice")
            #expect(summary.hasSecondFactor && summary.recoveryCodes == 10)
            // It is asked for from now on; the code that was typed is spent.
            place.browser.forgetCookies()
            let request = try await place.begin()
            let next = try await place.show(PasswordPlace.password, request)
            #expect(next.headers[.location]?.hasPrefix("/sign-in/code?") == true)
            #expect(try await place.post("/sign-in/code", ["request": request, "code": code]).status == .forbidden)
            place.server.clock.advance(by: .seconds(30))
            let later = try #require(totp.code(at: place.server.clock.timeSource.now()))
            #expect(try await place.post("/sign-in/code", ["request": request, "code": later]).status == .seeOther)
        }
    }

    @Test(
        "with a second factor every other browser of the person is signed out, and what was given there ends; this one stays"
    )
    func aSecondFactorEndsOtherSessions() async throws {
        try await PasswordPlace.run { place in
            let other = PasswordPlace(
                server: place.server, client: place.client, party: place.party, browser: TestBrowser(place.client))
            try await other.signIn()
            try await place.signIn()
            func isSignedIn(_ place: PasswordPlace) async throws -> Bool {
                let silent = try await place.browser.get(place.party.authorizeAddress("&prompt=none"))
                return silent.redirectParameters["code"] != nil
            }
            let given = try await other.browser.get(place.party.authorizeAddress("&prompt=none"))
            let tokens = try await place.party.exchange(
                try #require(given.redirectParameters["code"]), place.client)
            let access = "Bearer \(try tokens.object.requiredString("access_token"))"
            func opens() async throws -> Bool {
                try await place.client.execute(
                    uri: "/oauth2/userinfo", method: .get, headers: [.authorization: access]
                ).status == .ok
            }
            #expect(try await isSignedIn(place))
            #expect(try await isSignedIn(other))
            #expect(try await opens())
            let offer = try await place.change("/account/second-factor", ["password": PasswordPlace.password])
            let totp = try #require(
                TOTP(
                    secret: try Self.base32(try offer.words(of: "secret")), algorithm: .sha1, digits: 6,
                    periodSeconds: 30))
            let codes = try await place.post(
                "/account/second-factor/code",
                [
                    "confirmation": PasswordPlace.hidden("confirmation", offer),
                    "offer": PasswordPlace.hidden("offer", offer),
                    "code": try #require(totp.code(at: place.server.clock.timeSource.now())),
                ])
            #expect(codes.status == .ok)
            #expect(try await isSignedIn(place))
            #expect(try await isSignedIn(other) == false)
            #expect(try await opens() == false)
        }
    }

    @Test("an offer is its account's, and lasts ten minutes")
    func anOfferThatIsOverIsRefused() async throws {
        try await PasswordPlace.run { place in
            try await place.signIn()
            let offer = try await place.change("/account/second-factor", ["password": PasswordPlace.password])
            let totp = try #require(
                TOTP(
                    secret: try Self.base32(try offer.words(of: "secret")), algorithm: .sha1, digits: 6,
                    periodSeconds: 30))
            let account = try await place.server.assembly.directory.account(username: "alice").id
            let factors = SecondFactors(place.server.assembly.passwords)
            let sealed = PasswordPlace.hidden("offer", offer)
            #expect(try await factors.offer(sealed: sealed, accountID: account)?.totp.secret == totp.secret)
            let other = try await place.server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
            try await place.passwords.importHash(
                try await PasswordPlace.hash(PasswordPlace.password), username: "bob", by: "test")
            #expect(try await factors.offer(sealed: sealed, accountID: other.id) == nil)
            #expect(try await factors.offer(sealed: String(sealed.dropLast(4)), accountID: account) == nil)
            place.server.clock.advance(by: Limits().passwords.secondFactorOfferLifetime)
            let late = try await place.post(
                "/account/second-factor/code",
                [
                    "confirmation": PasswordPlace.hidden("confirmation", offer), "offer": sealed,
                    "code": try #require(totp.code(at: place.server.clock.timeSource.now())),
                ])
            #expect(late.status == .forbidden && late.text.contains("Begin again"))
            #expect(try await place.passwords.summary(username: "alice").hasSecondFactor == false)
        }
    }

    @Test("an offer that was made before another app was enrolled, or another password set, counts no more")
    func anOfferIsOvertaken() async throws {
        try await PasswordPlace.run { place in
            try await place.signIn()
            let account = try await place.server.assembly.directory.account(username: "alice").id
            let factors = SecondFactors(place.server.assembly.passwords)
            let first = try factors.offer(to: try await place.proved()).sealed
            #expect(try await factors.offer(sealed: first, accountID: account) != nil)
            place.server.clock.advance(by: .seconds(1))
            let (totp, _) = try await place.giveSecondFactor()
            #expect(try await factors.offer(sealed: first, accountID: account) == nil)
            let code = try #require(totp.code(at: place.server.clock.timeSource.now()))
            let second = try factors.offer(to: try await place.proved(code: code)).sealed
            #expect(try await factors.offer(sealed: second, accountID: account) != nil)
            place.server.clock.advance(by: .seconds(1))
            try await place.passwords.importHash(
                try await PasswordPlace.hash(PasswordPlace.password), username: "alice", by: "test")
            #expect(try await factors.offer(sealed: second, accountID: account) == nil)
        }
    }

    @Test("an app that is enrolled ends what is about to be a sign-in by the password alone")
    func enrollingEndsWhatIsUnderWay() async throws {
        try await PasswordPlace.run { place in
            let request = try await place.begin()
            #expect(try await place.show(PasswordPlace.password, request).status == .seeOther)
            _ = try await place.giveSecondFactor()
            #expect(try await place.browser.get("/sign-in/complete?request=\(request)").status == .notFound)
            #expect(
                try await place.show(PasswordPlace.password, request).headers[.location]?.hasPrefix("/sign-in/code?")
                    == true)
        }
    }

    @Test("every page asks for a code where there is a second factor, and spends it", arguments: Self.paths)
    func aCodeIsAskedForAndSpent(path: String) async throws {
        try await PasswordPlace.run { place in
            let (totp, codes) = try await place.giveSecondFactor()
            try await place.signIn(code: codes[0].shownOnce)
            #expect(try await place.browser.get(path).text.contains("one-time-code"))
            var fields = ["password": PasswordPlace.password, "new-password": "mine from now on"]
            #expect(try await place.change(path, fields).status == .forbidden)
            fields["code"] = codes[0].shownOnce
            #expect(try await place.change(path, fields).status == .forbidden)
            fields["code"] = totp.code(at: place.server.clock.timeSource.now())
            let done = try await place.change(path, fields)
            #expect(done.status == .ok)
            // The same code counts no more, wherever.
            place.browser.forgetCookies()
            let request = try await place.begin()
            _ = try await place.show(PasswordPlace.password, request)
            _ = try await place.show("mine from now on", request)
            let again = try await place.post("/sign-in/code", ["request": request, "code": fields["code"] ?? ""])
            #expect(again.status == .forbidden)
        }
    }

    @Test func newRecoveryCodesTakeThePlaceOfAll() async throws {
        try await PasswordPlace.run { place in
            let (_, codes) = try await place.giveSecondFactor()
            try await place.signIn(code: codes[0].shownOnce)
            let made = try await place.change(
                "/account/recovery-codes", ["password": PasswordPlace.password, "code": codes[1].shownOnce])
            let shown = made.text.matches(of: try Regex("<code>([0-9A-Z-]{15})</code>"))
                .map { String($0.output[1].substring ?? "") }
            #expect(shown.count == 10)
            place.browser.forgetCookies()
            let request = try await place.begin()
            _ = try await place.show(PasswordPlace.password, request)
            #expect(
                try await place.post("/sign-in/code", ["request": request, "code": codes[2].shownOnce]).status
                    == .forbidden)
            #expect(try await place.post("/sign-in/code", ["request": request, "code": shown[2]]).status == .ok)
        }
    }

    @Test("wrong passwords rest here as at a sign-in", arguments: Self.paths)
    func attemptsAreCountedTogether(path: String) async throws {
        try await PasswordPlace.run { place in
            try await place.signIn()
            // Ten of the account, and five of the browser that is known to it.
            for _ in 0..<15 {
                _ = try await place.change(path, ["password": "wrong", "new-password": "mine from now on"])
            }
            let right = ["password": PasswordPlace.password, "new-password": "mine from now on"]
            #expect(try await place.change(path, right).status == .forbidden)
            #expect(
                try await place.show(PasswordPlace.password, try await place.begin(TestBrowser(place.client))).status
                    == .notFound)
            place.server.clock.advance(by: .seconds(60))
            #expect(try await place.change(path, right).status == .ok)
        }
    }

    @Test(
        "without a session, without a password, and for a form from elsewhere there is nothing", arguments: Self.paths)
    func onlyTheirOwn(path: String) async throws {
        try await PasswordPlace.run { place in
            #expect(try await place.browser.get(path).status == .forbidden)
            #expect(try await place.post(path, ["password": PasswordPlace.password]).status == .forbidden)
            try await place.signIn()
            let right = ["password": PasswordPlace.password, "new-password": "mine from now on"]
            for confirmation in [nil, "", "other"] {
                var fields = right
                fields["confirmation"] = confirmation
                #expect(try await place.post(path, fields).status == .badRequest)
            }
            #expect(try await place.trail().contains("password-changed") == false)
            let account = try await place.server.assembly.directory.account(username: "alice").id
            _ = try await place.server.database.setPassword(
                PasswordChange(
                    to: PasswordRecord(
                        accountID: account, hash: try await PasswordPlace.hash("for this once"),
                        setAt: place.server.clock.timeSource.now(), isOneTime: true), endsSessions: false,
                    audit: AuditEvent(.passwordSet, at: place.server.clock.timeSource.now())))
            #expect(try await place.browser.get(path).status == .forbidden)
        }
    }

    /// The bytes of a secret as it is typed (RFC 4648, section 6).
    private static func base32(_ text: String) throws -> [UInt8] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
        var (buffer, bits, bytes) = (0, 0, [UInt8]())
        for letter in text.utf8 where letter != UInt8(ascii: " ") {
            buffer = (buffer << 5 | (try #require(alphabet.firstIndex(of: letter)))) & 0xFFFF
            bits += 5
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> bits))
            }
        }
        return bytes
    }
}
