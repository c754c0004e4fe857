public import _Primitives

/// Keeps passwords, the second factors beside them, and the sign-ins that use them.
public protocol PasswordStore: Sendable {
    /// Returns the account with this user name, with its password and second factor; `nil` if no account has the name.
    func passwordAccount(username: AccountName) async throws -> PasswordAccount?

    /// Returns the account with this identifier, with its password and second factor; `nil` if none exists.
    func passwordAccount(id: String) async throws -> PasswordAccount?

    /// Sets an account's password in place of the former password. Forgets the wrong attempts at the password and at
    /// its codes, recovery codes included, all attempts of 30 days included, the counts of requested letters, and the browsers and networks that
    /// the account knows. The account's mailed links end, except questions about changes. A change by a mailed link
    /// also removes the account's links to other providers.
    ///
    /// Must be a single step. Returns `false`, and changes nothing, if the account does not exist, or a condition of
    /// the change no longer holds.
    func setPassword(_ change: PasswordChange) async throws -> Bool

    /// Removes the password of an account, and ends all authentications of the account. The second factor stays.
    /// Returns `false` if the account does not exist, or has no password.
    func removePassword(accountID: String, audit: AuditEvent) async throws -> Bool

    /// Sets an account's secret for time-based codes and its recovery codes, or the recovery codes alone, in place of
    /// the former ones. A new secret ends sign-ins by the password that have not become a session, and all
    /// authentications of the account outside the change's own session.
    ///
    /// Must be a single step. Returns `false`, and changes nothing, if the account does not exist, the account no
    /// longer has the shown values, or codes are to go with a secret that the account does not have.
    func setFactors(_ change: FactorChange) async throws -> Bool

    /// Removes the secret for time-based codes and the recovery codes of an account. Returns `false` if the account has
    /// none.
    func removeSecondFactor(accountID: String, audit: AuditEvent) async throws -> Bool

    /// Counts an attempt before the attempt is judged. Returns `true` if the attempt may be judged.
    ///
    /// `judge` gets the attempts in a row so far, and returns the count to keep and the audit event. `judge` returns
    /// `nil` if the attempt may not be made, and then nothing is written. Must be a single step, durable before it
    /// answers: of many attempts at once each gets the count of the attempt before.
    ///
    /// - Parameter mail: The letter that the same step leaves in the outbox, if the attempt may be made and fewer
    ///   letters wait than the given number. The result does not depend on the letter.
    func countAttempt(
        _ holder: AttemptHolder, leaving mail: (MailRecord, most: Int)?,
        judge: @escaping @Sendable (AttemptCount?) -> (AttemptCount, AuditEvent?)?
    ) async throws -> Bool

    /// Reserves an attempt at a password before the attempt is judged, and returns the decision of `judge`.
    ///
    /// `judge` gets the earlier attempts. Must be a single step, durable before it answers: of many attempts at once
    /// each sees the result of the attempt before. If the attempt may not be made, nothing is written.
    ///
    /// - Parameters:
    ///   - browser: The SHA-256 of the cookie that the browser shows; `nil` without a cookie.
    ///   - day: The first day whose attempts count among all.
    func reserveAttempt(
        _ holder: AttemptHolder, browser: [UInt8]?, since day: Int64,
        judge: @escaping @Sendable (AttemptHistory) -> AttemptDecision
    ) async throws -> AttemptDecision

    /// Gives back an attempt that could not be judged. The attempt that made the count `kept` in a row stays counted
    /// there. The trail has an entry for the first attempt followed by a pause, and would otherwise repeat this entry
    /// again and again.
    func giveBackAttempt(_ attempt: ReservedAttempt, unlessItMade kept: Int) async throws

    /// Returns the earlier sign-ins to an account by its password from a network and in a browser: the moment of the
    /// last sign-in from the network, and the record of the browser. Each part is `nil` if the account does not know
    /// it.
    func knownVisit(
        accountID: String, network: String, browser: [UInt8]?
    ) async throws -> (network: Timestamp?, browser: KnownBrowserRecord?)

    /// Spends a mailed link to a new password without a new password: the account knows the browser from now on.
    ///
    /// Must be a single step. Returns `false`, and changes nothing, if the link does not exist, its time is over, or
    /// its account is locked or has no password.
    func knowBrowser(byLink digest: [UInt8], _ visit: KnownVisit, audit: AuditEvent) async throws -> Bool

    /// Goes a step on in a sign-in, and forgets the wrong attempts in a row at the right password or code. If a known
    /// browser was right while the account's attempts pause, the wrong attempts of other browsers stay. A newly chosen
    /// password makes the account forget the browsers and networks that it knows, and ends the account's mailed links,
    /// except questions about changes. A password that is hashed anew ends nothing. A visit makes the account remember
    /// browser and network.
    ///
    /// Must be a single step. Returns `false`, and changes nothing, if a condition of the step no longer holds. A
    /// condition fails if the authorization request is gone, the account is gone or locked, the sign-in has changed
    /// since ``PasswordSignInStep/previous``, or the verified hash is no longer the account's. A condition fails also
    /// if the code is spent or does not exist, or if the account's second factor was set or removed and the sign-in
    /// does not know it.
    func advance(_ step: PasswordSignInStep) async throws -> Bool

    /// Takes the password and code that a signed-in person has shown for a change of an account. Spends the code, and
    /// forgets the wrong attempts at the right password and code. `use` goes with a recovery code.
    ///
    /// Must be a single step. Returns `false`, and changes nothing, if the account is gone or locked, has another
    /// password or second factor by now, another request has spent the code, or a code is missing.
    func confirm(
        _ shown: ShownPassword, attempt: ReservedAttempt?, spent: PasswordSignInStep.Spent?, use: RecoveryCodeUse?
    ) async throws -> Bool

    /// Returns the sign-in by password of an authorization request; `nil` if none exists.
    func passwordSignIn(request: String) async throws -> PasswordSignInRecord?

    /// Forgets attempts in a row that are older than a moment, and the days before `day`, at most `limit` of each.
    /// Returns the number of deleted rows.
    func deleteAttempts(before moment: Timestamp, day: Int64, limit: Int) async throws -> Int
}

extension PasswordStore {
    /// Counts an attempt that leaves no mail.
    public func countAttempt(
        _ holder: AttemptHolder, judge: @escaping @Sendable (AttemptCount?) -> (AttemptCount, AuditEvent?)?
    ) async throws -> Bool {
        try await self.countAttempt(holder, leaving: nil, judge: judge)
    }
}

extension AuditEvent.Kind {
    // The kinds that a restore looks for in the trail.

    /// An operator has set an account's password, for one sign-in.
    public static let passwordSet = Self(rawValue: "password-set")
    /// An operator has set an account's password by its hash.
    public static let passwordImported = Self(rawValue: "password-imported")
    /// A person has chosen a new password.
    public static let passwordChanged = Self(rawValue: "password-changed")
    /// A person has chosen a new password in place of a forgotten password, by a mailed link.
    public static let passwordReset = Self(rawValue: "password-reset")
    /// A password was hashed anew, at a sign-in, by the present parameters.
    public static let passwordRehashed = Self(rawValue: "password-rehashed")
    /// An operator has removed the password of an account.
    public static let passwordRemoved = Self(rawValue: "password-removed")
    /// An account has a new secret for time-based codes, and new recovery codes.
    public static let secondFactorSet = Self(rawValue: "second-factor-set")
    /// An account has no second factor beside its password any more.
    public static let secondFactorRemoved = Self(rawValue: "second-factor-removed")
    /// An account has new recovery codes.
    public static let recoveryCodesSet = Self(rawValue: "recovery-codes-set")
    /// A recovery code was spent.
    public static let recoveryCodeSpent = Self(rawValue: "recovery-code-spent")

    /// The kinds that report a change of an account's password or of its second factor.
    public static let passwordChanges: [Self] = [
        .passwordSet, .passwordImported, .passwordChanged, .passwordReset, .passwordRehashed, .passwordRemoved,
        .secondFactorSet,
        .secondFactorRemoved, .recoveryCodesSet, .recoveryCodeSpent,
    ]
}
