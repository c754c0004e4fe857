public import Passwords
import Records
import Settings
import _Primitives

/// Sign-ins with a password, and with a code if the account has a second factor, for an authorization request.
///
/// An unknown name, a wrong password, a locked account and paused attempts get the same answer after the same work: the
/// same queries, one durable step, one hash.
public struct PasswordSignIns: Sendable {
    /// The part of a sign-in that is still missing.
    public enum Stage: Sendable, Equatable {
        /// Everything is missing: no right password was shown yet.
        case password
        /// A code is missing.
        case secondFactor
        /// A new password is missing, because the shown password was for one sign-in.
        case newPassword
        /// Nothing is missing, and the browser can complete the sign-in.
        case done
    }

    /// The judgement of an attempt.
    public enum Verdict: Sendable, Equatable {
        /// The attempt is right. The stage tells the part that is still missing. The code, which is to be shown once,
        /// has taken the place of a spent recovery code.
        case right(Stage, replacement: RecoveryCode? = nil)
        /// The attempt is refused, or could not be judged. The reason is for the log alone, and so is the account of a
        /// known name.
        case refused(Refusal, account: String?)
    }

    /// The reason why an attempt was refused. The reason is for the operator's log, and never for the caller.
    ///
    /// At `resting` attempts are paused. At `spent` all attempts of the last days are used up. At `over` the request,
    /// the account or the sign-in has changed meanwhile.
    public enum Refusal: String, Sendable, Equatable, CaseIterable {
        case wrong, unknownName = "unknown-name", locked, noPassword = "no-password", resting, spent
        case oneTimeOver = "one-time-password-over", unreadableHash = "unreadable-hash", over = "sign-in-over"
    }

    /// The levels (`acr`) of sign-ins by a password.
    public struct Levels: Sendable {
        /// The level of a sign-in by the password alone.
        public let oneFactor: String
        /// The level of a sign-in with a second factor beside the password.
        public let twoFactors: String

        /// Names the levels.
        public init(oneFactor: String, twoFactors: String) {
            self.oneFactor = oneFactor
            self.twoFactors = twoFactors
        }
    }

    /// The purpose and the origin of a sign-in.
    public struct Place: Sendable {
        /// The authorization request.
        public let request: String
        /// The service of the sign-in, by its identifier and its name.
        public let client: (id: String, name: String)
        /// The browser's network, and the browser's value from an earlier sign-in.
        public let visitor: Visitor
        /// The browser and its system in words.
        public let browser: String?
        /// The browser's network address.
        public let address: String?

        /// Creates a place.
        public init(
            request: String, client: (id: String, name: String), visitor: Visitor, browser: String? = nil,
            address: String? = nil
        ) {
            self.request = request
            self.client = client
            self.visitor = visitor
            self.browser = browser
            self.address = address
        }
    }

    let accounts: PasswordAccounts
    private let levels: Levels

    /// Creates the sign-ins to these accounts.
    public init(_ accounts: PasswordAccounts, levels: Levels) {
        self.accounts = accounts
        self.levels = levels
    }

    /// Returns the stage of a request's sign-in, ``Stage/password`` before a sign-in has begun.
    public func stage(request: String) async throws -> Stage {
        try await self.accounts.store.passwordSignIn(request: request)?.stage ?? .password
    }

    /// Returns the user name of the account of a request's sign-in, for a password manager that stores the new password
    /// with the name; `nil` without a sign-in or a user name.
    public func username(request: String) async throws -> String? {
        guard let record = try await self.accounts.store.passwordSignIn(request: request) else { return nil }
        return try await self.accounts.store.account(id: record.accountID)?.username?.text
    }

    /// Judges a name and a password.
    ///
    /// Throws ``AccountError`` `tooManyRequests` for a wrong password if the source has sent too many wrong passwords.
    /// Throws `HashingError` if too many attempts wait; the attempt then does not count. Past the source's budget a
    /// password is judged only for an account that was signed in to from there before. Every other name then takes the
    /// same steps as an unknown name. Past the budget, `tooManyRequests` also takes the place of every judgement while
    /// the source has its share of waiting attempts.
    ///
    /// Cost: one query, one store step, one hash. A right password takes another step, and another hash if the stored
    /// hash has other parameters. Past the source's budget another query.
    public func attempt(username: String, password typed: String, at place: Place) async throws -> Verdict {
        let accounts = self.accounts
        let now = accounts.time.now()
        let shortage = accounts.guesses.spend(place.visitor.source, at: now)
        let name = AccountName(username, limits: accounts.limits)
        var known = try await accounts.store.passwordAccount(username: name ?? PasswordAccounts.nobody)
        if shortage != nil, !(try await accounts.isKnown(place.visitor, to: known?.account.id, at: now)) { known = nil }
        let holder = accounts.holder(ofName: name?.key ?? "", account: known)
        let turn = HashingTurn(network: place.visitor.source, account: holder.key)
        // A flood past the budget costs the writer nothing.
        if let shortage, accounts.pool.isFull(for: turn) { throw AccountError.shortage(shortage) }
        let decision = try await accounts.reserveAttempt(holder, of: place.visitor, at: now)
        let verdict: PasswordVerdict
        let reason: Refusal
        do {
            (verdict, reason) = try await accounts.verify(typed, of: known, decision, for: turn, at: now)
        } catch {
            if shortage == nil { accounts.guesses.refund(place.visitor.source) }
            throw error
        }
        guard case .right(let needsUpgrade) = verdict, let known, let stored = known.password else {
            accounts.refused.note(reason, of: "password", account: known?.account.id, at: now)
            try AccountError.throwShortage(shortage)
            return .refused(reason, account: known?.account.id)
        }
        if shortage == nil { accounts.guesses.refund(place.visitor.source) }
        var upgraded: PasswordRecord?
        if needsUpgrade, !stored.isOneTime {
            upgraded = await self.rehashed(typed, of: stored, for: turn)
        }
        return try await self.begin(known, stored, decision.attempt, upgraded: upgraded, at: place, now)
    }

    /// Returns the password with a hash by the present parameters; `nil` if the password cannot be hashed now. The next
    /// sign-in then makes the hash.
    private func rehashed(
        _ typed: String, of stored: PasswordRecord, for turn: HashingTurn
    ) async -> PasswordRecord? {
        guard let password = try? Password(typed: typed, limits: self.accounts.hashing),
            let hash = try? await self.accounts.pool.hash(password, for: turn)
        else { return nil }
        return PasswordRecord(accountID: stored.accountID, hash: hash.text, setAt: stored.setAt)
    }

    private func begin(
        _ known: PasswordAccount, _ stored: PasswordRecord, _ attempt: ReservedAttempt?, upgraded: PasswordRecord?,
        at place: Place, _ now: Timestamp
    ) async throws -> Verdict {
        let record = PasswordSignInRecord(
            request: place.request, accountID: known.account.id, needsSecondFactor: known.totp != nil,
            needsNewPassword: stored.isOneTime, browser: place.browser, address: place.address)
        var step = PasswordSignInStep(to: record, verifiedHash: stored.hash, newPassword: upgraded)
        step.attempt = attempt
        if upgraded != nil {
            step.audit.append(AuditEvent(.passwordRehashed, at: now, accountID: record.accountID))
        }
        self.finish(&step, at: place, now)
        return try await self.taken(step)
    }

    /// Judges a code beside a right password: a time-based code or a recovery code. `nil` if no sign-in waits for a
    /// code.
    ///
    /// Throws ``AccountError`` `tooManyRequests`, without a judgement, if the source was wrong too often and the
    /// account was not signed in to from there before.
    ///
    /// Cost: two queries, one store step; for a right time-based code another step, and for a text in the form of a
    /// recovery code two more and a query. Past the source's budget another query.
    ///
    /// - Parameter showsReplacement: `true` if the caller shows the person a code in place of a spent recovery code. If
    ///   `false`, the account has one recovery code less.
    public func attempt(
        code typed: String, at place: Place, showsReplacement: Bool = true
    ) async throws -> Verdict? {
        let accounts = self.accounts
        let now = accounts.time.now()
        guard let previous = try await accounts.store.passwordSignIn(request: place.request),
            previous.stage == .secondFactor
        else { return nil }
        let isSpent = try await accounts.spendGuess(place.visitor, accountID: previous.accountID, at: now)
        let isCounted = try await accounts.countAttempt(
            .secondFactor(account: previous.accountID), free: accounts.limits.passwords.secondFactorAttempts, at: now)
        func refused(_ reason: Refusal) -> Verdict {
            accounts.refused.note(reason, of: "code", account: previous.accountID, at: now)
            return .refused(reason, account: previous.accountID)
        }
        guard isCounted else { return refused(.resting) }
        guard let known = try await accounts.store.passwordAccount(id: previous.accountID), let kept = known.totp else {
            return refused(.over)
        }
        let accepted: AcceptedCode
        switch try await accounts.judge(code: typed, of: known, by: kept, replacing: showsReplacement, at: now) {
        case .refused(let reason): return refused(reason)
        case .accepted(let code): accepted = code
        }
        var record = previous
        record.secondFactor = accepted.factor
        record.needsSecondFactor = false
        var step = PasswordSignInStep(to: record, from: previous, spent: accepted.spent)
        step.codeUse = accepted.use
        self.finish(&step, at: place, now)
        switch try await self.taken(step, otherwise: .wrong) {
        case .refused(let reason, _): return refused(reason)
        case .right(let stage, _):
            if isSpent { accounts.guesses.refund(place.visitor.source) }
            return .right(stage, replacement: accepted.replacement)
        }
    }

    /// Replaces a one-time password by a new password. `nil` if no sign-in waits for a new password.
    ///
    /// Throws `PasswordRefusal` for an unacceptable password and for the one-time password itself, `HashingError`, and
    /// ``AccountError`` `tooManyRequests` as ``attempt(code:at:)``. A refused password counts in the source's budget. A
    /// password that cannot be hashed now does not count.
    ///
    /// Cost: two queries, two hashes, one store step. Past the source's budget another query.
    public func choose(_ typed: String, at place: Place) async throws -> Verdict? {
        let accounts = self.accounts
        guard let previous = try await accounts.store.passwordSignIn(request: place.request),
            previous.stage == .newPassword,
            let present = try await accounts.store.passwordAccount(id: previous.accountID)?.password
        else { return nil }
        let isSpent = try await accounts.spendGuess(
            place.visitor, accountID: previous.accountID, at: accounts.time.now())
        let turn = place.visitor.turn(atPasswordOf: previous.accountID)
        let hash: String
        do { hash = try await self.hash(typed, replacing: present, for: turn) } catch let error as HashingError {
            if isSpent { accounts.guesses.refund(place.visitor.source) }
            throw error
        }
        let now = accounts.time.now()
        var record = previous
        record.needsNewPassword = false
        var step = PasswordSignInStep(
            to: record, from: previous, verifiedHash: present.hash,
            newPassword: PasswordRecord(accountID: previous.accountID, hash: hash, setAt: now))
        step.audit.append(AuditEvent(.passwordChanged, at: now, accountID: record.accountID, address: place.address))
        self.finish(&step, at: place, now)
        let verdict = try await self.taken(step)
        if case .right = verdict, isSpent { accounts.guesses.refund(place.visitor.source) }
        return verdict
    }

    /// Returns the hash of a new password in place of a one-time password. Throws `PasswordRefusal` also for the one-time
    /// password itself: the operator who has set the password knows it.
    private func hash(
        _ typed: String, replacing present: PasswordRecord, for turn: HashingTurn
    ) async throws -> String {
        let accounts = self.accounts
        let hash = try await accounts.newHash(typed: typed, for: turn)
        if let password = try? Password(typed: typed, limits: accounts.hashing),
            let given = try? PasswordHash(parsing: present.hash, limits: accounts.hashing),
            case .right = try await accounts.pool.verify(password, against: given, for: turn)
        {
            throw PasswordRefusal(.breached)
        }
        return hash
    }

    /// Finishes the sign-in if nothing is missing: the trail and the person's devices are told.
    private func finish(_ step: inout PasswordSignInStep, at place: Place, _ now: Timestamp) {
        let record = step.record
        guard record.stage == .done else { return }
        step.finished = FinishedSignInRecord(
            request: record.request, method: AuthenticationRecord.passwordMethod, account: record.accountID, at: now,
            acr: record.secondFactor == nil ? self.levels.oneFactor : self.levels.twoFactors, amr: record.methods,
            browser: record.browser, address: record.address, finishedAt: now)
        step.visit = self.accounts.remembered(place.visitor, at: now)
        step.audit.append(
            AuditEvent(
                .signedIn, at: now, accountID: record.accountID,
                detail: AuditEvent.signInDetail(service: place.client.id, methods: record.methods),
                address: place.address))
        step.notices.append(
            NoticeRecord(
                id: self.accounts.random.identifier(), accountID: record.accountID, kind: .signedIn, at: now,
                subject: place.client.name))
    }

    private func taken(_ step: PasswordSignInStep, otherwise refusal: Refusal = .over) async throws -> Verdict {
        try await self.accounts.store.advance(step)
            ? .right(step.record.stage) : .refused(refusal, account: step.record.accountID)
    }
}

extension PasswordSignInRecord {
    /// The missing part.
    var stage: PasswordSignIns.Stage {
        if self.needsSecondFactor { return .secondFactor }
        if self.needsNewPassword { return .newPassword }
        return .done
    }

    /// The RFC 8176 names of the methods. RFC 8176 has no name for a recovery code.
    var methods: [String] {
        switch self.secondFactor {
        case nil: ["pwd"]
        case .totp: ["pwd", "otp", "mfa"]
        case .recoveryCode: ["pwd", "mfa"]
        }
    }
}

extension TOTP {
    /// Creates the codes of a stored secret; `nil` if the record allows no codes.
    init?(_ record: TOTPRecord) {
        guard let algorithm = Algorithm(rawValue: record.algorithm) else { return nil }
        self.init(
            secret: record.secret.withBytes { Array($0) }, algorithm: algorithm, digits: record.digits,
            periodSeconds: record.periodSeconds)
    }
}

extension AuditEvent.Kind {
    /// A person was signed in. The detail is the service and the methods.
    fileprivate static let signedIn = Self(rawValue: "signed-in")
}
