public import Records
import Sealing
public import _Primitives

extension SQLStore: PasswordStore {
    public func passwordAccount(username: AccountName) async throws -> PasswordAccount? {
        try await self.read { [sealing] db in
            try AccountRows(db).account(username: username, sealing).map {
                try PasswordRows(db).passwordAccount($0, sealing)
            }
        }
    }

    public func passwordAccount(id: String) async throws -> PasswordAccount? {
        try await self.read { [sealing] db in
            try AccountRows(db).account(id: id, sealing).map { try PasswordRows(db).passwordAccount($0, sealing) }
        }
    }

    public func setPassword(_ change: PasswordChange) async throws -> Bool {
        try await self.step(
            Step(
                "password.set", guards: [.exclusive(.account, id: change.password.accountID)],
                isolation: .readCommitted)
        ) { [sealing] db in
            let standing = try PasswordRows(db).passwordStanding(
                of: change.password.accountID, opensHash: change.shown != nil, sealing)
            let link = try change.link.flatMap {
                try MailedLinkRows(db).mailedLink(digest: $0, purpose: .passwordReset, at: change.audit.at)
            }
            return try PasswordPlans(db).carryOut(change.plan(in: standing, linked: link?.accountID), sealing)
        }
    }

    public func removePassword(accountID: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step("password.remove", guards: [.exclusive(.account, id: accountID)], isolation: .readCommitted)
        ) { [sealing] db in
            let standing = try PasswordRows(db).passwordStanding(of: accountID, sealing)
            return try PasswordPlans(db).carryOut(.removingPassword(of: accountID, in: standing, audit: audit), sealing)
        }
    }

    public func setFactors(_ change: FactorChange) async throws -> Bool {
        try await self.step(
            Step("second-factor.set", guards: [.exclusive(.account, id: change.accountID)], isolation: .readCommitted)
        ) { [sealing] db in
            let standing = try PasswordRows(db).passwordStanding(
                of: change.accountID, opensHash: change.shown != nil, sealing)
            return try PasswordPlans(db).carryOut(change.plan(in: standing), sealing)
        }
    }

    public func removeSecondFactor(accountID: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step("second-factor.remove", guards: [.exclusive(.account, id: accountID)], isolation: .readCommitted)
        ) { [sealing] db in
            let standing = try PasswordRows(db).passwordStanding(of: accountID, sealing)
            return try PasswordPlans(db).carryOut(
                .removingSecondFactor(of: accountID, in: standing, audit: audit), sealing)
        }
    }

    public func countAttempt(
        _ holder: AttemptHolder, leaving mail: (MailRecord, most: Int)?,
        judge: @escaping @Sendable (AttemptCount?) -> (AttemptCount, AuditEvent?)?
    ) async throws -> Bool {
        try await self.step(
            Step("attempt.count", guards: StepGuard.ofAttempts(at: holder), isolation: .ofAttempts(at: holder))
        ) { [sealing] db in
            guard let (next, audit) = judge(try AttemptRows(db).attempts(of: holder)) else { return false }
            try AttemptRows(db).keep(next, of: holder)
            try AuditRows(db).record(audit, sealing)
            _ = try MailRows(db).leaveMail(mail, sealing)
            return true
        }
    }

    public func advance(_ step: PasswordSignInStep) async throws -> Bool {
        // A request has one sign-in by password, which the step replaces, whatever the account of the former was.
        try await self.step(
            Step(
                "password-sign-in.advance",
                guards: [
                    .exclusive(.account, id: step.record.accountID), .exclusive(.request, id: step.record.request),
                ], isolation: .readCommitted)
        ) { [sealing] db in
            try PasswordPlans(db).carryOut(step.plan(in: try PasswordSignInRows(db).scene(of: step, sealing)), sealing)
        }
    }

    public func confirm(
        _ shown: ShownPassword, attempt: ReservedAttempt?, spent: PasswordSignInStep.Spent?,
        use: RecoveryCodeUse?
    ) async throws -> Bool {
        try await self.step(
            Step("password.confirm", guards: [.exclusive(.account, id: shown.accountID)], isolation: .readCommitted)
        ) { [sealing] db in
            let standing = try PasswordRows(db).passwordStanding(of: shown.accountID, opensHash: true, sealing)
            let plan = shown.plan(in: standing, givingBack: attempt, spent: spent, use: use)
            return try PasswordPlans(db).carryOut(plan, sealing)
        }
    }

    public func passwordSignIn(request: String) async throws -> PasswordSignInRecord? {
        try await self.read { [sealing] db in try PasswordSignInRows(db).passwordSignIn(request, sealing) }
    }

    public func reserveAttempt(
        _ holder: AttemptHolder, browser: [UInt8]?, since day: Int64,
        judge: @escaping @Sendable (AttemptHistory) -> AttemptDecision
    ) async throws -> AttemptDecision {
        try await self.step(
            Step("attempt.reserve", guards: StepGuard.ofAttempts(at: holder), isolation: .ofAttempts(at: holder))
        ) { [sealing] db in
            let decision = judge(try AttemptRows(db).history(of: holder, browser: browser, since: day))
            switch decision.reservation {
            case .nothing: break
            case .account(let count, let day, let audit):
                try AttemptRows(db).keep(count, of: holder)
                try AttemptRows(db).countDay(day, of: holder)
                try AuditRows(db).record(audit, sealing)
            case .browser(let digest, let day, let audit):
                try KnownVisitRows(db).countWrong(1, ofBrowser: digest)
                try AttemptRows(db).countDay(day, of: holder)
                try AuditRows(db).record(audit, sealing)
            }
            return decision
        }
    }

    public func giveBackAttempt(_ attempt: ReservedAttempt, unlessItMade kept: Int) async throws {
        try await self.step(
            Step(
                "attempt.give-back", guards: StepGuard.ofAttempts(at: attempt.holder),
                isolation: .ofAttempts(at: attempt.holder))
        ) { db in
            switch attempt.leave {
            case .account:
                try db.run(
                    "UPDATE password_attempt SET count = greatest(0, count - 1) WHERE holder = ? AND count <> ?",
                    [attempt.holder.key, kept])
            case .browser(let digest): try KnownVisitRows(db).countWrong(-1, ofBrowser: digest)
            }
            try AttemptRows(db).giveBackDay(of: attempt)
        }
    }

    public func knownVisit(
        accountID: String, network: String, browser: [UInt8]?
    ) async throws -> (network: Timestamp?, browser: KnownBrowserRecord?) {
        try await self.read { [sealing] db in
            let code = sealing.networkCode(network, accountID: accountID)
            let network = try db.row(
                "SELECT used_at FROM known_network WHERE account_id = ? AND network = ?", [accountID, code]
            ).map { try $0.moment("used_at") }
            return (network, try KnownVisitRows(db).knownBrowser(browser, accountID: accountID))
        }
    }

    public func knowBrowser(byLink digest: [UInt8], _ visit: KnownVisit, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step("known-browser.add", guards: [.exclusive(accountOfLink: digest)], isolation: .readCommitted)
        ) { [sealing] db in
            let link = try MailedLinkRows(db).mailedLink(digest: digest, purpose: .passwordReset, at: visit.at)
            let standing = try link.flatMap { try PasswordRows(db).passwordStanding(of: $0.accountID, sealing) }
            return try PasswordPlans(db).carryOut(visit.plan(by: link, in: standing, audit: audit), sealing)
        }
    }

    public func deleteAttempts(before moment: Timestamp, day: Int64, limit: Int) async throws -> Int {
        try await self.step(Step("attempt.sweep", guards: [], isolation: .readCommitted)) { db in
            try db.run(
                """
                DELETE FROM password_attempt WHERE holder IN
                    (SELECT holder FROM password_attempt WHERE at < ? LIMIT ?)
                """, [moment.milliseconds, limit])
            let inARow = db.changesCount
            try db.run(
                """
                DELETE FROM password_attempt_day WHERE (holder, day) IN
                    (SELECT holder, day FROM password_attempt_day WHERE day < ? LIMIT ?)
                """, [day, limit])
            return inARow + db.changesCount
        }
    }
}

extension StepGuard {
    /// Locks the account at which attempts are made. Two attempts at once count as two.
    static func ofAttempts(at holder: AttemptHolder) -> [Self] {
        holder.account.map { [Self.exclusive(.account, id: $0)] } ?? []
    }
}

extension Step.Isolation {
    /// Returns the isolation of a step that counts attempts. An unknown name has no row to lock, and its attempts must
    /// count as the attempts at an account do: otherwise attempts at once would tell unknown names from accounts.
    static func ofAttempts(at holder: AttemptHolder) -> Self {
        holder.account.map { _ in Self.readCommitted } ?? .serializable
    }
}
