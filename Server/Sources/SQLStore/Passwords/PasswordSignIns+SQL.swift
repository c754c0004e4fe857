public import Records
import Sealing
import _Primitives

extension SealingPurpose {
    /// The browser of a sign-in by password, bound to its request.
    static let passwordSignInBrowser = SealingPurpose("password sign-in browser")
    /// The network address of a sign-in by password, bound to its request.
    static let passwordSignInAddress = SealingPurpose("password sign-in address")
}

private enum PasswordSignInColumn: Int, TableColumn {
    static let table = "password_sign_in"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case request, accountID, secondFactor, needsSecondFactor, needsNewPassword, finishedAt, browser, address
}

extension SQLStore: PasswordStore {
    public func countAttempt(
        _ holder: AttemptHolder, leaving mail: (MailRecord, most: Int)?,
        judge: @escaping @Sendable (AttemptCount?) -> (AttemptCount, AuditEvent?)?
    ) async throws -> Bool {
        try await self.step(
            Step("attempt.count", guards: StepGuard.ofAttempts(at: holder), isolation: .ofAttempts(at: holder))
        ) { [sealing] db in
            guard let (next, audit) = judge(try db.attempts(of: holder)) else { return false }
            try db.keep(next, of: holder)
            try db.record(audit, sealing)
            _ = try db.leaveMail(mail)
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
            try db.carryOut(step.plan(in: try db.scene(of: step, sealing)), sealing)
        }
    }

    public func confirm(
        _ shown: ShownPassword, attempt: ReservedAttempt?, spent: PasswordSignInStep.Spent?, audit: AuditEvent?
    ) async throws -> Bool {
        try await self.step(
            Step("password.confirm", guards: [.exclusive(.account, id: shown.accountID)], isolation: .readCommitted)
        ) { [sealing] db in
            let standing = try db.passwordStanding(of: shown.accountID, opensHash: true, sealing)
            let plan = shown.plan(in: standing, givingBack: attempt, spent: spent, audit: audit)
            return try db.carryOut(plan, sealing)
        }
    }

    public func passwordSignIn(request: String) async throws -> PasswordSignInRecord? {
        try await self.read { [sealing] db in try db.passwordSignIn(request, sealing) }
    }
}

extension SQLConnection {
    /// Spends a code, if a step shows a code. Returns `false` if the code is spent already or does not exist.
    func spend(_ spent: PasswordSignInStep.Spent?, accountID: String) throws -> Bool {
        switch spent {
        case nil: return true
        case .totp(let number)?:
            try self.run(
                """
                UPDATE totp SET last_step = ?2 WHERE account_id = ?1 AND (last_step IS NULL OR last_step < ?2)
                """, [accountID, number])
        case .recoveryCode(let code)?:
            try self.run("DELETE FROM recovery_code WHERE account_id = ? AND code = ?", [accountID, code])
        }
        return self.changesCount == 1
    }

    /// Returns the stored state that a step relies on. A step that compares no hash and continues no sign-in opens
    /// neither.
    fileprivate func scene(of step: PasswordSignInStep, _ sealing: Sealing) throws -> PasswordSignInScene {
        let record = step.record
        let hasRequest = try self.isTrue("SELECT EXISTS (SELECT 1 FROM oauth_request WHERE id = ?)", [record.request])
        return PasswordSignInScene(
            hasRequest: hasRequest,
            account: try self.passwordStanding(of: record.accountID, opensHash: step.verifiedHash != nil, sealing),
            stored: try step.previous.flatMap { _ in try self.passwordSignIn(record.request, sealing) })
    }

    fileprivate func passwordSignIn(_ request: String, _ sealing: Sealing) throws -> PasswordSignInRecord? {
        try self.row(
            .composed("SELECT \(PasswordSignInColumn.selection) FROM password_sign_in WHERE request = ?"), [request]
        ).map { row in
            let factor = try row.optionalText(PasswordSignInColumn.secondFactor).map {
                try PasswordSignInRecord.SecondFactor(stored: $0)
            }
            return PasswordSignInRecord(
                request: request, accountID: try row.text(PasswordSignInColumn.accountID), secondFactor: factor,
                needsSecondFactor: try row.flag(PasswordSignInColumn.needsSecondFactor),
                needsNewPassword: try row.flag(PasswordSignInColumn.needsNewPassword),
                finishedAt: try row.optionalMoment(PasswordSignInColumn.finishedAt),
                browser: try row.optionalBytes(PasswordSignInColumn.browser).map {
                    try sealing.openText($0, purpose: .passwordSignInBrowser, row: request)
                },
                address: try row.optionalBytes(PasswordSignInColumn.address).map {
                    try sealing.openText($0, purpose: .passwordSignInAddress, row: request)
                })
        }
    }

    /// Replaces the progress of a request's sign-in by password.
    func replace(_ record: PasswordSignInRecord, _ sealing: Sealing) throws {
        let request = record.request
        try self.run("DELETE FROM password_sign_in WHERE request = ?", [request])
        try self.insert(
            [
                PasswordSignInColumn.request: request, .accountID: record.accountID,
                .secondFactor: record.secondFactor?.rawValue, .needsSecondFactor: record.needsSecondFactor,
                .needsNewPassword: record.needsNewPassword, .finishedAt: record.finishedAt?.milliseconds,
                .browser: try record.browser.map {
                    try sealing.seal($0, purpose: .passwordSignInBrowser, row: request)
                },
                .address: try record.address.map {
                    try sealing.seal($0, purpose: .passwordSignInAddress, row: request)
                },
            ], by: PasswordSignInColumn.insertion)
    }
}
