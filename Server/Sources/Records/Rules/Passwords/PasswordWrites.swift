package import _Primitives

/// The writes of a step about an account's password, if no condition refuses the step.
package struct PasswordPlan: Sendable, Equatable {
    /// The account of the step.
    package let account: String
    /// The code to spend before the writes; `nil` without a code. A code that is spent already refuses the step.
    package let spent: PasswordSignInStep.Spent?
    /// The writes, in their order.
    package let writes: [PasswordWrite]

    /// Makes a plan of these values.
    package init(account: String, spent: PasswordSignInStep.Spent?, writes: [PasswordWrite]) {
        self.account = account
        self.spent = spent
        self.writes = writes
    }
}

/// A single write of a step about an account's password. A step carries its writes out in their order.
package enum PasswordWrite: Sendable, Equatable {
    /// The password takes the place of the account's password. All mailed links of the account end, except questions
    /// about changes.
    case replacePassword(PasswordRecord)
    /// The hash takes the place of another hash of the same password. The credential stays the same: nothing ends.
    case replaceHash(String)
    /// The account has no password any more.
    case removePassword
    /// The secret takes the place of the account's secret, whose recovery codes end. Unfinished sign-ins by password
    /// and wrong attempts at the second factor end too.
    case replaceSecret(TOTPRecord)
    /// The account has no secret any more, and no recovery codes.
    case removeSecret
    /// The account's recovery codes end.
    case endRecoveryCodes
    /// The account has these further recovery codes, by their HMACs.
    case addRecoveryCodes([[UInt8]])
    /// A holder's attempts in a row are forgotten. The daily counts stay.
    case forgetAttempts(AttemptHolder)
    /// The daily counts of all attempts at the account's password are forgotten.
    case forgetAllAttempts
    /// The wrong attempts of a known browser are forgotten.
    case forgetWrong(browser: [UInt8])
    /// The attempt does not count among the attempts of its day.
    case giveBackDay(ReservedAttempt)
    /// A mailed link ends.
    case spendLink([UInt8])
    /// The account forgets the browsers and networks that it knows.
    case forgetKnown
    /// The account forgets one browser.
    case forgetBrowser([UInt8])
    /// The account knows a browser.
    case knowBrowser([UInt8], at: Timestamp)
    /// The account knows a network.
    case knowNetwork(String, at: Timestamp)
    /// The account keeps the most recently used browsers and networks, at most so many of each.
    case keepRecent(most: Int)
    /// The account's links to other providers end.
    case removeLinks(at: Timestamp)
    /// All authentications of the account end.
    case endAuthentications(at: Timestamp)
    /// All authentications of the account outside a session end.
    case endOtherAuthentications(session: String?, at: Timestamp)
    /// The progress of a sign-in takes the place of the request's progress. A former sign-in by password that the
    /// request has finished ends.
    case replaceSignIn(PasswordSignInRecord)
    /// The sign-in is finished.
    case finishSignIn(FinishedSignInRecord)
    /// An audit event is kept.
    case audit(AuditEvent)
    /// A notice for the person's devices is kept.
    case notice(NoticeRecord)
    /// The change is kept, so that its person can disown it.
    case keepChange(AccountChangeRecord)
    /// A letter to the person is left in the outbox.
    case mail(MailRecord)
}

extension PasswordPlan {
    /// Returns the plan that removes an account's password; `nil` if the account is gone or has no password.
    package static func removingPassword(
        of account: String, in standing: PasswordStanding?, audit: AuditEvent
    ) -> Self? {
        guard let standing, standing.hasPassword else { return nil }
        return Self(
            account: account, spent: nil,
            writes: [.removePassword, .endAuthentications(at: audit.at), .audit(audit)])
    }

    /// Returns the plan that removes an account's second factor; `nil` if the account is gone or has none.
    package static func removingSecondFactor(
        of account: String, in standing: PasswordStanding?, audit: AuditEvent
    ) -> Self? {
        guard let standing, standing.needsCode else { return nil }
        return Self(
            account: account, spent: nil,
            writes: [
                .removeSecret, .forgetAttempts(.secondFactor(account: account)),
                .forgetAttempts(.recoveryCode(account: account)), .audit(audit),
            ])
    }
}

extension PasswordChange {
    /// Returns the plan of the change; `nil` if a condition of the change does not hold.
    ///
    /// - Parameters:
    ///   - standing: The account's present values; `nil` if the account is gone.
    ///   - linked: The account of the mailed link; `nil` if the link is spent or its time is over.
    package func plan(in standing: PasswordStanding?, linked: String?) -> PasswordPlan? {
        guard self.isAllowed(in: standing, linked: linked) else { return nil }
        return PasswordPlan(account: self.password.accountID, spent: self.spent, writes: self.writes)
    }

    private var writes: [PasswordWrite] {
        let (account, moment) = (self.password.accountID, self.audit.at)
        var writes: [PasswordWrite] = [
            .replacePassword(self.password), .forgetAttempts(.password(account: account)),
            .forgetAttempts(.secondFactor(account: account)), .forgetAttempts(.recoveryCode(account: account)),
            .forgetAttempts(.mail(account: account)), .forgetAttempts(.confirmation(account: account)),
            .forgetAllAttempts, .forgetKnown,
        ]
        // Another person may have had the account for a while, and may have linked an identity to the account.
        if self.link != nil { writes.append(.removeLinks(at: moment)) }
        if self.endsSessions { writes.append(.endAuthentications(at: moment)) }
        if let visit = self.visit { writes += visit.writes }
        if let use = self.codeUse { writes += use.writes }
        writes.append(.audit(self.audit))
        if let notice = self.notice { writes.append(.notice(notice)) }
        if let change = self.accountChange { writes.append(.keepChange(change)) }
        if let mail = self.mail { writes.append(.mail(mail)) }
        return writes
    }
}

extension FactorChange {
    /// Returns the plan of the change; `nil` if a condition of the change does not hold.
    package func plan(in standing: PasswordStanding?) -> PasswordPlan? {
        guard self.isAllowed(in: standing) else { return nil }
        return PasswordPlan(account: self.accountID, spent: nil, writes: self.writes)
    }

    private var writes: [PasswordWrite] {
        var writes: [PasswordWrite] =
            if let totp = self.totp {
                [.replaceSecret(totp), .endOtherAuthentications(session: self.session, at: self.audit.at)]
            } else {
                [.endRecoveryCodes]
            }
        writes += [
            .addRecoveryCodes(self.recoveryCodes), .forgetAttempts(.recoveryCode(account: self.accountID)),
            .audit(self.audit),
        ]
        if let notice = self.notice { writes.append(.notice(notice)) }
        if let change = self.accountChange { writes.append(.keepChange(change)) }
        if let mail = self.mail { writes.append(.mail(mail)) }
        return writes
    }
}

extension PasswordSignInStep {
    /// Returns the plan of the step; `nil` if the state that the step relies on has changed.
    package func plan(in scene: PasswordSignInScene) -> PasswordPlan? {
        guard self.stands(in: scene) else { return nil }
        return PasswordPlan(account: self.record.accountID, spent: self.spent, writes: self.writes)
    }

    private var writes: [PasswordWrite] {
        var writes: [PasswordWrite] = []
        if self.verifiedHash != nil { writes += Self.givingBack(self.attempt, accountID: self.record.accountID) }
        writes += PasswordSignInStep.forgetting(self.spent, accountID: self.record.accountID)
        if let password = self.newPassword {
            // At the beginning of a sign-in the verified password is hashed anew, and stays the same password.
            writes += self.previous == nil ? [.replaceHash(password.hash)] : [.replacePassword(password), .forgetKnown]
        }
        writes.append(.replaceSignIn(self.record))
        if let finished = self.finished { writes.append(.finishSignIn(finished)) }
        if let visit = self.visit { writes += visit.writes }
        if let use = self.codeUse { writes += use.writes }
        writes += self.audit.map { .audit($0) }
        writes += self.notices.map { .notice($0) }
        return writes
    }

    /// Returns the writes that forget the wrong attempts at codes after a right code. Wrong recovery codes are forgotten
    /// after a right recovery code alone: a person with the authenticator app does not know of guesses at the paper.
    fileprivate static func forgetting(_ spent: Spent?, accountID: String) -> [PasswordWrite] {
        switch spent {
        case nil: []
        case .totp?: [.forgetAttempts(.secondFactor(account: accountID))]
        case .recoveryCode?:
            [
                .forgetAttempts(.secondFactor(account: accountID)),
                .forgetAttempts(.recoveryCode(account: accountID)),
            ]
        }
    }

    /// Returns the writes that give back a right attempt at an account's password. If a known browser was exempt from
    /// the pause, the attempts of others stay counted and keep resting.
    fileprivate static func givingBack(_ attempt: ReservedAttempt?, accountID: String) -> [PasswordWrite] {
        guard let attempt else { return [.forgetAttempts(.password(account: accountID))] }
        return switch attempt.leave {
        case .account: [.forgetAttempts(.password(account: accountID)), .giveBackDay(attempt)]
        case .browser(let digest): [.forgetWrong(browser: digest), .giveBackDay(attempt)]
        }
    }
}

extension RecoveryCodeUse {
    /// The writes of the event and the messages.
    fileprivate var writes: [PasswordWrite] {
        [.audit(self.audit), .notice(self.notice)] + self.mails.map { .mail($0) }
    }
}

extension ShownPassword {
    /// Returns the plan for a proof of the shown values; `nil` if the values do not hold any more, or a code is missing.
    package func plan(
        in standing: PasswordStanding?, givingBack attempt: ReservedAttempt?, spent: PasswordSignInStep.Spent?,
        use: RecoveryCodeUse?
    ) -> PasswordPlan? {
        guard self.isProof(with: spent, in: standing) else { return nil }
        var writes = PasswordSignInStep.forgetting(spent, accountID: self.accountID)
        writes += PasswordSignInStep.givingBack(attempt, accountID: self.accountID)
        if let use { writes += use.writes }
        return PasswordPlan(account: self.accountID, spent: spent, writes: writes)
    }
}

extension KnownVisit {
    /// Returns the plan for a visit by a mailed link to a new password, which spends the link; `nil` if the link is not
    /// valid, or its account may not spend a link.
    ///
    /// - Parameters:
    ///   - link: The valid link that was shown; `nil` if the link is spent or its time is over.
    ///   - standing: The present values of the link's account; `nil` if the account is gone.
    ///   - audit: The audit event, which gets the account.
    package func plan(
        by link: MailedLinkRecord?, in standing: PasswordStanding?, audit: AuditEvent
    ) -> PasswordPlan? {
        guard let link, standing?.takesLink == true else { return nil }
        var audit = audit
        audit.accountID = link.accountID
        return PasswordPlan(
            account: link.accountID, spent: nil,
            writes: [.spendLink(link.digest)] + self.writes + [.audit(audit)])
    }

    /// The writes by which an account knows the browser and the network of the visit, in place of the browser's former
    /// entry.
    fileprivate var writes: [PasswordWrite] {
        var writes: [PasswordWrite] = []
        if let former = self.former { writes.append(.forgetBrowser(former)) }
        if let browser = self.browser { writes.append(.knowBrowser(browser, at: self.at)) }
        if let network = self.network { writes.append(.knowNetwork(network, at: self.at)) }
        writes.append(.keepRecent(most: self.most))
        return writes
    }
}
