public import _Primitives

/// Keeps passwords, what is asked for beside them, and the sign-ins that they are used for.
public protocol PasswordStore: Sendable {
    /// The account with this user name, as far as its password goes; `nil` where there is none.
    func passwordAccount(username: AccountName) async throws -> PasswordAccount?

    /// The account with this identifier, as far as its password goes; `nil` where there is none.
    func passwordAccount(id: String) async throws -> PasswordAccount?

    /// Gives an account a password in place of what it had, and forgets the wrong attempts at both it and its codes, all that
    /// were made in 30 days among them, and the browsers and networks that the account knows.
    ///
    /// Must be one step. `false`, and nothing has changed, where there is no such account, or something that the change
    /// stands on is not there any more.
    func setPassword(_ change: PasswordChange) async throws -> Bool

    /// Takes the password of an account away, and ends all that the account has authenticated. `false` where there is no
    /// such account, or it has no password.
    func removePassword(accountID: String, audit: AuditEvent) async throws -> Bool

    /// Gives an account a secret for time-based codes and recovery codes, or recovery codes alone, in place of what it had.
    /// With a new secret ends what is under way of signing in by the password alone, and what the account has authenticated
    /// in any other session than the change's own.
    ///
    /// Must be one step. `false`, and nothing has changed, where there is no such account, what was shown is not there any
    /// more, or codes are to go with a secret that the account does not have.
    func setFactors(_ change: FactorChange) async throws -> Bool

    /// Takes the secret for time-based codes and the recovery codes of an account away. `false` where it has none.
    func removeSecondFactor(accountID: String, audit: AuditEvent) async throws -> Bool

    /// Counts an attempt before anybody judges it, and answers whether it may be judged.
    ///
    /// `judge` is given the attempts in a row so far, and answers with the count that is to be kept and what the trail
    /// says of it; `nil` where this one may not be made, and then nothing is written. Must be one step, durable before it
    /// answers: of many at once each is given the count of the one before.
    ///
    /// - Parameter mail: What is left in the outbox in the same step, where the attempt may be made and fewer letters wait
    ///   than so many.
    func countAttempt(
        _ holder: AttemptHolder, leaving mail: (MailRecord, most: Int)?,
        judge: @escaping @Sendable (AttemptCount?) -> (AttemptCount, AuditEvent?)?
    ) async throws -> Bool

    /// Reserves an attempt at a password before anybody judges it, and answers what `judge` has decided.
    ///
    /// `judge` is given what was attempted before. Must be one step, durable before it answers: of many at once each is
    /// given what the one before has left. Where the attempt may not be made nothing is written.
    ///
    /// - Parameters:
    ///   - browser: The SHA-256 of the cookie that the browser shows; `nil` where it shows none.
    ///   - day: The first day whose attempts count among all.
    func reserveAttempt(
        _ holder: AttemptHolder, browser: [UInt8]?, since day: Int64,
        judge: @escaping @Sendable (AttemptHistory) -> AttemptDecision
    ) async throws -> AttemptDecision

    /// Gives an attempt back that nobody could judge. The one that made the count `kept` in a row stays counted there: the
    /// trail has it for the first that is followed by a rest, and would have it again and again.
    func giveBackAttempt(_ attempt: ReservedAttempt, unlessItMade kept: Int) async throws

    /// Whether somebody has signed in to an account by its password before, from a network and in a browser: the moment of
    /// the last time from there, and what is kept of the browser. `nil` for each that the account does not know.
    func knownVisit(
        accountID: String, network: String, browser: [UInt8]?
    ) async throws -> (network: Timestamp?, browser: KnownBrowserRecord?)

    /// Spends a mailed link to a new password without a new password: the account knows the browser from now on.
    ///
    /// Must be one step. `false`, and nothing has changed, where there is no such link, or its account is locked or has no
    /// password.
    func knowBrowser(byLink digest: [UInt8], _ visit: KnownVisit, audit: AuditEvent) async throws -> Bool

    /// Goes a step on in a sign-in, and forgets the wrong attempts in a row at what was right; those that another browser has
    /// made stay where a known one was right while they rest. A password that was chosen has the account forget the browsers
    /// and networks that it knows, and a visit has the account remember them.
    ///
    /// Must be one step. `false`, and nothing has changed, where something that it stands on is not there any more: the
    /// authorization request, the account or that it is not locked, the sign-in before it, the verified hash, or the code,
    /// which somebody else has spent; or where the account has a second factor by now that the sign-in does not know of.
    func advance(_ step: PasswordSignInStep) async throws -> Bool

    /// Takes what somebody who is signed in has shown of an account for a change of it: spends the code, and forgets the
    /// wrong attempts at what was right.
    ///
    /// Must be one step. `false`, and nothing has changed, where the account is gone or locked, has another password or
    /// second factor by now, or somebody else has spent the code; or where a code is missing.
    func confirm(
        _ shown: ShownPassword, attempt: ReservedAttempt?, spent: PasswordSignInStep.Spent?, audit: AuditEvent?
    ) async throws -> Bool

    /// The sign-in by password of an authorization request; `nil` where there is none.
    func passwordSignIn(request: String) async throws -> PasswordSignInRecord?

    /// Forgets attempts in a row that are older than a moment, and the days before `day`, at most `limit` of each. Says how
    /// many there were.
    func deleteAttempts(before moment: Timestamp, day: Int64, limit: Int) async throws -> Int
}

extension PasswordStore {
    /// Counts an attempt of which no mail comes.
    public func countAttempt(
        _ holder: AttemptHolder, judge: @escaping @Sendable (AttemptCount?) -> (AttemptCount, AuditEvent?)?
    ) async throws -> Bool {
        try await self.countAttempt(holder, leaving: nil, judge: judge)
    }
}

extension AuditEvent.Kind {
    // What a restore looks for in the trail.

    /// An operator has given an account a password, for one sign-in.
    public static let passwordSet = Self(rawValue: "password-set")
    /// An operator has given an account a password by its hash.
    public static let passwordImported = Self(rawValue: "password-imported")
    /// A person has chosen a new password.
    public static let passwordChanged = Self(rawValue: "password-changed")
    /// A person has chosen a new password in place of one that was forgotten, by a mailed link.
    public static let passwordReset = Self(rawValue: "password-reset")
    /// A password was hashed anew, at a sign-in, by the present parameters.
    public static let passwordRehashed = Self(rawValue: "password-rehashed")
    /// An operator has taken the password of an account away.
    public static let passwordRemoved = Self(rawValue: "password-removed")
    /// An account has a new secret for time-based codes, and new recovery codes.
    public static let secondFactorSet = Self(rawValue: "second-factor-set")
    /// An account has no second factor beside its password any more.
    public static let secondFactorRemoved = Self(rawValue: "second-factor-removed")
    /// An account has new recovery codes.
    public static let recoveryCodesSet = Self(rawValue: "recovery-codes-set")
    /// A recovery code was spent.
    public static let recoveryCodeSpent = Self(rawValue: "recovery-code-spent")

    /// What tells that the password of an account, or what is asked for beside it, is another one.
    public static let passwordChanges: [Self] = [
        .passwordSet, .passwordImported, .passwordChanged, .passwordReset, .passwordRehashed, .passwordRemoved,
        .secondFactorSet,
        .secondFactorRemoved, .recoveryCodesSet, .recoveryCodeSpent,
    ]
}
