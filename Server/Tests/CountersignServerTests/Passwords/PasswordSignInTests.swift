import Accounts
import CountersignServer
import CountersignTestKit
import Endpoints
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import Logging
import NIOCore
import Passwords
import Records
import SQLStore
import Settings
import Testing
import _Primitives

/// Why a test cannot go on.
enum PasswordPlaceError: Error {
    case notProved
}

/// A person with a password at a service that takes passwords, and the page that asks for it.
struct PasswordPlace: Sendable {
    static let password = "correct horse battery"

    let server: ServerFixture
    let client: any TestClientProtocol
    let party: RelyingParty
    let browser: TestBrowser

    /// Has alice a password of her own, where `methods` are the ways that the service takes.
    static func run(
        methods: [String] = ["password"], limits: Limits = Limits(), hashing: PasswordLimits = .cheap,
        breached: BreachedPasswordList? = nil, hash: String? = nil,
        _ body: @escaping @Sendable (PasswordPlace) async throws -> Void
    ) async throws {
        let server = try await ServerFixture(limits: limits, hashing: hashing, breached: breached)
        try await server.withPublicClient { client in
            _ = try await server.assembly.directory.create(username: "alice", displayName: nil, by: "test")
            let own = try await PasswordPlace.hash(Self.password)
            try await PasswordDirectory(server.assembly.passwords).importHash(
                hash ?? own, username: "alice", by: "test")
            try await body(
                PasswordPlace(
                    server: server, client: client, party: try await server.relyingParty(signInMethods: methods),
                    browser: TestBrowser(client)))
        }
    }

    static func hash(_ password: String, _ limits: PasswordLimits = .cheap) async throws -> String {
        try await HashingPool(limits: limits, random: .system).hash(Password(typed: password)).text
    }

    var passwords: PasswordDirectory { PasswordDirectory(self.server.assembly.passwords) }

    /// Opens the service's sign-in and gives the request's name.
    func begin(_ browser: TestBrowser? = nil) async throws -> String {
        let authorize = try await (browser ?? self.browser).get(self.party.authorizeAddress())
        return try #require(authorize.redirectParameters["request"])
    }

    func show(_ password: String, as name: String = "alice", _ request: String, _ browser: TestBrowser? = nil)
        async throws -> TestResponse
    {
        try await (browser ?? self.browser).post(
            "/sign-in/password", form: Self.form(["request": request, "username": name, "password": password]))
    }

    func post(_ path: String, _ fields: [String: String]) async throws -> TestResponse {
        try await self.browser.post(path, form: Self.form(fields))
    }

    static func form(_ fields: [String: String]) -> String {
        fields.sorted { $0.key < $1.key }.map { name, value in
            let encoded = value.utf8.map { byte in
                let isPlain = ("a"..."z").contains(Character(Unicode.Scalar(byte)))
                return isPlain ? String(Unicode.Scalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
            return "\(name)=\(encoded.joined())"
        }.joined(separator: "&")
    }

    /// The address to which a right answer leads: by a redirect, or by the page that shows another recovery code.
    static func next(after response: TestResponse) throws -> String {
        guard response.status == .ok else { return try #require(response.headers[.location]) }
        return try response.attribute("href", of: "continue")
    }

    /// Follows a page's way to the end and gives the claims of the ID token.
    func claims(after response: TestResponse) async throws -> JSONObject {
        let back = try await self.browser.get(try Self.next(after: response))
        let code = try #require(back.redirectParameters["code"])
        let tokens = try await self.party.exchange(code, self.client)
        let token = try tokens.object.requiredString("id_token")
        let payload = try #require(Base64URL.decode(String(token.split(separator: ".")[1])))
        guard case .object(let claims) = try JSON(parsing: payload) else { return [:] }
        return claims
    }

    /// Gives alice a secret for time-based codes, and recovery codes.
    func giveSecondFactor() async throws -> (TOTP, [RecoveryCode]) {
        let factors = SecondFactors(self.server.assembly.passwords)
        let offer = try factors.offer(to: try await self.proved())
        let code = try #require(offer.totp.code(at: self.server.clock.timeSource.now()))
        let codes = try #require(try await factors.enrol(offer, code: code, session: nil))
        // The code that was typed is spent.
        self.server.clock.advance(by: .seconds(60))
        return (offer.totp, codes)
    }

    /// Has alice show her password, and a code where she has one.
    func proved(code: String = "") async throws -> OwnPassword.Proved {
        let account = try await self.server.assembly.directory.account(username: "alice").id
        let verdict = try await OwnPassword(self.server.assembly.passwords).judge(
            OwnPassword.Proof(
                accountID: account, password: Self.password, code: code,
                visitor: Visitor(source: "192.0.2.7")))
        guard case .right(let person) = verdict else { throw PasswordPlaceError.notProved }
        return person
    }

    func trail() async throws -> [String] {
        try await self.server.database.auditEntries(after: 0, limit: 999).map(\.event.kind.rawValue)
    }
}

@Suite("Signing in by a password (decision 33)")
struct PasswordSignInTests {
    @Test func aRightPasswordSignsInAndSaysSo() async throws {
        try await PasswordPlace.run { place in
            let page = try await place.browser.get(
                try #require(
                    try await place.browser.get(place.party.authorizeAddress()).headers[.location]))
            // The service takes nothing else: nobody is asked.
            #expect(page.status == .seeOther)
            let form = try await place.browser.get(try #require(page.headers[.location]))
            #expect(try form.attribute("autocomplete", of: "username") == "username")
            #expect(try form.attribute("autocomplete", of: "password") == "current-password")
            #expect(try form.attribute("type", of: "password") == "password")
            #expect(form.headers[.contentSecurityPolicy]?.contains("form-action 'self' http://127.0.0.1:8081;") == true)
            let request = try #require(page.redirectParameters["request"])
            place.server.clock.advance(by: .seconds(5))
            let claims = try await place.claims(after: try await place.show(PasswordPlace.password, request))
            #expect(try claims.strings("amr") == ["pwd"])
            #expect(try claims.string("acr") == "urn:countersign:acr:one-factor")
            #expect(try claims.integer("auth_time", as: Int64.self) == place.server.clock.timeSource.now().seconds)
            let entry = try #require(
                try await place.server.database.auditEntries(after: 0, limit: 99).last {
                    $0.event.kind.rawValue == "signed-in"
                })
            #expect(entry.event.detail == "service=\(place.party.id) methods=pwd")
            let account = try await place.server.assembly.directory.account(username: "alice").id
            #expect(
                try await place.server.assembly.directory.notices(accountID: account).map(\.subject) == ["Demo Bank"])
            let numbers = place.server.assembly.configuration.metrics.registry.text
            #expect(numbers.contains("countersign_sign_ins_total{by=\"password\"} 1"))
            #expect(numbers.contains("countersign_password_attempts_total{verdict=\"right\"} 1"))
        }
    }

    @Test(
        "A sign-in keeps the language that the request names, or else that the browser asks for",
        arguments: [
            ("", nil, nil), ("", "qaa", nil), ("", "qaa, en-GB;q=0.1", "en"), ("", "en;q=2", nil), ("", "*", nil),
            ("&ui_locales=en-GB", "qaa", "en"), ("&ui_locales=qaa%20en", nil, "en"), ("&ui_locales=qaa", "EN", "en"),
            ("&ui_locales=e%3Bn", "en;;", nil), ("&ui_locales=", nil, nil),
        ] as [(String, String?, String?)])
    func languageIsKept(parameter: String, header: String?, kept: String?) async throws {
        try await PasswordPlace.run { place in
            func signIn(_ parameter: String, _ header: String?) async throws -> String? {
                let authorize = try await place.browser.get(
                    place.party.authorizeAddress("&prompt=login" + parameter))
                let request = try #require(authorize.redirectParameters["request"])
                let shown = try await place.show(PasswordPlace.password, request)
                var headers = HTTPFields()
                headers[.acceptLanguage] = header
                let back = try await place.browser.get(
                    try #require(shown.headers[.location]), headers: headers)
                #expect(back.redirectParameters["code"] != nil)
                return try await place.server.database.account(username: "alice")?.language
            }
            let first = try await signIn(parameter, header)
            #expect(first == kept)
            let second = try await signIn("", nil)
            #expect(second == kept, "a sign-in that tells none leaves it")
        }
    }

    @Test("with a time-based code beside it, and by a recovery code once", arguments: [true, false])
    func aSecondFactorIsAskedForWhereThereIsOne(isTOTP: Bool) async throws {
        try await PasswordPlace.run { place in
            let (totp, codes) = try await place.giveSecondFactor()
            let request = try await place.begin()
            let next = try await place.show(PasswordPlace.password, request)
            #expect(next.headers[.location]?.hasPrefix("/sign-in/code?") == true)
            // The password alone is not enough.
            #expect(try await place.browser.get("/sign-in/complete?request=\(request)").status == .notFound)
            let page = try await place.browser.get(try #require(next.headers[.location]))
            #expect(try page.attribute("autocomplete", of: "code") == "one-time-code")
            let code = isTOTP ? try #require(totp.code(at: place.server.clock.timeSource.now())) : codes[3].shownOnce
            let right = try await place.post("/sign-in/code", ["request": request, "code": code])
            #expect(right.status == (isTOTP ? .seeOther : .ok))
            let claims = try await place.claims(after: right)
            #expect(try claims.strings("amr") == (isTOTP ? ["pwd", "otp", "mfa"] : ["pwd", "mfa"]))
            #expect(try claims.string("acr") == "urn:countersign:acr:two-factor")
            // The same once more, at another sign-in.
            place.browser.forgetCookies()
            let again = try await place.begin()
            _ = try await place.show(PasswordPlace.password, again)
            let refused = try await place.post("/sign-in/code", ["request": again, "code": code])
            #expect(refused.status == .forbidden)
            #expect(try await place.browser.get("/sign-in/complete?request=\(again)").status == .notFound)
            #expect(try await place.passwords.summary(username: "alice").recoveryCodes == 10)
            #expect(try await place.trail().contains("recovery-code-spent") == !isTOTP)
        }
    }

    @Test func aPasswordForOnceIsReplacedBeforeItLetsAnybodyIn() async throws {
        try await PasswordPlace.run(breached: SHA1Text.list()) { place in
            try await place.passwords.setOneTime("for this once", username: "alice", by: "test")
            let request = try await place.begin()
            #expect(try await place.show(PasswordPlace.password, request).status == .forbidden)
            let next = try await place.show("for this once", request)
            #expect(next.headers[.location]?.hasPrefix("/sign-in/new-password?") == true)
            #expect(try await place.browser.get("/sign-in/complete?request=\(request)").status == .notFound)
            let page = try await place.browser.get(try #require(next.headers[.location]))
            #expect(try page.attribute("autocomplete", of: "new-password") == "new-password")
            #expect(try page.attribute("value", of: "username") == "alice")
            for (refused, words) in [
                ("short", "8 characters or more"), (SHA1Text.breached, "in a list"),
                ("for this once", "Choose another"),
                ("with a \u{200B} in it", "do not show"),
            ] {
                let answer = try await place.post(
                    "/sign-in/new-password", ["request": request, "new-password": refused])
                #expect(answer.status == .unprocessableContent)
                #expect(try answer.words(of: "problem").contains(words), "\(refused)")
            }
            let claims = try await place.claims(
                after: try await place.post(
                    "/sign-in/new-password", ["request": request, "new-password": "mine from now on"]))
            #expect(try claims.strings("amr") == ["pwd"])
            place.browser.forgetCookies()
            let again = try await place.begin()
            #expect(try await place.show("for this once", again).status == .forbidden)
            #expect(try await place.show("mine from now on", again).status == .seeOther)
        }
    }

    @Test func aPasswordForOnceEndsUnused() async throws {
        try await PasswordPlace.run { place in
            try await place.passwords.setOneTime("for this once", username: "alice", by: "test")
            place.server.clock.advance(by: Limits().passwords.oneTimePasswordLifetime)
            #expect(try await place.show("for this once", try await place.begin()).status == .forbidden)
        }
    }

    @Test("what other systems have hashed is taken once and hashed anew")
    func importedHashesAreUpgraded() async throws {
        // U*U with a cost of 5, from the tests of the function's own authors.
        let bcrypt = "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"
        try await PasswordPlace.run(hash: bcrypt) { place in
            func source() async throws -> PasswordDirectory.Summary.Source {
                try await place.passwords.summary(username: "alice").source
            }
            let imported = try await source()
            #expect(imported == .imported)
            #expect(try await place.show("U*V", try await place.begin()).status == .forbidden)
            let afterAWrongOne = try await source()
            #expect(afterAWrongOne == .imported)
            #expect(try await place.show("U*U", try await place.begin()).status == .seeOther)
            let upgraded = try await source()
            #expect(upgraded == .own)
            #expect(try await place.trail().contains("password-rehashed"))
            #expect(try await place.show("U*U", try await place.begin()).status == .seeOther)
        }
    }

    @Test(
        "what other functions made is hashed anew at the first sign-in",
        arguments: [
            // Of "pleaseletmein", by Python's hashlib and libcrypt.
            "pbkdf2_sha256$1000$seasalt12345$Cm9x7qW7/Oh4kymBzt+pBd1T5bMSgMsJ/Mm0TwJm6E0=",
            "$scrypt$ln=4,r=8,p=1$TmFDbA$gs9FiH8vUwGSygLoMBDJA9WHpKLSpYQ7pr8zBE11riM",
            "$6$rounds=1000$saltstring$mUzaGDDVnOsq2tXwboJuEeMSdwHewrviq2hNFSCSVbOrWAkDHza1wpdVg81sUAfc1ki.xuLyu.h.JJmzHGXJa1",
        ])
    func otherFunctionsAreUpgraded(hash: String) async throws {
        try await PasswordPlace.run(hash: hash) { place in
            let wrong = try await place.begin()
            #expect(try await place.show("pleaseletmeout", wrong).status == .forbidden)
            let afterAWrongOne = try await place.passwords.summary(username: "alice").source
            #expect(afterAWrongOne == .imported)
            let first = try await place.begin()
            #expect(try await place.show("pleaseletmein", first).status == .seeOther)
            let upgraded = try await place.passwords.summary(username: "alice").source
            #expect(upgraded == .own)
            let second = try await place.begin()
            #expect(try await place.show("pleaseletmein", second).status == .seeOther)
        }
    }

    @Test("an import that costs too much is refused by the parameter and its bound, and leaves the password as it was")
    func costlyImports() async throws {
        try await PasswordPlace.run { place in
            let salted = "$pbkdf2-sha256$2000001$c2FsdA$VawEblbjCJ/sFpHCJUS2BflBhSFt3gRl5oudV8INrLw"
            let error = await #expect(throws: AccountError.self) {
                try await place.passwords.importHash(salted, username: "alice", by: "test")
            }
            #expect(error?.code == .invalidRequest)
            #expect(error?.reason.contains("2000000 iterations for PBKDF2") == true)
            let page = try await place.begin()
            #expect(try await place.show(PasswordPlace.password, page).status == .seeOther)
        }
    }

    @Test func otherParametersAreUpgradedToo() async throws {
        var former = PasswordLimits.cheap
        former.hashing.memoryKiB = 128
        try await PasswordPlace.run(hash: try await PasswordPlace.hash(PasswordPlace.password, former)) { place in
            let account = try await place.server.assembly.directory.account(username: "alice").id
            func hash() async throws -> String? {
                try await place.server.database.passwordAccount(id: account)?.password?.hash
            }
            #expect(try await hash()?.contains("m=128,") == true)
            #expect(try await place.show(PasswordPlace.password, try await place.begin()).status == .seeOther)
            #expect(try await hash()?.contains("m=64,") == true)
        }
    }

    // MARK: What nobody can tell apart

    @Test("an unknown name, a wrong password, no password, a locked account and one that rests are told the same")
    func refusalsAreUniform() async throws {
        try await PasswordPlace.run { place in
            for name in ["bob", "locked", "rests"] {
                _ = try await place.server.assembly.directory.create(username: name, displayName: nil, by: "test")
                guard name != "bob" else { continue }
                let hash = try await PasswordPlace.hash(PasswordPlace.password)
                try await place.passwords.importHash(hash, username: name, by: "test")
            }
            _ = try await place.server.assembly.directory.setLocked(true, username: "locked", by: "test")
            for _ in 0..<Limits().passwords.passwordAttempts {
                _ = try await place.show("wrong", as: "rests", try await place.begin())
            }
            let request = try await place.begin()
            var texts: Set<String> = []
            for (name, password) in [
                ("nobody", PasswordPlace.password), ("alice", "wrong"), ("bob", PasswordPlace.password),
                ("locked", PasswordPlace.password), ("rests", PasswordPlace.password), ("a name", "x"),
                ("alice", "\u{200B}"),
            ] {
                let done = place.server.assembly.passwords.load.done
                let answer = try await place.show(password, as: name, request)
                #expect(answer.status == .forbidden, "\(name)")
                texts.insert(
                    answer.text.replacing("value=\"\(name)\"", with: "").replacing(
                        try Regex("<code>[^<]*</code>"), with: ""))
                // Each costs one hash, as a wrong one does.
                #expect(place.server.assembly.passwords.load.done == done + 1, "\(name)")
            }
            #expect(texts.count == 1)
        }
    }

    @Test("the log says what the page does not, and no secret")
    func theLogKnowsWhy() async throws {
        let server = try await ServerFixture()
        let lines = try await server.requestLines { client in
            let place = PasswordPlace(
                server: server, client: client, party: try await server.relyingParty(signInMethods: ["password"]),
                browser: TestBrowser(client))
            _ = try await server.assembly.directory.create(username: "alice", displayName: nil, by: "test")
            let request = try await place.begin()
            _ = try await place.show("my secret", as: "zoe", request)
            _ = try await place.show("my secret", as: "alice", request)
        }
        let refused = lines.filter { $0["status"] == "403" }
        #expect(refused.compactMap { $0["error"] } == ["password-unknown-name", "password-no-password"])
        #expect(refused.allSatisfy { !"\($0)".contains("secret") && !"\($0)".contains("zoe") })
    }

    // MARK: Attempts

    @Test("after ten wrong ones in a row a password rests, ever longer, and the phone does not")
    func attemptsRest() async throws {
        try await PasswordPlace.run(methods: ["phone", "password"]) { place in
            let request = try await place.begin()
            for _ in 0..<10 { #expect(try await place.show("wrong", request).status == .forbidden) }
            // The right one is not judged now, nor does it make the rest longer.
            #expect(try await place.show(PasswordPlace.password, request).status == .forbidden)
            place.server.clock.advance(by: .seconds(59))
            #expect(try await place.show(PasswordPlace.password, request).status == .forbidden)
            place.server.clock.advance(by: .seconds(1))
            #expect(try await place.show("wrong", request).status == .forbidden)
            place.server.clock.advance(by: .seconds(119))
            #expect(try await place.show(PasswordPlace.password, request).status == .forbidden)
            #expect(try await place.trail().count { $0 == "password-attempts-rest" } == 1)
            place.server.clock.advance(by: .seconds(1))
            let again = try await place.begin()
            #expect(try await place.show(PasswordPlace.password, again).status == .seeOther)
            // A right one begins anew.
            for _ in 0..<9 { _ = try await place.show("wrong", again) }
            #expect(try await place.show(PasswordPlace.password, again).status == .seeOther)
        }
    }

    @Test("while the password rests, the account's own phone signs in")
    func thePhoneIsNeverKeptOut() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let hash = try await PasswordPlace.hash(PasswordPlace.password)
            try await PasswordDirectory(server.assembly.passwords).importHash(hash, username: "alice", by: "test")
            let place = PasswordPlace(
                server: server, client: client,
                party: try await server.relyingParty(signInMethods: ["phone", "password"]), browser: TestBrowser(client)
            )
            let request = try await place.begin()
            for _ in 0..<12 { _ = try await place.show("wrong", request) }
            #expect(try await place.show(PasswordPlace.password, request).status == .forbidden)
            let page = try await place.browser.get("/sign-in?request=\(request)&by=phone")
            _ = try await phone.authenticate(try server.typedPayload(page))
            let back = try await place.browser.get("/sign-in/complete?request=\(request)")
            #expect(back.redirectParameters["code"] != nil)
        }
    }

    @Test func codesRestSoonerThanPasswords() async throws {
        try await PasswordPlace.run { place in
            let (totp, _) = try await place.giveSecondFactor()
            let request = try await place.begin()
            _ = try await place.show(PasswordPlace.password, request)
            for _ in 0..<5 {
                #expect(
                    try await place.post("/sign-in/code", ["request": request, "code": "000000"]).status == .forbidden)
            }
            func right() async throws -> HTTPResponse.Status {
                let code = try #require(totp.code(at: place.server.clock.timeSource.now()))
                return try await place.post("/sign-in/code", ["request": request, "code": code]).status
            }
            #expect(try await right() == .forbidden)
            // A right password gives no more codes.
            _ = try await place.show(PasswordPlace.password, request)
            #expect(try await right() == .forbidden)
            place.server.clock.advance(by: .seconds(60))
            #expect(try await right() == .seeOther)
        }
    }

    @Test("of 40 wrong ones at once ten are judged by what the account has")
    func attemptsAreCountedBeforeTheyAreJudged() async throws {
        try await PasswordPlace.run { place in
            let request = try await place.begin()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<40 {
                    group.addTask {
                        let answer = try await place.show("wrong", request)
                        #expect(answer.status == .forbidden)
                    }
                }
                try await group.waitForAll()
            }
            let numbers = place.server.assembly.configuration.metrics.registry.text
            #expect(numbers.contains("countersign_password_attempts_total{verdict=\"password-wrong\"} 10"))
            #expect(numbers.contains("countersign_password_attempts_total{verdict=\"password-resting\"} 30"))
        }
    }

    @Test func aSourceHasABudgetOfWrongOnesAlone() async throws {
        var limits = Limits()
        limits.passwords.passwordBurst = 3
        limits.passwords.passwordsPerMinute = 6
        try await PasswordPlace.run(limits: limits) { place in
            let request = try await place.begin()
            for name in ["a", "b", "c"] { _ = try await place.show("wrong", as: name, request) }
            let refused = try await place.show(PasswordPlace.password, request)
            #expect(refused.status == .tooManyRequests)
            #expect(refused.headers[.retryAfter] == "10")
            place.server.clock.advance(by: .seconds(10))
            // A right one is given back.
            for _ in 0..<5 { #expect(try await place.show(PasswordPlace.password, request).status == .seeOther) }
        }
    }

    @Test("where too many wait it is 503 with Retry-After, nothing is counted, and no other path waits")
    func aFullQueueIsToldAtOnce() async throws {
        var hashing = PasswordLimits.cheap
        hashing.waitingHashes = 0
        try await PasswordPlace.run(hashing: hashing) { place in
            let request = try await place.begin()
            for _ in 0..<12 {
                let answer = try await place.show(PasswordPlace.password, request)
                #expect(answer.status == .serviceUnavailable)
                #expect(answer.headers[.retryAfter] == "10")
            }
            #expect(try await place.begin().isEmpty == false)
            let kept = try await place.server.database.countAttempt(
                .password(account: place.server.assembly.directory.account(username: "alice").id)
            ) { present in
                #expect(present?.count == 0)
                return nil
            }
            #expect(!kept)
        }
    }

    @Test("a new password that nobody could hash costs its source nothing")
    func aNewPasswordThatCannotBeHashedIsGivenBack() async throws {
        var limits = Limits()
        limits.passwords.passwordBurst = 3
        var hashing = PasswordLimits.cheap
        hashing.waitingHashes = 0
        try await PasswordPlace.run(limits: limits, hashing: hashing) { place in
            let request = try await place.begin()
            let account = try await place.server.assembly.directory.account(username: "alice").id
            let waiting = PasswordSignInRecord(
                request: request, accountID: account, needsSecondFactor: false, needsNewPassword: true)
            #expect(try await place.server.database.advance(PasswordSignInStep(to: waiting)))
            for _ in 0..<5 {
                let answer = try await place.post(
                    "/sign-in/new-password", ["request": request, "new-password": "mine from now on"])
                #expect(answer.status == .serviceUnavailable)
            }
        }
    }

    @Test("attempts that nobody could judge leave one row in the trail, however many there are")
    func attemptsThatAreGivenBackFillNoTrail() async throws {
        var hashing = PasswordLimits.cheap
        hashing.waitingHashes = 0
        try await PasswordPlace.run(hashing: hashing) { place in
            let account = try await place.server.assembly.directory.account(username: "alice").id
            let now = place.server.clock.timeSource.now()
            _ = try await place.server.database.countAttempt(.password(account: account)) { _ in
                (AttemptCount(count: Limits().passwords.passwordAttempts - 1, at: now), nil)
            }
            let request = try await place.begin()
            for _ in 0..<5 {
                #expect(try await place.show(PasswordPlace.password, request).status == .serviceUnavailable)
                place.server.clock.advance(by: .seconds(60))
            }
            #expect(try await place.trail().count { $0 == "password-attempts-rest" } == 1)
        }
    }

    // MARK: Who may

    @Test func aServiceThatTakesPhonesAloneHasNoSuchPages() async throws {
        try await PasswordPlace.run(methods: ["phone"]) { place in
            let request = try await place.begin()
            for path in ["password", "code", "new-password"] {
                #expect(try await place.browser.get("/sign-in/\(path)?request=\(request)").status == .notFound)
            }
            #expect(try await place.show(PasswordPlace.password, request).status == .notFound)
            let page = try await place.browser.get("/sign-in?request=\(request)")
            #expect(try page.attribute("data-state", of: "state") == "waiting")
            #expect(!page.text.contains("other-ways"))
        }
    }

    @Test func whereThereAreSeveralWaysThePersonIsAsked() async throws {
        try await PasswordPlace.run(methods: ["phone", "password"]) { place in
            let request = try await place.begin()
            let choice = try await place.browser.get("/sign-in?request=\(request)")
            let phone = try choice.attribute("href", of: "by-phone")
            let password = try choice.attribute("href", of: "by-password")
            let first = try #require(choice.text.firstRange(of: "by-phone"))
            let second = try #require(choice.text.firstRange(of: "by-password"))
            #expect(first.lowerBound < second.lowerBound)
            let page = try await place.browser.get(phone)
            #expect(try page.attribute("data-state", of: "state") == "waiting")
            #expect(
                try page.attribute("href", of: "other-ways") == "/sign-in?request=\(request)&client=\(place.party.id)")
            let form = try await place.browser.get(password)
            #expect(try form.attribute("href", of: "other-ways").hasPrefix("/sign-in?request=\(request)"))
            let claims = try await place.claims(after: try await place.show(PasswordPlace.password, request))
            #expect(try claims.strings("amr") == ["pwd"])
        }
    }

    @Test func anotherBrowserSeesNothing() async throws {
        try await PasswordPlace.run { place in
            let request = try await place.begin()
            let other = TestBrowser(place.client)
            #expect(try await place.show(PasswordPlace.password, request, other).status == .notFound)
            _ = try await place.begin(other)
            #expect(try await place.show(PasswordPlace.password, request, other).status == .notFound)
            #expect(try await other.get("/sign-in/password?request=\(request)").status == .notFound)
            // What one browser has shown is no other's.
            #expect(try await place.show(PasswordPlace.password, request).status == .seeOther)
            #expect(try await other.get("/sign-in/complete?request=\(request)").status == .notFound)
        }
    }

    @Test(
        "a form without its parts is refused",
        arguments: ["/sign-in/password", "/sign-in/code", "/sign-in/new-password"])
    func missingFieldsAreRefused(path: String) async throws {
        try await PasswordPlace.run { place in
            let request = try await place.begin()
            #expect(try await place.post(path, ["request": request]).status == .badRequest)
            #expect(try await place.post(path, ["username": "alice"]).status == .badRequest)
        }
    }

    @Test func stepsComeInTheirTurn() async throws {
        try await PasswordPlace.run { place in
            let request = try await place.begin()
            for (path, field) in [("code", "code"), ("new-password", "new-password")] {
                let page = try await place.browser.get("/sign-in/\(path)?request=\(request)")
                #expect(page.headers[.location]?.hasPrefix("/sign-in/password?") == true)
                let answer = try await place.post("/sign-in/\(path)", ["request": request, field: "anything at all"])
                #expect(answer.headers[.location]?.hasPrefix("/sign-in/password?") == true)
            }
        }
    }

    @Test func anOutcomeWaitsOnlyForAWhile() async throws {
        try await PasswordPlace.run { place in
            let request = try await place.begin()
            _ = try await place.show(PasswordPlace.password, request)
            place.server.clock.advance(by: Limits().outcomeLifetime)
            #expect(try await place.browser.get("/sign-in/complete?request=\(request)").status == .notFound)
        }
    }

    @Test("a password that an operator sets ends sessions, and what a lock or a new password overtakes lets nobody in")
    func changesEndWhatIsUnderWay() async throws {
        try await PasswordPlace.run { place in
            let request = try await place.begin()
            _ = try await place.claims(after: try await place.show(PasswordPlace.password, request))
            let silent = try await place.browser.get(place.party.authorizeAddress("&prompt=none"))
            #expect(silent.redirectParameters["code"] != nil)
            try await place.passwords.setOneTime("for this once", username: "alice", by: "test")
            let after = try await place.browser.get(place.party.authorizeAddress("&prompt=none"))
            #expect(after.redirectParameters["error"] == "login_required")
            let again = try await place.begin()
            _ = try await place.show("for this once", again)
            _ = try await place.server.assembly.directory.setLocked(true, username: "alice", by: "test")
            let choice = try await place.post(
                "/sign-in/new-password", ["request": again, "new-password": "mine from now on"])
            #expect(choice.headers[.location]?.hasPrefix("/sign-in/password?") == true)
            #expect(try await place.browser.get("/sign-in/complete?request=\(again)").status == .notFound)
        }
    }
}

/// A password that is in the list of a test.
enum SHA1Text {
    static let breached = "password1"
    static let ofBreached = "E38AD214943DAAD1D64C102FAEC29DE4AFE9DA3D"

    static func list() throws -> BreachedPasswordList {
        try BreachedPasswordList(bytes: BreachedPasswordListBuilder.list(of: Array("\(Self.ofBreached):7\n".utf8)))
    }
}
