public import _Primitives

/// The stored password of an account.
public struct PasswordRecord: Sendable, Equatable {
    /// The account of the password.
    public var accountID: String
    /// The hash with its parameters, as text: a PHC string, or a bcrypt string. Sealed at rest.
    public var hash: String
    /// The moment when the password was set.
    public var setAt: Timestamp
    /// `true` if an operator has set the password for one sign-in, at which the person chooses another password.
    public var isOneTime: Bool

    /// Makes a password of these values.
    public init(accountID: String, hash: String, setAt: Timestamp, isOneTime: Bool = false) {
        self.accountID = accountID
        self.hash = hash
        self.setAt = setAt
        self.isOneTime = isOneTime
    }
}

/// A new password for an account, together with the changes and messages that go with it.
public struct PasswordChange: Sendable {
    /// The new password.
    public var password: PasswordRecord
    /// The shown values, which must still be the account's. `nil` for an operator, who needs no proof of the person.
    public var shown: ShownPassword?
    /// The digest of a mailed link that is spent, with the other mailed links of the account except questions about
    /// changes. The account must have a password. If the account has a second factor, the change must show a code as
    /// well, and otherwise no code. `nil` if no link was shown.
    public var link: [UInt8]?
    /// The code that was shown beside the link.
    public var spent: PasswordSignInStep.Spent?
    /// The event and the messages about the code, if the code is a recovery code.
    public var codeUse: RecoveryCodeUse?
    /// `true` if all authentications of the account end: sessions, grants, and with them their tokens.
    public var endsSessions: Bool
    /// The audit event of the change.
    public var audit: AuditEvent
    /// The notice for the person's devices.
    public var notice: NoticeRecord?
    /// The letter to the person.
    public var mail: MailRecord?
    /// The change as its person can disown it; `nil` for a change that an operator makes.
    public var accountChange: AccountChangeRecord?
    /// The browser that is known to the account from now on; `nil` for no browser.
    public var visit: KnownVisit?

    /// Makes a change to `password`.
    public init(
        to password: PasswordRecord, shown: ShownPassword? = nil, endsSessions: Bool, audit: AuditEvent,
        notice: NoticeRecord? = nil
    ) {
        self.password = password
        self.shown = shown
        self.endsSessions = endsSessions
        self.audit = audit
        self.notice = notice
    }
}

/// The values of an account when its person proved them: a condition for a change of the account. If any of the values
/// was changed since then, the change has no effect.
public struct ShownPassword: Sendable, Equatable {
    /// The account. It must not be locked when the change is made.
    public var accountID: String
    /// The hash of the password.
    public var hash: String
    /// The moment when the secret of its time-based codes was set; `nil` if the account had no secret.
    public var secondFactorSetAt: Timestamp?

    /// Makes the shown values of an account.
    public init(accountID: String, hash: String, secondFactorSetAt: Timestamp? = nil) {
        self.accountID = accountID
        self.hash = hash
        self.secondFactorSetAt = secondFactorSetAt
    }
}

/// A change of the second factor beside an account's password.
public struct FactorChange: Sendable {
    /// The account.
    public var accountID: String
    /// A new secret for time-based codes; `nil` if only the recovery codes are new.
    public var totp: TOTPRecord?
    /// Recovery codes, by their HMACs, in place of the former codes.
    public var recoveryCodes: [[UInt8]]
    /// The shown values, which must still be the account's. `nil` if no proof was required.
    public var shown: ShownPassword?
    /// The session of the change. A new secret ends all authentications of the account outside this session.
    public var session: String?
    /// The audit event of the change.
    public var audit: AuditEvent
    /// The notice for the person's devices.
    public var notice: NoticeRecord?
    /// The letter to the person.
    public var mail: MailRecord?
    /// The change as its person can disown it; `nil` for a change that an operator makes.
    public var accountChange: AccountChangeRecord?

    /// Makes a change of these values.
    public init(
        accountID: String, totp: TOTPRecord?, recoveryCodes: [[UInt8]], shown: ShownPassword?, session: String? = nil,
        audit: AuditEvent, notice: NoticeRecord? = nil, mail: MailRecord? = nil,
        accountChange: AccountChangeRecord? = nil
    ) {
        self.accountChange = accountChange
        self.session = session
        self.accountID = accountID
        self.totp = totp
        self.recoveryCodes = recoveryCodes
        self.shown = shown
        self.audit = audit
        self.notice = notice
        self.mail = mail
    }
}

/// The secret of an account's time-based codes (RFC 6238).
public struct TOTPRecord: Sendable, Equatable {
    /// The account of the secret.
    public var accountID: String
    /// The secret. Sealed at rest.
    public var secret: SecretBytes
    /// The hash under the HMAC, by its name in an app's address.
    public var algorithm: String
    /// The digits of a code.
    public var digits: Int
    /// The seconds for which a code is valid.
    public var periodSeconds: Int64
    /// The moment when the secret was set.
    public var setAt: Timestamp
    /// The step of the last code that was taken. Neither this code nor an earlier code counts again.
    public var lastStep: Int64?

    /// Makes a secret of these values.
    public init(
        accountID: String, secret: SecretBytes, algorithm: String, digits: Int, periodSeconds: Int64, setAt: Timestamp,
        lastStep: Int64? = nil
    ) {
        self.accountID = accountID
        self.secret = secret
        self.algorithm = algorithm
        self.digits = digits
        self.periodSeconds = periodSeconds
        self.setAt = setAt
        self.lastStep = lastStep
    }
}

/// An account with its password and its second factor.
public struct PasswordAccount: Sendable, Equatable {
    /// The account.
    public var account: AccountRecord
    /// The account's password, if it has one.
    public var password: PasswordRecord?
    /// The secret of the account's time-based codes, if it has one. Then a password alone is not enough.
    public var totp: TOTPRecord?
    /// The number of recovery codes that are left.
    public var recoveryCodes: Int

    /// Makes an account with these values.
    public init(account: AccountRecord, password: PasswordRecord?, totp: TOTPRecord?, recoveryCodes: Int) {
        self.account = account
        self.password = password
        self.totp = totp
        self.recoveryCodes = recoveryCodes
    }
}

/// The progress of a sign-in by a password for one authorization request. The record goes with the request.
public struct PasswordSignInRecord: Sendable, Equatable {
    /// The authorization request.
    public var request: String
    /// The account whose password was right.
    public var accountID: String
    /// The kind of the code that the person has shown beside the password; `nil` if no code was shown.
    public var secondFactor: SecondFactor?
    /// `true` if a code is still missing.
    public var needsSecondFactor: Bool
    /// `true` if a new password is still missing.
    public var needsNewPassword: Bool
    /// The browser and its system in words. Sealed at rest.
    public var browser: String?
    /// The browser's network address. Sealed at rest.
    public var address: String?

    /// A second factor that can be shown beside a password.
    public enum SecondFactor: String, Sendable, CaseIterable {
        /// A time-based code.
        case totp
        /// A recovery code.
        case recoveryCode = "recovery-code"
    }

    /// Makes a sign-in of these values.
    public init(
        request: String, accountID: String, secondFactor: SecondFactor? = nil, needsSecondFactor: Bool,
        needsNewPassword: Bool, browser: String? = nil, address: String? = nil
    ) {
        self.request = request
        self.accountID = accountID
        self.secondFactor = secondFactor
        self.needsSecondFactor = needsSecondFactor
        self.needsNewPassword = needsNewPassword
        self.browser = browser
        self.address = address
    }
}

/// The event and the messages about the use of a recovery code. The step that spends the code keeps them.
public struct RecoveryCodeUse: Sendable, Equatable {
    /// The audit event.
    public var audit: AuditEvent
    /// The notice for the person's devices.
    public var notice: NoticeRecord
    /// The letters, one for each confirmed address of the person.
    public var mails: [MailRecord]

    /// Makes the event and the messages of a use.
    public init(audit: AuditEvent, notice: NoticeRecord, mails: [MailRecord]) {
        self.audit = audit
        self.notice = notice
        self.mails = mails
    }
}

/// A step of a sign-in by password, together with all its conditions.
public struct PasswordSignInStep: Sendable {
    /// The codes that a step spends.
    public enum Spent: Sendable, Equatable {
        /// The time-based codes up to this step.
        case totp(step: Int64)
        /// A recovery code, by its HMAC, and the code that takes its place; `nil` for no code.
        case recoveryCode([UInt8], replacement: [UInt8]? = nil)
    }

    /// The sign-in after the step.
    public var record: PasswordSignInRecord
    /// The sign-in before the step; `nil` for a step that begins a sign-in, whatever was stored before.
    public var previous: PasswordSignInRecord?
    /// The sign-in that the step finishes; `nil` if something is still missing.
    public var finished: FinishedSignInRecord?
    /// The verified hash, which must still be the account's.
    public var verifiedHash: String?
    /// The password that replaces the account's password. If the step begins a sign-in, the verified password with
    /// another hash: the hash alone is replaced.
    public var newPassword: PasswordRecord?
    /// The code that was shown.
    public var spent: Spent?
    /// The event and the messages about the code, if the code is a recovery code.
    public var codeUse: RecoveryCodeUse?
    /// The right attempt, which is given back; `nil` if no attempt was reserved.
    public var attempt: ReservedAttempt?
    /// The person's browser and network, if the sign-in is complete.
    public var visit: KnownVisit?
    /// The audit events.
    public var audit: [AuditEvent]
    /// The notices for the person's devices.
    public var notices: [NoticeRecord]

    /// Makes a step to `record`.
    public init(
        to record: PasswordSignInRecord, from previous: PasswordSignInRecord? = nil,
        finishing finished: FinishedSignInRecord? = nil, verifiedHash: String? = nil,
        newPassword: PasswordRecord? = nil, spent: Spent? = nil, audit: [AuditEvent] = [],
        notices: [NoticeRecord] = []
    ) {
        self.finished = finished
        self.record = record
        self.previous = previous
        self.verifiedHash = verifiedHash
        self.newPassword = newPassword
        self.spent = spent
        self.audit = audit
        self.notices = notices
    }
}
