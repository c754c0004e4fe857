import Records
import Testing
import _Primitives

@Suite("Decision 27: the plan of a step about an account's password")
struct PasswordPlanTests {
    private static let now = Timestamp(seconds: 1_800_000_000)
    private static let audit = AuditEvent(.passwordChanged, at: Self.now, accountID: "alice")
    private static let spentAudit = AuditEvent(.recoveryCodeSpent, at: Self.now, accountID: "alice")
    private static let password = PasswordRecord(accountID: "alice", hash: "new", setAt: Self.now)
    private static let totp = TOTPRecord(
        accountID: "alice", secret: SecretBytes([1]), algorithm: "SHA1", digits: 6, periodSeconds: 30,
        setAt: Self.now)
    private static let notice = NoticeRecord(
        id: "notice", accountID: "alice", kind: .passwordChanged, at: Self.now, subject: "alice")
    private static let mail = MailRecord(
        accountID: "alice", subject: .passwordChanged, createdAt: Self.now, expiresAt: Self.now + .seconds(60))
    private static let made = AccountChangeRecord(
        id: "change", accountID: "alice", addition: .password, words: "Password", madeAt: Self.now)
    private static let visit = KnownVisit(network: "net", former: [1], browser: [2], at: Self.now, most: 5)
    private static let code = PasswordSignInStep.Spent.recoveryCode([7], replacement: [8])
    private static let codeNotice = NoticeRecord(
        id: "code", accountID: "alice", kind: .recoveryCodeUsed, at: Self.now, subject: "alice")
    private static let codeMail = MailRecord(
        accountID: "alice", subject: .recoveryCodeUsed, about: "further", createdAt: Self.now,
        expiresAt: Self.now + .seconds(60))
    private static let use = RecoveryCodeUse(
        audit: Self.spentAudit, notice: Self.codeNotice, mails: [Self.codeMail])

    private static func standing(
        isLocked: Bool = false, hash: String? = "old", secondFactorSetAt: Timestamp? = nil
    ) -> PasswordStanding {
        PasswordStanding(
            isLocked: isLocked, hasPassword: hash != nil, hash: hash, secondFactorSetAt: secondFactorSetAt)
    }

    private static func shown(hash: String = "old", secondFactorSetAt: Timestamp? = nil) -> ShownPassword {
        ShownPassword(accountID: "alice", hash: hash, secondFactorSetAt: secondFactorSetAt)
    }

    // MARK: Shown values

    @Test(
        "Shown values hold for an open account with the same password and the same second factor",
        arguments: [
            (Self.standing(), nil, true), (nil, nil, false), (Self.standing(isLocked: true), nil, false),
            (Self.standing(hash: nil), nil, false), (Self.standing(hash: "other"), nil, false),
            (Self.standing(secondFactorSetAt: Self.now), nil, false),
            (Self.standing(secondFactorSetAt: Self.now), Self.now, true),
            (Self.standing(), Self.now, false),
            (Self.standing(secondFactorSetAt: Self.now + .seconds(1)), Self.now, false),
        ] as [(PasswordStanding?, Timestamp?, Bool)])
    func shownValues(standing: PasswordStanding?, secondFactorSetAt: Timestamp?, holds: Bool) {
        let shown = Self.shown(secondFactorSetAt: secondFactorSetAt)
        let code = secondFactorSetAt.map { _ in Self.code }
        let plan = shown.plan(in: standing, givingBack: nil, spent: code, use: nil)
        #expect((plan != nil) == holds)
        var change = PasswordChange(to: Self.password, shown: shown, endsSessions: false, audit: Self.audit)
        #expect((change.plan(in: standing, linked: nil) != nil) == holds)
        change.shown = nil
        #expect((change.plan(in: standing, linked: nil) != nil) == (standing != nil))
        let factors = FactorChange(
            accountID: "alice", totp: Self.totp, recoveryCodes: [], shown: shown, audit: Self.audit)
        #expect((factors.plan(in: standing) != nil) == holds)
    }

    @Test("A proof shows a code exactly if the account has a second factor")
    func proof() {
        let (open, guarded) = (Self.standing(), Self.standing(secondFactorSetAt: Self.now))
        let both = Self.shown(secondFactorSetAt: Self.now)
        #expect(Self.shown().plan(in: open, givingBack: nil, spent: Self.code, use: nil) == nil)
        #expect(both.plan(in: guarded, givingBack: nil, spent: nil, use: nil) == nil)
        #expect(
            both.plan(in: guarded, givingBack: nil, spent: Self.code, use: Self.use)
                == PasswordPlan(
                    account: "alice", spent: Self.code,
                    writes: [
                        .forgetAttempts(.secondFactor(account: "alice")),
                        .forgetAttempts(.recoveryCode(account: "alice")),
                        .forgetAttempts(.password(account: "alice")), .audit(Self.spentAudit),
                        .notice(Self.codeNotice), .mail(Self.codeMail),
                    ]))
        // A code of the app says nothing of guesses at recovery codes.
        #expect(
            both.plan(in: guarded, givingBack: nil, spent: .totp(step: 4), use: nil)?.writes == [
                .forgetAttempts(.secondFactor(account: "alice")), .forgetAttempts(.password(account: "alice")),
            ])
    }

    @Test("A right attempt of a known browser gives back the browser's attempts alone")
    func givingBack() {
        let holder = AttemptHolder.password(account: "alice")
        let own = ReservedAttempt(holder: holder, leave: .account(AttemptCount(count: 3, at: Self.now)), day: 9)
        let exempt = ReservedAttempt(holder: holder, leave: .browser([5]), day: 9)
        for (attempt, writes) in [
            (nil, [.forgetAttempts(holder)]), (own, [.forgetAttempts(holder), .giveBackDay(own)]),
            (exempt, [.forgetWrong(browser: [5]), .giveBackDay(exempt)]),
        ] as [(ReservedAttempt?, [PasswordWrite])] {
            let plan = Self.shown().plan(in: Self.standing(), givingBack: attempt, spent: nil, use: nil)
            #expect(plan?.writes == writes)
        }
    }

    // MARK: New passwords

    @Test(
        "A mailed link gives a password to its own open account that has a password, with a code if one is needed",
        arguments: [
            (Self.standing(), "alice", nil, true), (Self.standing(), nil, nil, false),
            (Self.standing(), "bob", nil, false), (Self.standing(isLocked: true), "alice", nil, false),
            (Self.standing(hash: nil), "alice", nil, false), (Self.standing(), "alice", Self.code, false),
            (Self.standing(secondFactorSetAt: Self.now), "alice", nil, false),
            (Self.standing(secondFactorSetAt: Self.now), "alice", Self.code, true), (nil, "alice", nil, false),
        ] as [(PasswordStanding?, String?, PasswordSignInStep.Spent?, Bool)])
    func link(
        standing: PasswordStanding?, linked: String?, code: PasswordSignInStep.Spent?, isAllowed: Bool
    ) {
        var change = PasswordChange(to: Self.password, endsSessions: false, audit: Self.audit)
        change.link = [3]
        change.spent = code
        #expect((change.plan(in: standing, linked: linked) != nil) == isAllowed)
    }

    @Test("An operator sets the password of a locked account and of an account without a password")
    func operatorsPassword() {
        let change = PasswordChange(to: Self.password, endsSessions: false, audit: Self.audit)
        let always: [PasswordWrite] = [
            .replacePassword(Self.password), .forgetAttempts(.password(account: "alice")),
            .forgetAttempts(.secondFactor(account: "alice")), .forgetAttempts(.recoveryCode(account: "alice")),
            .forgetAttempts(.mail(account: "alice")), .forgetAttempts(.confirmation(account: "alice")),
            .forgetAllAttempts, .forgetKnown, .audit(Self.audit),
        ]
        for standing in [Self.standing(isLocked: true), Self.standing(hash: nil)] {
            #expect(
                change.plan(in: standing, linked: nil)
                    == PasswordPlan(account: "alice", spent: nil, writes: always))
        }
    }

    @Test("A new password with everything that can go with it")
    func wholeChange() throws {
        var change = PasswordChange(
            to: Self.password, endsSessions: true, audit: Self.audit, notice: Self.notice)
        (change.link, change.spent, change.codeUse) = ([3], Self.code, Self.use)
        (change.mail, change.accountChange, change.visit) = (Self.mail, Self.made, Self.visit)
        let plan = try #require(change.plan(in: Self.standing(secondFactorSetAt: Self.now), linked: "alice"))
        #expect(plan.spent == Self.code)
        #expect(
            Array(plan.writes.dropFirst(8)) == [
                .removeLinks(at: Self.now), .endAuthentications(at: Self.now), .forgetBrowser([1]),
                .knowBrowser([2], at: Self.now), .knowNetwork("net", at: Self.now), .keepRecent(most: 5),
                .audit(Self.spentAudit), .notice(Self.codeNotice), .mail(Self.codeMail), .audit(Self.audit),
                .notice(Self.notice), .keepChange(Self.made), .mail(Self.mail),
            ])
    }

    // MARK: Second factors

    @Test("Recovery codes alone need a secret to go with; a new secret needs nothing but the account")
    func factors() {
        let new = FactorChange(
            accountID: "alice", totp: Self.totp, recoveryCodes: [[1], [2]], shown: nil, session: "session",
            audit: Self.audit, notice: Self.notice, mail: Self.mail, accountChange: Self.made)
        let codes = FactorChange(
            accountID: "alice", totp: nil, recoveryCodes: [[1]], shown: nil, audit: Self.audit)
        #expect(new.plan(in: nil) == nil)
        #expect(codes.plan(in: Self.standing()) == nil)
        #expect(
            new.plan(in: Self.standing())?.writes == [
                .replaceSecret(Self.totp), .endOtherAuthentications(session: "session", at: Self.now),
                .addRecoveryCodes([[1], [2]]), .forgetAttempts(.recoveryCode(account: "alice")), .audit(Self.audit),
                .notice(Self.notice), .keepChange(Self.made), .mail(Self.mail),
            ])
        #expect(
            codes.plan(in: Self.standing(secondFactorSetAt: Self.now))
                == PasswordPlan(
                    account: "alice", spent: nil,
                    writes: [
                        .endRecoveryCodes, .addRecoveryCodes([[1]]), .forgetAttempts(.recoveryCode(account: "alice")),
                        .audit(Self.audit),
                    ]))
    }

    @Test("Only a password and a second factor that are there are removed, also of a locked account")
    func removals() {
        for standing in [nil, Self.standing(hash: nil)] {
            #expect(PasswordPlan.removingPassword(of: "alice", in: standing, audit: Self.audit) == nil)
        }
        for standing in [nil, Self.standing()] {
            #expect(PasswordPlan.removingSecondFactor(of: "alice", in: standing, audit: Self.audit) == nil)
        }
        let locked = Self.standing(isLocked: true, secondFactorSetAt: Self.now)
        #expect(
            PasswordPlan.removingPassword(of: "alice", in: locked, audit: Self.audit)?.writes == [
                .removePassword, .endAuthentications(at: Self.now), .audit(Self.audit),
            ])
        #expect(
            PasswordPlan.removingSecondFactor(of: "alice", in: locked, audit: Self.audit)?.writes == [
                .removeSecret, .forgetAttempts(.secondFactor(account: "alice")),
                .forgetAttempts(.recoveryCode(account: "alice")), .audit(Self.audit),
            ])
    }

    // MARK: Known browsers

    @Test("A visit by a mailed link spends the link of an open account with a password")
    func visitByLink() {
        let link = MailedLinkRecord(
            digest: [3], accountID: "alice", purpose: .passwordReset, expiresAt: Self.now + .seconds(60))
        let audit = AuditEvent(.passwordChanged, at: Self.now)
        let visit = KnownVisit(network: nil, former: nil, browser: nil, at: Self.now, most: 5)
        #expect(visit.plan(by: nil, in: Self.standing(), audit: audit) == nil)
        #expect(visit.plan(by: link, in: nil, audit: audit) == nil)
        #expect(visit.plan(by: link, in: Self.standing(isLocked: true), audit: audit) == nil)
        #expect(visit.plan(by: link, in: Self.standing(hash: nil), audit: audit) == nil)
        #expect(
            visit.plan(by: link, in: Self.standing(), audit: audit)
                == PasswordPlan(
                    account: "alice", spent: nil,
                    writes: [.spendLink([3]), .keepRecent(most: 5), .audit(Self.audit)]))
    }
}

@Suite("Decision 27: steps of a sign-in by password, and attempts that count before they are judged")
struct PasswordSignInPlanTests {
    private static let now = Timestamp(seconds: 1_800_000_000)
    private static let audit = AuditEvent(.passwordRehashed, at: Self.now, accountID: "alice")
    private static let notice = NoticeRecord(
        id: "notice", accountID: "alice", kind: .signedIn, at: Self.now, subject: "bank")
    private static let begun = PasswordSignInRecord(
        request: "request", accountID: "alice", needsSecondFactor: false, needsNewPassword: false)
    private static let waiting = PasswordSignInRecord(
        request: "request", accountID: "alice", needsSecondFactor: true, needsNewPassword: false)
    private static let complete = PasswordSignInRecord(
        request: "request", accountID: "alice", secondFactor: .totp, needsSecondFactor: false,
        needsNewPassword: false)
    private static let finished = FinishedSignInRecord(
        request: "request", method: "password", account: "alice", at: Self.now, acr: "urn:x", amr: ["pwd", "otp"],
        finishedAt: Self.now)

    private static func scene(
        hasRequest: Bool = true, isLocked: Bool = false, isGone: Bool = false, hash: String? = nil,
        needsCode: Bool = false, stored: PasswordSignInRecord? = nil
    ) -> PasswordSignInScene {
        let standing = PasswordStanding(
            isLocked: isLocked, hasPassword: true, hash: hash, secondFactorSetAt: needsCode ? Self.now : nil)
        return PasswordSignInScene(hasRequest: hasRequest, account: isGone ? nil : standing, stored: stored)
    }

    @Test(
        "A step stands while its request, its account, its sign-in, its hash and its second factor stand",
        arguments: [
            (PasswordSignInStep(to: Self.begun), Self.scene(), true),
            (PasswordSignInStep(to: Self.begun), Self.scene(hasRequest: false), false),
            (PasswordSignInStep(to: Self.begun), Self.scene(isGone: true), false),
            (PasswordSignInStep(to: Self.begun), Self.scene(isLocked: true), false),
            (PasswordSignInStep(to: Self.begun), Self.scene(needsCode: true), false),
            (PasswordSignInStep(to: Self.waiting), Self.scene(needsCode: true), true),
            (PasswordSignInStep(to: Self.waiting), Self.scene(), false),
            (PasswordSignInStep(to: Self.complete), Self.scene(needsCode: true), true),
            (PasswordSignInStep(to: Self.complete), Self.scene(), false),
            (
                PasswordSignInStep(to: Self.complete, from: Self.waiting),
                Self.scene(needsCode: true, stored: Self.waiting), true
            ),
            (
                PasswordSignInStep(to: Self.complete, from: Self.waiting),
                Self.scene(needsCode: true, stored: Self.complete), false
            ),
            (PasswordSignInStep(to: Self.complete, from: Self.waiting), Self.scene(needsCode: true), false),
            (PasswordSignInStep(to: Self.begun, verifiedHash: "hash"), Self.scene(hash: "hash"), true),
            (PasswordSignInStep(to: Self.begun, verifiedHash: "hash"), Self.scene(hash: "other"), false),
            (PasswordSignInStep(to: Self.begun, verifiedHash: "hash"), Self.scene(), false),
        ] as [(PasswordSignInStep, PasswordSignInScene, Bool)])
    func stands(step: PasswordSignInStep, scene: PasswordSignInScene, stands: Bool) {
        #expect((step.plan(in: scene) != nil) == stands)
    }

    @Test("A step without a hash, a code or a password writes the sign-in alone")
    func nothingElse() {
        #expect(
            PasswordSignInStep(to: Self.begun).plan(in: Self.scene())
                == PasswordPlan(account: "alice", spent: nil, writes: [.replaceSignIn(Self.begun)]))
    }

    @Test(
        "A chosen password replaces the password and makes the account forget its browsers; a rehash replaces the hash")
    func newPassword() {
        let password = PasswordRecord(accountID: "alice", hash: "new", setAt: Self.now)
        let rehashed = PasswordSignInStep(to: Self.begun, newPassword: password)
        let chosen = PasswordSignInStep(to: Self.begun, from: Self.begun, newPassword: password)
        #expect(
            rehashed.plan(in: Self.scene())?.writes == [.replaceHash("new"), .replaceSignIn(Self.begun)])
        #expect(
            chosen.plan(in: Self.scene(stored: Self.begun))?.writes == [
                .replacePassword(password), .forgetKnown, .replaceSignIn(Self.begun),
            ])
    }

    @Test("A step with everything that can go with it")
    func wholeStep() {
        let holder = AttemptHolder.password(account: "alice")
        var step = PasswordSignInStep(
            to: Self.complete, from: Self.waiting, finishing: Self.finished, verifiedHash: "hash",
            spent: .totp(step: 4), audit: [Self.audit], notices: [Self.notice])
        let attempt = ReservedAttempt(holder: holder, leave: .browser([5]), day: 9)
        step.attempt = attempt
        step.visit = KnownVisit(network: "net", former: nil, browser: nil, at: Self.now, most: 5)
        #expect(
            step.plan(in: Self.scene(hash: "hash", needsCode: true, stored: Self.waiting))
                == PasswordPlan(
                    account: "alice", spent: .totp(step: 4),
                    writes: [
                        .forgetWrong(browser: [5]), .giveBackDay(attempt),
                        .forgetAttempts(.secondFactor(account: "alice")), .replaceSignIn(Self.complete),
                        .finishSignIn(Self.finished),
                        .knowNetwork("net", at: Self.now), .keepRecent(most: 5), .audit(Self.audit),
                        .notice(Self.notice),
                    ]))
    }

    @Test("An attempt counts by its permission, and a refused attempt counts nowhere")
    func reservations() {
        let holder = AttemptHolder.password(account: "alice")
        let count = AttemptCount(count: 3, at: Self.now)
        let own = ReservedAttempt(holder: holder, leave: .account(count), day: 9)
        let exempt = ReservedAttempt(holder: holder, leave: .browser([5]), day: 9)
        for (decision, reservation) in [
            (.resting, .nothing), (.spent, .nothing),
            (.reserved(own, Self.audit), .account(count, day: 9, Self.audit)),
            (.reserved(exempt, nil), .browser([5], day: 9, nil)),
        ] as [(AttemptDecision, AttemptReservation)] {
            #expect(decision.reservation == reservation)
        }
    }

    @Test("A stored second factor is a known word")
    func storedWords() throws {
        for factor in PasswordSignInRecord.SecondFactor.allCases {
            #expect(try PasswordSignInRecord.SecondFactor(stored: factor.rawValue) == factor)
        }
        #expect(throws: StoreError(.corrupt, "")) { try PasswordSignInRecord.SecondFactor(stored: "else") }
    }
}
