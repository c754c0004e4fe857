import Passwords
import Store
public import _Primitives

/// Signing in by a password, and by a code beside it where the account has one, for an authorization request.
///
/// What is told of a name that nobody has, of a wrong password, of a locked account and of one whose attempts rest is the
/// same, and takes the same: the same queries, one durable step, one hash.
public struct PasswordSignIns: Sendable {
    /// What is still missing.
    public enum Stage: Sendable, Equatable {
        /// Everything: nobody has shown a password.
        case password
        /// A code.
        case secondFactor
        /// A new password, since the one that was shown was for once.
        case newPassword
        /// Nothing: the browser can complete the sign-in.
        case done
    }

    /// What became of an attempt.
    public enum Verdict: Sendable, Equatable {
        /// It was right.
        case right(Stage)
        /// It was not, or could not be looked at: the reason is for the log alone, and so is the account, where somebody has
        /// the name.
        case refused(Refusal, account: String?)
    }

    /// Why an attempt was refused: for the operator's log, and never for whoever made it.
    public enum Refusal: String, Sendable, Equatable, CaseIterable {
        case wrong, unknownName = "unknown-name", locked, noPassword = "no-password", resting, spent
        case oneTimeOver = "one-time-password-over", unreadableHash = "unreadable-hash", over = "sign-in-over"
    }

    /// Somebody who was signed in.
    public struct Outcome: Sendable, Equatable {
        public let accountID: String
        /// When the last of what was asked for was right.
        public let at: Timestamp
        /// RFC 8176 names of what was shown.
        public let methods: [String]
        /// Whether something was shown beside the password.
        public let hasTwoFactors: Bool
        /// The browser and its system in words.
        public let browser: String?
        /// The browser's network address.
        public let address: String?
    }

    /// What a sign-in is for, and where it comes from.
    public struct Place: Sendable {
        /// The authorization request.
        public let request: String
        /// The service that is signed in to, by its identifier and its name.
        public let client: (id: String, name: String)
        /// The browser's network, and what the browser is known by.
        public let visitor: Visitor
        /// The browser and its system in words.
        public let browser: String?
        /// The browser's network address.
        public let address: String?

        /// A place of these values.
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

    /// Sign-ins to these accounts.
    public init(_ accounts: PasswordAccounts) { self.accounts = accounts }

    /// How far the sign-in of a request is.
    public func stage(request: String) async throws -> Stage {
        try await self.accounts.store.passwordSignIn(request: request)?.stage ?? .password
    }

    /// The name of the account that a sign-in under way is of, for whoever keeps a new password beside it.
    public func username(request: String) async throws -> String? {
        guard let record = try await self.accounts.store.passwordSignIn(request: request) else { return nil }
        return try await self.accounts.store.account(id: record.accountID)?.username?.text
    }

    /// The outcome of a finished sign-in; `nil` where it is not finished, or its time is over.
    public func outcome(request: String) async throws -> Outcome? {
        guard let record = try await self.accounts.store.passwordSignIn(request: request), let at = record.finishedAt,
            self.accounts.time.now() < at + self.accounts.limits.outcomeLifetime
        else { return nil }
        return Outcome(
            accountID: record.accountID, at: at, methods: record.methods, hasTwoFactors: record.secondFactor != nil,
            browser: record.browser, address: record.address)
    }

    /// Judges a name and a password.
    ///
    /// Throws ``AccountError`` `tooManyRequests` where the source has sent too many wrong ones and this is another, and
    /// `HashingError` where too many wait: then it counts as not made. Past the source's budget the password is judged of an
    /// account that was signed in to from there before; every other name takes the same steps as one that nobody has.
    ///
    /// Cost: one query, one store step, one hash; where it is right another step, and another hash where the stored one is
    /// by other parameters. Past the source's budget another query.
    public func attempt(username: String, password typed: String, at place: Place) async throws -> Verdict {
        let accounts = self.accounts
        let now = accounts.time.now()
        let shortage = accounts.guesses.spend(place.visitor.source, at: now)
        let name = AccountName(username, limits: accounts.limits)
        var known = try await accounts.store.passwordAccount(username: name ?? PasswordAccounts.nobody)
        if shortage != nil, !(try await accounts.isKnown(place.visitor, to: known?.account.id, at: now)) { known = nil }
        let holder = accounts.holder(ofName: name?.key ?? "", account: known)
        let turn = HashingTurn(network: place.visitor.source, account: holder.key)
        // Whoever floods past their budget costs the writer nothing.
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
            upgraded = await self.rehashed(typed, of: stored.accountID, for: turn, at: now)
        }
        return try await self.begin(known, stored, decision.attempt, upgraded: upgraded, at: place, now)
    }

    /// The password by the present parameters; `nil` where it cannot be hashed now: the next sign-in does it.
    private func rehashed(
        _ typed: String, of account: String, for turn: HashingTurn, at now: Timestamp
    ) async -> PasswordRecord? {
        guard let password = try? Password(typed: typed, limits: self.accounts.hashing),
            let hash = try? await self.accounts.pool.hash(password, for: turn)
        else { return nil }
        return PasswordRecord(accountID: account, hash: hash.text, setAt: now)
    }

    private func begin(
        _ known: PasswordAccount, _ stored: PasswordRecord, _ attempt: ReservedAttempt?, upgraded: PasswordRecord?,
        at place: Place, _ now: Timestamp
    ) async throws -> Verdict {
        var record = PasswordSignInRecord(
            request: place.request, accountID: known.account.id, needsSecondFactor: known.totp != nil,
            needsNewPassword: stored.isOneTime, browser: place.browser, address: place.address)
        var step = PasswordSignInStep(to: record, verifiedHash: stored.hash, newPassword: upgraded)
        step.attempt = attempt
        if upgraded != nil {
            step.audit.append(AuditEvent(.passwordRehashed, at: now, accountID: record.accountID))
        }
        self.finish(&record, &step, at: place, now)
        return try await self.taken(step)
    }

    /// Judges a code beside a password that was right: a time-based one or a recovery code. `nil` where nothing waits for
    /// one.
    ///
    /// Throws as ``attempt(username:password:at:)``.
    ///
    /// Cost: two queries, one store step; where it is right another step.
    public func attempt(code typed: String, at place: Place) async throws -> Verdict? {
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
        guard let (spent, factor) = accounts.spent(typed, by: kept, at: now) else { return refused(.wrong) }
        var record = previous
        record.secondFactor = factor
        record.needsSecondFactor = false
        var step = PasswordSignInStep(to: record, from: previous, spent: spent)
        step.audit += accounts.event(of: spent, known, at: now).map { [$0] } ?? []
        self.finish(&record, &step, at: place, now)
        let verdict = try await self.taken(step, otherwise: .wrong)
        if case .refused(let reason, _) = verdict { return refused(reason) }
        if case .right = verdict, isSpent { accounts.guesses.refund(place.visitor.source) }
        return verdict
    }

    /// Takes a new password in place of the one for once. `nil` where nothing waits for one.
    ///
    /// Throws `PasswordRefusal` for one that cannot be chosen, and `HashingError`.
    ///
    /// Cost: two queries, one hash or two, one store step.
    public func choose(_ typed: String, at place: Place) async throws -> Verdict? {
        let accounts = self.accounts
        guard let previous = try await accounts.store.passwordSignIn(request: place.request),
            previous.stage == .newPassword,
            let present = try await accounts.store.passwordAccount(id: previous.accountID)?.password
        else { return nil }
        let isSpent = try await accounts.spendGuess(
            place.visitor, accountID: previous.accountID, at: accounts.time.now())
        let turn = place.visitor.turn(atPasswordOf: previous.accountID)
        let hash = try await accounts.newHash(typed: typed, for: turn)
        if let password = try? Password(typed: typed, limits: accounts.hashing),
            let given = try? PasswordHash(parsing: present.hash, limits: accounts.hashing),
            case .right = try await accounts.pool.verify(password, against: given, for: turn)
        {
            // Whoever has set it knows it.
            throw PasswordRefusal(.breached)
        }
        let now = accounts.time.now()
        var record = previous
        record.needsNewPassword = false
        var step = PasswordSignInStep(
            to: record, from: previous, verifiedHash: present.hash,
            newPassword: PasswordRecord(accountID: previous.accountID, hash: hash, setAt: now))
        step.audit.append(AuditEvent(.passwordChanged, at: now, accountID: record.accountID, address: place.address))
        self.finish(&record, &step, at: place, now)
        let verdict = try await self.taken(step)
        if case .right = verdict, isSpent { accounts.guesses.refund(place.visitor.source) }
        return verdict
    }

    /// Where nothing is missing any more, the person is signed in: the trail and their devices are told.
    private func finish(
        _ record: inout PasswordSignInRecord, _ step: inout PasswordSignInStep, at place: Place, _ now: Timestamp
    ) {
        if record.stage == .done {
            record.finishedAt = now
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
        step.record = record
    }

    private func taken(_ step: PasswordSignInStep, otherwise refusal: Refusal = .over) async throws -> Verdict {
        try await self.accounts.store.advance(step)
            ? .right(step.record.stage) : .refused(refusal, account: step.record.accountID)
    }
}

extension PasswordSignInRecord {
    /// What is missing.
    var stage: PasswordSignIns.Stage {
        if self.needsSecondFactor { return .secondFactor }
        if self.needsNewPassword { return .newPassword }
        return .done
    }

    /// RFC 8176 names of what was shown. It has none for a recovery code.
    var methods: [String] {
        switch self.secondFactor {
        case nil: ["pwd"]
        case .totp: ["pwd", "otp", "mfa"]
        case .recoveryCode: ["pwd", "mfa"]
        }
    }
}

extension TOTP {
    /// The codes of a secret that is kept; `nil` where no such codes can be made.
    init?(_ record: TOTPRecord) {
        guard let algorithm = Algorithm(rawValue: record.algorithm) else { return nil }
        self.init(
            secret: record.secret.withBytes { Array($0) }, algorithm: algorithm, digits: record.digits,
            periodSeconds: record.periodSeconds)
    }
}

extension AuditEvent.Kind {
    /// A person was signed in; the detail says to which service, and by what.
    fileprivate static let signedIn = Self(rawValue: "signed-in")
}
