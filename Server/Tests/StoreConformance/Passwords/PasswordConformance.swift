public import Records
import _Primitives

/// The rules for every store of passwords.
public enum PasswordConformance {
    /// The store protocols that the rules use. Passwords belong to accounts, and sign-ins to authorization requests.
    public typealias Subject = AccountStore & AuditStore & AuthorizationStore & MailStore & NoticeStore & PasswordStore
        & RefreshStore
        & SessionStore

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<any Subject>] =
        Self.secrets + Self.attempts + KnownBrowserChecks.all + Self.signIns

    private static let alice = "account-alice"

    /// Returns a password of alice that a person has shown.
    static func shown(_ hash: String, _ secondFactorSetAt: Timestamp? = nil) -> ShownPassword {
        ShownPassword(accountID: Self.alice, hash: hash, secondFactorSetAt: secondFactorSetAt)
    }

    private static func record(_ hash: String = "$hash$1", isOneTime: Bool = false) -> PasswordRecord {
        PasswordRecord(accountID: Self.alice, hash: hash, setAt: .start + .seconds(1), isOneTime: isOneTime)
    }

    private static func totp(_ byte: UInt8 = 7) -> TOTPRecord {
        TOTPRecord(
            accountID: Self.alice, secret: SecretBytes([UInt8](repeating: byte, count: 20)), algorithm: "SHA1",
            digits: 6, periodSeconds: 30, setAt: .start + .seconds(2))
    }

    /// The event and the notice of a used recovery code.
    private static let use = RecoveryCodeUse(
        audit: sampleAudit("spent"),
        notice: NoticeRecord(
            id: "used", accountID: Self.alice, kind: .recoveryCodeUsed, at: .start, subject: "alice"), mails: [])

    private static func code(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 32) }

    /// Adds an account with a password, and a waiting request.
    private static func begin(_ store: any Subject, request: String = "1") async throws {
        try await store.createAccount(sampleAccount(), audit: sampleAudit())
        _ = try await store.setPassword(PasswordChange(to: Self.record(), endsSessions: false, audit: sampleAudit()))
        try await store.addRequest(SampleSignIn(request, secret: Self.code(1), at: .start).request)
    }

    private static func signIn(
        _ request: String = "request-1", needsCode: Bool = false, shown: PasswordSignInRecord.SecondFactor? = nil
    ) -> PasswordSignInRecord {
        PasswordSignInRecord(
            request: request, accountID: Self.alice, secondFactor: shown, needsSecondFactor: needsCode,
            needsNewPassword: false, browser: "A browser", address: "192.0.2.7")
    }

    /// Returns the step that begins a sign-in with everything that it needs, and finishes the sign-in.
    private static func finishing(shown: PasswordSignInRecord.SecondFactor? = nil) -> PasswordSignInStep {
        PasswordSignInStep(to: Self.signIn(shown: shown), finishing: Self.finished)
    }

    private static let finished = FinishedSignInRecord(
        request: "request-1", method: AuthenticationRecord.passwordMethod, account: Self.alice,
        at: .start + .seconds(3), acr: "urn:x", amr: ["pwd"], browser: "A browser", address: "192.0.2.7",
        finishedAt: .start + .seconds(3))

    /// Counts one more attempt while the count is below `most`. Returns `true` if the attempt was counted.
    private static func counted(_ most: Int, _ store: any Subject, _ holder: AttemptHolder) async throws -> Bool {
        try await store.countAttempt(holder) { present in
            let count = present?.count ?? 0
            return count < most ? (AttemptCount(count: count + 1, at: .start + .seconds(Int64(count))), nil) : nil
        }
    }

    private static let secrets: [ConformanceCheck<any Subject>] = [
        ConformanceCheck("a password comes back as it was set, by name and identifier, and is replaced whole") {
            store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            try expect(try await store.passwordAccount(username: "alice")?.password == nil, "none yet")
            for password in [Self.record(), Self.record("$hash$2", isOneTime: true)] {
                try expect(
                    try await store.setPassword(
                        PasswordChange(to: password, endsSessions: false, audit: sampleAudit())),
                    "the account exists")
                let expected = PasswordAccount(
                    account: sampleAccount(), password: password, totp: nil, recoveryCodes: 0)
                try expect(try await store.passwordAccount(username: "alice") == expected, "by name")
                try expect(try await store.passwordAccount(id: Self.alice) == expected, "by identifier")
            }
            try expect(try await store.passwordAccount(username: "bob") == nil, "nobody else's")
            var other = Self.record()
            other.accountID = "other"
            try expect(
                try await store.setPassword(PasswordChange(to: other, endsSessions: false, audit: sampleAudit()))
                    == false,
                "no such account")
            try expect(try await store.auditEntries(after: 0, limit: 9).count == 3, "an event for each change")
        },
        ConformanceCheck("a new password ends what the account has authenticated, where it is to") { store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            let signIn = SampleSignIn("1", secret: Self.code(1), at: .start)
            try await signIn.keep(in: store)
            _ = try await store.setPassword(
                PasswordChange(to: Self.record(), endsSessions: false, audit: sampleAudit()))
            try expect(try await store.session(cookieDigest: Self.code(1)) != nil, "it goes on")
            _ = try await store.setPassword(PasswordChange(to: Self.record(), endsSessions: true, audit: sampleAudit()))
            try expect(try await store.session(cookieDigest: Self.code(1)) == nil, "it has ended")
            try expect(try await store.grant("grant-1", token: nil, at: .start) == nil, "and so has its grant")
        },
        ConformanceCheck("a person's new password takes the place of the one that was verified, and devices are told") {
            store in
            try await Self.begin(store)
            let notice = NoticeRecord(
                id: "n", accountID: Self.alice, kind: .passwordChanged, at: .start, subject: "alice")
            @Sendable func change(_ verified: String) async throws -> Bool {
                try await store.setPassword(
                    PasswordChange(
                        to: Self.record("$hash$2"), shown: Self.shown(verified), endsSessions: true,
                        audit: sampleAudit("changed"), notice: notice))
            }
            try expect(try await change("$hash$9") == false, "another password by now")
            _ = try await store.setAccountLocked(true, id: Self.alice, audit: sampleAudit())
            try expect(try await change("$hash$1") == false, "a locked account")
            _ = try await store.setAccountLocked(false, id: Self.alice, audit: sampleAudit())
            try expect(try await store.notices(accountID: Self.alice, limit: 9).isEmpty, "nobody is told of nothing")
            try expect(try await winners(16) { _ in try await change("$hash$1") } == 1, "one of 16")
            try expect(try await store.passwordAccount(id: Self.alice)?.password?.hash == "$hash$2", "the new one")
            try expect(try await store.notices(accountID: Self.alice, limit: 9) == [notice], "the notice")
        },
        ConformanceCheck("a removed password is gone, once, and what the account has authenticated with it") { store in
            try await Self.begin(store)
            try await SampleSignIn("2", secret: Self.code(2), at: .start).keep(in: store)
            _ = try await store.advance(Self.finishing())
            try expect(try await store.removePassword(accountID: Self.alice, audit: sampleAudit()), "it was there")
            try expect(try await store.passwordAccount(id: Self.alice)?.password == nil, "gone")
            try expect(try await store.session(cookieDigest: Self.code(2)) == nil, "ended")
            try expect(
                try await store.passwordSignIn(request: "request-1") == nil, "what was about to be a session, too")
            try expect(try await store.finishedSignIns(request: "request-1").isEmpty, "finished as it was")
            try expect(
                try await store.removePassword(accountID: Self.alice, audit: sampleAudit()) == false, "only once")
        },
        ConformanceCheck("a second factor comes with its recovery codes, and goes with them") { store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            try expect(
                try await store.setRecoveryCodes([Self.code(1)], accountID: Self.alice, audit: sampleAudit()) == false,
                "no codes without it")
            for byte: UInt8 in [7, 8] {
                let isSet = try await store.setSecondFactor(
                    Self.totp(byte), recoveryCodes: [Self.code(1), Self.code(byte)], audit: sampleAudit())
                try expect(isSet, "the account exists")
                let account = try await store.passwordAccount(id: Self.alice)
                try expect(account?.totp == Self.totp(byte) && account?.recoveryCodes == 2, "as it was set")
            }
            try expect(
                try await store.setRecoveryCodes([Self.code(3)], accountID: Self.alice, audit: sampleAudit()),
                "new ones")
            try expect(try await store.passwordAccount(id: Self.alice)?.recoveryCodes == 1, "in place of all")
            try expect(try await store.removeSecondFactor(accountID: Self.alice, audit: sampleAudit()), "it was there")
            let account = try await store.passwordAccount(id: Self.alice)
            try expect(account?.totp == nil && account?.recoveryCodes == 0, "all gone")
            try expect(
                try await store.removeSecondFactor(accountID: Self.alice, audit: sampleAudit()) == false, "only once")
        },
        ConformanceCheck("it all goes with the account") { store in
            try await Self.begin(store)
            _ = try await store.setSecondFactor(Self.totp(), recoveryCodes: [Self.code(1)], audit: sampleAudit())
            _ = try await Self.counted(9, store, .password(account: Self.alice))
            _ = try await store.advance(Self.finishing())
            _ = try await store.deleteAccount(id: Self.alice, audit: sampleAudit())
            try expect(try await store.passwordAccount(id: Self.alice) == nil, "the account")
            try expect(try await store.passwordSignIn(request: "request-1") == nil, "the sign-in")
            try expect(try await store.finishedSignIns(request: "request-1").isEmpty, "finished as it was")
            try expect(
                try await store.deleteAttempts(before: .start + .seconds(99), day: 9, limit: 9) == 0, "the attempts")
        },
    ]

    private static let attempts: [ConformanceCheck<any Subject>] = [
        ConformanceCheck("of 32 attempts at once as many are counted as the rule allows") { store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            for holder in [
                AttemptHolder.password(account: Self.alice), .secondFactor(account: Self.alice), .unknownName(5),
            ] {
                let count = try await winners(32) { _ in try await Self.counted(10, store, holder) }
                try expect(count == 10, "ten of 32, not \(count)")
            }
        },
        ConformanceCheck("an attempt that nobody could judge is given back, and old ones are forgotten") { store in
            let (first, second) = (AttemptHolder.unknownName(1), AttemptHolder.unknownName(2))
            func giveBack(_ holder: AttemptHolder, unlessItMade kept: Int) async throws {
                let attempt = ReservedAttempt(
                    holder: holder, leave: .account(AttemptCount(count: 1, at: .start)), day: 0)
                try await store.giveBackAttempt(attempt, unlessItMade: kept)
            }
            for _ in 0..<3 { _ = try await Self.counted(9, store, first) }
            try await giveBack(first, unlessItMade: 2)
            try expect(try await Self.counted(2, store, first) == false, "two are left")
            try expect(try await Self.counted(3, store, first), "one was given back")
            try await giveBack(second, unlessItMade: 2)
            _ = try await Self.counted(9, store, second)
            try expect(try await Self.counted(1, store, second) == false, "nothing was given back before there was one")
            try await giveBack(first, unlessItMade: 3)
            try expect(try await Self.counted(3, store, first) == false, "the one that the trail has is not given back")
            try expect(
                try await store.deleteAttempts(before: .start + .seconds(1), day: 0, limit: 9) == 1, "the older one")
            try expect(try await store.deleteAttempts(before: .start + .seconds(9), day: 0, limit: 1) == 1, "a limit")
        },
        ConformanceCheck("what a counted attempt leaves in the trail is there with it") { store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            _ = try await store.countAttempt(.password(account: Self.alice)) { _ in
                (AttemptCount(count: 1, at: .start), sampleAudit("rests", account: Self.alice))
            }
            let kinds = try await store.auditEntries(after: 1, limit: 9).map(\.event.kind.rawValue)
            try expect(kinds == ["rests"], "the event")
        },
    ]

    private static let signIns: [ConformanceCheck<any Subject>] = [
        ConformanceCheck("a sign-in comes back as it was, goes on from where it stands, and forgets what was wrong") {
            store in
            try await Self.begin(store)
            _ = try await store.setSecondFactor(Self.totp(), recoveryCodes: [Self.code(1)], audit: sampleAudit())
            for holder in [AttemptHolder.password(account: Self.alice), .secondFactor(account: Self.alice)] {
                _ = try await Self.counted(1, store, holder)
            }
            let first = Self.signIn(needsCode: true)
            try expect(
                try await store.advance(PasswordSignInStep(to: first, verifiedHash: "$hash$1")), "the password is right"
            )
            try expect(try await store.passwordSignIn(request: "request-1") == first, "as it was")
            try expect(try await store.finishedSignIns(request: "request-1").isEmpty, "a code is missing")
            try expect(try await Self.counted(1, store, .password(account: Self.alice)), "forgotten")
            try expect(try await Self.counted(1, store, .secondFactor(account: Self.alice)) == false, "not these")
            var second = Self.signIn()
            second.secondFactor = .totp
            let notice = NoticeRecord(id: "n", accountID: Self.alice, kind: .signedIn, at: .start, subject: "Bank")
            let step = PasswordSignInStep(
                to: second, from: first, finishing: Self.finished, newPassword: Self.record("$hash$2"),
                spent: .totp(step: 5),
                audit: [sampleAudit("signed-in")], notices: [notice])
            try expect(try await store.advance(step), "the code is right")
            try expect(try await store.passwordSignIn(request: "request-1") == second, "after it")
            try expect(try await store.finishedSignIns(request: "request-1") == [Self.finished], "nothing is missing")
            let account = try await store.passwordAccount(id: Self.alice)
            try expect(account?.totp?.lastStep == 5, "the step is spent")
            try expect(account?.password == Self.record("$hash$2"), "the password that took its place")
            try expect(try await Self.counted(1, store, .secondFactor(account: Self.alice)), "forgotten")
            try expect(try await store.notices(accountID: Self.alice, limit: 9) == [notice], "the notice")
            try expect(try await store.advance(step) == false, "not from where it does not stand")
            try expect(
                try await store.advance(PasswordSignInStep(to: first, verifiedHash: "$hash$2")), "the password again")
            try expect(
                try await store.finishedSignIns(request: "request-1").isEmpty, "whoever begins anew has not finished")
        },
        ConformanceCheck("a password that is hashed anew ends no mailed link, and a chosen password ends them") {
            store in
            try await Self.begin(store)
            let link = MailedLinkRecord(
                digest: Self.code(5), accountID: Self.alice, purpose: .passwordReset, expiresAt: .start + .seconds(900))
            let letter = MailRecord(
                accountID: Self.alice, subject: .passwordReset, link: ("link", link), createdAt: .start,
                expiresAt: .start + .seconds(900))
            _ = try await store.countAttempt(.mail(account: Self.alice), leaving: (letter, 9)) { _ in
                (AttemptCount(count: 1, at: .start), nil)
            }
            func isLinkValid() async throws -> Bool {
                try await store.mailedLink(digest: Self.code(5), purpose: .passwordReset, at: .start) == link
            }
            var rehashed = Self.record("$hash$2")
            rehashed.setAt = .start + .seconds(50)
            try expect(
                try await store.advance(
                    PasswordSignInStep(to: Self.signIn(), verifiedHash: "$hash$1", newPassword: rehashed)), "right")
            try expect(
                try await store.passwordAccount(id: Self.alice)?.password == Self.record("$hash$2"),
                "another hash of a password that was set before")
            try expect(try await isLinkValid(), "the password is the same")
            let chosen = PasswordSignInStep(
                to: Self.signIn(), from: Self.signIn(), verifiedHash: "$hash$2", newPassword: Self.record("$hash$3"))
            try expect(try await store.advance(chosen), "chosen")
            try expect(try await isLinkValid() == false, "another password ends links")
        },
        ConformanceCheck("of 16 that show one recovery code at once one goes on, and of 16 with one time step") {
            store in
            try await Self.begin(store)
            _ = try await store.setSecondFactor(
                Self.totp(), recoveryCodes: [Self.code(1), Self.code(2)], audit: sampleAudit())
            for index in 0..<16 {
                try await store.addRequest(
                    SampleSignIn("\(index + 10)", secret: Self.code(UInt8(index + 10)), at: .start).request)
            }
            for spent in [PasswordSignInStep.Spent.recoveryCode(Self.code(1)), .totp(step: 5)] {
                let count = try await winners(16) { index in
                    try await store.advance(
                        PasswordSignInStep(
                            to: Self.signIn("request-\(index + 10)", shown: .recoveryCode), spent: spent))
                }
                try expect(count == 1, "one of 16, not \(count)")
            }
            try expect(try await store.passwordAccount(id: Self.alice)?.recoveryCodes == 1, "the other is left")
            for number: Int64 in [5, 4] {
                let isTaken = try await store.advance(
                    PasswordSignInStep(to: Self.signIn(shown: .totp), spent: .totp(step: number)))
                try expect(!isTaken, "neither it again nor one from before")
            }
            let unknown = PasswordSignInStep(
                to: Self.signIn(shown: .recoveryCode), spent: .recoveryCode(Self.code(9)))
            try expect(try await store.advance(unknown) == false, "no such code")
            try expect(try await store.passwordSignIn(request: "request-1") == nil, "nothing has changed")
        },
        ConformanceCheck("a code takes the place of a spent recovery code, and guesses at the codes are forgotten") {
            store in
            try await Self.begin(store)
            _ = try await store.setSecondFactor(
                Self.totp(), recoveryCodes: [Self.code(1), Self.code(2)], audit: sampleAudit())
            let holder = AttemptHolder.recoveryCode(account: Self.alice)
            _ = try await Self.counted(1, store, holder)
            var step = PasswordSignInStep(
                to: Self.signIn(shown: .recoveryCode),
                spent: .recoveryCode(Self.code(1), replacement: Self.code(5)))
            step.codeUse = Self.use
            try expect(try await store.advance(step), "the code counts")
            try expect(try await store.notices(accountID: Self.alice, limit: 9) == [Self.use.notice], "the notice")
            try expect(try await Self.counted(1, store, holder), "the guesses are forgotten")
            try expect(try await store.passwordAccount(id: Self.alice)?.recoveryCodes == 2, "as many as before")
            for (code, isTaken) in [(Self.code(1), false), (Self.code(5), true), (Self.code(5), false)] {
                let again = PasswordSignInStep(to: Self.signIn(shown: .recoveryCode), spent: .recoveryCode(code))
                try expect(try await store.advance(again) == isTaken, "the former never, the new one once")
            }
            _ = try await Self.counted(1, store, holder)
            _ = try await store.setRecoveryCodes([Self.code(3)], accountID: Self.alice, audit: sampleAudit())
            try expect(try await Self.counted(1, store, holder), "other codes begin anew")
        },
        ConformanceCheck(
            "a second factor that is set ends what is under way without it, and nothing goes on without it"
        ) {
            store in
            try await Self.begin(store)
            try expect(try await store.advance(Self.finishing()), "by the password alone")
            _ = try await store.setSecondFactor(Self.totp(), recoveryCodes: [Self.code(1)], audit: sampleAudit())
            try expect(try await store.passwordSignIn(request: "request-1") == nil, "what was about to be a session")
            try expect(try await store.finishedSignIns(request: "request-1").isEmpty, "finished as it was")
            let alone = PasswordSignInStep(to: Self.signIn(), verifiedHash: "$hash$1")
            try expect(try await store.advance(alone) == false, "the account was read before")
            let waiting = Self.signIn(needsCode: true)
            try expect(
                try await store.advance(PasswordSignInStep(to: waiting, verifiedHash: "$hash$1")), "a code is missing")
            _ = try await store.removeSecondFactor(accountID: Self.alice, audit: sampleAudit())
            let shown = PasswordSignInStep(to: Self.signIn(shown: .totp), from: waiting)
            try expect(try await store.advance(shown) == false, "there is none any more")
            try expect(try await store.advance(alone), "and the password is enough again")
        },
        ConformanceCheck("what a sign-in stands on is asked in its own step") { store in
            try await Self.begin(store)
            let right = PasswordSignInStep(to: Self.signIn(), verifiedHash: "$hash$1", audit: [sampleAudit("in")])
            let other = PasswordSignInStep(to: Self.signIn(), verifiedHash: "$hash$9")
            try expect(try await store.advance(other) == false, "another password by now")
            let elsewhere = PasswordSignInStep(to: Self.signIn("request-9"), verifiedHash: "$hash$1")
            try expect(try await store.advance(elsewhere) == false, "no such request")
            _ = try await store.setAccountLocked(true, id: Self.alice, audit: sampleAudit())
            try expect(try await store.advance(right) == false, "a locked account")
            _ = try await store.setAccountLocked(false, id: Self.alice, audit: sampleAudit())
            let entries = try await store.auditEntries(after: 0, limit: 99).count
            try expect(try await store.passwordSignIn(request: "request-1") == nil, "nothing so far")
            try expect(try await store.advance(right), "and then it is")
            try expect(try await store.auditEntries(after: 0, limit: 99).count == entries + 1, "with its event")
            _ = try await store.setAccountLocked(true, id: Self.alice, audit: sampleAudit())
            try expect(
                try await store.passwordSignIn(request: "request-1") == nil, "a lock ends what was about to be one")
        },
        ConformanceCheck("what is shown for a change is spent once, and only beside the password that was verified") {
            store in
            try await Self.begin(store)
            _ = try await store.setSecondFactor(Self.totp(), recoveryCodes: [Self.code(1)], audit: sampleAudit())
            for holder in [AttemptHolder.password(account: Self.alice), .secondFactor(account: Self.alice)] {
                _ = try await Self.counted(1, store, holder)
            }
            @Sendable func confirm(
                _ hash: String, _ spent: PasswordSignInStep.Spent?, at set: Timestamp? = .start + .seconds(2)
            )
                async throws -> Bool
            {
                try await store.confirm(
                    Self.shown(hash, set), attempt: nil, spent: spent,
                    use: spent == .recoveryCode(Self.code(1)) ? Self.use : nil)
            }
            try expect(try await confirm("$hash$1", nil) == false, "a code is missing")
            try expect(try await confirm("$hash$1", nil, at: nil) == false, "a second factor was set meanwhile")
            try expect(
                try await confirm("$hash$1", .totp(step: 5), at: .start + .seconds(1)) == false,
                "a code of another secret")
            try expect(try await confirm("$hash$9", .recoveryCode(Self.code(1))) == false, "another password by now")
            try expect(try await confirm("$hash$1", .recoveryCode(Self.code(9))) == false, "no such code")
            try expect(try await Self.counted(1, store, .password(account: Self.alice)) == false, "nothing forgotten")
            let count = try await winners(16) { _ in try await confirm("$hash$1", .recoveryCode(Self.code(1))) }
            try expect(count == 1, "one of 16, not \(count)")
            try expect(
                try await store.notices(accountID: Self.alice, limit: 9) == [Self.use.notice], "the person is told")
            try expect(try await confirm("$hash$1", .totp(step: 5)), "a time step")
            try expect(try await confirm("$hash$1", .totp(step: 5)) == false, "not again")
            try expect(try await Self.counted(1, store, .password(account: Self.alice)), "forgotten")
            try expect(try await Self.counted(1, store, .secondFactor(account: Self.alice)), "these, too")
            _ = try await store.setAccountLocked(true, id: Self.alice, audit: sampleAudit())
            try expect(try await confirm("$hash$1", .totp(step: 6)) == false, "a locked account")
        },
        ConformanceCheck("a second factor is set beside what was shown alone, and the person is told with it") {
            store in
            try await Self.begin(store)
            let notice = NoticeRecord(
                id: "n", accountID: Self.alice, kind: .secondFactorChanged, at: .start, subject: "alice")
            @Sendable func set(_ byte: UInt8, _ shown: ShownPassword, alone: Bool = false) async throws -> Bool {
                try await store.setFactors(
                    FactorChange(
                        accountID: Self.alice, totp: alone ? nil : Self.totp(byte), recoveryCodes: [Self.code(byte)],
                        shown: shown, audit: sampleAudit(), notice: notice))
            }
            let before = Self.shown("$hash$1")
            try expect(try await set(1, Self.shown("$hash$9")) == false, "another password by now")
            try expect(try await set(1, before, alone: true) == false, "no codes without a secret")
            _ = try await store.setAccountLocked(true, id: Self.alice, audit: sampleAudit())
            try expect(try await set(1, before) == false, "a locked account")
            _ = try await store.setAccountLocked(false, id: Self.alice, audit: sampleAudit())
            try expect(try await store.passwordAccount(id: Self.alice)?.totp == nil, "nothing was set")
            try expect(try await store.notices(accountID: Self.alice, limit: 9).isEmpty, "nobody is told of nothing")
            let count = try await winners(16) { try await set(UInt8($0 + 1), before) }
            try expect(count == 1, "one of 16 that stand on the same")
            try expect(try await store.notices(accountID: Self.alice, limit: 9) == [notice], "told")
            try expect(try await set(40, before, alone: true) == false, "codes, too, stand on what was shown")
            try expect(try await store.passwordAccount(id: Self.alice)?.recoveryCodes == 1, "as they were set")
        },
        ConformanceCheck(
            "a new second factor ends what was authenticated outside of its session, and new codes end nothing"
        ) {
            store in
            try await Self.begin(store)
            let samples = (1...3).map { number in
                SampleSignIn("own-\(number)", secret: Self.code(UInt8(number)), account: Self.alice, at: .start)
            }
            let stranger = SampleSignIn("another", secret: Self.code(4), account: "account-bob", at: .start)
            for sample in samples + [stranger] { try await sample.keep(in: store) }
            func left() async throws -> [Bool] {
                var left: [Bool] = []
                for sample in samples + [stranger] {
                    left.append(try await store.session(cookieDigest: sample.session.cookieDigest) != nil)
                }
                return left
            }
            func set(_ totp: TOTPRecord?, _ session: String?) async throws {
                _ = try await store.setFactors(
                    FactorChange(
                        accountID: Self.alice, totp: totp, recoveryCodes: [Self.code(9)], shown: nil, session: session,
                        audit: sampleAudit()))
            }
            try await set(Self.totp(1), samples[1].session.id)
            try expect(try await left() == [false, true, false, true], "its own, and another person's")
            try await set(nil, nil)
            try expect(try await left() == [false, true, false, true], "codes alone")
            try await set(Self.totp(2), stranger.session.id)
            try expect(try await left() == [false, false, false, true], "a session of somebody else's keeps nothing")
        },
        ConformanceCheck("a sign-in is completed while what its password gave stands, and not after") { store in
            try await Self.begin(store)
            let sample = SampleSignIn(
                "1", secret: Self.code(1), at: .start, method: AuthenticationRecord.passwordMethod)
            func isRefused(_ why: String) async throws {
                try await expectError(StoreError(.notFound, "")) {
                    try await store.complete(sample.completed, replacing: nil)
                }
                try expect(try await store.session(cookieDigest: Self.code(1)) == nil, why)
            }
            try await isRefused("no password was shown")
            _ = try await store.setSecondFactor(Self.totp(), recoveryCodes: [], audit: sampleAudit())
            _ = try await store.advance(PasswordSignInStep(to: Self.signIn(needsCode: true)))
            try await isRefused("a code is missing")
            _ = try await store.advance(Self.finishing(shown: .totp))
            _ = try await store.setPassword(
                PasswordChange(to: Self.record("$hash$2"), endsSessions: true, audit: sampleAudit()))
            try await isRefused("another password was set after the outcome was read")
            _ = try await store.advance(Self.finishing(shown: .totp))
            _ = try await store.setSecondFactor(Self.totp(8), recoveryCodes: [], audit: sampleAudit())
            try await isRefused("another second factor was")
            _ = try await store.advance(Self.finishing(shown: .totp))
            try await store.complete(sample.completed, replacing: nil)
            try expect(try await store.session(cookieDigest: Self.code(1)) != nil, "and then it is")
        },
        ConformanceCheck("a sign-in goes with its request") { store in
            try await Self.begin(store)
            _ = try await store.advance(Self.finishing())
            _ = try await store.removeRequest("request-1")
            try expect(try await store.passwordSignIn(request: "request-1") == nil, "gone")
            try expect(try await store.finishedSignIns(request: "request-1").isEmpty, "finished as it was")
        },
    ]
}
